/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text parsers of core/proc: maps, stat, cgroup, mountinfo and subuid, all over the same bytes. What they
 * promise is checked: order and bounds of mappings, terminated strings.
 */
#include "core/proc/cgroups.h"
#include "core/proc/container.h"
#include "core/proc/devices.h"
#include "core/proc/maps.h"
#include "core/proc/process.h"
#include "core/proc/subuids.h"
#include "tests/kit/fuzz.h"

static void check_maps(const struct ep_maps *maps)
{
	const struct ep_mapping *m, *last = NULL;

	assert(maps->mappings.len + maps->dropped <= maps->seen);
	ep_vec_each (&maps->mappings, m) {
		assert(m->start < m->end && (!last || last->end <= m->start));
		assert(m->path[m->path_bytes] == '\0');
		assert(ep_maps_find(maps, m->start) == m && ep_maps_find(maps, m->end - 1) == m);
		last = m;
	}
}

static void try_maps(const char *text, size_t size, enum ep_maps_filter filter)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;

	ep_maps_init(&maps, 8);
	assert(ep_maps_parse(&maps, text, size, filter) == 0);
	check_maps(&maps);
}

static void try_subuids(const char *text, size_t size)
{
	ep_cleanup(ep_subuids_fini) struct ep_subuids subuids = {0};
	const struct ep_subuid_block *block;

	assert(ep_subuids_parse(text, size, &subuids) == 0);
	ep_vec_each (&subuids.blocks, block) {
		assert(block->first > 0 && block->n > 0 && block->owner > 0);
		assert(ep_subuids_owner(&subuids, block->first) > 0 || block->is_roots);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct ep_process_info info;
	char id[EP_CONTAINER_ID_BYTES], mount[EP_CGROUP_PATH_BYTES];
	struct ep_mount mounted;

	if (ep_cgroup_parse_mount(text, size, mount) == 0)
		assert(*mount == '/' && strnlen(mount, sizeof(mount)) < sizeof(mount));
	if (ep_mount_parse(text, size, &mounted) == 0)
		assert(mounted.type >= text && mounted.type_bytes > 0 &&
		       mounted.type + mounted.type_bytes <= text + size && mounted.point < mounted.type);
	try_subuids(text, size);
	try_maps(text, size, EP_MAPS_ALL);
	try_maps(text, size, EP_MAPS_EXECUTABLE);
	if (ep_process_parse_stat(text, size, &info) == 0)
		assert(info.pid > 0 && strnlen(info.comm, sizeof(info.comm)) < sizeof(info.comm));
	ep_container_parse_id(text, size, id);
	if (ep_cgroup_parse_path(text, size, mount) < 0)
		assert(mount[0] == '\0');
	assert(strnlen(mount, sizeof(mount)) < sizeof(mount));
	assert(strnlen(id, sizeof(id)) < sizeof(id));
	return 0;
}
