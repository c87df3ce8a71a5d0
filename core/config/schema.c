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

#define FILTER_ROW(key, name, help)                                                                \
	[EP_CONFIG_FILTER_FIRST + EP_FILTER_##key] = {                                             \
		"filter", name, KEY_FILTER, FIELD(filter.values[EP_FILTER_##key]), 0, 0, "", help}

const struct ep_config_spec ep_config_specs[EP_CONFIG_KEY_COUNT] = {
	[EP_CONFIG_SAMPLING_FREQ] = {"sampling", "freq", KEY_INT, FIELD(sampling.freq_hz), 1, 10000,
				     "20", "samples per second on every CPU"},
	FILTER_ROW(PID, "pid", "only these processes and their children"),
	FILTER_ROW(TID, "tid", "only these threads"),
	FILTER_ROW(CGROUP, "cgroup", "only these cgroups (v2), and those below them"),
	FILTER_ROW(CONTAINER, "container", "only containers whose ids begin so"),
	FILTER_ROW(UNIT, "unit", "only these units of systemd"),
	FILTER_ROW(COMM, "comm",
		   "only processes with such names: \"java*\"; \"!bash\": all but that"),
	FILTER_ROW(EXE, "exe", "only processes that run such files: \"/opt/*\""),
	FILTER_ROW(USER, "user", "only what runs with the rights of these users"),
	FILTER_ROW(CPU, "cpu", "only these CPUs: \"0-3,5\""),
	[EP_CONFIG_FILTER_INHERIT] = {"filter", "inherit", KEY_BOOL, FIELD(filter.inherit), 0, 0,
				      "true", "of pid: their children as well"},
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

static int add_string(struct ep_config_strings *list, const char *text)
{
	char **items = reallocarray(list->items, list->len + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	items[list->len] = strdup(text);
	if (!items[list->len])
		return -ENOMEM;
	list->len++;
	return 0;
}

static int add_plugin(struct ep_config_strings *list, const struct ep_config_spec *spec,
		      const char *name, struct ep_config_where where,
		      struct ep_config_problems *problems)
{
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
	return add_string(list, name);
}

static int add_filter_value(struct ep_config_strings *list, const struct ep_config_spec *spec,
			    const char *text, struct ep_config_where where,
			    struct ep_config_problems *problems)
{
	struct ep_filter filter = {0};
	char error[256];

	if (ep_filter_add(&filter, ep_filter_key_by_name(spec->key), spec->key, text, error,
			  sizeof(error)) < 0) {
		ep_config_problem_add(problems, where, "%s", error);
		return -EINVAL;
	}
	return add_string(list, text);
}

static int add_item(struct ep_config_strings *list, const struct ep_config_spec *spec,
		    const char *text, struct ep_config_where where,
		    struct ep_config_problems *problems)
{
	return spec->kind == KEY_FILTER ? add_filter_value(list, spec, text, where, problems)
					: add_plugin(list, spec, text, where, problems);
}

int ep_config_make_filter(struct ep_config_file *config, struct ep_config_problems *problems)
{
	struct ep_filter *filter = &config->filter.all;
	char error[256];

	*filter = (struct ep_filter){.no_inherit = !config->filter.inherit};
	for (size_t key = 0; key < EP_FILTER_KEYS; key++) {
		const struct ep_config_strings *values = &config->filter.values[key];
		const struct ep_config_source *source =
			&config->sources[EP_CONFIG_FILTER_FIRST + key];
		struct ep_config_where where = {source->origin, source->line, source->column};

		for (size_t i = 0; i < values->len; i++) {
			if (ep_filter_add(filter, (enum ep_filter_key)key, ep_filter_keys[key].name,
					  values->items[i], error, sizeof(error)) == 0)
				continue;
			ep_config_problem_add(problems, where, "%s", error);
			return -EINVAL;
		}
	}
	return 0;
}

/* Takes `list` when r is 0, frees it otherwise. */
static int replace_list(void *field, struct ep_config_strings *list, int r)
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
	return replace_list(field, &list, r);
}

/* One value: what a key of the filter takes several of, it divides by itself. */
static int set_filter(void *field, const struct ep_config_spec *spec, const char *text,
		      struct ep_config_where where, struct ep_config_problems *problems)
{
	struct ep_config_strings list = {0};
	int r = text[0] ? add_filter_value(&list, spec, text, where, problems) : 0;

	return replace_list(field, &list, r);
}

typedef int (*set_fn)(void *field, const struct ep_config_spec *spec, const char *text,
		      struct ep_config_where where, struct ep_config_problems *problems);

static const set_fn setters[] = {
	[KEY_INT] = set_int,	   [KEY_BYTES] = set_bytes,	[KEY_BOOL] = set_bool,
	[KEY_DIR] = set_dir,	   [KEY_PLUGINS] = set_plugins, [KEY_LEVEL] = set_level,
	[KEY_FILTER] = set_filter,
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

static int wrong_byte(const struct ep_config_spec *spec, struct ep_config_where where,
		      struct ep_config_problems *problems)
{
	ep_config_problem_add(problems, where, "%s contains a NUL character", spec->key);
	return -EINVAL;
}

static bool is_item(const struct ep_config_spec *spec, const struct ep_toml_node *node)
{
	enum ep_toml_type type = ep_toml_type_of(node);

	return type == EP_TOML_STRING || (type == EP_TOML_INT && spec->kind == KEY_FILTER);
}

static int add_item_node(struct ep_config_strings *list, const struct ep_config_spec *spec,
			 const struct ep_toml_node *node, const char *origin,
			 struct ep_config_problems *problems)
{
	struct ep_toml_where at = ep_toml_where_of(node);
	struct ep_config_where where = {origin, at.line, at.column};
	const char *text;
	char number[32];
	size_t len;

	if (!is_item(spec, node))
		return wrong_type(spec, "an array of strings", node, where, problems);
	if (ep_toml_type_of(node) == EP_TOML_STRING) {
		text = ep_toml_string(node, &len);
		return strlen(text) == len ? add_item(list, spec, text, where, problems)
					   : wrong_byte(spec, where, problems);
	}
	snprintf(number, sizeof(number), "%" PRId64, ep_toml_int(node));
	return add_item(list, spec, number, where, problems);
}

/* An array; of a filter also what would be its only element. */
static int set_list_node(struct ep_config_file *config, const struct ep_config_spec *spec,
			 const struct ep_toml_node *node, struct ep_config_where where,
			 struct ep_config_problems *problems)
{
	struct ep_config_strings list = {0};
	int r = 0;

	if (spec->kind == KEY_FILTER && is_item(spec, node))
		r = add_item_node(&list, spec, node, where.origin, problems);
	else if (ep_toml_type_of(node) != EP_TOML_ARRAY)
		return wrong_type(spec, "an array of strings", node, where, problems);
	for (size_t i = 0; i < ep_toml_len(node) && r == 0; i++)
		r = add_item_node(&list, spec, ep_toml_at(node, i), where.origin, problems);
	r = replace_list(field_of(config, spec), &list, r);
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

	if (spec->kind == KEY_PLUGINS || spec->kind == KEY_FILTER)
		return set_list_node(config, spec, node, where, problems);
	if (type == EP_TOML_STRING && kinds[spec->kind].string) {
		text = ep_toml_string(node, &len);
		if (strlen(text) != len)
			return wrong_byte(spec, where, problems);
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
