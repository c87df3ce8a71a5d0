/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The core's programs in one object: perf event -> entry -> native unwinder -> finish. */
#include <stdbool.h>

#include "bpf/kernel.bpf.h"

#include "bpf/cgroup.bpf.h"
#include "bpf/entry.bpf.h"
#include "bpf/finish.bpf.h"
#include "bpf/native.bpf.h"
#include "bpf/process.bpf.h"

const volatile struct ep_config ep_config SEC(".rodata");

char LICENSE[] SEC("license") = "GPL";
