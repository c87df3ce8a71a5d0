/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/kinds.h"
#include "ebpf-profiler/bpf/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_ERRORS (EP_ERROR_LAST_DYNAMIC + 1 - EP_ERROR_FIRST_DYNAMIC)

_Static_assert((int)EP_ERROR_COUNT <= EP_ERROR_FIRST_DYNAMIC, "errors of languages come behind");

/* Earned: see the header. Fixed arrays, so that adding cannot fail half-way. */
static struct {
	char names[EP_SLOT_COUNT][EP_KIND_MAX_NAME]; /* "": free */
	char types[EP_SLOT_COUNT][EP_KIND_MAX_NAME]; /* "": as the name */
	uint32_t n_errors;
	uint8_t slots[MAX_ERRORS];
	char texts[MAX_ERRORS][EP_KIND_MAX_TEXT];
} registry;

static const char *const error_texts[EP_ERROR_COUNT] = {
#define EP_ERROR(name, text) [EP_ERROR_##name] = text,
#include "ebpf-profiler/errors.def"
#undef EP_ERROR
};

static uint32_t count_errors(const char *const *errors)
{
	uint32_t n = 0;

	while (errors && errors[n] && n <= MAX_ERRORS)
		n++;
	return n;
}

uint32_t ep_kind_find_slot(const char *name)
{
	uint32_t free_slot = EP_SLOT_COUNT;

	for (uint32_t slot = EP_SLOT_COUNT; slot-- > EP_SLOT_FIRST_DYNAMIC;) {
		if (strcmp(registry.names[slot], name) == 0)
			return slot;
		if (!registry.names[slot][0])
			free_slot = slot;
	}
	return free_slot;
}

/* One that was added before has its numbers already. */
static int find_again(uint32_t slot, const char *name, uint32_t n_errors, uint32_t *ret_first_error)
{
	uint32_t first = 0, n = 0;

	for (uint32_t i = registry.n_errors; i-- > 0;) {
		if (registry.slots[i] != slot)
			continue;
		first = i;
		n++;
	}
	if (strcmp(registry.names[slot], name) != 0 || n != n_errors)
		return -EEXIST;
	*ret_first_error = EP_ERROR_FIRST_DYNAMIC + first;
	return 0;
}

int ep_kind_add(uint32_t slot, const char *name, const char *const *errors,
		uint32_t *ret_first_error)
{
	uint32_t n = count_errors(errors), first = registry.n_errors;

	if (slot < EP_SLOT_FIRST_DYNAMIC || slot >= EP_SLOT_COUNT || !name || !name[0])
		return -EINVAL;
	if (registry.names[slot][0])
		return find_again(slot, name, n, ret_first_error);
	if (n > MAX_ERRORS - first)
		return -E2BIG;
	snprintf(registry.names[slot], sizeof(registry.names[slot]), "%s", name);
	for (uint32_t i = 0; i < n; i++) {
		registry.slots[first + i] = (uint8_t)slot;
		snprintf(registry.texts[first + i], sizeof(registry.texts[first + i]), "%.*s: %s",
			 EP_KIND_MAX_NAME - 1, name, errors[i]);
	}
	registry.n_errors = first + n;
	*ret_first_error = EP_ERROR_FIRST_DYNAMIC + first;
	return 0;
}

void ep_kind_set_frame_type(uint32_t slot, const char *type)
{
	if (slot < EP_SLOT_COUNT && type)
		snprintf(registry.types[slot], sizeof(registry.types[slot]), "%s", type);
}

void ep_kind_clear(void)
{
	memset(&registry, 0, sizeof(registry));
}

const char *ep_kind_name(uint32_t kind)
{
	uint32_t slot = kind - EP_FRAME_FIRST_DYNAMIC;

	if (kind < EP_FRAME_FIRST_DYNAMIC || slot >= EP_SLOT_COUNT || !registry.names[slot][0])
		return NULL;
	return registry.names[slot];
}

const char *ep_kind_frame_type(uint32_t kind)
{
	const char *name = ep_kind_name(kind);

	if (name && registry.types[kind - EP_FRAME_FIRST_DYNAMIC][0])
		return registry.types[kind - EP_FRAME_FIRST_DYNAMIC];
	return name;
}

static bool is_of_language(uint32_t error)
{
	return error >= EP_ERROR_FIRST_DYNAMIC &&
	       error - EP_ERROR_FIRST_DYNAMIC < registry.n_errors;
}

const char *ep_error_text(uint32_t error)
{
	if (is_of_language(error))
		return registry.texts[error - EP_ERROR_FIRST_DYNAMIC];
	return error < EP_ERROR_COUNT ? error_texts[error] : NULL;
}

const char *ep_task_text(uint32_t state)
{
	static const char *const texts[] = {
		[EP_TASK_EXEC] = "[exec]", [EP_TASK_EXIT] = "[exit]", [EP_TASK_GUEST] = "[guest]"};

	return state < EP_LEN(texts) ? texts[state] : NULL;
}

uint32_t ep_error_slot(uint32_t error)
{
	return is_of_language(error) ? registry.slots[error - EP_ERROR_FIRST_DYNAMIC] : 0;
}
