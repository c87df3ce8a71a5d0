/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as TOML: what --print-config shows, and what parses back to the same. */
#include "core/config/schema.h"
#include "core/config/units.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAX_VALUE_BYTES (256 * 1024) /* six for each byte of a longest string */

static int format_char(struct ep_vec *bytes, unsigned char c)
{
	if (c == '"' || c == '\\')
		return ep_vec_printf(bytes, "\\%c", c);
	if (c < 0x20 || c == 0x7f)
		return ep_vec_printf(bytes, "\\u%04X", c);
	return ep_vec_append(bytes, &c, 1);
}

int ep_config_format_string(struct ep_vec *bytes, const char *text)
{
	int r = ep_vec_append(bytes, "\"", 1);

	for (; *text && r == 0; text++)
		r = format_char(bytes, (unsigned char)*text);
	return r < 0 ? r : ep_vec_append(bytes, "\"", 1);
}

static int format_strings(struct ep_vec *bytes, const struct ep_config_strings *strings)
{
	int r = ep_vec_append(bytes, "[", 1);

	for (size_t i = 0; i < strings->len && r == 0; i++) {
		if (i > 0)
			r = ep_vec_append(bytes, ", ", 2);
		if (r == 0)
			r = ep_config_format_string(bytes, strings->items[i]);
	}
	return r < 0 ? r : ep_vec_append(bytes, "]", 1);
}

int ep_config_format_value(const struct ep_config_file *config, const struct ep_config_spec *spec,
			   struct ep_vec *ret_bytes)
{
	static const char *const levels[] = {"error", "warn", "info", "debug"};
	const void *field = (const char *)config + spec->off;
	char size[32];

	switch (spec->kind) {
	case KEY_INT:
		return ep_vec_printf(ret_bytes, "%" PRIu32, *(const uint32_t *)field);
	case KEY_BYTES:
		ep_format_bytes(*(const uint64_t *)field, size, sizeof(size));
		return ep_config_format_string(ret_bytes, size);
	case KEY_BOOL:
		return ep_vec_printf(ret_bytes, "%s", *(const bool *)field ? "true" : "false");
	case KEY_DIR:
		return ep_config_format_string(ret_bytes, *(char *const *)field);
	case KEY_PLUGINS:
	case KEY_FILTER:
		return format_strings(ret_bytes, field);
	case KEY_LEVEL:
		return ep_config_format_string(ret_bytes,
					       levels[*(const enum ep_log_level *)field]);
	}
	return -EINVAL;
}

static int print_key(const struct ep_config_file *config, const struct ep_config_spec *spec,
		     struct ep_vec *bytes)
{
	const struct ep_config_source *source = &config->sources[spec - ep_config_specs];
	int r = ep_vec_printf(bytes, "# %s\n%s%s = ", spec->help, source->origin ? "" : "#",
			      spec->key);

	if (r == 0)
		r = ep_config_format_value(config, spec, bytes);
	if (r == 0 && source->origin && source->line)
		r = ep_vec_printf(bytes, "\t# from line %u", source->line);
	else if (r == 0 && source->origin)
		r = ep_vec_printf(bytes, "\t# from %s", source->origin);
	return r < 0 ? r : ep_vec_append(bytes, "\n", 1);
}

static bool is_bare_key(const char *key)
{
	return *key && strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_-") == strlen(key);
}

/* "name=value,name=value" without the values: these are keys to a server, and what is printed goes into a ticket. */
static int print_headers(const char *text, struct ep_vec *bytes)
{
	ep_autofree char *hidden = NULL;
	struct ep_vec names;
	int r = 0;

	ep_vec_init(&names, 1, MAX_VALUE_BYTES);
	for (const char *pos = text; *pos && r == 0;) {
		size_t len = strcspn(pos, ","), name = strcspn(pos, "=,");

		r = ep_vec_printf(&names, "%.*s%s%s", (int)name, pos, name < len ? "=***" : "",
				  pos[len] ? "," : "");
		pos += len + (pos[len] == ',');
	}
	if (r == 0)
		hidden = strndup(names.data ? names.data : "", names.len);
	ep_vec_fini(&names);
	if (r == 0)
		r = hidden ? ep_config_format_string(bytes, hidden) : -ENOMEM;
	return r < 0 ? r : ep_vec_printf(bytes, "\t# values are not shown");
}

static int print_string(const struct ep_config_option *option, struct ep_vec *bytes)
{
	if (strcmp(option->key, "headers") == 0)
		return print_headers(option->string, bytes);
	return ep_config_format_string(bytes, option->string);
}

static int print_option(const struct ep_config_option *option, struct ep_vec *bytes)
{
	int r = is_bare_key(option->key) ? ep_vec_printf(bytes, "%s", option->key)
					 : ep_config_format_string(bytes, option->key);

	if (r == 0)
		r = ep_vec_printf(bytes, " = ");
	if (r == 0)
		r = option->type == EP_CONFIG_STRING
			    ? print_string(option, bytes)
			    : ep_vec_printf(bytes, "%s", option->string);
	return r < 0 ? r : ep_vec_append(bytes, "\n", 1);
}

static int print_exporter(const struct ep_config_exporter *exporter, struct ep_vec *bytes)
{
	const struct ep_config_option *option;
	char interval[32];
	int r;

	ep_format_duration(exporter->interval_ns, interval, sizeof(interval));
	r = ep_vec_printf(bytes, "\n[[exporter]]\ntype = \"%s\"\ninterval = \"%s\"\n",
			  exporter->type, interval);
	ep_vec_each (&exporter->options, option) {
		if (r == 0)
			r = print_option(option, bytes);
	}
	return r;
}

static int print_all(const struct ep_config_file *config, struct ep_vec *bytes)
{
	const struct ep_config_exporter *exporter;
	const char *section = "";
	int r = 0;

	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT && r == 0; i++) {
		const struct ep_config_spec *spec = &ep_config_specs[i];

		if (strcmp(spec->section, section) != 0)
			r = ep_vec_printf(bytes, "%s[%s]\n", i ? "\n" : "", spec->section);
		section = spec->section;
		if (r == 0)
			r = print_key(config, spec, bytes);
	}
	ep_vec_each (&config->exporters, exporter) {
		if (r == 0)
			r = print_exporter(exporter, bytes);
	}
	return r;
}

int ep_config_print(const struct ep_config_file *config, FILE *out)
{
	struct ep_vec bytes;
	int r;

	ep_vec_init(&bytes, 1, 2 * MAX_VALUE_BYTES);
	r = print_all(config, &bytes);
	if (r == 0 && fwrite(bytes.data, 1, bytes.len, out) != bytes.len)
		r = -EIO;
	ep_vec_fini(&bytes);
	return r;
}
