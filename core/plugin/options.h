/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin's options: the values of one [[exporter]] table checked against the specs the plugin
 * declares. All problems are found before any plugin code runs; a message says key and what is
 * wrong, the caller puts file:line:column in front.
 */
#ifndef EP_PLUGIN_OPTIONS_H
#define EP_PLUGIN_OPTIONS_H

#include "core/base/util.h"
#include "ebpf-profiler/exporter.h"

enum ep_value_type {
	EP_VALUE_STRING,
	EP_VALUE_INT,
	EP_VALUE_FLOAT,
	EP_VALUE_BOOL,
	EP_VALUE_OTHER, /* array, table, date: fits no option */
};

/* One key of the table as it was parsed. Borrowed for the call. */
struct ep_value {
	const char *key;
	enum ep_value_type type;
	const char *string;
	int64_t integer;
	double number;
	bool boolean;
	uint32_t line, column; /* of the key */
};

struct ep_option_error {
	char text[320];	       /* "`pth`: no such option of pprof; did you mean `path`?" */
	uint32_t line, column; /* 0: not about one key but about the whole table */
};

/*
 * 0 and the options (gives), -EINVAL with an error, -ENOMEM. `owner` names the plugin in messages.
 * `common` (may be NULL) are keys of the same table that the caller handles itself: they are
 * skipped in `values`, and offered when a key is misspelt. Specs must outlive the options.
 */
int ep_options_new(const char *owner, const struct ep_option_spec *specs, const char *const *common,
		   const struct ep_value *values, size_t n_values,
		   struct ep_option_error *ret_error, struct ep_options **ret_options);
void ep_options_free(struct ep_options *options); /* accepts NULL */

/* By name; "" or 0 for a name that is in no spec. Durations are ns. */
const char *ep_options_string(const struct ep_options *options, const char *name);
int64_t ep_options_int(const struct ep_options *options, const char *name);
int ep_options_bool(const struct ep_options *options, const char *name);

#endif
