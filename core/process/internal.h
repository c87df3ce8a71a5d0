/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process manager's fields, shared by the files that make it up. Each step of the others
 * (table, mappings, reads, files, publisher, held, languages) knows nothing of the manager: it
 * returns what it changed, or says so by a callback, and what follows from that is decided here.
 *
 *	processes.c	the public calls, housekeeping
 *	births.c	what the kernel reported: forks, execs, exits
 *	events.c	the same: mappings, samples
 *	doubt.c		what follows where records are missing, or too many
 *	learn.c		what /proc and files reported
 *	moved_text.c	memory of no file that is a file's text
 *	turn.c		what follows, at the end of a turn
 */
#ifndef EP_PROCESS_INTERNAL_H
#define EP_PROCESS_INTERNAL_H

#include "core/process/cgroup_paths.h"
#include "core/process/executables.h"
#include "core/process/file_cache.h"
#include "core/process/held.h"
#include "core/process/mappings.h"
#include "core/process/process_languages.h"
#include "core/process/processes.h"
#include "core/process/publisher.h"
#include "core/process/reads.h"
#include "core/process/recent.h"
#include "core/process/table.h"

#include <uv.h>

/* ld.so maps its libraries within a few ms of an exec: wait until most are there. */
#define EP_SETTLE_NS (2 * EP_NS_PER_MS)

struct ep_processes {
	struct ep_processes_options options;
	struct ep_table table;
	struct ep_executables *executables;
	struct ep_room room;
	struct ep_publisher publisher;
	struct ep_reads reads;
	struct ep_file_cache files;
	struct ep_walker *walker;
	struct ep_held *held;
	/* What was learned outside of records is acted on before the loop sleeps, and after it. */
	uv_prepare_t before_poll;
	uv_check_t after_poll;
	uint64_t known_until_ns; /* all records up to here were handed over */
	uint64_t newest_ns;	 /* of all births, deaths and mappings */
	uint64_t doubted_ns;	 /* what was read before is not trusted */
	uint64_t crowded_ns;	 /* who was read before is to be read once more when he is sampled */
	struct ep_recent_records recent;
	struct ep_cgroup_paths cgroup_paths;
	size_t n_areas, max_areas; /* of all programs, as if none shared them; EP_MAX_AREAS */
	size_t comparisons;	   /* of areas with texts of files: moved_text.h */
	LIST_HEAD(, comparison) waiting_comparisons; /* for an image that is being laid out */
	bool changed;		 /* samples that wait may be passed on */
	bool stopped;
	/*
	 * Live processes whose exits may have been missed: so often all are to be looked at yet,
	 * where in the table that goes on, and the size that the table had then.
	 */
	size_t to_check, check_pos, check_cap;
	uint64_t swept_ns; /* when executables were last looked through */
	TAILQ_HEAD(, ep_executable)
	news;			    /* with references: those who map them have not heard yet */
	struct ep_vec replacements; /* struct ep_replacement, with references: of executables, not in processes yet */
	uint64_t news_paid_ns; /* up to then the looks for who has them have used what they may cost */
	struct {
		uint64_t gone;	  /* died while they were read */
		uint64_t refused; /* more processes than max_processes */
		uint64_t forks, execs, exits;
		uint64_t disinherited; /* children whose parents' mappings were too many */
		uint64_t mappings, mappings_known; /* records, and those whose file was known */
		uint64_t doubts; /* times that all that was known of mappings was forgotten */
		uint64_t floods; /* the same, of one process that floods */
		uint64_t crowded; /* times that all but who flooded were trusted until read again */
		uint64_t checks;  /* such reads */
		uint64_t replaces;    /* looks for who maps what was replaced */
		uint64_t spreads;     /* looks for who maps an executable */
		uint64_t moved_texts; /* areas of no file that turned out to be the text of one */
		uint64_t images; /* such that turned out to be the code of an ELF image in memory */
	} stats;
};

/* events.c */
/* A process nobody knows anything of but its number. NULL: too many. */
struct ep_process *ep_processes_add(struct ep_processes *processes, struct ep_program program,
				    uint64_t born_ns);
/* It has ended and nobody reported it, so that BPF does not know either. */
/* events.c: arg: struct ep_processes. In order, or once more when a birth comes late. */
void ep_processes_map(void *arg, const struct ep_mapping_event *event);
/* Its mappings stay until all samples up to that time were handled. */
void ep_processes_end(struct ep_processes *processes, struct ep_process *process, uint64_t time_ns);
void ep_processes_end_vanished(struct ep_processes *processes, struct ep_process *process);

/* doubt.c */
/* A record of its mappings costs a process something. False: it has nothing left. */
bool ep_processes_charge_mapping(struct ep_process *process, uint64_t time_ns);
/* And so does each area that had to move for it. */
void ep_processes_charge_areas(struct ep_process *process, uint64_t time_ns, size_t n_moved);
/* At a sample of it, after a loss: is it read once more? Most likely nothing of its own was lost. */
bool ep_processes_check(struct ep_processes *processes, struct ep_process *process, uint64_t now_ns);

/* learn.c */
void ep_processes_on_read(void *arg, struct ep_program program, const struct ep_process_read *read);
void ep_processes_on_file(void *arg, struct ep_file_look *look, struct ep_executable *executable);
void ep_processes_on_executable(void *arg, struct ep_executable *executable);
/*
 * To those who map an executable that is analysed, was evicted or replaced; later if too much was spent on that. Each
 * turn.
 */
void ep_processes_spread_news(struct ep_processes *processes);
void ep_processes_on_replaced(void *arg, struct ep_executable *old,
			      struct ep_executable *executable);
void ep_processes_on_replacement(void *arg, const struct ep_replacement *replacement);

/* turn.c */
/* Its mappings or languages changed. */
void ep_processes_mark(struct ep_processes *processes, struct ep_process *process);
/* A sample waits for it: its executables go before others, once for the mappings it has. */
void ep_processes_hurry(struct ep_processes *processes, struct ep_process *process);
void ep_processes_act(struct ep_processes *processes);
void ep_processes_on_room(void *arg);
/* Programs that ended: their mappings, languages and names go, one after the other. */
void ep_processes_sweep_ended(struct ep_processes *processes, uint64_t now_ns, uint64_t keep_ns);

#endif
