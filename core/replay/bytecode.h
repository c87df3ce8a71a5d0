/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF bytecode, read from an object file and interpreted: the very instructions a kernel would load
 * (linux/Documentation/bpf/standardization/instruction-set.rst, CPU versions up to 3). It stands in
 * for the verifier in nothing: who runs a program trusts it, as who loads its plugin does. What is
 * bounded is its time.
 *
 * Programs are those of the section "perf_event"; global functions that they call are in ".text". Addresses in them are
 * addresses of this process: maps as the caller names them, constants in memory of ours.
 */
#ifndef EP_REPLAY_BYTECODE_H
#define EP_REPLAY_BYTECODE_H

#include "core/base/util.h"

struct ep_bytecode;
struct ep_bytecode_program;

/* The address that programs use for a map; NULL: there is no such map. */
typedef void *(*ep_bytecode_map)(void *arg, const char *name);
/* A helper call: 0 and *ret, 1 to end the program (a tail call), -ENOTSUP for one we lack. */
typedef int (*ep_bytecode_helper)(void *arg, int32_t id, const uint64_t args[5], uint64_t *ret);

/* `elf` is borrowed for the call. 0, -EBADMSG, -ENOENT (a map), -ENOTSUP, -ENOMEM. */
int ep_bytecode_load(const void *elf, size_t bytes, ep_bytecode_map map, void *arg,
		     struct ep_bytecode **ret_bytecode);
void ep_bytecode_free(struct ep_bytecode *bytecode); /* accepts NULL */

/* NULL: there is none of that name. Valid as long as the bytecode. */
const struct ep_bytecode_program *ep_bytecode_find(const struct ep_bytecode *bytecode,
						   const char *name);
/* A constant that programs read, to be written before they run; NULL when none has the name. */
void *ep_bytecode_constant(const struct ep_bytecode *bytecode, const char *name, size_t *ret_bytes);

/* Runs to its end. 0, -ELOOP (too long), -ENOTSUP (an instruction or helper we lack), -EFAULT. */
int ep_bytecode_run(const struct ep_bytecode_program *program, void *ctx, ep_bytecode_helper helper,
		    void *arg);

#endif
