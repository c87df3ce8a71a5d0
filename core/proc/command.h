/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which programs a command line runs, found as execvp and the kernel would find them: by PATH,
 * through `#!` lines, and after programs that run others, such as env, nice, timeout and the shells
 * with their -c. Nothing is run; files are only opened for reading.
 */
#ifndef EP_PROC_COMMAND_H
#define EP_PROC_COMMAND_H

#include "core/base/vec.h"

#define EP_COMMAND_MAX_PROGRAMS 8

/*
 * Appends the paths of the ELF programs that `argv` runs (char *, which the caller frees) in their
 * order: `./x.py` that begins with "#!/usr/bin/env python3" gives env and python3. What is not
 * there is left out. 0, -ENOMEM.
 */
int ep_command_find(char *const *argv, char *const *envp, struct ep_vec *paths);
void ep_command_free_paths(struct ep_vec *paths);

/* The value of a variable, NULL when it is not set. */
const char *ep_command_variable(char *const *envp, const char *name);

#endif
