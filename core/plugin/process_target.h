/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live process as unwinder plugins see it: what is behind the members of struct ep_target_ops that
 * only read (core/plugin/unwinder.h). Errors are those of struct ep_unwinder_host.
 */
#ifndef EP_PLUGIN_PROCESS_TARGET_H
#define EP_PLUGIN_PROCESS_TARGET_H

#include "core/plugin/unwinder.h"

struct ep_elf;

int ep_process_target_read(pid_t pid, uint64_t addr, void *buf, size_t bytes);
/* Named anonymous memory has its name ("[heap]", "[anon:x]") and is_file 0. */
int ep_process_target_mappings(pid_t pid,
			       int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			       void *arg);
int ep_process_target_tls_key(pid_t pid, uint32_t key, struct ep_tls *ret);
/* `elf` is the probed file, borrowed; NULL: it is opened through the mapping at `module_addr`. */
int ep_process_target_tls_variable(pid_t pid, const struct ep_elf *elf, uint64_t module_addr,
				   uint64_t bias, uint64_t tls_off, struct ep_tls *ret);

#endif
