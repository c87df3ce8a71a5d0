/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/schema.h"
#include "core/base/parse.h"
#include "core/config/toml.h"
#include "core/config/units.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MIB	      (1ULL << 20)
#define FIELD(member) offsetof(struct ep_config_file, member)

const struct ep_config_spec ep_config_specs[EP_CONFIG_KEY_COUNT] = {
	[EP_CONFIG_SAMPLING_FREQ] = {"sampling", "freq", KEY_INT, FIELD(sampling.freq_hz), 1, 10000,
				     "20", "samples per second on every CPU"},
	[EP_CONFIG_LIMITS_MEMORY] = {"limits", "memory", KEY_BYTES, FIELD(limits.memory_bytes),
				     32 * MIB, 1024 * 1024 * MIB, "64MiB",
				     "heap and BPF memory together; what is not used goes first"},
	[EP_CONFIG_LIMITS_RING] = {"limits", "ring", KEY_BYTES, FIELD(limits.ring_bytes), MIB,
				   256 * MIB, "1MiB",
				   "ring buffer between kernel and profiler; part of memory"},
	[EP_CONFIG_SYMBOLS_NATIVE] = {"symbols", "native", KEY_BOOL, FIELD(symbols.native), 0, 0,
				      "true", "name functions of executables and libraries"},
	[EP_CONFIG_SYMBOLS_KERNEL] = {"symbols", "kernel", KEY_BOOL, FIELD(symbols.kernel), 0, 0,
				      "true", "name functions of the kernel"},
	[EP_CONFIG_PLUGINS_DIR] = {"plugins", "dir", KEY_DIR, FIELD(plugins.dir), 0, 0,
				   EP_PLUGIN_DIR,
				   "where plugins are; root's, writable by no other"},
	[EP_CONFIG_PLUGINS_ENABLE] = {"plugins", "enable", KEY_PLUGINS, FIELD(plugins.enable), 0, 0,
				      "otlp_file,pprof", "exporters to load; no other is opened"},
	[EP_CONFIG_PLUGINS_LANGUAGES] = {"plugins", "languages", KEY_PLUGINS,
					 FIELD(plugins.languages), 0, 0, "all",
					 "language plugins to use; \"all\": each that is found"},
	[EP_CONFIG_SECURITY_CALLS] = {"security", "filter_system_calls", KEY_BOOL,
				      FIELD(security.filter_system_calls), 0, 0, "true",
				      "only the system calls of a list; see ebpf-profiler(1)"},
	[EP_CONFIG_LOG_LEVEL] = {"log", "level", KEY_LEVEL, FIELD(log.level), 0, 0, "info",
				 "error, warn, info or debug"},
};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static void *field_of(const struct ep_config_file *config, const struct ep_config_spec *spec)
{
	return (char *)(uintptr_t)config + spec->off;
}

const struct ep_config_spec *ep_config_spec_find(const char *section, const char *key)
{
	for (size_t i = 0; i < EP_LEN(ep_config_specs); i++)
		if (strcmp(ep_config_specs[i].section, section) == 0 &&
		    strcmp(ep_config_specs[i].key, key) == 0)
			return &ep_config_specs[i];
	return NULL;
}

size_t ep_config_spec_names(const char *section, const char **names, size_t max)
{
	const char *last = "";
	size_t n = 0;

	if (!section && max > 0)
		names[n++] = "exporter";
	for (size_t i = 0; i < EP_LEN(ep_config_specs) && n < max; i++) {
		const struct ep_config_spec *spec = &ep_config_specs[i];

		if (section && strcmp(spec->section, section) == 0)
			names[n++] = spec->key;
		else if (!section && strcmp(spec->section, last) != 0)
			names[n++] = last = spec->section;
	}
	return n;
}

const char *ep_config_hint(const char *suggestion, char *buf, size_t size)
{
	buf[0] = '\0';
	if (suggestion)
		snprintf(buf, size, " (did you mean '%s'?)", suggestion);
	return buf;
}

bool ep_plugin_name_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= EP_PLUGIN_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

void ep_config_strings_fini(struct ep_config_strings *strings)
{
	for (size_t i = 0; i < strings->len; i++)
		free(strings->items[i]);
	free(strings->items);
	*strings = (struct ep_config_strings){0};
}

/* --- one setter a kind: 0, -EINVAL with a problem, -ENOMEM ------------------------------------ */

static int set_int(void *field, const struct ep_config_spec *spec, const char *text,
		   struct ep_config_where where, struct ep_config_problems *problems)
{
	uint64_t value;

	if (ep_parse_u64_str(text, &value) < 0 || value < spec->min || value > spec->max) {
		ep_config_problem_add(problems, where,
				      "%s must be a number from %" PRIu64 " to %" PRIu64
				      ", not '%s'",
				      spec->key, spec->min, spec->max, text);
		return -EINVAL;
	}
	*(uint32_t *)field = (uint32_t)value;
	return 0;
}

static int set_bytes(void *field, const struct ep_config_spec *spec, const char *text,
		     struct ep_config_where where, struct ep_config_problems *problems)
{
	char min[32], max[32];
	uint64_t value;
	int r = ep_parse_bytes(text, &value);

	if (r == -EBADMSG) {
		ep_config_problem_add(problems, where, "%s must be a size like \"64MiB\", not '%s'",
				      spec->key, text);
		return -EINVAL;
	}
	if (r < 0 || value < spec->min || value > spec->max) {
		ep_format_bytes(spec->min, min, sizeof(min));
		ep_format_bytes(spec->max, max, sizeof(max));
		ep_config_problem_add(problems, where, "%s must be from %s to %s, not '%s'",
				      spec->key, min, max, text);
		return -EINVAL;
	}
	*(uint64_t *)field = value;
	return 0;
}

static int set_bool(void *field, const struct ep_config_spec *spec, const char *text,
		    struct ep_config_where where, struct ep_config_problems *problems)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
		ep_config_problem_add(problems, where, "%s must be true or false, not '%s'",
				      spec->key, text);
		return -EINVAL;
	}
	*(bool *)field = text[0] == 't';
	return 0;
}

static int set_dir(void *field, const struct ep_config_spec *spec, const char *text,
		   struct ep_config_where where, struct ep_config_problems *problems)
{
	char *copy;

	if (text[0] != '/') {
		ep_config_problem_add(problems, where, "%s must be an absolute path, not '%s'",
				      spec->key, text);
		return -EINVAL;
	}
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*(char **)field);
	*(char **)field = copy;
	return 0;
}

static int set_level(void *field, const struct ep_config_spec *spec, const char *text,
		     struct ep_config_where where, struct ep_config_problems *problems)
{
	char hint[96];

	if (ep_log_parse_level(text, field) == 0)
		return 0;
	ep_config_hint(ep_suggest(text, level_names, EP_LEN(level_names)), hint, sizeof(hint));
	ep_config_problem_add(problems, where, "%s must be error, warn, info or debug, not '%s'%s",
			      spec->key, text, hint);
	return -EINVAL;
}

static int add_plugin(struct ep_config_strings *list, const struct ep_config_spec *spec,
		      const char *name, struct ep_config_where where,
		      struct ep_config_problems *problems)
{
	char **items, *copy;

	if (!ep_plugin_name_ok(name)) {
		ep_config_problem_add(problems, where,
				      "%s: '%s' is no plugin's name: a-z, 0-9 and _, at most %d",
				      spec->key, name, EP_PLUGIN_NAME_MAX);
		return -EINVAL;
	}
	for (size_t i = 0; i < list->len; i++)
		if (strcmp(list->items[i], name) == 0) {
			ep_config_problem_add(problems, where, "%s: '%s' is there twice", spec->key,
					      name);
			return -EINVAL;
		}
	items = reallocarray(list->items, list->len + 1, sizeof(*items));
	if (!items)
		return -ENOMEM;
	list->items = items;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	items[list->len++] = copy;
	return 0;
}

/* Takes `list` when r is 0, frees it otherwise. */
static int replace_plugins(void *field, struct ep_config_strings *list, int r)
{
	if (r == 0) {
		ep_config_strings_fini(field);
		*(struct ep_config_strings *)field = *list;
		*list = (struct ep_config_strings){0};
	}
	ep_config_strings_fini(list);
	return r;
}

/* "pprof,otlp" */
static int set_plugins(void *field, const struct ep_config_spec *spec, const char *text,
		       struct ep_config_where where, struct ep_config_problems *problems)
{
	struct ep_config_strings list = {0};
	ep_autofree char *copy = strdup(text);
	char *rest = copy, *name;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && text[0] && (name = strsep(&rest, ",")))
		r = add_plugin(&list, spec, name, where, problems);
	return replace_plugins(field, &list, r);
}

typedef int (*set_fn)(void *field, const struct ep_config_spec *spec, const char *text,
		      struct ep_config_where where, struct ep_config_problems *problems);

static const set_fn setters[] = {
	[KEY_INT] = set_int, [KEY_BYTES] = set_bytes,	  [KEY_BOOL] = set_bool,
	[KEY_DIR] = set_dir, [KEY_PLUGINS] = set_plugins, [KEY_LEVEL] = set_level,
};

static int set_source(struct ep_config_file *config, const struct ep_config_spec *spec,
		      struct ep_config_where where)
{
	struct ep_config_source *source = &config->sources[spec - ep_config_specs];
	char *origin = where.origin ? strdup(where.origin) : NULL;

	if (where.origin && !origin)
		return -ENOMEM;
	free(source->origin);
	*source = (struct ep_config_source){origin, where.line, where.column};
	return 0;
}

int ep_config_set_text(struct ep_config_file *config, const struct ep_config_spec *spec,
		       const char *text, struct ep_config_where where,
		       struct ep_config_problems *problems)
{
	int r = setters[spec->kind](field_of(config, spec), spec, text, where, problems);

	return r < 0 ? r : set_source(config, spec, where);
}

/* --- from TOML -------------------------------------------------------------------------------- */

static int wrong_type(const struct ep_config_spec *spec, const char *wanted,
		      const struct ep_toml_node *node, struct ep_config_where where,
		      struct ep_config_problems *problems)
{
	ep_config_problem_add(problems, where, "%s must be %s, not %s", spec->key, wanted,
			      ep_toml_type_name(ep_toml_type_of(node)));
	return -EINVAL;
}

static int set_plugins_node(struct ep_config_file *config, const struct ep_config_spec *spec,
			    const struct ep_toml_node *node, struct ep_config_where where,
			    struct ep_config_problems *problems)
{
	struct ep_config_strings list = {0};
	int r = 0;

	if (ep_toml_type_of(node) != EP_TOML_ARRAY)
		return wrong_type(spec, "an array of strings", node, where, problems);
	for (size_t i = 0; i < ep_toml_len(node) && r == 0; i++) {
		const struct ep_toml_node *item = ep_toml_at(node, i);
		struct ep_toml_where at = ep_toml_where_of(item);
		struct ep_config_where item_where = {where.origin, at.line, at.column};
		size_t len;

		if (ep_toml_type_of(item) != EP_TOML_STRING)
			r = wrong_type(spec, "an array of strings", item, item_where, problems);
		else
			r = add_plugin(&list, spec, ep_toml_string(item, &len), item_where,
				       problems);
	}
	r = replace_plugins(field_of(config, spec), &list, r);
	return r < 0 ? r : set_source(config, spec, where);
}

/* What a value of each kind is called and which TOML types it may be written in. */
static const struct {
	const char *wanted;
	bool string, integer, boolean;
} kinds[] = {
	[KEY_INT] = {"an integer", false, true, false},
	[KEY_BYTES] = {"a size like \"64MiB\"", true, true, false},
	[KEY_BOOL] = {"true or false", false, false, true},
	[KEY_DIR] = {"a string", true, false, false},
	[KEY_LEVEL] = {"a string", true, false, false},
};

int ep_config_set_node(struct ep_config_file *config, const struct ep_config_spec *spec,
		       const struct ep_toml_node *node, struct ep_config_where where,
		       struct ep_config_problems *problems)
{
	enum ep_toml_type type = ep_toml_type_of(node);
	const char *text;
	char number[32];
	size_t len;

	if (spec->kind == KEY_PLUGINS)
		return set_plugins_node(config, spec, node, where, problems);
	if (type == EP_TOML_STRING && kinds[spec->kind].string) {
		text = ep_toml_string(node, &len);
		if (strlen(text) != len) {
			ep_config_problem_add(problems, where, "%s contains a NUL character",
					      spec->key);
			return -EINVAL;
		}
	} else if (type == EP_TOML_INT && kinds[spec->kind].integer) {
		snprintf(number, sizeof(number), "%" PRId64, ep_toml_int(node));
		text = number;
	} else if (type == EP_TOML_BOOL && kinds[spec->kind].boolean) {
		text = ep_toml_bool(node) ? "true" : "false";
	} else {
		return wrong_type(spec, kinds[spec->kind].wanted, node, where, problems);
	}
	return ep_config_set_text(config, spec, text, where, problems);
}
