/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [[exporter]] tables: `type` and `interval` are ours, every other key belongs to the plugin and is
 * kept as written: only the plugin knows it (core/plugin/options.h).
 */
#include "core/base/clock.h"
#include "core/config/schema.h"
#include "core/config/toml.h"
#include "core/config/units.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAX_EXPORTERS 16
#define MAX_OPTIONS   64

#define DEFAULT_INTERVAL_NS (60 * EP_NS_PER_SEC)
#define MIN_INTERVAL_NS	    (100 * EP_NS_PER_MS)
#define MAX_INTERVAL_NS	    (24 * 3600 * EP_NS_PER_SEC)

struct table {
	struct ep_config_file *config;
	struct ep_config_exporter *exporter;
	struct ep_config_problems *problems;
	bool bad;
};

void ep_config_exporter_fini(struct ep_config_exporter *exporter)
{
	struct ep_config_option *option;

	ep_vec_each (&exporter->options, option) {
		free(option->key);
		free(option->string);
	}
	ep_vec_fini(&exporter->options);
	free(exporter->type);
}

static struct ep_config_where at(const struct table *table, struct ep_toml_where where)
{
	return (struct ep_config_where){table->config->path, where.line, where.column};
}

#define bad_value(table, where, ...)                                                               \
	((table)->bad = true, ep_config_problem_add((table)->problems, (where), __VA_ARGS__))

static int set_type(struct table *table, const struct ep_toml_node *value)
{
	struct ep_toml_where where = ep_toml_where_of(value);
	size_t len;
	const char *name = ep_toml_string(value, &len);

	if (!ep_plugin_name_ok(name) || strlen(name) != len) {
		bad_value(table, at(table, where),
			  "type must be a string with the name of a plugin, like \"pprof\"");
		return 0;
	}
	table->exporter->line = where.line;
	table->exporter->column = where.column;
	table->exporter->type = strdup(name);
	return table->exporter->type ? 0 : -ENOMEM;
}

static int set_interval(struct table *table, const struct ep_toml_node *value)
{
	struct ep_config_where where = at(table, ep_toml_where_of(value));
	char number[32];
	const char *text = number;
	size_t len;
	uint64_t ns;
	int r;

	if (ep_toml_type_of(value) == EP_TOML_INT)
		snprintf(number, sizeof(number), "%" PRId64, ep_toml_int(value));
	else
		text = ep_toml_string(value, &len);
	r = ep_parse_duration(text, &ns);
	if (r == -EBADMSG)
		bad_value(table, where, "interval must be a duration like \"60s\" or \"5m\"");
	else if (r < 0 || ns < MIN_INTERVAL_NS || ns > MAX_INTERVAL_NS)
		bad_value(table, where, "interval must be from 100ms to 24h, not '%s'", text);
	else
		table->exporter->interval_ns = ns;
	return 0;
}

static int format_option(const struct ep_toml_node *value, struct ep_config_option *option)
{
	size_t len;
	int n;

	switch (ep_toml_type_of(value)) {
	case EP_TOML_STRING:
		option->type = EP_CONFIG_STRING;
		option->string = strdup(ep_toml_string(value, &len));
		break;
	case EP_TOML_INT:
		option->type = EP_CONFIG_INT;
		option->integer = ep_toml_int(value);
		n = asprintf(&option->string, "%" PRId64, option->integer);
		option->string = n < 0 ? NULL : option->string;
		break;
	default:
		option->type = EP_CONFIG_BOOL;
		option->integer = ep_toml_bool(value);
		option->string = strdup(option->integer ? "true" : "false");
	}
	return option->string ? 0 : -ENOMEM;
}

static bool option_ok(struct table *table, const char *key, struct ep_toml_where key_where,
		      const struct ep_toml_node *value)
{
	enum ep_toml_type type = ep_toml_type_of(value);
	struct ep_config_where where = at(table, ep_toml_where_of(value));
	size_t len;
	const char *text = ep_toml_string(value, &len);

	if (table->exporter->options.len == MAX_OPTIONS)
		bad_value(table, at(table, key_where), "more than %d options", MAX_OPTIONS);
	else if (type != EP_TOML_STRING && type != EP_TOML_INT && type != EP_TOML_BOOL)
		bad_value(table, where, "%s must be a string, an integer, true or false, not %s",
			  key, ep_toml_type_name(type));
	else if (type == EP_TOML_STRING && strlen(text) != len)
		bad_value(table, where, "%s contains a NUL character", key);
	else
		return true;
	return false;
}

static int add_option(struct table *table, const char *key, struct ep_toml_where key_where,
		      const struct ep_toml_node *value)
{
	struct ep_toml_where where = ep_toml_where_of(value);
	struct ep_config_option *option;

	if (!option_ok(table, key, key_where, value))
		return 0;
	option = ep_vec_push(&table->exporter->options);
	if (!option)
		return -ENOMEM;
	option->line = where.line;
	option->column = where.column;
	option->key_line = key_where.line;
	option->key_column = key_where.column;
	option->key = strdup(key);
	return option->key ? format_option(value, option) : -ENOMEM;
}

static int visit_key(void *arg, const char *key, struct ep_toml_where key_where,
		     const struct ep_toml_node *value)
{
	struct table *table = arg;

	if (strcmp(key, "type") == 0)
		return set_type(table, value);
	if (strcmp(key, "interval") == 0)
		return set_interval(table, value);
	return add_option(table, key, key_where, value);
}

static int parse_table(struct table *table, const struct ep_toml_node *node)
{
	struct ep_toml_where where = ep_toml_where_of(node);
	int r;

	ep_vec_init(&table->exporter->options, sizeof(struct ep_config_option), MAX_OPTIONS);
	table->exporter->interval_ns = DEFAULT_INTERVAL_NS;
	table->exporter->line = where.line;
	table->exporter->column = where.column;
	table->bad = false;
	r = ep_toml_each(node, visit_key, table);
	if (r < 0)
		return r;
	if (!table->exporter->type && !table->bad)
		bad_value(table, at(table, where),
			  "this exporter has no type: add type = \"pprof\" for example");
	return table->bad ? -EINVAL : 0;
}

static int parse_each(struct table *table, const struct ep_toml_node *list)
{
	bool bad = false;

	for (size_t i = 0; i < ep_toml_len(list); i++) {
		const struct ep_toml_node *node = ep_toml_at(list, i);
		struct ep_config_where where = at(table, ep_toml_where_of(node));
		int r;

		if (ep_toml_type_of(node) != EP_TOML_TABLE || i == MAX_EXPORTERS) {
			ep_config_problem_add(table->problems, where,
					      i == MAX_EXPORTERS ? "more than %d exporters"
								 : "exporter must be a table",
					      MAX_EXPORTERS);
			return -EINVAL;
		}
		table->exporter = ep_vec_push(&table->config->exporters);
		if (!table->exporter)
			return -ENOMEM;
		r = parse_table(table, node);
		if (r == -ENOMEM)
			return r;
		bad |= r < 0;
	}
	return bad ? -EINVAL : 0;
}

int ep_config_parse_exporters(struct ep_config_file *config, const struct ep_toml_node *node,
			      struct ep_config_where where, struct ep_config_problems *problems)
{
	struct table table = {.config = config, .problems = problems};

	if (ep_toml_type_of(node) != EP_TOML_ARRAY) {
		ep_config_problem_add(problems, where,
				      "there can be several exporters: write [[exporter]]");
		return -EINVAL;
	}
	return parse_each(&table, node);
}

static bool is_enabled(const struct ep_config_file *config, const char *type)
{
	for (size_t i = 0; i < config->plugins.enable.len; i++)
		if (strcmp(config->plugins.enable.items[i], type) == 0)
			return true;
	return false;
}

void ep_config_check_enabled(const struct ep_config_file *config,
			     struct ep_config_problems *problems)
{
	const struct ep_config_strings *enable = &config->plugins.enable;
	const struct ep_config_exporter *exporter;
	char hint[96];

	ep_vec_each (&config->exporters, exporter) {
		struct ep_config_where where = {config->path, exporter->line, exporter->column};

		if (!exporter->type || is_enabled(config, exporter->type))
			continue;
		ep_config_hint(
			ep_suggest(exporter->type, (const char *const *)enable->items, enable->len),
			hint, sizeof(hint));
		ep_config_problem_add(problems, where,
				      "plugin '%s' is not enabled: add it to [plugins] enable%s",
				      exporter->type, hint);
	}
}
