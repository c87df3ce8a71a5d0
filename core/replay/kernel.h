/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of a kernel as the BPF programs see: maps, helpers, tail calls, the current task. The
 * programs are either the bytecode of their object, interpreted (bytecode.h), which any plugin has;
 * or their sources, compiled for user space (shim/), which a debugger can step through and a
 * sanitizer watches. What they read of the target comes from a function of the caller's.
 *
 *	ep_kernel_new ─► add_object (maps, programs) ─► set_program for each slot
 *	  ─► fill maps ─► run a thread: the event it put on the ring
 *
 * Maps of the ABI (ep_records, ep_progs, ep_states, ep_lang_counts) are one for all objects, as the
 * host makes them; all others belong to their object. One kernel at a time runs in a process, since
 * a program's constants are variables of the program.
 */
#ifndef EP_REPLAY_KERNEL_H
#define EP_REPLAY_KERNEL_H

#include "bpf/shared.h"
#include "core/base/vec.h"
#include "core/replay/thread.h"
#include "ebpf-profiler/bpf/internal/keep.h"

struct ep_kernel;
struct ep_shim_object;

/* 0 or -EFAULT: all or nothing. */
typedef int (*ep_kernel_read)(void *arg, uint64_t addr, void *buf, size_t bytes);

/* What a snapshot program sent (ebpf-profiler/bpf/keeper.h): `kept` with its pieces. */
typedef void (*ep_kernel_keep)(void *arg, const struct ep_kept *kept, size_t bytes);

int ep_kernel_new(ep_kernel_read read_user, void *arg, struct ep_kernel **ret_kernel);
void ep_kernel_free(struct ep_kernel *kernel);

/*
 * Makes the maps that a BPF object (ELF, borrowed) declares, and loads its programs, or takes those
 * of its compiled source if `shim` is not NULL. The first object is "core". `name` is borrowed as
 * long as the kernel lives. 0, -EBADMSG, -ENOTSUP, -E2BIG, -ENOMEM.
 */
int ep_kernel_add_object(struct ep_kernel *kernel, const char *name,
			 const struct ep_shim_object *shim, const void *elf, size_t bytes);
/* The object's struct ep_config or struct ep_self, by its name. 0, -EINVAL for another size. */
int ep_kernel_set_constants(struct ep_kernel *kernel, const char *object, const char *constant,
			    const void *data, size_t bytes);
/* 0, -ENOENT, -EINVAL. */
int ep_kernel_set_program(struct ep_kernel *kernel, uint32_t slot, const char *object,
			  const char *program);

/* An entry of a shared array map, NULL when there is none. */
void *ep_kernel_entry(struct ep_kernel *kernel, const char *map, uint32_t index);
/* Puts an entry into a map of the core. 0, -ENOENT, -E2BIG, -ENOMEM. */
int ep_kernel_update(struct ep_kernel *kernel, const char *map, const void *key, const void *value);
/* As struct ep_delta_store_ops has them, for a struct ep_kernel. 0, -ENOMEM, -EINVAL. */
int ep_kernel_add_chunk(void *kernel, uint32_t index, void **ret_memory);
void ep_kernel_remove_chunk(void *kernel, uint32_t index, void *memory);

/* Is called at each tail call: a language may take frames back later, which are in no event then.
 */
typedef void ep_kernel_see(void *arg);
void ep_kernel_on_tail_call(struct ep_kernel *kernel, ep_kernel_see *see, void *arg);

/*
 * Samples a thread: runs ep_entry and what it jumps to. `event` (bytes) gets what the ring got.
 * 0; -ENODATA: nothing came; -EIO: a program did what a kernel would have refused (`trouble` says).
 */
int ep_kernel_run(struct ep_kernel *kernel, const struct ep_replay_thread *thread,
		  struct ep_vec *event);
/* Where snapshot programs send to; its arg is that of the reads. NULL: nobody may send. */
void ep_kernel_set_keep(struct ep_kernel *kernel, ep_kernel_keep keep);
const char *ep_kernel_trouble(const struct ep_kernel *kernel);

/* Offsets in the task that the programs see, for their constants. */
extern const struct ep_config ep_kernel_config;

#endif
