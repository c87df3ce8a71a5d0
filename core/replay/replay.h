/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks and names the stacks of a recorded process with the BPF programs and the plugins that do it
 * on a live one. Recording and replaying are the same run: whatever is asked for (a piece of
 * memory, a plugin's question about a file, a name) is looked for in the fixture; when it is not
 * there and there is a source, the source answers and the fixture keeps it.
 *
 *	ep_replay_new ─► add_language .. ─► attach ─► print, or walk thread by thread
 *
 * One thread, and one of them at a time (core/replay/kernel.h). Fixture, source and plugins are
 * borrowed.
 */
#ifndef EP_REPLAY_REPLAY_H
#define EP_REPLAY_REPLAY_H

#include "core/replay/fixture.h"

struct ep_capture_files;
struct ep_plugin;
struct ep_replay;
struct ep_shim_object;

/* The process itself, while it is recorded. */
struct ep_replay_source {
	void *arg;
	/* EP_FIXTURE_BLOCK_BYTES at a multiple of that. 0, -EFAULT. */
	int (*read_block)(void *arg, uint64_t addr, uint8_t *block);
	/*
	 * Optional: memory of a process that goes on between two walks. It is asked for each time, and
	 * nothing that is looked at is kept. 0, -EFAULT (all or nothing), -ESRCH.
	 */
	int (*read)(void *arg, uint64_t addr, void *buf, size_t bytes);
	struct ep_capture_files *files; /* its files, and what is asked of its threads' storage */
	bool has_names;			/* of native functions; else they are not looked for */
};

/*
 * source NULL: there is nothing but the fixture. shims NULL: the BPF programs are interpreted; else
 * their sources compiled for user space (core/replay/shim/helpers.h: ep_shim_objects), borrowed.
 * 0, -ENOMEM, -E2BIG, ...
 */
int ep_replay_new(struct ep_fixture *fixture, const struct ep_replay_source *source,
		  const struct ep_shim_object *const *shims, struct ep_replay **ret_replay);
void ep_replay_free(struct ep_replay *replay);
static inline void ep_replay_freep(struct ep_replay **replay)
{
	ep_replay_free(*replay);
}
/*
 * Frames that a program walks in one run, as a kernel that takes no more would have it; before the
 * first language is added. 0, -EINVAL.
 */
int ep_replay_limit_frames(struct ep_replay *replay, uint32_t frames);
/*
 * Of long reads of files, what the recorded memory points to stays, to the next NUL; the rest becomes
 * zeros. A plugin that looks for names in a file finds those that the process uses. 0, -ENOMEM.
 */
int ep_replay_trim(struct ep_replay *replay);

/*
 * 0; -ENOENT when there are shims and its BPF source is not among them; -E2BIG, -EEXIST, -ENOTSUP,
 * ... Stacks then have its interpreter's native frames.
 */
int ep_replay_add_language(struct ep_replay *replay, const struct ep_plugin *plugin);
/* Attaches the languages that claim an executable; again: anew. 0, -ENOMEM, -E2BIG. */
int ep_replay_attach(struct ep_replay *replay);
/*
 * From here on the process is in its first second while it is walked, and gone when frames are
 * named: what the languages' snapshot programs sent is all there is, of walks since then. They are
 * interpreted. Before the first walk. 0, -ENOENT: none of the languages has one; as
 * ep_replay_add_language.
 */
int ep_replay_keep(struct ep_replay *replay);
/* As the agent does when a language asks for it: refresh of those that are attached. 0, -ENOMEM. */
int ep_replay_refresh(struct ep_replay *replay);
/* The event of thread number i: struct ep_sample, then words (bpf/shared.h). As ep_kernel_run. */
int ep_replay_walk(struct ep_replay *replay, size_t i, struct ep_vec *event);
/*
 * Walks all threads, and names what only the memory of the process names: ep_replay_print prints these
 * stacks, with names of files, when the process runs again. 0, -ENOMEM.
 */
int ep_replay_hold(struct ep_replay *replay);
/* True when each language that claimed an executable is attached. */
bool ep_replay_is_attached(const struct ep_replay *replay);
/*
 * All stacks as text; `text` is emptied first. For each thread a line "thread TID COMM", then its
 * frames, leaf first, a line for each inlined function, then an empty line:
 *
 *	native  libc.so.6  epoll_wait		"+0x1234" without a name
 *	native  program  outer  outer.x:12	where the file has lines for what it runs
 *	native  -  0x7f0000001234		code in no file
 *	native~ program  main			found by frame pointer
 *	toy  outer  outer.toy:12		"?" for what is no longer known
 *	toy  C.m  c.toy:3  C.m(I)V		with its system name, if that is another
 *	error  stack memory unreadable		why there is no more
 */
int ep_replay_print(struct ep_replay *replay, struct ep_vec *text);

/* --- faults ---------------------------------------------------------------------------------- */

struct ep_replay_faults {
	uint64_t reads;	    /* of the target's memory since the last attach */
	uint64_t fail_read; /* the one, from 1, that fails; 0: none */
	uint64_t fail_start, fail_end; /* [start, end) cannot be read; equal: nothing */
	uint64_t name_reads; /* of those that name frames, since the last attach */
	uint64_t change_read; /* of these, from 1: from there on each byte is another; 0: none */
	uint64_t unanswered; /* questions: the fixture was made for other plugins than these */
};
struct ep_replay_faults *ep_replay_faults(struct ep_replay *replay);
/* Names of the languages that claimed an executable, with spaces between. 0, -ENOMEM. */
int ep_replay_languages(const struct ep_replay *replay, struct ep_vec *text);

#endif
