/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The languages that are loaded, what they claim, and the processes they are attached to. A
 * language is a plugin: it has a slot, claims executables and names frames; its unwinder is its BPF
 * program.
 *
 *	language ── probe(executable) ──► claim ── attach(process) ──► instance ──► names
 *
 * A claim is one language's data of one executable, reference counted; an instance is that claim in
 * one process. Calls of one instance never overlap: each is a job on a worker, and what comes
 * meanwhile waits. A language's unwinder is loaded beside the first job that attaches, or before
 * that by ep_claim_load; BPF is informed of processes when it is loaded.
 *
 * Loop's thread only, except for ep_languages_probe and ep_claims_describe.
 */
#ifndef EP_LANGUAGE_LANGUAGES_H
#define EP_LANGUAGE_LANGUAGES_H

#include "core/base/util.h"
#include "core/base/vec.h"
#include "core/trace/program.h"
#include "ebpf-profiler/unwinder.h"

#include <stdio.h>
#include <sys/types.h>

struct ep_bpf;
struct ep_claim;
struct ep_description;
struct ep_elf;
struct ep_languages;
struct ep_timer;
struct uv_loop_s;

#define EP_MAX_CLAIMS EP_MAX_LANGUAGES /* of one executable */

struct ep_languages_options {
	struct uv_loop_s *loop;
	struct ep_timer *timer; /* of the loop; stopped after the languages */
	const struct ep_bpf *bpf;
	const char *plugin_dir;
	/* True for a plugin that may be used; NULL: all that are found. */
	bool (*enabled)(void *arg, const char *name);
	void (*changed)(void *arg, pid_t pid); /* there is something new to publish to BPF */
	void (*named)(void *arg);	       /* some frames got their names */
	/*
	 * The next call lets go of an instance whose program runs on: names of its frames may wait.
	 * NULL: they never do.
	 */
	void (*leaving)(void *arg, struct ep_program program, uint32_t slot);
	size_t *name_jobs; /* under way, also by others: see EP_MAX_NAME_JOBS. NULL: ours alone */
	/* True while native frames still wait for tables: loading a program waits for them. */
	bool (*hurried)(void *arg);
	void *arg;
};

/* Loads every language plugin there is. Those that cannot be loaded are logged. 0, -ENOMEM. */
int ep_languages_new(const struct ep_languages_options *options, struct ep_languages **ret);
/* True when the plugin of this name was loaded. */
bool ep_languages_have(const struct ep_languages *languages, const char *name);
/* From here on `changed` and `named` are not called, and nothing new is begun. */
void ep_languages_stop(struct ep_languages *languages);
void ep_languages_free(struct ep_languages *languages); /* nothing may be busy; accepts NULL */
size_t ep_languages_busy(const struct ep_languages *languages);
/* Attaching for the first time: who waits for whole stacks waits for these. */
size_t ep_languages_attaching(const struct ep_languages *languages);
/*
 * Detaches from processes whose frames wanted no names for so long. BPF goes on walking them; the
 * next name attaches again.
 */
void ep_languages_rest(struct ep_languages *languages, uint64_t now_ns, uint64_t idle_ns);
/*
 * Once a second: bit n is set when names of the language in slot n may wait (names_stay_ms): since
 * its plugin says so, and those of the last seconds that waited were there.
 */
uint32_t ep_languages_patient(struct ep_languages *languages, uint64_t now_ns);
/*
 * Bit n: those of recently started programs may wait, since they are made of what came with the
 * samples (keeps_all), and there is space for more of that.
 */
uint32_t ep_languages_keeping(const struct ep_languages *languages, uint64_t now_ns);
void ep_languages_print_counters(const struct ep_languages *languages, FILE *out);
/* Heap of runtimes in processes, without what plugins hold, and of what names are made of. */
size_t ep_languages_bytes(const struct ep_languages *languages);
size_t ep_languages_bpf_bytes(const struct ep_languages *languages);
/*
 * Nothing is sampled any more, and what has no name yet may cost so much CPU time: see account.h.
 */
void ep_languages_drain(struct ep_languages *languages, uint64_t cpu_ns);

/*
 * Any thread. Asks each language; writes the claims (gives) and returns how many. `root` is where
 * the path begins ("/proc/PID/root"), and the file's debug file is looked for.
 */
size_t ep_languages_probe(struct ep_languages *languages, struct ep_elf *elf, const char *root,
			  const char *path, struct ep_claim *claims[EP_MAX_CLAIMS]);
/*
 * Any thread. Lets those languages that claimed the file say what it does not say of its code; one
 * that cannot is logged. The description is ended then. False: one of them could not. What else is
 * as above.
 */
bool ep_claims_describe(struct ep_claim *const *claims, size_t n, struct ep_elf *elf,
			const char *root, const char *path, struct ep_description *description);
/* False: its file is no runtime; the language describes its code, or knows it as a launcher. */
bool ep_claim_is_runtime(const struct ep_claim *claim);
/* True: whoever maps its file will map a runtime of the language. */
bool ep_claim_is_launcher(const struct ep_claim *claim);
struct ep_claim *ep_claim_ref(struct ep_claim *claim);
void ep_claim_unref(struct ep_claim *claim); /* accepts NULL; both on any thread */
/* Says that a language of this process is not walked, and why; not too often. */
void ep_claim_tell_left_out(struct ep_languages *languages, const struct ep_claim *claim, pid_t pid,
			    const char *why);
/*
 * Begins to load the unwinder of a claim's language, if it was not tried yet: a process that it
 * will be attached to is about to start. ep_languages_attaching counts it until it is done.
 * `waits`: the process waits for that, so that the longer program (ep_languages_lengthen) follows
 * at once, and is counted as well.
 */
void ep_claim_load(const struct ep_claim *claim, bool waits);
/*
 * Twice a second, and urgently when a stack ran out of tail calls: unwinders that were loaded a
 * second ago with few frames a run (core/bpf/unwinder_program.h) are loaded with as many as the
 * verifier takes, on a worker.
 */
void ep_languages_lengthen(struct ep_languages *languages, bool is_urgent);

#endif
