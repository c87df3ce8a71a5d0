/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of an address space: areas, sorted by address and disjoint. A fork shares
 * its parent's; whoever changes them first gets a copy of his own:
 *
 *	parent ──┐                                    parent ──► mappings
 *	         ├──► mappings     ── child maps ──►
 *	child ───┘                                    child  ──► a copy, with what was mapped
 *
 * What a file is, is learned once for all who share: an area leads to a *use*, which is one file in
 * one address space, and each use is in a list of its executable, or of the look that will tell
 * which one that is:
 *
 *	mappings ── areas ──► use ──► executable         (list of its uses)
 *	                      use ──► look at a file     (list of those that wait for it)
 *	                      use ──► nothing: the file was gone, or there is no entry for it
 *	            area without a use: anonymous code
 *
 * Loop's thread only.
 */
#ifndef EP_PROCESS_MAPPINGS_H
#define EP_PROCESS_MAPPINGS_H

#include "core/base/vec.h"
#include "core/process/executables.h"

#include <sys/queue.h>

struct ep_file_look;

/* One who has mappings: in each process. */
struct ep_sharer {
	struct ep_mappings *mappings; /* NULL: none are known */
	LIST_ENTRY(ep_sharer) link;
};

struct ep_mappings {
	LIST_HEAD(ep_sharers, ep_sharer) sharers;
	uint32_t refs;		  /* so many of those */
	struct ep_vec areas;	  /* struct ep_area */
	size_t n_looking;	  /* uses whose file is being looked at */
	size_t n_counted, *total; /* areas that are in the total, for each process */
	size_t pending_at;	  /* ep_mappings_are_pending */
	size_t coarse_len;	  /* areas when they were last made coarser */
	uint64_t newest_ns;	  /* no area is younger */
	uint64_t replaced;	  /* the last look for what was replaced that came by */
	bool hurried;		  /* files were put first; unset when areas change */
};

struct ep_file_use {
	struct ep_mappings *mappings;	  /* NULL where nobody has any: tests, replay, advice */
	struct ep_executable *executable; /* a reference; NULL: being looked at, or gone */
	struct ep_file_look *look;	  /* NULL: the executable is known, or gone */
	LIST_ENTRY(ep_file_use) in_file;  /* executable->uses, or look->waiters */
	uint32_t refs;			  /* areas */
};

struct ep_area {
	uint64_t start, end, file_off;
	uint64_t time_ns;	 /* CLOCK_MONOTONIC: when it was mapped, or when /proc was read */
	struct ep_file_use *use; /* a reference; NULL: anonymous code */
	bool is_compared : 1;	 /* with the text of a file: moved_text.h */
	bool is_searched : 1;	 /* for an image of no file: the same */
	bool is_memfd : 1;	 /* a JIT's code more often than a program, until that is known */
};
_Static_assert(sizeof(struct ep_area) + sizeof(struct ep_file_use) == 96,
	       "EP_MAX_AREAS says what all of them take");

/* Of one process; more are not looked at. Rows, which have a lower limit, are made of the first. */
#define EP_MAX_MAPPINGS_READ 131072

/* --- an area's file -------------------------------------------------------------------------- */

/* NULL: anonymous code, or it is not known, or not yet. */
static inline struct ep_executable *ep_area_executable(const struct ep_area *area)
{
	return area->use ? area->use->executable : NULL;
}

static inline bool ep_area_is_looked_for(const struct ep_area *area)
{
	return area->use && area->use->look;
}

/* Its file was gone before it was looked at, or there is no entry for it. */
static inline bool ep_area_is_gone(const struct ep_area *area)
{
	return area->use && !area->use->executable && !area->use->look;
}

/*
 * Uses, each with one reference, which ep_mappings_insert takes. Of an executable, whose reference
 * is taken in every case; NULL: gone, until ep_file_use_set or ep_file_use_wait says something
 * else. NULL: no memory.
 */
struct ep_file_use *ep_file_use_get(struct ep_mappings *mappings, struct ep_executable *executable);
/* It is this one, whose reference it takes; NULL: it is gone. It waits for no look any more. */
void ep_file_use_set(struct ep_file_use *use, struct ep_executable *executable);
LIST_HEAD(ep_file_uses, ep_file_use);
/* Nothing is known of it: it waits for a look. */
void ep_file_use_wait(struct ep_file_use *use, struct ep_file_look *look,
		      struct ep_file_uses *waiters);
void ep_file_use_unref(struct ep_file_use *use); /* accepts NULL */

/* --- whose they are -------------------------------------------------------------------------- */

/* Without areas. `total` counts those of all, as if nobody shared them. NULL: no memory. */
struct ep_mappings *ep_mappings_new(size_t *total);
/* Of who has none; `mappings` may be a parent's. */
void ep_mappings_join(struct ep_mappings *mappings, struct ep_sharer *sharer);
/* It has none from here on, if it had any. The last one frees them. */
void ep_mappings_leave(struct ep_sharer *sharer);
/* To be changed: its own, a copy if it shares them. NULL: no memory, nothing has changed. */
struct ep_mappings *ep_mappings_own(struct ep_sharer *sharer, size_t *total);
/* For mappings that nobody has joined. */
void ep_mappings_free(struct ep_mappings *mappings);
/* Without mappings there are none. */
const struct ep_vec *ep_sharer_areas(const struct ep_sharer *sharer);

/* --- changes; what is changed is shared by nobody -------------------------------------------- */

/* Outcomes of ep_mappings_insert: nothing has changed. */
#define EP_AREAS_SAME  1 /* it was there */
#define EP_AREAS_OLDER 2 /* something newer is there: the record came late */
/*
 * Something new is mapped: what was there is cut off or goes. Takes the use's reference in every
 * case. 0, EP_AREAS_SAME, EP_AREAS_OLDER, -EINVAL for an empty range, -ENOMEM (also: too many).
 * O(log n) to find it, and a move of the file.
 */
int ep_mappings_insert(struct ep_mappings *mappings, struct ep_area area);
/* After all others. Takes the use's reference in every case. 0, -ENOMEM. */
int ep_mappings_append(struct ep_mappings *mappings, struct ep_area area);
/*
 * Bounds anonymous areas, of which a JIT or a hostile process can have any number: above a limit
 * neighbours become one, with the gap between them. All they are needed for is to tell code from no
 * code. Areas of files stay as they are.
 */
void ep_mappings_coarsen(struct ep_mappings *mappings);
/* Puts those of another vector on top that are not older than a time. */
void ep_mappings_keep_newer(struct ep_mappings *mappings, const struct ep_vec *old,
			    uint64_t time_ns);
/*
 * Drops areas that are not of [from_ns, to_ns), for one who may share them with others. 1; 0: there
 * were none; -ENOMEM: all of them are gone.
 */
int ep_mappings_cut_time(struct ep_sharer *sharer, uint64_t from_ns, uint64_t to_ns);

/* What was mapped at a time or later was another executable; NULL: nobody knows which. */
struct ep_replacement {
	struct ep_executable *old, *executable;
	uint64_t mount_ns; /* in this mount namespace; 0: in all */
	uint64_t since_ns;
};

/* Outcomes of ep_mappings_replace. */
#define EP_AREAS_REPLACED 1
#define EP_AREAS_LOST	  2 /* of one it is not known by what */
/*
 * For all who share them; old->replacement is where in `replacements` each is, from 1 on. 0: there
 * was none. One look at the areas for any number of replacements.
 */
int ep_mappings_replace(struct ep_mappings *mappings, const struct ep_vec *replacements,
			uint64_t mount_ns);

/* --- questions ------------------------------------------------------------------------------- */

/* True when an executable is still being analysed. O(1) until that one is done. Accepts NULL. */
bool ep_mappings_are_pending(struct ep_mappings *mappings);
/* Executables that wait to be analysed go before others: once until areas change. Accepts NULL. */
void ep_mappings_hurry(struct ep_mappings *mappings, struct ep_executables *executables);
/* How many begin or end after an address: they move when something is mapped there. */
size_t ep_areas_behind(const struct ep_vec *areas, uint64_t addr);
struct ep_area *ep_areas_find(const struct ep_vec *areas, uint64_t addr);
/*
 * Where the region of an address begins: its area with those that touch it, of the same file or of
 * none. A JIT maps its memory, or makes it executable, piece by piece. At most 1024 pieces before
 * it are looked at. 0: the address is in no area.
 */
uint64_t ep_areas_region(const struct ep_vec *areas, uint64_t addr);

#endif
