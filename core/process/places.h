/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of one process, sorted by address and disjoint: a vector of places, each
 * with a reference to the executable behind it. Loop's thread only.
 */
#ifndef EP_PROCESS_PLACES_H
#define EP_PROCESS_PLACES_H

#include "core/process/executables.h"
#include "core/base/vec.h"

enum ep_place_state {
	EP_PLACE_KNOWN = 0, /* by its executable, or without one: anonymous code */
	EP_PLACE_ASKED,	    /* its file is being looked at */
	EP_PLACE_GONE,	    /* its file was gone before that, or there is no entry for it */
};

struct ep_place_in_memory {
	uint64_t start, end, file_off;
	uint64_t time_ns; /* CLOCK_MONOTONIC: when it was mapped, or when /proc was read */
	struct ep_executable *executable; /* NULL: anonymous code, or see the state */
	uint32_t question; /* while it is asked: its number, see files.h */
	enum ep_place_state state : 8;
	bool is_compared : 1;  /* with the text of a file: moved_text.h */
	bool is_searched : 1;  /* for an image of no file: the same */
	bool is_looked_at : 1; /* a worker looks for one: its code may get rules in a moment */
	bool is_on_its_way : 1; /* it may be the text that was there in a moment: moved_text.h */
	bool is_memfd : 1;     /* until an executable is known: a JIT's code more often than a program */
};
_Static_assert(sizeof(struct ep_place_in_memory) == 48, "EP_MAX_PLACES says what all of them take");

/* Outcomes of ep_places_insert: nothing has changed. */
#define EP_PLACES_SAME	1 /* it was there */
#define EP_PLACES_OLDER 2 /* something newer is there: the record came late */

/* Of one process; more are not looked at. Rows, which have a lower limit, are made of the first. */
#define EP_MAX_MAPPINGS_READ 131072

void ep_places_init(struct ep_vec *places);
/* Lets go of all of them, and of the memory. */
void ep_places_clear(struct ep_vec *places);
/* `to` is empty and gets references of its own. 0, -ENOMEM. */
int ep_places_copy(struct ep_vec *to, const struct ep_vec *from);
/*
 * Something new is mapped: what was there is cut off or goes. Takes the place's reference in every
 * case. 0, EP_PLACES_SAME, EP_PLACES_OLDER, -EINVAL for an empty range, -ENOMEM (also: too many).
 * O(log n) to find it, and a move of what is behind it.
 */
int ep_places_insert(struct ep_vec *places, struct ep_place_in_memory place);
/*
 * Bounds anonymous places, of which a JIT or a hostile process can have any number: above a limit
 * neighbours become one, with the gap between them. All they are needed for is to tell code from
 * no code. Places with an executable stay as they are.
 */
void ep_places_coarsen(struct ep_vec *places);

/*
 * True when one of the executables is still being analysed. `last` is where one was, from 0:
 * whoever asks again and again, with each sample, has the answer in O(1) until that one is done.
 */
bool ep_places_are_pending(const struct ep_vec *places, size_t *last);
/* Those of the executables that wait to be analysed go before others. O(n). */
void ep_places_hurry(const struct ep_vec *places, struct ep_executables *executables);
/* True when the file of one is being looked at. */
bool ep_places_are_asked(const struct ep_vec *places);
/* Drops those that are not of [from_ns, to_ns). True when there were any. */
bool ep_places_cut_time(struct ep_vec *places, uint64_t from_ns, uint64_t to_ns);
/* Puts those of another vector on top that are not older than a time. */
void ep_places_keep_newer(struct ep_vec *places, const struct ep_vec *old, uint64_t time_ns);
/* What was mapped at a time or later was another executable; NULL: nobody knows which. */
struct ep_replacement {
	struct ep_executable *old, *executable;
	uint64_t mount_ns; /* in this mount namespace; 0: in all */
	uint64_t since_ns;
};

/* Outcomes of ep_places_replace. */
#define EP_PLACES_REPLACED 1
#define EP_PLACES_LOST	   2 /* of one it is not known by what */
/*
 * Of a process in that mount namespace; old->replacement is where in `replacements` each is, from 1 on. 0: there was
 * none. One look at the places for any number of replacements.
 */
int ep_places_replace(struct ep_vec *places, const struct ep_vec *replacements, uint64_t mount_ns);
/* How many begin or end behind an address: they move when something is mapped there. */
size_t ep_places_behind(const struct ep_vec *places, uint64_t addr);
/*
 * True when it is a smaller part of another place of its executable, elsewhere: a runtime may map code of its
 * file once more, near to what it generates. Where that is says nothing of where the file is loaded.
 */
bool ep_place_is_part(const struct ep_place_in_memory *part, const struct ep_place_in_memory *whole);
struct ep_place_in_memory *ep_places_find(const struct ep_vec *places, uint64_t addr);
/*
 * Where the region of an address begins: its place with those that touch it, of the same file or of none. A JIT maps
 * its memory, or makes it executable, piece by piece. At most 1024 pieces before it are looked at. 0: the address is in no place.
 */
uint64_t ep_places_region(const struct ep_vec *places, uint64_t addr);

#define EP_MAX_LOADED (2 * EP_MAX_LANGUAGES)

/* An executable, where it is loaded: its first place there. */
struct ep_loaded {
	struct ep_executable *executable;
	uint64_t bias, addr;
};

/* Those that are wanted; how many. Several places at one bias are one, a copy of code is none. */
size_t ep_places_find_loaded(const struct ep_vec *places,
			     bool (*is_wanted)(const struct ep_executable *executable),
			     struct ep_loaded loaded[EP_MAX_LOADED]);

#endif
