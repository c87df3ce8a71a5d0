/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the BPF programs and the core both see: events on the ring, values of the shared maps, and
 * the packed forms of the delta store. Fixed-width fields, explicit padding, asserted sizes.
 */
#ifndef EP_BPF_SHARED_H
#define EP_BPF_SHARED_H

#include "bpf/filter.h"

#include "ebpf-profiler/bpf/internal/keep.h"
#include "ebpf-profiler/bpf/internal/memo.h"
#include "ebpf-profiler/bpf/internal/rows.h"
#include "ebpf-profiler/bpf/record.h"

#include <linux/types.h>

/* --- ring ------------------------------------------------------------------------------------ */

enum ep_event_type {
	EP_EVENT_TRACE = 1, /* struct ep_sample, then words: kernel addresses, then user frames */
	EP_EVENT_KNOWN = 2, /* struct ep_sample alone: frames were sent before under this hash */
	EP_EVENT_FORK = 3,  /* struct ep_process_event */
	EP_EVENT_EXEC = 4,  /* the old image is gone, nothing of the new one is mapped yet */
	EP_EVENT_EXIT = 5,
	/* EP_EVENT_KEPT */
};

struct ep_process_event {
	struct ep_event event;
	__u64 start_ns; /* of the process, CLOCK_BOOTTIME; for a fork: of the child */
	__u32 pid;
	__u32 parent_pid; /* fork only */
	__u32 image;	  /* for an exec: the new one; a fork's child has its parent's */
	__u32 mount_inode; /* of its mount namespace, as stat shows it; 0: unknown, as for an exit */
	__u64 mount_ns; /* the same namespace, by a number that no other one ever has; 0: unknown */
	char comm[EP_COMM_BYTES]; /* for an exec: the new name */
	__u64 cgroup; /* for an exec: the number of its cgroup in the tree of v2; 0: unknown */
	__u32 user;   /* for an exec: the effective one of before it; EP_NO_USER: unknown */
	__u32 pad;
};
#define EP_NO_USER 0xffffffffu
_Static_assert(sizeof(struct ep_process_event) == 80, "ep_process_event is shared with BPF");

/*
 * What a sample carries when its walk could not go on for want of knowledge that user space may
 * come by: registers, and the stack from the page of the sp on. It lies after the words; copy_bytes
 * of the sample counts all. User space goes on from there (core/walk). A thread may have come from
 * another stack, as in Go's runtime: where frame pointers lead away from the first one, a piece of
 * what they lead to lies after it.
 */
struct ep_copy {
	__u64 pc;
	__u64 addr; /* of the first byte of the stack that follows: the start of sp's page, or of the
		     * first after it that is there */
	__u32 bytes; /* of the stack: whole pages, up to EP_COPY_PAGES; maybe 0 */
	__u32 at_word; /* of the sample's user words: where the frames to come belong */
	__u32 known_regs; /* this and the next as in struct ep_walk */
	__u16 return_address, by_pointer, interrupted;
	__u8 stood;
	__u8 guessed; /* as in struct ep_core_record */
	__u8 slots[EP_MAX_LANGUAGES]; /* of the languages that are asked for their frames; 0: none */
	__u64 regs[EP_REGS];
	__u64 other_addr; /* of the first byte of the other stack's piece */
	__u32 other_bytes; /* 0, or EP_COPY_OTHER_BYTES */
	__u32 pad;
};
_Static_assert(sizeof(struct ep_copy) == 56 + 8 * EP_REGS, "ep_copy is shared with BPF");
#define EP_COPY_PAGE_BYTES 4096u
#define EP_COPY_PAGES	   6
/* Begins at a multiple of EP_COPY_OTHER_ALIGN, which is what the unwinder reads at once. */
#define EP_COPY_OTHER_BYTES 4096u
#define EP_COPY_OTHER_ALIGN 512u

/* --- delta store ------------------------------------------------------------------------------
 *
 * Everything an unwinder looks up by address lies in equal chunks that user space maps and BPF
 * reads through an array of maps; references are explained in ebpf-profiler/bpf/internal/rows.h.
 *
 * process ──► row table (struct ep_row, sorted by start) ──► page table (one u64 for each 4 KiB of
 * text) ──► deltas (u32, sorted by offset within the page).
 *
 *	page     63         48 47     32 31                                  0
 *	        |      0      |  count  | ref of the first delta; count 0: rule |
 *	delta    31         20 19                                              0
 *	        | page offset |                    rule                         |
 *
 * A rule holds from its delta's offset to the next delta's. A page with a count begins with a
 * delta at offset 0. Rule forms are in bpf/rule.h.
 */
#define EP_PAGE_SHIFT	  12
#define EP_PAGE_BYTES	  (1u << EP_PAGE_SHIFT)
/* Text one row can cover: its page table must lie in one chunk. */
#define EP_ROW_MAX_PAGES  65536

#define EP_PAGE(count, ref)	((__u64)(count) << 32 | (__u32)(ref))
#define EP_PAGE_COUNT(page)	((__u32)((page) >> 32) & 0xffff)
#define EP_PAGE_REF(page)	((__u32)(page))
#define EP_DELTA(off, rule)	((__u32)(off) << 20 | (__u32)(rule))
#define EP_DELTA_RULE(delta)	((__u32)(delta)&0xfffff)

/* What struct ep_row's `pages` is: ref of the page entry that covers `va`, or one of these. */
#define EP_PAGES_PENDING 0u /* the executable is being analysed */
#define EP_PAGES_ABSENT	 1u /* it has no unwind tables; an odd word is no page entry's */
#define EP_PAGES_DROPPED 3u /* it had some, which were dropped for want of memory */
#define EP_PAGES_GONE	 5u /* the file was gone before anybody could look at it */
#define EP_PAGES_LAST	 5u /* refs of page entries are above */

/* /proc/PID/stat counts starts in USER_HZ, which is 100 on every Linux we run on. */
#define EP_CLOCK_TICK_NS 10000000ull

#define EP_IMAGE_ANY 0xffffffffu

enum ep_proc_flag {
	EP_PROC_FINAL = 1 << 0, /* user space cannot learn more of it: no copies of stacks */
	EP_PROC_MARKS = 1 << 1, /* a language's frames come after the native walk: space stays */
	EP_PROC_AWAITS = 1 << 2, /* its languages are still attached to: frames are sent each time */
	/* From these bits on one for each of its languages: */
	EP_PROC_TAKERS_SHIFT = 8,    /* it takes code that no file backs (EP_RANGE_ANONYMOUS) */
	EP_PROC_RESUMERS_SHIFT = 12, /* it may know more where the native walk fails (EP_BPF_RESUMES) */
	EP_PROC_LANGUAGES = (1 << EP_MAX_LANGUAGES) - 1,
};

/* Value of ep_procs, key: thread group id (u32). A fork's child gets a copy. */
struct ep_proc {
	__u64 start_ns; /* CLOCK_BOOTTIME, maybe rounded down to a clock tick */
	__u32 rows;	/* ref of the first struct ep_row */
	__u16 n_rows;	/* at most EP_MAX_ROWS */
	__u16 flags;	/* enum ep_proc_flag */
	__u16 states[EP_MAX_LANGUAGES]; /* see struct ep_walk */
	__u8 slots[EP_MAX_LANGUAGES];
	__u32 image; /* or EP_IMAGE_ANY: it was there before us, and no sample has reported yet */
	__u32 rows_serial; /* no two blocks of rows have the same, wherever they lie */
	__u32 pad;
	__u64 born_ns; /* CLOCK_MONOTONIC, of its fork or exec; 0: before us */
};
_Static_assert(sizeof(struct ep_proc) == 48, "ep_proc is shared with BPF");

/* Value of ep_rules, for the rules that do not fit into a delta; see bpf/rule.h. */
struct ep_rule {
	__u8 cfa_kind; /* enum ep_cfa */
	__u8 cfa_reg;  /* DWARF register number */
	__u8 ra_kind;  /* enum ep_reg_rule */
	__u8 ra_reg;
	__u8 fp_kind; /* enum ep_reg_rule */
	__u8 fp_reg;
	__u8 others;	/* EP_OTHERS_*, and a third register that is followed: see below */
	__u8 base_slot; /* k > 0: the caller's EP_OTHERS_REG is saved at CFA - 8 * k */
	__s32 cfa_off; /* added to the register */
	__s32 cfa_add; /* added after the dereference; PLT: the threshold */
	__s32 ra_off;  /* from the CFA */
	__s32 fp_off;  /* from the CFA, or from fp_reg for EP_REG_AT_REG */
};
_Static_assert(sizeof(struct ep_rule) == 24, "ep_rule is shared with BPF");

/*
 * Only sp and fp are followed through all frames, others as long as no frame saves them. A function
 * whose CFA starts from a register that the functions it calls save (rbx in ld.so's
 * _dl_runtime_resolve, which realigns the stack) needs that one from them. In executables that have
 * such a function, rules say where it is saved.
 */

#define EP_MAX_RULES 16384

/* A trace that this CPU knows to be known (ep_known): four of them are a cache line. */
struct ep_recent {
	__u64 hash;
	__u32 epoch;
	__u32 pad;
};
_Static_assert(sizeof(struct ep_recent) == 16, "four are a cache line");

#define EP_RECENT_SHIFT 8
#define EP_RECENT_LEN	(1u << EP_RECENT_SHIFT) /* of each CPU: 4 KiB */

/* --- switches, in .rodata and in ep_control --------------------------------------------------- */

/* One struct so that the compiler cannot reorder it. Offsets come from the kernel's BTF. */
struct ep_config {
	__u32 frames_per_run; /* native frames walked between two tail calls */
	__u32 filter;	      /* not all is sampled: see filter.h */
	__u32 task_mm_off;
	__u32 task_stack_off;
	__u32 task_group_leader_off;
	__u32 task_start_off; /* start_boottime */
	__u32 task_flags_off;
	__u32 task_tgid_off;
	__u32 has_task_pt_regs;	  /* bpf_task_pt_regs exists */
	__u32 has_task_btf;	  /* bpf_get_current_task_btf exists */
	__u32 kernel_stack_bytes; /* THREAD_SIZE, where it does not */
	__u32 task_signal_off;
	__u32 signal_live_off;
	__u32 mm_map_count_off;
	__u32 mm_exe_file_off;
	__u32 file_inode_off;
	__u32 task_tls_off; /* the thread pointer: thread.fsbase */
	__u32 task_exec_id_off; /* self_exec_id; its low 32 bits are the image */
	__u32 task_nsproxy_off;
	__u32 nsproxy_mount_off;
	__u32 mount_ns_id_off; /* 0: this kernel has no such number, or none we know of */
	__u32 mount_ns_inode_off; /* the same */
	/* Return addresses that uprobes have taken away: bpf/uretprobe.bpf.h. All 0: a kernel without uprobes. */
	__u32 task_utask_off;
	__u32 utask_returns_off; /* return_instances */
	__u32 utask_copy_off, utask_probed_off; /* xol_vaddr, vaddr */
	__u32 return_stack_off, return_addr_off, return_next_off; /* stack, orig_ret_vaddr, next */
	__u32 kernel_frames; /* bpf_get_stack stops there: EP_MAX_KERNEL or less, a sysctl */
	__u32 ring_bytes; /* of ep_ring */
	/* With a filter; each 0 where this kernel has none, or none we know of. */
	__u32 filter_need, filter_never; /* bits of filter.h */
	__u32 filter_cannot; /* bits of keys for which this kernel's BTF lacks something */
	__u32 no_inherit; /* children of a process that was chosen by its pid are not */
	/* The users and threads there are in ep_choices; more than fit: their number alone. */
	__u32 n_users, n_threads;
	__u32 users[EP_FILTER_LISTED], threads[EP_FILTER_LISTED];
	__u32 names_start[8]; /* a bit for each byte that some glob of EP_FILTER_COMM may begin with */
	__u32 task_pid_off;
	__u32 task_comm_off;
	__u32 task_cred_off;
	__u32 cred_euid_off;
	__u32 task_cgroups_off;
	__u32 cgroups_default_off; /* css_set.dfl_cgrp */
	__u32 cgroup_node_off;
	__u32 cgroup_root_off;
	__u32 cgroup_parent_off;  /* of the css in it, whose first word is its cgroup */
	__u32 css_cgroup_off;
	__u32 root_hierarchy_off;
	__u32 cgroup_domain_off, cgroup_threaded_off; /* dom_cgrp, nr_threaded_children */
	__u32 node_id_off;
	__u32 node_name_off;
	__u32 file_path_off;
	__u32 path_mount_off;
	__u32 path_dentry_off;
	__u32 mount_in_off; /* mount.mnt, which paths point to */
	__u32 mount_parent_off;
	__u32 mount_point_off;
	__u32 mount_root_off; /* of vfsmount */
	__u32 dentry_parent_off;
	__u32 dentry_name_off; /* its qstr */
	__u32 name_len_off, name_text_off;
};

/*
 * Names of no program that is younger wait: what frees its code does so again and again, and by then it has been
 * seen to (a sub-interpreter of each request, an eval of each turn).
 */
#define EP_PATIENT_AGE_NS 10000000000ull

/* Of programs that live for less than that, the part that names come too late for matters. */
#define EP_YOUNG_NS 1000000000ull

/* Value of ep_control (mmapable, one entry): what user space changes while programs run. */
struct ep_control {
	__u32 epoch; /* traces sent in an earlier epoch are sent with their frames again */
	__u32 asleep; /* user space waits for the ring; whoever wakes it writes 0 */
	__u32 no_copies; /* processes that are in no map are not to be learned: no copies */
	__u32 generation; /* of unwind tables, never 0: another one when freed ones are used again */
	__u32 dropped; /* a birth or death did not fit into the ring; user space writes 0 */
	__u32 young; /* a language has something new in a program that may be gone soon; the same */
	__u32 patient; /* bit n: names of the language in slot n may wait, in a program older than EP_PATIENT_AGE_NS */
	__u32 keeping; /* bit n: in a program younger than EP_YOUNG_NS, since its snapshot program
			  sends all that they are made of */
	__u32 cgroups; /* so many were made, modulo 2^32, while cgroups decide what is wanted */
	__u32 births; /* with a filter: user space was to hear of so many programs for the first time, modulo 2^32 */
	__u32 changes; /* of what decides who is wanted, modulo 2^32 */
	__u32 judged; /* processes that were found not to be, modulo 2^32 */
};

/* Value of ep_execs, key as ep_procs: the last exec of a process since we are here. */
struct ep_exec {
	__u64 start_ns;
	__u32 image;	/* of the new program */
	__u32 is_going; /* the new program does not run yet */
	__u64 inode;	/* the address of its file's; another file's may come to lie there */
	char comm[EP_COMM_BYTES]; /* its name, which the task gets a moment later */
};

/*
 * A record of ep_wakes: a program is about to run in whose processes a language was met before.
 * What of its main program's code is mapped is reported before this.
 */
struct ep_wake {
	__u32 pid;
	__u32 pad;
};

enum ep_counter {
#define EP_COUNTER(name, text) EP_COUNTER_##name,
#include "bpf/counters.def"
#undef EP_COUNTER
	EP_COUNTER_COUNT
};

/* What BPF counts on one CPU, which has these cache lines alone; not by alignment, which a test's
 * memory need not have. */
struct ep_counts {
	__u64 n[16];
};
_Static_assert(sizeof(struct ep_counts) == 128, "two cache lines");
_Static_assert(EP_COUNTER_COUNT <= 16, "each counter has its word");

#endif
