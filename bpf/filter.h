/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Which samples are wanted, as BPF and user space both see it. Each key of the filter (a process, a
 * name, a user...) has two bits: a value that was asked for, and one that was excluded. What holds of
 * a thread is the sum of the bits of its process, its name, its user, its cgroup; it is wanted when it
 * has all bits of `need` and none of `never` (struct ep_config).
 *
 * Globs are matched by an automaton without branches, a bit for each of its states ("Shift-And"):
 *
 *	states   1        2     4        8     "a*b?": state 8 is its end; any byte leaves state 2, where the
 *	         ──a──►   ──b──►   ──any──►    asterisk lets any byte pass
 *
 * A byte moves each state that accepts it to the next one. All globs of a key lie one after the
 * other in the same bits.
 */
#ifndef EP_BPF_FILTER_H
#define EP_BPF_FILTER_H

#include <linux/types.h>

/* By the order of core/config/filter.c, whose table has a name for each. */
enum ep_filter_key {
	EP_FILTER_PID,
	EP_FILTER_TID,
	EP_FILTER_CGROUP,
	EP_FILTER_CONTAINER,
	EP_FILTER_UNIT,
	EP_FILTER_COMM,
	EP_FILTER_EXE,
	EP_FILTER_USER,
	EP_FILTER_CPU, /* has no bits: events of other CPUs are not opened */
	EP_FILTER_KEYS,
};

#define EP_FILTER_IN(key)   (1u << 2 * (key))
#define EP_FILTER_OUT(key)  (2u << 2 * (key))
#define EP_FILTER_BOTH(key) (3u << 2 * (key))
#define EP_FILTER_CGROUPS                                                                          \
	(EP_FILTER_BOTH(EP_FILTER_CGROUP) | EP_FILTER_BOTH(EP_FILTER_CONTAINER) |                  \
	 EP_FILTER_BOTH(EP_FILTER_UNIT))
#define EP_FILTER_NAMES (EP_FILTER_BOTH(EP_FILTER_COMM) | EP_FILTER_BOTH(EP_FILTER_EXE))
#define EP_FILTER_BITS	((1u << 2 * EP_FILTER_CPU) - 1)

/* Value of ep_filter, key: process. Its own bits, or its parent's: those of EP_FILTER_PID. */
struct ep_filter_entry {
	__u64 start_ns; /* 0: whoever has this pid */
	__u32 bits;
	__u32 pad;
};

/*
 * Value of ep_verdicts, key: process. What its names say, as long as it runs this image. BPF writes
 * it when it first meets a program, and when the kernel renames it.
 */
struct ep_verdict {
	__u64 start_ns;
	__u32 image;
	__u32 bits; /* of EP_FILTER_NAMES, and those below */
};
#define EP_VERDICT_COMM (1u << 29) /* this name was judged */
#define EP_VERDICT_EXE	(1u << 30)
#define EP_VERDICT_TOLD (1u << 31) /* user space has heard of it: it will hear of its end */

/* Key of ep_choices, value: bits. A number of one kind: a thread, a user, a cgroup, a unit's name. */
#define EP_CHOICE(key, number) ((__u64)(key) << 56 | ((number) & ((1ULL << 56) - 1)))

/* So many numbers are compared with before the map is asked. */
#define EP_FILTER_LISTED 4

/*
 * Value of ep_marks (mmapable, one entry): a byte for many a key of ep_choices, and of ep_filter as EP_CHOICE of
 * EP_FILTER_PID. Where it is 0 the maps have none of these keys: a look into a map of thousands of buckets is
 * several cold lines, this is one. It is set before the key is there, and never cleared.
 */
#define EP_MARK_SHIFT 12
struct ep_marks {
	__u8 bytes[1u << EP_MARK_SHIFT];
};

static inline __attribute__((always_inline)) __u32 ep_mark_of(__u64 choice)
{
	return (__u32)((choice * 0x9e3779b97f4a7c15ULL) >> (64 - EP_MARK_SHIFT));
}

/*
 * Value of ep_others (mmapable), key: EP_OTHER_LINE of a process. Each pid has an entry there, which may be another
 * one's: its upper bits say whose. A process that is not wanted, whichever of its threads runs, is known by one look
 * into a line that it shares with its neighbours. Whatever may change that clears the entry.
 */
#define EP_OTHERS_SHIFT 15
#define EP_OTHERS_LINES ((1u << EP_OTHERS_SHIFT) / 32)
struct ep_others_line {
	__u16 entries[32];
};
#define EP_OTHER_LINE(pid)  ((pid) >> 5 & (EP_OTHERS_LINES - 1))
#define EP_OTHER_ENTRY(pid) ((pid)&31)
/* Pids have 22 bits at most: include/linux/threads.h, PID_MAX_LIMIT. */
#define EP_OTHER_NOT_WANTED(pid) ((__u16)(0x8000 | ((pid) >> EP_OTHERS_SHIFT & 0x7f)))
/* It is about to be renamed to a name that may be wanted: judged by each event. */
#define EP_OTHER_UNSURE(pid) ((__u16)(0x4000 | ((pid) >> EP_OTHERS_SHIFT & 0x7f)))

#define EP_GLOB_WORDS  4
#define EP_GLOB_STATES (64 * EP_GLOB_WORDS)

/* Value of ep_globs: all globs of one key. */
struct ep_glob {
	struct {
		__u64 moves[EP_GLOB_WORDS]; /* states that it takes to their next one */
		__u64 stays[EP_GLOB_WORDS]; /* that it leaves as they are; NUL leaves all */
	} bytes[256];
	__u64 first[EP_GLOB_WORDS];
	__u64 in[EP_GLOB_WORDS];  /* ends of globs that were asked for */
	__u64 out[EP_GLOB_WORDS]; /* of those that were excluded */
};

struct ep_glob_state {
	__u64 words[EP_GLOB_WORDS];
};

/* Index in ep_globs. */
enum ep_glob_of {
	EP_GLOB_COMM,
	EP_GLOB_EXE, /* paths are matched from their last byte to their first */
	EP_GLOB_COUNT,
};

/* So many bytes and slashes of an executable's path are looked at; a longer one matches no glob. */
#define EP_EXE_STEPS 192
/* Longest name of one directory or file in bytes: NAME_MAX of limits.h. */
#define EP_EXE_COMPONENT 255

/* Length of a unit's name in words of 8 bytes. Only user space finds units with longer names. */
#define EP_UNIT_WORDS 16

/* 1 or 0, without a branch: each doubles what a verifier has to walk. */
static inline __attribute__((always_inline)) __u32 ep_is_zero(__u64 x)
{
	return 1 - (__u32)((x | -x) >> 63);
}

static inline __attribute__((always_inline)) void
ep_glob_begin(const struct ep_glob *glob, struct ep_glob_state *state)
{
	for (int i = 0; i < EP_GLOB_WORDS; i++)
		state->words[i] = glob->first[i];
}

static inline __attribute__((always_inline)) void
ep_glob_step(const struct ep_glob *glob, struct ep_glob_state *state, __u8 byte)
{
	__u64 carry = 0;

	for (int i = 0; i < EP_GLOB_WORDS; i++) {
		__u64 word = state->words[i];
		__u64 moved = word & glob->bytes[byte].moves[i];

		state->words[i] = moved << 1 | carry | (word & glob->bytes[byte].stays[i]);
		carry = moved >> 63;
	}
}

/* 0, 1: one that was asked for, 2: one that was excluded, 3. Shifted they are a key's two bits. */
static inline __attribute__((always_inline)) __u32
ep_glob_end(const struct ep_glob *glob, const struct ep_glob_state *state)
{
	__u64 in = 0, out = 0;

	for (int i = 0; i < EP_GLOB_WORDS; i++) {
		in |= state->words[i] & glob->in[i];
		out |= state->words[i] & glob->out[i];
	}
	return (1 - ep_is_zero(in)) | (1 - ep_is_zero(out)) << 1;
}

/* Of a name that lies in zeroed words. */
static inline __attribute__((always_inline)) __u64 ep_unit_hash(const __u64 *words)
{
	__u64 hash = 0xcbf29ce484222325ULL;

	for (int i = 0; i < EP_UNIT_WORDS; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	return hash;
}

#endif
