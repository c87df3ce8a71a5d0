/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF image in memory of no file, as packers (UPX) and loaders of their own leave it: the segments of the file, laid
 * out by its program headers, with the ELF header at the beginning. Any process may have made it up.
 */
#ifndef EP_PROC_IMAGE_H
#define EP_PROC_IMAGE_H

#include "core/proc/open.h"

#include <stdbool.h>

/* The file has no more than this; what is read of it neither. */
#define EP_IMAGE_BYTES ((uint64_t)32 << 20)
/* So many pages before the code are looked at for the header. */
#define EP_IMAGE_PAGES 1024

/* Code of an image: target addresses, and where it is in the file that the image is. */
struct ep_image_code {
	uint64_t start, end, file_off;
};

/*
 * The image whose code is at [start, end) of a process, as a file in memory: what its segments have that are not
 * writable, which is read once, its dynamic section with addresses as in the file, and no section headers. Nobody
 * can change it any more. It has no device; its inode and times are a hash of its contents, so that equal images are one.
 * It counts as a copy (core/proc/copies.h) until its descriptor is closed.
 *
 * A packer lays it out segment by segment: while some that are to be read only cannot be read yet, or are writable and
 * the code is not, it is no image yet. With `unfinished_too` it is copied all the same, as far as it can be read.
 *
 * 0, with what of [start, end) is code: all of it, or one segment where more of the image is executable memory; -EBUSY
 * it is being laid out; -ENODATA there is no such image; -E2BIG; -EFAULT, -ESRCH, -EAGAIN, -ENOMEM and others of memory
 * and descriptors.
 */
int ep_proc_copy_image(pid_t pid, uint64_t start, uint64_t end, bool unfinished_too,
		       struct ep_proc_file *ret_file, struct ep_image_code *ret_code);

#endif
