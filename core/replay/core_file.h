/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core file, read: threads, memory, mapped files. core(5), linux/fs/binfmt_elf.c; gcore and
 * qemu-user write the same form, the latter without NT_FILE.
 *
 *	ELF header, ET_CORE
 *	PT_NOTE   NT_PRSTATUS (a thread; the first is the one that crashed), NT_PRPSINFO, NT_AUXV,
 *		  NT_FILE, and for each thread its further notes, NT_ARM_TLS among them
 *	PT_LOAD   a mapping; only the first p_filesz bytes of it may be in the file. gcore
 *		  leaves out what it finds in files: in NT_FILE alone, without protection
 *
 * All of it is hostile. The file is read with pread, as it is asked for.
 */
#ifndef EP_REPLAY_CORE_FILE_H
#define EP_REPLAY_CORE_FILE_H

#include "core/base/strings.h"
#include "core/base/vec.h"
#include "core/replay/thread.h"

struct ep_core_load {
	uint64_t start, end;	       /* target addresses */
	uint64_t core_off, core_bytes; /* what of it is in the core file */
	uint32_t flags;		       /* PF_* */
	const char *path;	       /* NT_FILE's; "" when it is none's */
	uint64_t file_off;
};

struct ep_core_file {
	int fd;
	uint64_t bytes;
	const struct ep_replay_arch *arch;
	uint32_t pid;
	uint64_t vdso_addr; /* 0: none */
	/* Of the auxiliary vector: where the program begins, and where its path is. 0: unknown. */
	uint64_t entry_addr, path_addr;
	struct ep_vec loads;	/* struct ep_core_load, ascending, disjoint */
	struct ep_vec unloaded; /* while it is opened: those of NT_FILE alone */
	struct ep_vec threads;	/* struct ep_replay_thread; start_ns 0, comm is the process's */
	struct ep_strings *strings;
};

/* Takes fd, also when it fails. 0, -EBADMSG, -ENOTSUP (machine), -E2BIG, -ENODATA (no threads). */
int ep_core_file_open(int fd, struct ep_core_file *ret_core);
void ep_core_file_close(struct ep_core_file *core); /* accepts a zeroed struct */

struct ep_core_load *ep_core_file_find(const struct ep_core_file *core, uint64_t addr);
/* Memory that is in the core file. 0, -EFAULT. */
int ep_core_file_read(const struct ep_core_file *core, uint64_t addr, void *buf, size_t bytes);

#endif
