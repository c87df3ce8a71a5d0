/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether only root and who started this program can change what is in a directory: neither it nor one above
 * it belongs to somebody else, or may be written by others. In a sticky one (/tmp) others may add files, but
 * not touch ours.
 */
#ifndef EP_BASE_DIRECTORY_H
#define EP_BASE_DIRECTORY_H

#define EP_DIRECTORY_WHY_BYTES 320

/* 0, or -EPERM with a sentence. A directory that is not there, or cannot be reached, is 0: who opens it says so. */
int ep_directory_check(const char *path, char ret_why[EP_DIRECTORY_WHY_BYTES]);

#endif
