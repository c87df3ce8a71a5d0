/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/config.h"
#include "core/base/elevated.h"
#include "core/base/parse.h"
#include "core/config/schema.h"
#include "core/config/toml.h"
#include "core/config/units.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define ENV_PREFIX    "EBPF_PROFILER_"
#define MAX_NAMES     32
#define MAX_EXPORTERS 16

struct parse {
	struct ep_config_file *config;
	struct ep_config_problems *problems;
	const char *section;
};

struct ep_config_file *ep_config_ref(struct ep_config_file *config)
{
	config->refs++;
	return config;
}

void ep_config_free(struct ep_config_file *config)
{
	struct ep_config_exporter *exporter;

	if (!config || config->refs-- > 0)
		return;
	ep_vec_each (&config->exporters, exporter) {
		ep_config_exporter_fini(exporter);
	}
	ep_vec_fini(&config->exporters);
	for (size_t i = 0; i < EP_FILTER_KEYS; i++)
		ep_config_strings_fini(&config->filter.values[i]);
	ep_config_strings_fini(&config->plugins.enable);
	ep_config_strings_fini(&config->plugins.languages);
	for (size_t i = 0; i < EP_LEN(config->sources); i++)
		free(config->sources[i].origin);
	free(config->plugins.dir);
	free(config->path);
	free(config);
}

static int set_defaults(struct ep_config_file *config, struct ep_config_problems *problems)
{
	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT; i++) {
		const struct ep_config_spec *spec = &ep_config_specs[i];
		struct ep_config_where none = {NULL, 0, 0};
		int r = ep_config_set_text(config, spec, spec->fallback, none, problems);

		if (r < 0)
			return r;
	}
	return 0;
}

static int config_new(const char *name, struct ep_config_problems *problems,
		      struct ep_config_file **ret_config)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = calloc(1, sizeof(*config));
	int r;

	if (!config)
		return -ENOMEM;
	ep_vec_init(&config->exporters, sizeof(struct ep_config_exporter), MAX_EXPORTERS);
	config->path = name ? strdup(name) : NULL;
	if (name && !config->path)
		return -ENOMEM;
	r = set_defaults(config, problems);
	if (r < 0)
		return r;
	*ret_config = ep_take(config);
	return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

/* The section that has a key of this name, for those who put it into another. */
static const char *find_section(const char *key)
{
	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT; i++)
		if (strcmp(ep_config_specs[i].key, key) == 0)
			return ep_config_specs[i].section;
	return NULL;
}

static void add_unknown_key(const struct parse *parse, const char *key,
			    struct ep_config_where where)
{
	const char *names[MAX_NAMES], *home = find_section(key);
	size_t n = ep_config_spec_names(parse->section, names, EP_LEN(names));
	char hint[96];

	ep_config_hint(ep_suggest(key, names, n), hint, sizeof(hint));
	if (home)
		snprintf(hint, sizeof(hint), " (it belongs to [%s])", home);
	if (parse->section)
		ep_config_problem_add(parse->problems, where, "unknown key '%s' in [%s]%s", key,
				      parse->section, hint);
	else
		ep_config_problem_add(parse->problems, where, "unknown %s '%s'%s",
				      home ? "key" : "section", key, hint);
}

/* Mistakes are noted and the walk goes on; only -ENOMEM ends it. */
static int visit_key(void *arg, const char *key, struct ep_toml_where key_where,
		     const struct ep_toml_node *value)
{
	const struct parse *parse = arg;
	const struct ep_config_spec *spec = ep_config_spec_find(parse->section, key);
	struct ep_toml_where at = ep_toml_where_of(value);
	struct ep_config_where where = {parse->config->path, at.line, at.column};
	int r;

	if (!spec) {
		where.line = key_where.line;
		where.column = key_where.column;
		add_unknown_key(parse, key, where);
		return 0;
	}
	r = ep_config_set_node(parse->config, spec, value, where, parse->problems);
	return r == -ENOMEM ? r : 0;
}

static bool is_section(const char *name)
{
	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT; i++)
		if (strcmp(ep_config_specs[i].section, name) == 0)
			return true;
	return false;
}

static int visit_section(void *arg, const char *key, struct ep_toml_where key_where,
			 const struct ep_toml_node *value)
{
	struct parse *parse = arg;
	struct parse inner = {parse->config, parse->problems, key};
	struct ep_config_where where = {parse->config->path, key_where.line, key_where.column};
	int r;

	if (strcmp(key, "exporter") == 0) {
		r = ep_config_parse_exporters(parse->config, value, where, parse->problems);
		return r == -ENOMEM ? r : 0;
	}
	if (!is_section(key)) {
		add_unknown_key(parse, key, where);
		return 0;
	}
	if (ep_toml_type_of(value) != EP_TOML_TABLE) {
		ep_config_problem_add(parse->problems, where, "%s is a section: write [%s]", key,
				      key);
		return 0;
	}
	return ep_toml_each(value, visit_key, &inner);
}

static int parse_file(struct ep_config_file *config, const char *text, size_t len,
		      struct ep_config_problems *problems)
{
	ep_cleanup(ep_toml_freep) struct ep_toml *doc = NULL;
	struct parse parse = {config, problems, NULL};
	struct ep_config_where where = {config->path, 0, 0};
	struct ep_toml_error error = {0};
	int r = ep_toml_parse(text, len, &doc, &error);

	if (r == -E2BIG) {
		ep_config_problem_add(problems, where, "longer than %d bytes", EP_TOML_MAX_BYTES);
		return -EINVAL;
	}
	if (r == -EBADMSG) {
		where.line = error.where.line;
		where.column = error.where.column;
		ep_config_problem_add(problems, where, "%s", error.message);
		return -EINVAL;
	}
	return r < 0 ? r : ep_toml_each(ep_toml_root(doc), visit_section, &parse);
}

/* --- the environment -------------------------------------------------------------------------- */

/* EBPF_PROFILER_SAMPLING_FREQ. False when it does not fit. */
static bool env_name(const struct ep_config_spec *spec, char *buf, size_t size)
{
	int n = snprintf(buf, size, ENV_PREFIX "%s_%s", spec->section, spec->key);

	for (char *p = buf; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return n > 0 && (size_t)n < size;
}

/* Kubernetes sets EBPF_PROFILER_PORT and the like for a service of our name: those are not ours. */
static bool is_ours(const char *name)
{
	char prefix[64];

	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT; i++) {
		if (!env_name(&ep_config_specs[i], prefix, sizeof(prefix)))
			continue;
		*strchr(prefix + strlen(ENV_PREFIX), '_') = '\0';
		if (strncmp(name, prefix, strlen(prefix)) == 0 && name[strlen(prefix)] == '_')
			return true;
	}
	return false;
}

static void add_unknown_variable(const char *name, struct ep_config_problems *problems)
{
	struct ep_config_where where = {name, 0, 0};
	char all[EP_CONFIG_KEY_COUNT][64], hint[96];
	const char *names[EP_CONFIG_KEY_COUNT];

	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT; i++) {
		env_name(&ep_config_specs[i], all[i], sizeof(all[i]));
		names[i] = all[i];
	}
	ep_config_hint(ep_suggest(name, names, EP_CONFIG_KEY_COUNT), hint, sizeof(hint));
	ep_config_problem_add(problems, where, "unknown variable%s", hint);
}

static int set_variable(struct ep_config_file *config, const char *name, const char *value,
			struct ep_config_problems *problems)
{
	struct ep_config_where where = {name, 0, 0};
	char known[64];
	int r;

	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT; i++) {
		env_name(&ep_config_specs[i], known, sizeof(known));
		if (strcmp(known, name) != 0)
			continue;
		r = ep_config_set_text(config, &ep_config_specs[i], value, where, problems);
		return r == -ENOMEM ? r : 0;
	}
	if (is_ours(name))
		add_unknown_variable(name, problems);
	return 0;
}

static int read_env(struct ep_config_file *config, char *const *env,
		    struct ep_config_problems *problems)
{
	for (; env && *env; env++) {
		const char *equals = strchr(*env, '=');
		ep_autofree char *name = NULL;
		int r;

		if (!equals || strncmp(*env, ENV_PREFIX, strlen(ENV_PREFIX)) != 0)
			continue;
		name = strndup(*env, (size_t)(equals - *env));
		if (!name)
			return -ENOMEM;
		r = set_variable(config, name, equals + 1, problems);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- all of it -------------------------------------------------------------------------------- */

static struct ep_config_where where_of(const struct ep_config_file *config, enum ep_config_key key)
{
	const struct ep_config_source *source = &config->sources[key];

	if (!source->origin)
		return (struct ep_config_where){config->path ? config->path : "defaults", 0, 0};
	return (struct ep_config_where){source->origin, source->line, source->column};
}

/* What no key shows by itself. */
static void check_together(struct ep_config_file *config, struct ep_config_problems *problems)
{
	enum ep_config_key key = config->sources[EP_CONFIG_LIMITS_RING].origin
					 ? EP_CONFIG_LIMITS_RING
					 : EP_CONFIG_LIMITS_MEMORY;
	char ring[32], memory[32];

	if (config->limits.ring_bytes > config->limits.memory_bytes / 2) {
		ep_format_bytes(config->limits.ring_bytes, ring, sizeof(ring));
		ep_format_bytes(config->limits.memory_bytes, memory, sizeof(memory));
		ep_config_problem_add(problems, where_of(config, key),
				      "ring (%s) is more than half of memory (%s), "
				      "of which it is a part",
				      ring, memory);
	}
	ep_config_check_enabled(config, problems);
	(void)ep_config_make_filter(config, problems);
}

/* 0; 1 where there are problems; then what could be read is given as well. */
static int parse_all(const char *name, const char *text, size_t len, char *const *env,
		     struct ep_config_problems *problems, struct ep_config_file **ret_config)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = NULL;
	size_t before = ep_config_problems_count(problems);
	int r = config_new(name, problems, &config);

	if (r == 0 && name)
		r = parse_file(config, text, len, problems);
	if (r == 0)
		r = read_env(config, env, problems);
	if (r < 0)
		return r;
	check_together(config, problems);
	*ret_config = ep_take(config);
	return ep_config_problems_count(problems) > before;
}

int ep_config_parse(const char *name, const char *text, size_t len, char *const *env,
		    struct ep_config_problems *problems, struct ep_config_file **ret_config)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = NULL;
	int r = parse_all(name, text, len, env, problems, &config);

	if (r == 0)
		*ret_config = ep_take(config);
	return r > 0 ? -EINVAL : r;
}

static int read_config(const char *path, struct ep_vec *bytes, struct ep_config_problems *problems)
{
	struct ep_config_where where = {path, 0, 0};
	ep_autoclose int fd = ep_open_as_caller(path, 0);
	int r = fd < 0 ? fd : ep_read_fd(fd, bytes);

	if (r == -ENOMEM || r == 0)
		return r;
	if (r == -E2BIG)
		ep_config_problem_add(problems, where, "longer than %d bytes", EP_TOML_MAX_BYTES);
	else
		ep_config_problem_add(problems, where, "cannot be read: %s", ep_strerror(r));
	return -EINVAL;
}

int ep_config_inspect(const char *path, char *const *env, struct ep_config_problems *problems,
		      struct ep_config_file **ret_config)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct ep_config_where where = {path, 0, 0};
	int r;

	ep_vec_init(&bytes, 1, EP_TOML_MAX_BYTES + 2);
	if (path) {
		r = read_config(path, &bytes, problems);
		if (r < 0)
			return r;
	}
	r = parse_all(path, bytes.data, bytes.len, env, problems, ret_config);
	if (r == 0 && path && (*ret_config)->exporters.len == 0) {
		ep_config_problem_add(problems, where,
				      "no [[exporter]]: what is sampled would go nowhere");
		r = 1;
	}
	return r;
}

int ep_config_load(const char *path, char *const *env, struct ep_config_problems *problems,
		   struct ep_config_file **ret_config)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = NULL;
	int r = ep_config_inspect(path, env, problems, &config);

	if (r == 0)
		*ret_config = ep_take(config);
	return r > 0 ? -EINVAL : r;
}

int ep_config_set(struct ep_config_file *config, const char *key, const char *text,
		  const char *origin, struct ep_config_problems *problems)
{
	struct ep_config_where where = {origin, 0, 0};

	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT; i++) {
		const struct ep_config_spec *spec = &ep_config_specs[i];
		size_t len = strlen(spec->section);

		if (strncmp(key, spec->section, len) == 0 && key[len] == '.' &&
		    strcmp(key + len + 1, spec->key) == 0)
			return ep_config_set_text(config, spec, text, where, problems);
	}
	ep_config_problem_add(problems, where, "unknown key '%s'", key);
	return -EINVAL;
}
