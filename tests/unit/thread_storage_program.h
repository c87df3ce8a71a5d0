/* SPDX-License-Identifier: Apache-2.0 */
/* What thread_storage_program.c and its libraries share. */
#ifndef THREAD_STORAGE_PROGRAM_H
#define THREAD_STORAGE_PROGRAM_H

/* Prints "WHAT THREAD_POINTER BASE NAME VALUE"; base is where the file's first byte is mapped. */
typedef void (*report_fn)(const char *what, const void *base, const char *name, const void *value);
void lib_touch(report_fn report, const void *value);

#endif
