/* SPDX-License-Identifier: Apache-2.0 */
/* What one configuration says otherwise than another. */
#include "core/config/schema.h"

#include <string.h>

#define MAX_VALUE_BYTES (512 * 1024)

/* As they would be printed: that is what anybody could have meant to change. */
static bool is_same_value(const struct ep_config_file *a, const struct ep_config_file *b,
			  const struct ep_config_spec *spec)
{
	ep_cleanup(ep_vec_fini) struct ep_vec left;
	ep_cleanup(ep_vec_fini) struct ep_vec right;

	ep_vec_init(&left, 1, MAX_VALUE_BYTES);
	ep_vec_init(&right, 1, MAX_VALUE_BYTES);
	return ep_config_format_value(a, spec, &left) == 0 &&
	       ep_config_format_value(b, spec, &right) == 0 && left.len == right.len &&
	       memcmp(left.data, right.data, left.len) == 0;
}

bool ep_config_is_same(const struct ep_config_file *a, const struct ep_config_file *b,
		       const char *section, const char *key)
{
	for (size_t i = 0; i < EP_CONFIG_KEY_COUNT; i++) {
		const struct ep_config_spec *spec = &ep_config_specs[i];

		if (strcmp(spec->section, section) == 0 && (!key || strcmp(spec->key, key) == 0) &&
		    !is_same_value(a, b, spec))
			return false;
	}
	return true;
}

static bool is_same_exporter(const struct ep_config_exporter *a, const struct ep_config_exporter *b)
{
	if (strcmp(a->type, b->type) != 0 || a->interval_ns != b->interval_ns ||
	    a->options.len != b->options.len)
		return false;
	for (size_t i = 0; i < a->options.len; i++) {
		const struct ep_config_option *x =
			ep_vec_at(&a->options, struct ep_config_option, i);
		const struct ep_config_option *y =
			ep_vec_at(&b->options, struct ep_config_option, i);

		if (strcmp(x->key, y->key) != 0 || x->type != y->type ||
		    strcmp(x->string, y->string) != 0)
			return false;
	}
	return true;
}

bool ep_config_has_same_exporters(const struct ep_config_file *a, const struct ep_config_file *b)
{
	if (a->exporters.len != b->exporters.len)
		return false;
	for (size_t i = 0; i < a->exporters.len; i++) {
		if (!is_same_exporter(ep_vec_at(&a->exporters, struct ep_config_exporter, i),
				      ep_vec_at(&b->exporters, struct ep_config_exporter, i)))
			return false;
	}
	return true;
}
