/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/unwinder.h"
#include "core/plugin/description.h"
#include "core/plugin/function_code.h"
#include "core/plugin/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Strings are read in pieces that end at these borders: the next one may be unmapped. */
#define STRING_STEP 256

static const char *file_path(const struct ep_file *file)
{
	return file->path ? file->path : "";
}

static int file_symbol(const struct ep_file *file, const char *name, struct ep_symbol *ret)
{
	return file->ops->symbol(file->arg, name, ret);
}

static int file_symbols(const struct ep_file *file, const char *prefix,
			int (*visit)(void *arg, const char *name, const struct ep_symbol *symbol),
			void *arg)
{
	return file->ops->symbols(file->arg, prefix, visit, arg);
}

static int file_section(const struct ep_file *file, const char *name, struct ep_symbol *ret)
{
	return file->ops->section(file->arg, name, ret);
}

static int file_read(const struct ep_file *file, uint64_t va, void *buf, size_t bytes)
{
	return bytes > EP_MAX_FILE_READ ? -E2BIG : file->ops->read(file->arg, va, buf, bytes);
}

static int file_function(const struct ep_file *file, uint64_t va, struct ep_symbol *ret)
{
	return file->ops->function(file->arg, va, ret);
}

static int file_named(const struct ep_file *file, const char *name, struct ep_symbol *ret)
{
	return file->ops->named ? file->ops->named(file->arg, name, ret) : -ENODATA;
}

static int32_t target_pid(const struct ep_target *target)
{
	return target->pid;
}

static uint64_t target_bias(const struct ep_target *target)
{
	return target->bias;
}

static int target_read(const struct ep_target *target, uint64_t addr, void *buf, size_t bytes)
{
	return target->ops->read(target->arg, addr, buf, bytes);
}

static int target_string(const struct ep_target *target, uint64_t addr, char *buf, size_t size)
{
	size_t at = 0;

	while (at + 1 < size) {
		size_t step = EP_MIN(STRING_STEP - (addr + at) % STRING_STEP, size - 1 - at);
		int r = target->ops->read(target->arg, addr + at, buf + at, step);

		if (r < 0)
			return r;
		if (memchr(buf + at, 0, step))
			return 0;
		at += step;
	}
	buf[at] = '\0';
	return 0;
}

static int target_mappings(const struct ep_target *target,
			   int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			   void *arg)
{
	return target->ops->mappings(target->arg, visit, arg);
}

/* What is asked for is within bounds. */
static int target_file(const struct ep_target *target, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes)
{
	if (!file->name[0] || strchr(file->name, '/') || strcmp(file->name, ".") == 0 || strcmp(file->name, "..") == 0)
		return -EINVAL;
	if (bytes > EP_MAX_FILE_READ)
		return -E2BIG;
	return target->ops->file ? target->ops->file(target->arg, file, off, buf, bytes) : -ENODATA;
}

static int tls_variable(const struct ep_target *target, uint64_t tls_off, struct ep_tls *ret)
{
	return target->ops->tls_variable(target->arg, tls_off, ret);
}

static int tls_key(const struct ep_target *target, uint32_t key, struct ep_tls *ret)
{
	return target->ops->tls_key(target->arg, key, ret);
}

/* An offset from the thread pointer, if it can be one. */
static int path_from_pointer(uint64_t off, struct ep_tls *ret)
{
	int64_t value = (int64_t)off;

	if (value == 0 || value < INT32_MIN || value > INT32_MAX)
		return -ENODATA;
	*ret = (struct ep_tls){.steps = 1, .off = {(int32_t)value}};
	return 0;
}

static int tls_path(const struct ep_target *target, const struct ep_variable *variable,
		    struct ep_tls *ret)
{
	uint64_t addr = target->bias + variable->value, words[2];
	int r;

	switch (variable->kind) {
	case EP_VARIABLE_SEGMENT:
		return tls_variable(target, variable->value, ret);
	case EP_VARIABLE_POINTER:
		return path_from_pointer(variable->value, ret);
	case EP_VARIABLE_WORD:
		r = target_read(target, addr, words, sizeof(words[0]));
		return r < 0 ? r : path_from_pointer(words[0], ret);
	case EP_VARIABLE_PAIR:
		r = target_read(target, addr, words, sizeof(words));
		if (r < 0)
			return r;
		return words[0] ? tls_variable(target, words[1] + variable->add, ret) : -ENODATA;
	default:
		return -ENOTSUP;
	}
}

static int set_state(struct ep_target *target, const void *state, size_t bytes)
{
	return bytes > EP_STATE_BYTES ? -E2BIG : target->ops->set_state(target->arg, state, bytes);
}

static bool is_range(const struct ep_range *range)
{
	if (range->start >= range->end || range->mode > EP_RANGE_ENTER)
		return false;
	if (range->flags == EP_RANGE_ANONYMOUS)
		return range->mode == EP_RANGE_ENTER && range->start == 0 &&
		       range->end == UINT64_MAX;
	return range->flags == 0;
}

static int set_ranges(struct ep_target *target, const struct ep_range *ranges, size_t n)
{
	if (n > EP_MAX_RANGES)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		if (!is_range(&ranges[i]))
			return -EINVAL;
	}
	return target->ops->set_ranges(target->arg, ranges, n);
}

static int add_name(struct ep_names *names, const struct ep_name *name)
{
	return names->add(names->arg, name);
}

static void count(const struct ep_target *target, uint32_t counter, uint64_t n)
{
	target->ops->count(target->arg, counter, n);
}

const struct ep_unwinder_host *ep_unwinder_host_get(void)
{
	static struct ep_unwinder_host host = {
		.size = sizeof(host),
		.file_path = file_path,
		.file_symbol = file_symbol,
		.file_symbols = file_symbols,
		.file_section = file_section,
		.file_read = file_read,
		.file_function = file_function,
		.file_named = file_named,
		.file_parts = ep_function_parts,
		.file_variable = ep_function_variable,
		.file_argument = ep_function_argument,
		.target_pid = target_pid,
		.target_bias = target_bias,
		.target_read = target_read,
		.target_string = target_string,
		.target_mappings = target_mappings,
		.tls_variable = tls_variable,
		.tls_key = tls_key,
		.tls_path = tls_path,
		.set_state = set_state,
		.set_ranges = set_ranges,
		.add_name = add_name,
		.count = count,
		.add_rows = ep_description_add_rows,
		.add_symbol = ep_description_add_symbol,
		.target_file = target_file,
	};

	host.host = ep_host_get_for_languages();
	return &host;
}
