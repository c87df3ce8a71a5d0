/* SPDX-License-Identifier: Apache-2.0 */
/* Text in UTF-16, as PowerShell's `>` writes it, becomes what the readers of text take: UTF-8. */
#ifndef EP_READERS_UTF16_H
#define EP_READERS_UTF16_H

#include "core/base/vec.h"

/*
 * Of a file that begins with the byte order mark of UTF-16, either order: the same text in UTF-8, without the
 * mark, in place of `bytes`. Every other file stays as it is. Half a character becomes U+FFFD. 0, -ENOMEM,
 * -E2BIG, or -EBADMSG and in *ret_why what it is that cannot be read, without the file's name.
 */
int ep_utf16_decode(struct ep_vec *bytes, const char **ret_why);
/* Latin letters with NULs between them: UTF-16 without a mark. */
bool ep_utf16_is_likely(const struct ep_vec *bytes);

#endif
