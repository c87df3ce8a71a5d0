/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration: a TOML file, then the environment, then flags, the later winning. A table of
 * keys (schema.c) says what each may be; what it does not list is a problem. Options of a plugin
 * are kept as written, since only the plugin knows them.
 */
#ifndef EP_CONFIG_H
#define EP_CONFIG_H

#include "core/base/log.h"
#include "core/config/filter.h"
#include "core/config/problems.h"

#include <stdint.h>
#include <stdio.h>

enum ep_config_value_type {
	EP_CONFIG_STRING = 1,
	EP_CONFIG_INT,
	EP_CONFIG_BOOL,
};

/* A key of an [[exporter]] table that belongs to the plugin. */
struct ep_config_option {
	char *key;
	enum ep_config_value_type type;
	char *string;	       /* as text, for every type */
	int64_t integer;       /* EP_CONFIG_INT; 0 or 1 for EP_CONFIG_BOOL */
	uint32_t line, column; /* of the value */
	uint32_t key_line, key_column;
};

struct ep_config_exporter {
	char *type;
	uint64_t interval_ns;
	struct ep_vec options; /* struct ep_config_option */
	uint32_t line, column; /* of its type, else of the table */
};

struct ep_config_strings {
	char **items;
	size_t len;
};

/* Where a key's value came from; origin NULL: the default. */
struct ep_config_source {
	char *origin;
	uint32_t line, column;
};

enum ep_config_key {
	EP_CONFIG_SAMPLING_FREQ,
	EP_CONFIG_FILTER_FIRST, /* by enum ep_filter_key */
	EP_CONFIG_FILTER_INHERIT = EP_CONFIG_FILTER_FIRST + EP_FILTER_KEYS,
	EP_CONFIG_LIMITS_MEMORY,
	EP_CONFIG_LIMITS_RING,
	EP_CONFIG_SYMBOLS_NATIVE,
	EP_CONFIG_SYMBOLS_KERNEL,
	EP_CONFIG_PLUGINS_DIR,
	EP_CONFIG_PLUGINS_ENABLE,
	EP_CONFIG_PLUGINS_LANGUAGES,
	EP_CONFIG_SECURITY_CALLS,
	EP_CONFIG_LOG_LEVEL,
	EP_CONFIG_KEY_COUNT
};

struct ep_config_file {
	uint32_t refs; /* beyond the first */
	char *path; /* as given; NULL when there was no file */
	struct {
		uint32_t freq_hz; /* 1..10000 */
	} sampling;
	struct {
		struct ep_config_strings values[EP_FILTER_KEYS];
		bool inherit; /* children of processes by pid are recorded, too */
		struct ep_filter all; /* of these; its texts are those of `values` */
	} filter;
	struct {
		uint64_t memory_bytes; /* heap and BPF memory */
		uint64_t ring_bytes;   /* at most; the ring takes a power of two */
	} limits;
	struct {
		bool native, kernel;
	} symbols;
	struct {
		char *dir;
		struct ep_config_strings enable;
		/* Unwinder plugins to use; "all" among them: each that is found. */
		struct ep_config_strings languages;
	} plugins;
	struct {
		bool filter_system_calls;
	} security;
	struct {
		enum ep_log_level level;
	} log;
	struct ep_vec exporters; /* struct ep_config_exporter */
	struct ep_config_source sources[EP_CONFIG_KEY_COUNT];
};

/*
 * Reads `path` (NULL: defaults only), then the variables of `env` (NULL: none; else like environ).
 * 0 with a config to free; -EINVAL with at least one problem added; -ENOMEM. A file that cannot be
 * read, or has no [[exporter]], is a problem too.
 */
int ep_config_load(const char *path, char *const *env, struct ep_config_problems *problems,
		   struct ep_config_file **ret_config);
/*
 * For --check: the config also where there are problems, as far as it could be read, so that what
 * is wrong beside them can be found as well. 0; 1 with problems; -EINVAL with problems and no
 * config; -ENOMEM. Exporters may have no type then.
 */
int ep_config_inspect(const char *path, char *const *env, struct ep_config_problems *problems,
		      struct ep_config_file **ret_config);
/* The same from bytes; `name` stands for the path in messages. Exporters are not required. */
int ep_config_parse(const char *name, const char *text, size_t len, char *const *env,
		    struct ep_config_problems *problems, struct ep_config_file **ret_config);
struct ep_config_file *ep_config_ref(struct ep_config_file *config);
/* Gives a reference back; the last one frees it. Accepts NULL. */
void ep_config_free(struct ep_config_file *config);
static inline void ep_config_freep(struct ep_config_file **config)
{
	ep_config_free(*config);
}

/*
 * Sets one key from text, for a flag: ep_config_set(config, "sampling.freq", "99", "-F", problems).
 * 0, -EINVAL with a problem added, -ENOMEM.
 */
int ep_config_set(struct ep_config_file *config, const char *key, const char *text,
		  const char *origin, struct ep_config_problems *problems);

/* Do both say the same in this section, or of this key in it? Not of exporters. */
bool ep_config_is_same(const struct ep_config_file *a, const struct ep_config_file *b,
		       const char *section, const char *key);
/* The same of what exporters there are and of their options. */
bool ep_config_has_same_exporters(const struct ep_config_file *a, const struct ep_config_file *b);

/* The whole configuration as TOML that parses back to it; keys at their default are comments. */
int ep_config_print(const struct ep_config_file *config, FILE *out);

#endif
