/* SPDX-License-Identifier: Apache-2.0 */
/* Areas of executables that a test made, or of no file. */
#ifndef TESTS_UNIT_AREAS_H
#define TESTS_UNIT_AREAS_H

#include "core/process/mappings.h"

/* What ep_mappings_insert says; takes a reference of the executable, NULL: anonymous code. */
static inline int insert_area(struct ep_mappings *mappings, struct ep_area area,
			      struct ep_executable *executable)
{
	area.use = executable ? ep_file_use_get(mappings, executable) : NULL;
	return ep_mappings_insert(mappings, area);
}

/* Into what somebody has of his own. */
static inline int put_area(struct ep_sharer *sharer, size_t *total, struct ep_area area,
			   struct ep_executable *executable)
{
	return insert_area(ep_mappings_own(sharer, total), area, executable);
}

/* Of a file that was gone before it was looked at. */
static inline int put_gone_area(struct ep_sharer *sharer, size_t *total, struct ep_area area)
{
	struct ep_mappings *mappings = ep_mappings_own(sharer, total);

	area.use = ep_file_use_get(mappings, NULL);
	return ep_mappings_insert(mappings, area);
}

#endif
