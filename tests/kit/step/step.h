/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single-steps a thread, and compares what a language says of the caller at each instruction with
 * what the executed instructions say: the shadow stack, which is the language's. Most languages
 * walk with the plugin's own program (core/replay).
 *
 *	run.c		options, the loop: the thread runs freely, then a stretch is stepped
 *	tracee.c	the thread: stopped, stepped, run to an address
 *	walk.c		the walk
 *	tally.c		right and wrong, by the kind of code
 *	steps.py	starts the program that is stepped, and prints each run's outcome
 *
 * A language brings a struct step_language, and `return step_main(argc, argv, &run.steps);`.
 */
#ifndef EP_KIT_STEP_H
#define EP_KIT_STEP_H

#include "core/base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define STEP_CODE_BYTES 16 /* an x86 instruction has at most 15 */

/* --- tracee.c */

struct tracee {
	pid_t pid, tid;
	int signal; /* that it gets when it goes on */
	uint64_t also[2]; /* where tracee_run_to() ends, too; 0: nowhere */
	struct user_regs_struct regs;
};

int tracee_seize(const struct tracee *tracee);
/* 0; -ESRCH: it has ended; -ETIMEDOUT: it did not stop in some seconds. SIGALRM must have a
 * handler. */
int tracee_stop(struct tracee *tracee);
int tracee_continue(struct tracee *tracee, unsigned int microseconds);
/* One instruction, or the first of a signal's handler. A signal is kept for the next step: 1. */
int tracee_step(struct tracee *tracee);
/*
 * Until pc is `addr` with this sp: 0. 1: it is at `away`, and sp is above: it went past that; 0 for
 * none. 2: it is at one of `also`. -ETIMEDOUT: it was stopped elsewhere.
 */
int tracee_run_to(struct tracee *tracee, uint64_t addr, uint64_t sp, uint64_t away,
		  unsigned int milliseconds);
void tracee_end(struct tracee *tracee);
uint64_t tracee_word(const struct tracee *tracee, uint64_t addr); /* 0: cannot be read */
/* STEP_CODE_BYTES at pc; zeroes: cannot be read. */
void tracee_code(const struct tracee *tracee, uint8_t *ret_code);

/* --- walk.c */

struct ep_record;
struct ep_sample;
struct walker;

/* Is asked before each piece of memory that a walk reads: true: it cannot be read. */
typedef bool (*walker_deny)(void *arg, const struct walker *walker, size_t bytes);

/* plugins: the directory of the language's plugin. `deny` may be NULL. */
int walker_new(pid_t pid, const char *plugins, walker_deny deny, void *arg,
	       struct walker **ret_walker);
void walker_free(struct walker *walker);
/* Its words come after it; it is the walker's, and holds until the next walk. */
int walker_walk(struct walker *walker, const struct tracee *tracee,
		const struct ep_sample **ret_sample);
/* What the walk has asked for: mappings have changed. */
int walker_refresh(struct walker *walker, const struct ep_sample *sample);
/* BPF's record of the walk that is under way, or was. */
const struct ep_record *walker_record(const struct walker *walker);
/* Where in memory a native frame's executable has this address; 0: nowhere. */
uint64_t walker_native_pc(const struct walker *walker, uint32_t id, uint64_t va);

/* --- tally.c */

enum step_verdict {
	STEP_RIGHT,
	STEP_WRONG,
	STEP_UNSURE_RIGHT, /* the same, but the shadow stack may be wrong: not judged */
	STEP_UNSURE_WRONG,
	STEP_UNKNOWN, /* called before the stretch began */
	STEP_VERDICTS,
};

#define TALLY_CLASSES 512

struct tally {
	struct tally_class {
		char name[96]; /* of a kind of code */
		bool is_counted;
		size_t verdicts[STEP_VERDICTS];
		unsigned int shown; /* examples, */
		uint64_t last;	    /* and the pc of the last one */
	} classes[TALLY_CLASSES];
	size_t n;
	unsigned int examples; /* that are shown of each class */
};

/* The bar is for classes that are counted. True: an example of what is not right is to be printed.
 */
bool tally_add(struct tally *tally, const char *name, bool is_counted, enum step_verdict verdict,
	       uint64_t pc);
/* Percent right of what is counted and judged. */
double tally_print(struct tally *tally, size_t *ret_judged);
/* In hexadecimal digits, and a new line. `before`: how many stand before pc. */
void tally_print_code(const uint8_t *code, size_t before, size_t bytes);

/* --- run.c */

struct stepping;

struct step_language {
	const char *name, *usage; /* of the program; of its own options */
	const char *letters;	  /* of these, as getopt has them */
	bool (*option)(struct stepping *run, int letter, const char *value); /* false: wrong */
	int (*start)(struct stepping *run); /* before the thread is seized */
	/* Does a stretch begin here? NULL: wherever it is. */
	bool (*is_code)(struct stepping *run, uint64_t pc);
	int (*stretch)(struct stepping *run); /* a positive value is no failure */
	bool (*is_over)(const struct stepping *run); /* NULL: when enough is counted, only */
	void (*judge)(struct stepping *run); /* adds the samples to the tally. NULL: done */
	void (*finish)(struct stepping *run);
	size_t sample_bytes;   /* of what stepping_add() adds, for judge() */
	unsigned int pause_us; /* between two stretches, at most */
	unsigned int fewest;   /* percent of those asked for, that are judged at least */
};

/* One run: the first member of a language's own. Its options have defaults before step_main(). */
struct stepping {
	const struct step_language *language;
	const char *plugins;
	size_t judged;	      /* instructions that are asked for */
	unsigned int stretch; /* instructions in one */
	double percent;	      /* of them are right, at least */
	struct tracee tracee;
	size_t counted; /* instructions whose caller is known, so far */
	bool is_too_few; /* says its judge: too few of what the run is for */
	struct ep_vec samples; /* of the language's own struct */
	struct tally tally;
};

static inline int stepping_add(struct stepping *run, const void *sample)
{
	return ep_vec_append(&run->samples, sample, 1);
}

/*
 * NAME -p PID [-t TID] -P PLUGINS [-n JUDGED] [-s STRETCH] [-e EXAMPLES] [-b PERCENT] [OWN OPTIONS]
 *
 * Status: 0 enough are right, 1 not, 2 it could not be done, 3 too few were judged.
 */
int step_main(int argc, char **argv, struct stepping *run);

#endif
