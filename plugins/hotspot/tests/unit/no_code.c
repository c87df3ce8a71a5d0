/* SPDX-License-Identifier: Apache-2.0 */
/* A VM without fixed code and without names, for tests of what finds processes. */
#include "plugins/hotspot/code/stubs.h"
#include "plugins/hotspot/symbolize/names.h"
#include "tests/kit/fakes.h"

#include <errno.h>
#include <stdlib.h>

struct hotspot_stubs {
	int unused;
};
struct hotspot_names {
	int unused;
};

int hotspot_stubs_read(const struct memory *memory, const struct hotspot_layout *layout,
		       const struct hotspot_named_address *names, size_t n_names,
		       const struct hotspot_stubs *earlier, struct hotspot_stubs **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void hotspot_stubs_free(struct hotspot_stubs *stubs)
{
	free(stubs);
}

const char *hotspot_stubs_name(const struct hotspot_stubs *stubs, uint64_t addr)
{
	return NULL;
}

size_t hotspot_stubs_ranges(const struct hotspot_stubs *stubs, const struct ep_range **ret)
{
	*ret = NULL;
	return 0;
}

int hotspot_names_new(const struct memory *memory, const struct hotspot_layout *layout,
		      struct hotspot_names **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void hotspot_names_free(struct hotspot_names *names)
{
	free(names);
}

int hotspot_names_of(struct hotspot_names *names, const struct hotspot_stubs *stubs,
		     const struct ep_raw_frame *frame,
		     int (*add)(struct ep_names *to, const struct ep_name *name),
		     struct ep_names *to)
{
	return EP_FRAME_GONE;
}

uint64_t hotspot_names_take_approximate(struct hotspot_names *names)
{
	return 0;
}
