/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program: a process between two of its execs. What is known of it moves through these states;
 * each says what a sample of it gets.
 *
 *	 a sample, /proc, or records were lost: all of it is forgotten
 *	    │
 *	    ▼      sampled            a worker is free
 *	   NEW ─────────────► WAITING ────────────────► READING
 *	                         ▲ │ no such process      │ │
 *	   an unknown address    │ ▼                      ▼ │
 *	   KNOWN ────────────────┘ ENDED ◄── exit, exec ─── │
 *	     ▲                       of any state           │
 *	     └──────────────────────────────────────────────┘
 *	     ▲ a fork of a known one; an exec, whose mappings are all heard of
 *
 *	NEW, WAITING, READING	what is known of its mappings helps; the rest of the stack waits
 *	KNOWN			all mappings are known; their files may be looked at still
 *				(also WAITING and READING, if who it is is all that is wanted)
 *	ENDED			as before; samples of its last moments may come yet
 *
 * Two more things are true or not in each state: it is *dirty* when BPF is to be informed of
 * something new, and *final* when an address was looked for in /proc and is not there: then BPF
 * copies no more stacks of it until something new is mapped.
 */
#ifndef EP_PROCESS_PROCESS_H
#define EP_PROCESS_PROCESS_H

#include "bpf/shared.h"
#include "core/process/identity.h"
#include "core/process/mappings.h"
#include "core/language/account.h"
#include "core/trace/program.h"

#include <sys/queue.h>
#include <sys/types.h>

struct ep_instance;
struct ep_row_block;

enum ep_process_state {
	EP_PROCESS_NEW,
	EP_PROCESS_WAITING, /* in the queue of struct ep_reads */
	EP_PROCESS_READING, /* a worker is at it */
	EP_PROCESS_KNOWN,
	EP_PROCESS_ENDED,
};

/* Which of its mappings are trusted (doubt.c); CLOCK_MONOTONIC. */
struct ep_trust {
	uint64_t known_ns;     /* they are known as of then, but for what was heard of since */
	uint64_t doubted_ns;   /* nothing is trusted that is older */
	uint64_t check_ns;     /* not read before then only since records of others were lost */
	uint64_t refused_ns;   /* read once more after that, as it lacks files; 0: it lacks none */
	struct ep_bucket cost; /* CPU time of records of its mappings */
	bool floods; /* they are more than can be followed: it is NEW, and read now and then */
};

/* Looks at its memory of no file (moved_text.c). */
struct ep_memory_search {
	bool is_comparing;   /* one of its areas with a file's text */
	uint8_t n_images;    /* so many areas were looked at for an image of no file */
	uint8_t n_looks;     /* so often all of them were looked at once more */
	uint64_t look_ns;    /* the next time, if code of no file is sampled; 0: it was not yet */
	bool is_moving;	     /* what is looked at: a file's text may be on its way there */
	uint64_t start, end; /* is looked at: its code may get rules in a moment */
};

/* Its reads of /proc (reads.c). */
struct ep_read_state {
	TAILQ_ENTRY(ep_process) link; /* of those that are WAITING, or of those that are deferred */
	bool is_deferred;	      /* a read is wanted, and the budget is exhausted */
	bool hurried;		      /* a sample waits: its read goes before others */
	bool is_identified; /* who it is was read of itself, not of what it was forked from */
	bool identity_only;	      /* who it is is all that is wanted of a read to come */
	bool was_known;		      /* until it ended, or began to wait for a read */
	uint64_t due_ns, backoff_ns, next_retry_ns;
};

/* What was published to BPF of it (publisher.c). */
struct ep_published {
	TAILQ_ENTRY(ep_process) dirty;
	bool is_dirty;
	struct ep_row_block *rows; /* a reference */
	struct ep_proc proc;	   /* with them, by us */
	uint64_t at_ns;		   /* when; 0: not yet */
	uint64_t rests_until_ns;
	uint32_t no_room; /* the turn of the space in which its rows found none */
};

/* Languages that run in it (process_languages.c). */
struct ep_process_languages {
	struct ep_instance *instances[EP_MAX_LANGUAGES];
	size_t n;
	bool remapped;		   /* its mappings changed since they were reported */
	struct ep_program parent;  /* whose languages it has; pid 0: it executed something since */
	uint64_t told_ns;	   /* when BPF was first informed of one of them; 0: not yet */
	struct ep_account account; /* that is charged for them; a child's begins as its parent's */
};

struct ep_process {
	struct ep_program program; /* start_ns 0 until /proc or a sample tells; image EP_IMAGE_ANY */
	enum ep_process_state state;
	uint64_t born_ns;  /* CLOCK_MONOTONIC, as all below: of its fork or exec; 0: before us */
	uint64_t ended_ns; /* of its exit or next exec; 0: it runs */
	uint64_t path_ns;  /* a mapping older than that tells what it executed; 0: none does */
	struct ep_identity *identity; /* a reference; NULL: nothing is known */
	uint64_t mount_ns;	      /* at its fork or exec; 0: unknown */
	uint64_t mount_inode;	      /* the same namespace, as stat shows it; 0: unknown */
	struct ep_program born_from;  /* the process it was forked from; pid 0: unknown */
	bool sampled;		      /* batches may ask who it is */
	bool is_final;
	struct ep_sharer sharer; /* of mappings, which a child shares */
	struct ep_trust trust;
	struct ep_memory_search search;
	struct ep_read_state read;
	struct ep_published published;
	struct ep_process_languages languages;

	/* struct ep_table */
	struct ep_process *older, *newer; /* ended under the same pid */
	TAILQ_ENTRY(ep_process) ended;
};

struct ep_process *ep_process_new(struct ep_program program);
/* Lets go of all but its rows, which must be gone. */
void ep_process_free(struct ep_process *process);
/* Takes the reference. NULL is ignored. */
void ep_process_take_identity(struct ep_process *process, struct ep_identity *identity);

/*
 * Same process, as far as a start time in clock ticks can tell. A program that was there before us
 * may have any image.
 */
bool ep_process_is(const struct ep_process *process, struct ep_program program);
/* What it maps: struct ep_area. */
const struct ep_vec *ep_process_areas(const struct ep_process *process);
/* True while files that it maps are being looked at. */
bool ep_process_is_looking(const struct ep_process *process);
/* True when nothing is being found out about it. */
bool ep_process_is_settled(struct ep_process *process);
/* True when not all of its mappings are known. */
bool ep_process_is_unknown(const struct ep_process *process);
/* It was to be read, and is not, or not all of it: what it was before. */
void ep_process_unread(struct ep_process *process);
/* Forgets its mappings: it is NEW again, if it was KNOWN; what waits to be read is all of it. */
void ep_process_forget_mappings(struct ep_process *process);

#endif
