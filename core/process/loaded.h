/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where executables are loaded in a process: of several areas at one bias, and of copies of code,
 * one.
 */
#ifndef EP_PROCESS_LOADED_H
#define EP_PROCESS_LOADED_H

#include "core/process/mappings.h"
#include "ebpf-profiler/unwinder.h"

#define EP_MAX_LOADED (2 * EP_MAX_LANGUAGES)

/* An executable, where it is loaded: its first area there. */
struct ep_loaded {
	struct ep_executable *executable;
	uint64_t bias, addr;
};

/*
 * Of areas (struct ep_area) those that are wanted; how many. Several at one bias are one, a copy of
 * code is none.
 */
size_t ep_areas_find_loaded(const struct ep_vec *areas,
			    bool (*is_wanted)(const struct ep_executable *executable),
			    struct ep_loaded loaded[EP_MAX_LOADED]);
/*
 * True when it is a smaller part of another area of its executable, elsewhere: a runtime may map
 * code of its file once more, near to what it generates. Where that is says nothing of where the
 * file is loaded.
 */
bool ep_area_is_part(const struct ep_area *part, const struct ep_area *whole);

#endif
