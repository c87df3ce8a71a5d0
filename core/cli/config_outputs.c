/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/config_outputs.h"
#include "core/base/directory.h"

#include "core/base/elevated.h"

#include "core/config/problems.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Keys of an [[exporter]] table that belong to us. */
static const char *const common_keys[] = {"type", "interval", NULL};

static enum ep_value_type value_type(enum ep_config_value_type type)
{
	switch (type) {
	case EP_CONFIG_STRING:
		return EP_VALUE_STRING;
	case EP_CONFIG_INT:
		return EP_VALUE_INT;
	case EP_CONFIG_BOOL:
		return EP_VALUE_BOOL;
	}
	return EP_VALUE_OTHER;
}

static int take_values(const struct ep_config_exporter *exporter, struct ep_vec *values)
{
	const struct ep_config_option *option;

	ep_vec_init(values, sizeof(struct ep_value), 1024);
	ep_vec_each(&exporter->options, option) {
		struct ep_value *value = ep_vec_push(values);

		if (!value)
			return -ENOMEM;
		*value = (struct ep_value){
			.key = option->key,
			.type = value_type(option->type),
			.string = option->string,
			.integer = option->integer,
			.boolean = option->integer != 0,
			.line = option->key_line,
			.column = option->key_column,
		};
	}
	return 0;
}

/* Where an option of that name puts files, "" when it does not. */
static void directory_of(const struct ep_config_option *option, char directory[PATH_MAX])
{
	const char *slash = option->type == EP_CONFIG_STRING ? strrchr(option->string, '/') : NULL;

	directory[0] = '\0';
	if (option->type != EP_CONFIG_STRING || !option->string[0])
		return;
	if (strcmp(option->key, "directory") == 0)
		snprintf(directory, PATH_MAX, "%s", option->string);
	else if (strcmp(option->key, "path") == 0)
		snprintf(directory, PATH_MAX, "%.*s", slash ? (int)EP_MAX(slash - option->string, 1L) : 1,
			 slash ? option->string : ".");
}

/* The agent writes for months with nobody at the terminal: others are kept away from its files from the start. */
static int check_directories(const struct ep_config_file *config, const struct ep_config_exporter *exporter)
{
	const struct ep_config_option *option;
	char directory[PATH_MAX], why[EP_DIRECTORY_WHY_BYTES];
	int r = 0;

	ep_vec_each(&exporter->options, option) {
		directory_of(option, directory);
		if (!directory[0] || ep_directory_check(directory, why) == 0)
			continue;
		r = -EPERM;
		fprintf(stderr, "%s:%" PRIu32 ":%" PRIu32 ": %s: %s\n", config->path, option->key_line,
			option->key_column, option->key, why);
	}
	return r;
}

int ep_config_outputs_check(const struct ep_config_file *config)
{
	const struct ep_config_exporter *exporter;
	int result = 0;

	ep_vec_each(&config->exporters, exporter) {
		struct ep_vec values;
		int r;

		if (!exporter->type) /* was reported */
			continue;
		r = take_values(exporter, &values);

		if (r == 0)
			r = ep_outputs_check(config->plugins.dir, exporter->type, config->path,
					     common_keys, values.data, values.len);
		ep_vec_fini(&values);
		if (r == 0)
			r = check_directories(config, exporter);
		if (r < 0 && result == 0)
			result = r;
	}
	return result;
}

/* One that we may not look at is not judged: the agent may run as somebody else. */
static int check_place(const struct ep_config_file *config, const struct ep_config_option *option)
{
	struct ep_rights rights;
	struct stat st;
	int r;

	if (strcmp(option->key, "directory") != 0 || option->type != EP_CONFIG_STRING || !option->string[0])
		return 0;
	r = ep_rights_of_caller(&rights);
	if (r < 0)
		return r;
	if (stat(option->string, &st) < 0)
		r = errno == ENOENT || errno == ENOTDIR ? -ENOENT : 0;
	else if (!S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	ep_rights_restore(&rights);
	if (r < 0)
		fprintf(stderr, "%s:%" PRIu32 ":%" PRIu32 ": directory '%s' is %s: create it first\n", config->path,
			option->line, option->column, option->string,
			r == -ENOENT ? "not there" : "no directory");
	return r;
}

int ep_config_outputs_check_places(const struct ep_config_file *config)
{
	const struct ep_config_exporter *exporter;
	const struct ep_config_option *option;
	int result = 0;

	ep_vec_each(&config->exporters, exporter) {
		ep_vec_each(&exporter->options, option) {
			int r = check_place(config, option);

			result = result ? result : r;
		}
	}
	return result;
}

/* --- names of plugins ------------------------------------------------------------------------ */

#define MAX_PLUGINS 256
#define SUFFIX	    ".so"

/* Names of the plugin directory, from malloc. */
static size_t list_plugins(const char *directory, char *names[MAX_PLUGINS])
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	size_t n = 0;

	while (dir && n < MAX_PLUGINS && (entry = readdir(dir)) != NULL) {
		size_t bytes = strlen(entry->d_name);

		if (bytes > strlen(SUFFIX) &&
		    strcmp(entry->d_name + bytes - strlen(SUFFIX), SUFFIX) == 0)
			names[n] = strndup(entry->d_name, bytes - strlen(SUFFIX));
		n += names[n] != NULL;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Only what somebody wrote: a build without a plugin that the defaults name is none of theirs. */
static int check_names(const struct ep_config_file *config, enum ep_config_key key,
		       const char *what, const struct ep_config_strings *written,
		       char *const *names, size_t n)
{
	const struct ep_config_source *source = &config->sources[key];
	int result = 0;

	for (size_t i = 0; i < written->len && source->origin; i++) {
		const char *name = written->items[i], *nearest;
		size_t k = 0;

		while (k < n && strcmp(names[k], name) != 0)
			k++;
		if (k < n || (key == EP_CONFIG_PLUGINS_LANGUAGES && strcmp(name, "all") == 0))
			continue;
		nearest = ep_suggest(name, (const char *const *)names, n);
		fprintf(stderr, "%s:%" PRIu32 ":%" PRIu32 ": no %s '%s' is in %s%s%s%s\n",
			source->origin, source->line, source->column, what, name,
			config->plugins.dir, nearest ? " (did you mean '" : "",
			nearest ? nearest : ": see ebpf-profiler plugins", nearest ? "'?)" : "");
		result = -EINVAL;
	}
	return result;
}

int ep_config_outputs_check_names(const struct ep_config_file *config)
{
	char *names[MAX_PLUGINS] = {0};
	size_t n = list_plugins(config->plugins.dir, names);
	int r = check_names(config, EP_CONFIG_PLUGINS_ENABLE, "plugin", &config->plugins.enable,
			    names, n);
	int languages = check_names(config, EP_CONFIG_PLUGINS_LANGUAGES, "language",
				    &config->plugins.languages, names, n);

	for (size_t i = 0; i < n; i++)
		free(names[i]);
	return r ? r : languages;
}

int ep_config_outputs_open(struct ep_outputs *outputs, const struct ep_config_file *config,
			   const struct ep_config_exporter *exporter)
{
	struct ep_vec values;
	int r = take_values(exporter, &values);

	if (r == 0)
		r = ep_outputs_open(outputs, exporter->type, config->path, common_keys, values.data,
				    values.len);
	ep_vec_fini(&values);
	return r;
}
