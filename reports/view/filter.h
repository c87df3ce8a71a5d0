/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of a profile is looked at: the filters --pid --comm --exe --thread --container --cpu
 * --kind -I -X and the times --from --to, as the choice that the builder takes (core/profile/builder.h).
 *
 * Rules of one key add up, those of different keys must all hold, and one that begins with "!"
 * excludes. All but two decide about samples. A rule about kinds decides about frames: those of
 * other kinds leave their stacks, their time is then their callers', and a stack of which none is
 * left goes. -I and -X look at whole stacks, before frames leave.
 */
#ifndef EP_VIEW_FILTER_H
#define EP_VIEW_FILTER_H

#include "core/profile/builder.h"

#define EP_VIEW_MAX_RULES 1024
#define EP_VIEW_WHY_BYTES 256

struct ep_view_filter;

enum ep_view_key {
	EP_VIEW_PID,	   /* "1234", "!1234", "1,2,3" */
	EP_VIEW_COMM,	   /* of the process, with * ? [..] */
	EP_VIEW_EXE,	   /* the file it runs, with * ? [..]; without a slash its name in any directory */
	EP_VIEW_THREAD,	   /* a thread's id, or its name with * ? [..] */
	EP_VIEW_CONTAINER, /* the beginning of its id; "" is what runs outside of any */
	EP_VIEW_CPU,	   /* "0-3,7" */
	EP_VIEW_KIND,	   /* "kernel", "native", a language's frames */
	EP_VIEW_KEEP, /* -I: a frame of the stack has a name that this regular expression matches */
	EP_VIEW_DROP, /* -X: no frame has */
};

enum ep_view_moment_base {
	EP_VIEW_NO_MOMENT,
	EP_VIEW_FROM_START,  /* ns after the recording's start */
	EP_VIEW_FROM_END,    /* ns before its end */
	EP_VIEW_WALL_CLOCK,  /* ns since 1970 */
	EP_VIEW_TIME_OF_DAY, /* ns since midnight, here: of the recording's first such time */
};

struct ep_view_moment {
	enum ep_view_moment_base base;
	uint64_t ns;
};

/* Half open: start_ns <= t < end_ns. */
struct ep_view_range {
	uint64_t start_ns, end_ns;
};

/* 0 or -ENOMEM. */
int ep_view_filter_new(struct ep_view_filter **ret_filter);
void ep_view_filter_free(struct ep_view_filter *filter); /* accepts NULL */
static inline void ep_view_filter_freep(struct ep_view_filter **filter)
{
	ep_view_filter_free(*filter);
}

/*
 * 0, -E2BIG, -ENOMEM, or -EINVAL with what the value must be in `why`, of EP_VIEW_WHY_BYTES: "takes
 * numbers of CPUs, like 0-3,7, not 'x'".
 */
int ep_view_filter_add(struct ep_view_filter *filter, enum ep_view_key key, const char *value,
		       char *why);
void ep_view_filter_set_from(struct ep_view_filter *filter, struct ep_view_moment moment);
void ep_view_filter_set_to(struct ep_view_filter *filter, struct ep_view_moment moment);

/* Nothing was added: every batch is taken whole. */
bool ep_view_filter_is_empty(const struct ep_view_filter *filter);
bool ep_view_filter_has_times(const struct ep_view_filter *filter);
/* What its times mean depends on the start or the end of the recording. */
bool ep_view_filter_is_relative(const struct ep_view_filter *filter);
/* What the times mean in a recording from start_ns to end_ns; all of time where there are none. */
struct ep_view_range ep_view_filter_range(const struct ep_view_filter *filter, uint64_t start_ns,
					  uint64_t end_ns);

/*
 * Nothing passed: perhaps since a process that --comm names by its file has another name (Node.js 24 is
 * "MainThread"), or since the profile knows no files. True, and in `why` that, and what to do.
 */
bool ep_view_filter_explain(const struct ep_view_filter *filter, const struct ep_batch *batch, char *why);

/*
 * A batch of its own that has what the filter lets through (gives a reference; of an empty filter
 * the batch itself, with one more). Its start and duration are those of the range. 0, -ENOMEM, or
 * -ENODATA with the reason in `why`: times are asked for and the batch has none.
 */
int ep_view_filter_apply(struct ep_view_filter *filter, struct ep_batch *batch,
			 struct ep_batch **ret_batch, char *why);

/*
 * The same within `range` in place of the filter's own times, which somebody has resolved. Samples
 * without times pass. 0 or -ENOMEM.
 */
int ep_view_filter_apply_within(struct ep_view_filter *filter, struct ep_batch *batch,
				struct ep_view_range range, struct ep_batch **ret_batch);

/* Every sample of the batch has its time. */
bool ep_view_has_times(const struct ep_batch *batch);

#endif
