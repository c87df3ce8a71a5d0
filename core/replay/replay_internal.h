/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a replay share. */
#ifndef EP_REPLAY_REPLAY_INTERNAL_H
#define EP_REPLAY_REPLAY_INTERNAL_H

#include "core/process/mappings.h"
#include "core/process/rows.h"
#include "core/plugin/attached.h"
#include "core/replay/kernel.h"
#include "core/replay/replay.h"
#include "core/replay/shim/helpers.h"
#include "core/trace/merge.h"
#include "core/unwind/delta_store.h"

#define EP_REPLAY_MAX_PLUGINS 16
#define EP_REPLAY_EVENT_BYTES (sizeof(struct ep_sample) + EP_RECORD_WORDS * 8)
#define EP_REPLAY_MAX_HELD    (64u << 20) /* bytes of names */

/* A plugin, and what it found in the recorded process. */
struct ep_replay_language {
	struct ep_replay *replay;
	const char *name;
	const struct ep_unwinder_ops *ops;
	const struct ep_shim_object *shim;
	uint32_t slot, first_error;
	/* of the executable it claimed */
	uint32_t executable; /* index */
	void *claim;	     /* NULL: none */
	struct ep_attached attached; /* zeroed: it was not yet */
	uint32_t state;		     /* index in ep_states; 0: BPF is not informed of it */
	char keeper_name[40];	     /* of its object */
	struct ep_kept_memory kept;
};

/* What struct ep_file's arg is: an executable of the fixture. */
struct ep_replay_file {
	struct ep_replay *replay;
	uint32_t executable;
	size_t next_answer; /* likely the next one: questions come in the same order */
};

struct ep_replay {
	struct ep_fixture *fixture;
	const struct ep_replay_source *source;
	const struct ep_shim_object *const *shims;
	struct ep_kernel *kernel;
	struct ep_delta_store *store;
	struct ep_executable *executables; /* one for each of the fixture's */
	struct ep_file_use *uses;	   /* that lead to them */
	struct ep_vec areas;		   /* struct ep_area: what is executable */
	struct ep_row_set set;
	uint32_t rows_ref, rows_serial;
	size_t n_entries; /* at rows_ref */
	struct ep_replay_language languages[EP_REPLAY_MAX_PLUGINS];
	size_t n_languages;
	bool names_of_kept; /* the process is gone when names are read */
	bool is_naming;	    /* a frame: not walking */
	bool untold; /* languages reported more since BPF was informed of the process */
	struct ep_merge merge;
	struct ep_vec event;
	struct ep_vec held_events; /* struct ep_vec of bytes: of each thread, see ep_replay_hold */
	struct ep_vec held_names;  /* text of their languages' frames, each with a NUL, in the order of printing */
	size_t held_at;		   /* in held_names: the next one that is printed */
	uint32_t frames_per_run; /* 0: as many as the programs can */
	struct ep_replay_faults faults;
};

static inline struct ep_fixture_executable *ep_replay_executable(const struct ep_replay *replay,
								 uint32_t index)
{
	return ep_vec_at(&replay->fixture->executables, struct ep_fixture_executable, index);
}

/* replay_source.c: memory, answers and names, from the fixture or else from the source. */
int ep_replay_read(void *replay, uint64_t addr, void *buf, size_t bytes);
struct ep_file ep_replay_file(struct ep_replay_file *file);
int ep_replay_beside(struct ep_replay *replay, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes);
int ep_replay_tls(struct ep_replay *replay, uint32_t question, uint32_t executable, uint64_t bias,
		  uint64_t value, struct ep_tls *ret);
/* From here on the fixture has the names at va, if there are any. */
void ep_replay_keep_names(struct ep_replay *replay, uint32_t executable, uint64_t va);

/* replay_text.c: puts the table that a fixture has of an executable into the store, also anew. */
int ep_replay_put_table(struct ep_replay *replay, uint32_t executable);
/* Keeps the rules of the text page that holds va. */
int ep_replay_keep_text(struct ep_replay *replay, uint32_t executable, uint64_t va);

/* replay.c: tells BPF of the process, as the attached languages see it. */
/* Where an executable is loaded: address minus virtual address, by its first executable mapping. */
int ep_replay_find_bias(const struct ep_replay *replay, uint32_t index, uint64_t *ret_bias);
int ep_replay_publish(struct ep_replay *replay);
/* Walks all threads with no language attached, for the source's tables. */
int ep_replay_walk_native(struct ep_replay *replay);

/* replay_language.c */
void ep_replay_detach(struct ep_replay *replay);
struct ep_replay_language *ep_replay_language_of_kind(struct ep_replay *replay, uint32_t kind);
/* As the plugin's; -ESRCH when it has no instance. What it says of the process the next walk sees. */
int ep_replay_symbolize(struct ep_replay_language *language, const struct ep_raw_frame *frame,
			struct ep_names *names);

#endif
