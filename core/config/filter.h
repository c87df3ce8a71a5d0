/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recorded, as a user says it: keys and values. The command line and a section of the
 * configuration are both read by the table of keys that is here; core/agent/filter.h makes of it what
 * BPF goes by.
 *
 * Values of one key add up, different keys must all hold, and a value that begins with '!' excludes.
 */
#ifndef EP_CONFIG_FILTER_H
#define EP_CONFIG_FILTER_H

#include "bpf/filter.h"
#include "core/base/util.h"

#define EP_FILTER_MAX_TERMS 256

struct ep_filter_term {
	enum ep_filter_key key;
	bool is_excluded;
	const char *text; /* without the '!'; borrowed */
	size_t len;	  /* of it: a value may be one of a list */
	uint64_t number, last; /* of a process, thread, user, CPU (to `last`) */
};

struct ep_filter {
	struct ep_filter_term terms[EP_FILTER_MAX_TERMS];
	size_t n_terms;
	bool no_inherit; /* processes by pid without their children */
};

struct ep_filter_key_info {
	const char *name;   /* of the option, and in a file */
	const char *example; /* a value, for errors */
	bool is_list;	     /* a value may be several, with commas between them */
};

/* By enum ep_filter_key. */
extern const struct ep_filter_key_info ep_filter_keys[EP_FILTER_KEYS];

/* The key of a name; EP_FILTER_KEYS: none. */
enum ep_filter_key ep_filter_key_by_name(const char *name);

/*
 * Adds a value, which is borrowed as long as the filter is used. 0, or -EINVAL and one sentence in
 * `error` that names the fix; `option` is how the user spelled the key.
 */
int ep_filter_add(struct ep_filter *filter, enum ep_filter_key key, const char *option,
		  const char *value, char *error, size_t error_bytes);

bool ep_filter_has(const struct ep_filter *filter, enum ep_filter_key key);
/* The same of values that were asked for. */
bool ep_filter_asks(const struct ep_filter *filter, enum ep_filter_key key);
/* Forgets the values of a key that were asked for. */
void ep_filter_drop(struct ep_filter *filter, enum ep_filter_key key);
/* Is any other sample wanted than all of these CPUs? */
bool ep_filter_is_used(const struct ep_filter *filter);
/* True when values of the key are wanted or are all but excluded; for CPUs, pids. */
bool ep_filter_takes_number(const struct ep_filter *filter, enum ep_filter_key key, uint64_t number);
/* Numbers of a key, of which `max` are written. How many there are. */
uint32_t ep_filter_numbers(const struct ep_filter *filter, enum ep_filter_key key, uint32_t *numbers,
			   uint32_t max);
/* Bits of bpf/filter.h that a sample must have, and those that it must not have. */
uint32_t ep_filter_need(const struct ep_filter *filter);
uint32_t ep_filter_never(const struct ep_filter *filter);

/*
 * The globs of EP_FILTER_COMM or EP_FILTER_EXE as an automaton: '*', '?', "[a-z]", "[!a-z]", '\' before
 * any byte that is meant as it is. A '*' passes over slashes too; a path without any is that of
 * its last component. 0, -E2BIG.
 */
int ep_filter_compile(const struct ep_filter *filter, enum ep_filter_key key, struct ep_glob *ret_glob);
/* A bit for each byte that a text may begin with and match one; of NUL when the empty one does. */
void ep_filter_glob_start(const struct ep_glob *glob, uint32_t ret_bytes[8]);
/* The bits of a name or path. Paths as long as EP_EXE_STEPS have none. */
uint32_t ep_filter_match(const struct ep_glob *glob, enum ep_filter_key key, const char *text);

#endif
