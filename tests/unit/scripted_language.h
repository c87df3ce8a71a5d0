/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A language in one process, whose plugin is a script of answers. Its BPF program is never run, but the cells of its
 * state are BPF's: without privileges a test is a skip. main is in scripted_language.c.
 *
 * Needs --wrap of ep_unwinder_program_load, _frames_per_run, _is_short, _lengthen and _free.
 */
#ifndef EP_TESTS_SCRIPTED_LANGUAGE_H
#define EP_TESTS_SCRIPTED_LANGUAGE_H

#include "core/language/internal.h"
#include "core/trace/frames.h"
#include "tests/kit/test.h"

#include <unistd.h>

#define SLOT 2
#define END  INT32_MAX /* of a script */
#define MAX_ANSWERS 8

struct script {
	/* Results, in turn; the last one before END for ever. Without any: it succeeds. */
	int attach[MAX_ANSWERS], changed[MAX_ANSWERS];
	int load[MAX_ANSWERS], lengthen[MAX_ANSWERS];
	int symbolize[MAX_ANSWERS]; /* without any: as the frame says */
	int says[MAX_ANSWERS]; /* which calls set a state; without any: all but symbolize */
	uint64_t state;	   /* what is set; counted up before that */
	bool stays;	   /* it is not */
	struct ep_target *target;
	int n_attached, n_changed, n_symbolized, n_detached;
	int n_told, n_named, n_read;
	int n_loaded, n_lengthened;
	bool is_short, loads_slowly; /* until there is an attach */
	uint64_t reads_ns; /* so long symbolize reads, or until it cannot */
	bool waits;	   /* between two of its reads, as on a machine where others have the CPUs */
};
extern struct script script;

/*
 * What a frame's first word says of its names: two lines with all there is. Of what begins at LONG_NAMES, more and
 * longer ones than may be, and every other time no word of it when they do not fit.
 */
#define LONG_NAMES 1000
#define SLOW	   1000000 /* it reads first */
#define STAND_IN   900	   /* it says of a name that it is none */
#define KEPT	   901	   /* and up to LONG_NAMES: it reads the word at KEPT_ADDR, where nothing is mapped */
#define KEPT_ADDR  0x1000
#define NAMED	   800	   /* it names what it reads there */
#define HALF_NAMED 801	   /* the same, and fails after that; if nothing is there it says STAND_IN's */

struct script_host {
	uv_loop_t loop;
	struct ep_timer timer;
	pid_t pid;
	struct ep_languages *languages;
	struct ep_claim *claim;
	struct ep_instance *instance;
	struct ep_frames *frames;
};
extern struct script_host host;

/* A process with the script's answers: those that are named differ from all succeeding. */
#define begin(...) begin_of(getpid(), __VA_ARGS__)
#define begin_of(pid, ...) begin_as(pid, &(const struct script){.state = 0, __VA_ARGS__})
void begin_as(pid_t pid, const struct script *answers);
/* What a test does itself that looks at what comes of it. */
void end_host(void);
int end_if_begun(void **state);

/*
 * And waits until it is attached. It is informed once more where the program is loaded after that.
 */
#define begin_attached(...)                                                                        \
	do {                                                                                       \
		begin(__VA_ARGS__);                                                                \
		run_until(&script.n_told, 1);                                                      \
		script.n_told = 1;                                                                 \
	} while (0)

#define HOST_TEST(name) EP_TEST_WITH(name, NULL, end_if_begun)
#define NAMES_TEST(name) EP_TEST_WITH(name, begin_names, end_if_begun)

/* Until a count is reached, and nothing is under way. */
void run_until(const int *count, int wanted);
uint32_t add_frame(uint64_t word);
/* Asks for the name of a frame, and waits for the end of that. The frame's state. */
enum ep_frame_state ask(struct ep_instance *instance, uint32_t id);
/* One job for all that have no names yet. */
void run_names(void);
/* And as many more as it takes: who has spent its share goes on after others, of whom there are none here. */
void name_all(void);
int begin_names(void **state);
const char *text_of(uint32_t string);

#endif
