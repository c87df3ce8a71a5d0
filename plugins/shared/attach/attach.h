/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What languages do when they attach to a process: read its memory, refuse what does not hold, find
 * the way to a thread's data, look again after growing pauses, and arm a process before its layout
 * is proven. An instance has a struct attach as its first member.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include "ebpf-profiler/unwinder.h"

#include <stdbool.h>

/* What is the same in each process. An `instance` is what struct attach is the first member of. */
struct attach_language {
	const char *plugin; /* "toy" */
	const char *frames; /* "Toy" */
	const char *runtime; /* for attach_arm: "Toy", whose release is in struct attach */
	/* For attach_arm: 0: all holds; EP_NOT_YET: nothing to look at; -ENOTSUP: it does not. */
	int (*prove)(void *instance);
	/* 0: all paths to a thread that there can be are found; or EP_NOT_YET. */
	int (*find_paths)(void *instance);
	int (*set_ranges)(void *instance);
	uint32_t state_off, state_bytes; /* what BPF gets to know, in the instance */
	uint32_t max_doubts;		 /* proofs that fail before a certain release is refused */
};

struct attach {
	const struct attach_language *language;
	const struct ep_unwinder_host *host;
	struct ep_target *target;
	uint64_t bias;		      /* of the file */
	uint64_t looked_ns, pause_ns; /* of attach_may_look */
	bool is_certain;	      /* of a known release */
	uint16_t major, minor;	      /* its release, for attach_refuse_release */
	const char *variant;	      /* " (debug)"; NULL: the usual one */
	bool armed;		      /* BPF has state and ranges */
	bool complete;		      /* nothing is left to find out */
	uint32_t asides, doubts;
};

/* An instance of so many bytes, zeroed after its struct attach; NULL: no memory. */
void *attach_new(size_t bytes, const struct attach_language *language,
		 const struct ep_unwinder_host *host, struct ep_target *target);
/* The end of attach: 0 gives the instance, what failed goes by detach. The result is passed on. */
int attach_give(int result, void *instance, void (*detach)(void *instance), void **ret_instance);

/* Target address of what has this address in the file; 0 stays 0: the file does not have it. */
uint64_t attach_addr(const struct attach *process, uint64_t va);
/* As target_read. For those who know a process by a function and its argument. */
int attach_read(void *process, uint64_t addr, void *buf, size_t bytes);
/* Eight bytes; 0 where they cannot be read. */
uint64_t attach_word(const struct attach *process, uint64_t addr);
/* Marks a file's code that runs the language. These are all ranges, and `more`, of which there are
 * n_more. */
int attach_mark(const struct attach *process, const struct ep_symbol *code, uint32_t n,
		const struct ep_range *more, uint32_t n_more);

/*
 * True where the process has executable memory that no file backs, other than the kernel's own: a
 * JIT may have put code there. Reads the mappings, so ask only until it is true.
 */
bool attach_has_anonymous_code(const struct attach *process);

/*
 * The one warning of a process whose values do not hold: "toy: pid 7: WHAT not as expected (why):
 * its Toy frames are missing, native ones stay". why: may be NULL. -ENOTSUP.
 */
int attach_refuse(const struct attach *process, const char *why, const char *what, ...)
	__attribute__((format(printf, 3, 4)));

/* The same of a release: "the structures of Toy 3.1 (debug) are not as expected". */
int attach_refuse_release(const struct attach *process);

/* The path by a pthread key, whose number, an int, is at va in the file. -ENODATA: there is none
 * yet. */
int attach_key(const struct attach *process, uint64_t va, struct ep_tls *ret);
/*
 * Where *tls is not found yet: by the key at key_va (0: none), else by the variable (NULL, kind 0:
 * none). The key is first: to find where a variable is takes all relocations of the file for each
 * process, and BPF one read more.
 */
int attach_thread(const struct attach *process, uint64_t key_va, const struct ep_variable *variable,
		  struct ep_tls *tls);

/* For what comes later: 50 ms after the first call, then four times as long, up to a minute. */
#define ATTACH_FIRST_PAUSE_NS 50000000ull
bool attach_may_look(struct attach *process);
/*
 * The process runs meanwhile: one look that fails proves nothing. Up to n looks, 2 ms apart, while
 * they say -ENOTSUP.
 */
int attach_look(int (*look)(void *instance), void *instance, uint32_t n);

/*
 * Armed now, proven later: many a process is shorter than a proof, and BPF checks what it reads. A
 * process of a certain release is armed at once by what the file tells, and proven when there is
 * something to look at: by refresh, and aside, when names are asked for. Another library may be
 * there by then, so what does not hold aside proves nothing. attach_arm is for attach and refresh;
 * it gives EP_NOT_YET where a process is not complete, which is 0 for an attach that has armed it:
 * its samples and its mappings ask for the rest.
 */
int attach_arm(void *instance);
void attach_prove_aside(void *instance);
/* The same for refresh: a process that has gone is still attached, what is remembered of it names
 * frames. */
int attach_refresh(void *instance);

#endif
