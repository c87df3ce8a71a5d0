/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that stands still, to be recorded: a live one whose threads are stopped, or a core
 * file. Mappings are those of struct ep_maps in both.
 */
#ifndef EP_REPLAY_SNAPSHOT_H
#define EP_REPLAY_SNAPSHOT_H

#include "core/base/vec.h"
#include "core/proc/maps.h"
#include "core/replay/thread.h"
#include "ebpf-profiler/bpf/tls.h"

#define EP_SNAPSHOT_REASON_BYTES 256

struct ep_elf;
struct ep_snapshot;
struct ep_target_file;

struct ep_snapshot_ops {
	int (*read_block)(struct ep_snapshot *snapshot, uint64_t addr, uint8_t *block);
	/* Memory as it is now, while the process runs, too: 0, -EFAULT (all or nothing), -ESRCH. Optional. */
	int (*read)(struct ep_snapshot *snapshot, uint64_t addr, void *buf, size_t bytes);
	/* The file of a mapping: a descriptor (gives), or a negative errno. */
	int (*open)(struct ep_snapshot *snapshot, const struct ep_mapping *mapping);
	/* Finds thread storage; module_addr: where the executable is mapped. Optional. */
	int (*tls)(struct ep_snapshot *snapshot, uint32_t question, const struct ep_elf *elf,
		   uint64_t module_addr, uint64_t bias, uint64_t value, struct ep_tls *ret);
	/* A file beside a mapped one: as ep_target_ops. Optional. */
	int (*file)(struct ep_snapshot *snapshot, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes);
	/* Lets the process run again; what is left is asked of files only. Optional. */
	void (*resume)(struct ep_snapshot *snapshot);
	void (*close)(struct ep_snapshot *snapshot);
};

struct ep_snapshot {
	const struct ep_snapshot_ops *ops;
	const struct ep_replay_arch *arch;
	const char *origin; /* "process", "core file" */
	char root[32];	    /* where its files are: "/proc/PID/root", or "", or EP_ROOT_GONE */
	uint32_t pid;
	uint64_t start_ns;
	struct ep_maps maps;   /* all of them */
	struct ep_vec threads; /* struct ep_replay_thread */
};

/*
 * Mappings and identity of a live process; it runs on. 0, or a negative errno with one sentence in
 * `reason`. Then stop: threads stopped (PTRACE_SEIZE, PTRACE_INTERRUPT), registers and mappings
 * read. They run again after resume, close, or the end of this process, however it ends.
 */
int ep_snapshot_open_live(pid_t pid, struct ep_snapshot **ret_snapshot,
			  char reason[EP_SNAPSHOT_REASON_BYTES]);
int ep_snapshot_stop(struct ep_snapshot *snapshot, char reason[EP_SNAPSHOT_REASON_BYTES]);

/* A core file, as the kernel, gcore or qemu-user write it. */
int ep_snapshot_open_core(const char *path, struct ep_snapshot **ret_snapshot,
			  char reason[EP_SNAPSHOT_REASON_BYTES]);

void ep_snapshot_close(struct ep_snapshot *snapshot); /* accepts NULL */

/*
 * General registers as NT_PRSTATUS has them: struct user_regs_struct of x86-64, struct user_pt_regs
 * of aarch64. False when there are too few of them.
 */
bool ep_snapshot_take_regs(struct ep_replay_thread *thread, const uint64_t *regs, size_t n);

#endif
