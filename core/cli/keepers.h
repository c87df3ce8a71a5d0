/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EP_CLI_KEEPERS_H
#define EP_CLI_KEEPERS_H

#include "core/cli/parts/doctor.h"

struct ep_plugin;

/*
 * Loads the snapshot programs of these plugins (ebpf-profiler/bpf/keeper.h), some 0.2 s each, and
 * says which the kernel takes. Nothing is reported where no BPF program can be loaded.
 */
void ep_cmd_say_keepers(const struct ep_plugin *const *plugins, size_t n, const struct ep_doctor_rows *rows);

#endif
