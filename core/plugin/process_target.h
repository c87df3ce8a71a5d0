/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live process as unwinder plugins see it: the members of struct ep_target_ops that only read
 * (core/plugin/unwinder.h). Errors are those of struct ep_unwinder_host.
 *
 * Its mappings are read from /proc when something first needs them, and kept until the job ends:
 * where a plugin asks for paths to thread storage and then for mappings, the kernel prints them
 * once. What the core knows of a process does not serve, as that is executable mappings alone.
 *
 * Embedded by the caller; belongs to one job at a time.
 */
#ifndef EP_PLUGIN_PROCESS_TARGET_H
#define EP_PLUGIN_PROCESS_TARGET_H

#include "core/plugin/unwinder.h"
#include "core/proc/maps.h"

struct ep_elf;
struct ep_read_ahead;

/* A file beside a mapped one, open while the job runs. */
#define EP_PROCESS_TARGET_FILES 4
struct ep_process_target_file {
	char *path; /* NULL: unused */
	int fd;
	uint64_t content, bytes;
};

struct ep_process_target {
	pid_t pid;
	/* For thread variables: where the probed file is mapped, and the file, borrowed; NULL: it is
	 * opened through that mapping. */
	uint64_t module_addr, bias;
	const struct ep_elf *elf;
	bool has_maps;
	struct ep_maps maps; /* all of them; of the job that runs */
	struct ep_process_target_file files[EP_PROCESS_TARGET_FILES]; /* the same */
	uint32_t next_file;
	struct ep_read_ahead *ahead; /* the same; NULL: each read is one of the memory */
};

extern const struct ep_target_ops ep_process_target_ops; /* arg: struct ep_process_target */

/* Named anonymous memory has its name ("[heap]", "[anon:x]") in mappings, and is_file 0. */
void ep_process_target_init(struct ep_process_target *process, pid_t pid);
/* The next one that asks reads mappings anew. Also the end of the struct; accepts a zeroed one. */
void ep_process_target_end_job(struct ep_process_target *process);

/* The job asks for names: reads near each other are one. Before each frame. */
void ep_process_target_next_frame(struct ep_process_target *process);

#endif
