/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef EP_BPF_BASE_H
#define EP_BPF_BASE_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define EP_OPAQUE(value) __asm__ volatile("" : "+r"(value))

#endif
