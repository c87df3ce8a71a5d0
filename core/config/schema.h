/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core/config: the table of keys, and how a value gets into a struct ep_config_file. */
#ifndef EP_CONFIG_SCHEMA_H
#define EP_CONFIG_SCHEMA_H

#include "core/config/config.h"

#define EP_PLUGIN_NAME_MAX 31 /* include/ebpf-profiler/plugin.h */

struct ep_toml_node;

enum key_kind {
	KEY_INT,     /* uint32_t */
	KEY_BYTES,   /* uint64_t, "64MiB" or a number of bytes */
	KEY_BOOL,    /* bool */
	KEY_DIR,     /* char *, an absolute path */
	KEY_PLUGINS, /* struct ep_config_strings of plugin names */
	KEY_LEVEL,   /* enum ep_log_level */
	KEY_FILTER,  /* struct ep_config_strings of values of a filter (filter.h) */
};

struct ep_config_spec {
	const char *section, *key;
	enum key_kind kind;
	size_t off; /* of the field in struct ep_config_file */
	uint64_t min, max;
	const char *fallback; /* in the form of the environment */
	const char *help;
};

/* One row a key, in the order they are printed. Indexed by enum ep_config_key. */
extern const struct ep_config_spec ep_config_specs[EP_CONFIG_KEY_COUNT];

const struct ep_config_spec *ep_config_spec_find(const char *section, const char *key);
/* Names of keys in `section`, or of sections when it is NULL (with "exporter"). Returns how many.
 */
size_t ep_config_spec_names(const char *section, const char **names, size_t max);

/*
 * Check and set. 0, -EINVAL with a problem added, -ENOMEM. `where` becomes the key's source; an
 * origin of NULL means the default.
 */
int ep_config_set_text(struct ep_config_file *config, const struct ep_config_spec *spec,
		       const char *text, struct ep_config_where where,
		       struct ep_config_problems *problems);
int ep_config_set_node(struct ep_config_file *config, const struct ep_config_spec *spec,
		       const struct ep_toml_node *node, struct ep_config_where where,
		       struct ep_config_problems *problems);

/* The value as TOML: 20, "64MiB", ["pprof"]. 0, -ENOMEM, -E2BIG. */
int ep_config_format_value(const struct ep_config_file *config, const struct ep_config_spec *spec,
			   struct ep_vec *ret_bytes);
int ep_config_format_string(struct ep_vec *bytes, const char *text);

/* Makes config->filter.all of its values. -EINVAL with a problem added. */
int ep_config_make_filter(struct ep_config_file *config, struct ep_config_problems *problems);

/* exporter.c: the value of the top-level key "exporter". 0, -EINVAL, -ENOMEM. */
int ep_config_parse_exporters(struct ep_config_file *config, const struct ep_toml_node *node,
			      struct ep_config_where where, struct ep_config_problems *problems);
void ep_config_exporter_fini(struct ep_config_exporter *exporter);
/* Problems of exporters whose plugin is not enabled. */
void ep_config_check_enabled(const struct ep_config_file *config,
			     struct ep_config_problems *problems);

bool ep_plugin_name_ok(const char *name);
void ep_config_strings_fini(struct ep_config_strings *strings);
/* "a" -> " (did you mean 'a'?)", NULL -> "". Needs 96 bytes. */
const char *ep_config_hint(const char *suggestion, char *buf, size_t size);

#endif
