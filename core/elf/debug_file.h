/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separate debug files on disk, as `objcopy --only-keep-debug` and distributions make them. Only
 * looked for locally: never in the network.
 */
#ifndef EP_ELF_DEBUG_FILE_H
#define EP_ELF_DEBUG_FILE_H

#include "core/elf/file.h"

/*
 * The debug file of `elf`. `root` is where its file system begins, "/proc/PID/root" or "", or no
 * directory, where that is not to be had; `path` is its absolute path within. Tried in this order,
 * the first that belongs to `elf` is given:
 *	root, then the host:   /usr/lib/debug/.build-id/XX/YYYY.debug
 *	root, by debuglink:    DIR/NAME, DIR/.debug/NAME, /usr/lib/debug/DIR/NAME
 * It belongs when the build ids are equal or, where `elf` has none, the debuglink's CRC is right,
 * and its owner is root or that of `elf`, and others may not write it.
 * Symbolic links inside a root stay inside it. 0, -ENODATA when there is none, -ENOMEM.
 */
int ep_debug_file_open(const struct ep_elf *elf, const char *root, const char *path,
		       struct ep_elf **ret_elf);

#endif
