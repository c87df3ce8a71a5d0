/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/config_outputs.h"

#include <errno.h>

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

int ep_config_outputs_check(const struct ep_config_file *config)
{
	const struct ep_config_exporter *exporter;
	int result = 0;

	ep_vec_each(&config->exporters, exporter) {
		struct ep_vec values;
		int r = take_values(exporter, &values);

		if (r == 0)
			r = ep_outputs_check(config->plugins.dir, exporter->type, config->path,
					     common_keys, values.data, values.len);
		ep_vec_fini(&values);
		if (r < 0 && result == 0)
			result = r;
	}
	return result;
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
