/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process's threads keep a pthread key or a thread-local variable, as a path from the
 * thread pointer that BPF can follow (ebpf-profiler/bpf/tls.h). glibc and musl, dynamic and static;
 * x86-64 measured, aarch64 by the documents only.
 *
 * - A pthread key: glibc keeps _thread_db_* symbols for debuggers, which say where. Without them, and
 *   in musl, the code of pthread_getspecific does. 2 steps.
 * - A variable of the main program: fixed by the ABI. 1 step.
 * - A variable of a library: a relocated word in its data has its offset from the thread pointer
 *   (1 step) or its module id (3 steps, through the dynamic thread vector).
 *
 * Nothing is kept from one call to the next: the C library's file is opened each time, about 50 us.
 * All: 0; -ENODATA the C library, symbol or relocation is not there (yet), -ENOTSUP a C library,
 * layout or machine we do not know, -EFAULT, -ESRCH, -EPERM, -EBADMSG (file), -ENOMEM, -errno.
 *
 * What cannot be seen: a pthread key that was deleted and created again has its old value in
 * threads that have not set it since (pthread_getspecific compares sequence numbers for that).
 */
#ifndef EP_PROC_THREAD_STORAGE_H
#define EP_PROC_THREAD_STORAGE_H

#include "core/proc/maps.h"
#include "ebpf-profiler/bpf/tls.h"

struct ep_elf;

/* The value of a pthread key (what pthread_getspecific gives), as a pointer. */
int ep_tls_find_key(pid_t pid, const struct ep_maps *maps, uint32_t key, struct ep_tls *ret);

/*
 * The 8 bytes of a variable at `tls_off` in the TLS segment of `elf` (the st_value of its symbol),
 * which is mapped with `bias`. Of a library that a thread has not used yet, following the path
 * fails or gives 0.
 */
int ep_tls_find_variable(pid_t pid, const struct ep_maps *maps, const struct ep_elf *elf,
			 uint64_t bias, uint64_t tls_off, struct ep_tls *ret);

#endif
