/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/resource.h"
#include "exporters/shared/proto/otlp_fields.h"
#include "exporters/shared/otlp/file_names.h"
#include "exporters/shared/otlp/text.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <time.h>

#define MAX_ATTRIBUTES 1024
#define MAX_BYTES      ((size_t)64 << 20)
#define NS_PER_SECOND  1000000000ull

struct writer {
	const struct ep_batch *batch;
	const struct otlp_view *view;
	const struct otlp_encode_options *options;
	uint32_t process;
	struct otlp_wire *message;
	struct otlp_wire pair, value;
	uint32_t key_ends[MAX_ATTRIBUTES]; /* in keys: where each ends */
	uint32_t n_keys;
	struct otlp_wire keys;
};

/* --- attributes --- */

/* By the globs of filters (docs/filters.md). */
static bool is_wanted(const struct otlp_encode_options *options, const char *key)
{
	for (uint32_t i = 0; i < options->n_names; i++)
		if (fnmatch(options->names[i], key, 0) == 0)
			return true;
	return options->n_names == 0;
}

/* Notes the key. False when it is there already, or not wanted, or when there are too many. */
static bool is_new_key(struct writer *w, const char *key, size_t len)
{
	uint32_t start = 0;

	if (!is_wanted(w->options, key))
		return false;
	for (uint32_t i = 0; i < w->n_keys; i++) {
		if (w->key_ends[i] - start == len && memcmp(w->keys.data + start, key, len) == 0)
			return false;
		start = w->key_ends[i];
	}
	if (w->n_keys == MAX_ATTRIBUTES)
		return false;
	otlp_put_raw(&w->keys, key, len);
	w->key_ends[w->n_keys++] = (uint32_t)w->keys.len;
	return w->keys.error == 0;
}

/* The pair whose value is in w->value. */
static void put_pair(struct writer *w, const char *key, size_t key_len)
{
	w->pair.len = 0;
	otlp_put_bytes(&w->pair, KEY_VALUE_KEY, key, key_len);
	otlp_put_message(&w->pair, KEY_VALUE_VALUE, &w->value);
	otlp_put_message(w->message, RESOURCE_ATTRIBUTES, &w->pair);
}

static void put_any_text(struct writer *w, const char *key, const char *text, size_t len)
{
	if (!otlp_is_utf8(key, strlen(key)) || !otlp_is_utf8(text, len) ||
	    !is_new_key(w, key, strlen(key)))
		return;
	w->value.len = 0;
	otlp_put_bytes(&w->value, ANY_VALUE_STRING_VALUE, text, len);
	put_pair(w, key, strlen(key));
}

/* "" is none. */
static void put_text_len(struct writer *w, const char *key, const char *text, size_t len)
{
	if (len)
		put_any_text(w, key, text, len);
}

static void put_text(struct writer *w, const char *key, const char *text)
{
	if (text)
		put_text_len(w, key, text, strlen(text));
}

static void put_row(struct writer *w, const char *key, uint32_t row)
{
	put_text_len(w, key, w->batch->string_text[row], w->batch->string_bytes[row]);
}

static void put_int(struct writer *w, const char *key, uint64_t value)
{
	if (!is_new_key(w, key, strlen(key)))
		return;
	w->value.len = 0;
	otlp_put_tag(&w->value, ANY_VALUE_INT_VALUE, OTLP_VARINT);
	otlp_put_varint(&w->value, value);
	put_pair(w, key, strlen(key));
}

/* All pairs of a list, or those of one key. */
static void put_list(struct writer *w, const char *list, const char *only_key)
{
	struct otlp_pair pair;
	int r;

	if (!list)
		return;
	while ((r = otlp_next_pair(&list, &pair)) != 0) {
		if (r == 1 && (!only_key || strcmp(only_key, pair.key) == 0))
			put_text(w, pair.key, pair.value);
	}
}

/* --- the process --- */

/* ISO 8601 in UTC with milliseconds. */
static void put_time(struct writer *w, const char *key, uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
	char text[64];
	struct tm tm;
	size_t len;

	if (time_ns == 0 || !gmtime_r(&seconds, &tm))
		return;
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + len, sizeof(text) - len, ".%03uZ",
		 (unsigned int)(time_ns % NS_PER_SECOND / 1000000));
	put_text(w, key, text);
}

/* Base name of what it runs; of a kernel thread, or one that was gone too soon, its comm. */
static const char *executable_name(const struct writer *w)
{
	const struct ep_batch *b = w->batch;
	const char *path = b->string_text[b->process_exe_path[w->process]];
	const char *slash = strrchr(path, '/');

	if (slash && slash[1])
		return slash + 1;
	return path[0] ? path : b->string_text[b->process_comm[w->process]];
}

static const char *find_env(const struct writer *w, const char *name)
{
	const struct otlp_view *v = w->view;

	if (!v->process_env_first)
		return NULL;
	for (uint32_t i = v->process_env_first[w->process];
	     i < v->process_env_first[w->process + 1]; i++)
		if (strcmp(w->batch->string_text[v->process_env_name[i]], name) == 0)
			return w->batch->string_text[v->process_env_value[i]];
	return NULL;
}

static void put_environment(struct writer *w)
{
	const char *pos = w->options->environment;
	char key[256], name[128];

	while (pos && *pos) {
		size_t len;

		pos += strspn(pos, ", ");
		len = strcspn(pos, ", ");
		if (len > 0 && len < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)len, pos);
			snprintf(key, sizeof(key), OTLP_ENV_PREFIX "%s", name);
			put_text(w, key, find_env(w, name));
		}
		pos += len;
	}
}

/* What a file says beside it: no key of a convention has the whole of it. */
static void put_facts(struct writer *w)
{
	const struct ep_batch *b = w->batch;
	const struct otlp_view *v = w->view;
	char key[512];

	put_int(w, "process.pid", b->process_pid[w->process]);
	put_int(w, OTLP_NAME_PROCESS_START, b->process_start_ns[w->process]);
	if (v->process_image)
		put_int(w, OTLP_NAME_PROCESS_IMAGE, v->process_image[w->process]);
	put_row(w, OTLP_NAME_PROCESS_COMM, b->process_comm[w->process]);
	if (!v->process_env_first)
		return;
	for (uint32_t i = v->process_env_first[w->process];
	     i < v->process_env_first[w->process + 1]; i++) {
		snprintf(key, sizeof(key), OTLP_ENV_PREFIX "%s", b->string_text[v->process_env_name[i]]);
		put_any_text(w, key, b->string_text[v->process_env_value[i]],
			     b->string_bytes[v->process_env_value[i]]);
	}
}

/* The cgroup as a line of /proc/PID/cgroup. */
static void put_owner(struct writer *w)
{
	const struct ep_batch *b = w->batch;
	const char *cgroup;
	char line[OTLP_CGROUP_BYTES];

	if (EP_HAS(b, process_user))
		put_row(w, "process.owner", b->process_user[w->process]);
	if (!EP_HAS(b, process_cgroup))
		return;
	cgroup = b->string_text[b->process_cgroup[w->process]];
	if (cgroup[0] && snprintf(line, sizeof(line), OTLP_CGROUP_PREFIX "%s", cgroup) < (int)sizeof(line))
		put_text(w, "process.linux.cgroup", line);
}

static void put_process(struct writer *w)
{
	const struct ep_batch *b = w->batch;

	if (w->options->is_file)
		put_facts(w);
	else if (b->process_pid[w->process])
		put_int(w, "process.pid", b->process_pid[w->process]);
	put_row(w, "process.executable.path", b->process_exe_path[w->process]);
	put_text(w, "process.executable.name", executable_name(w));
	put_time(w, "process.creation.time", b->process_start_ns[w->process]);
	put_row(w, "container.id", b->process_container_id[w->process]);
	put_owner(w);
	put_text(w, "service.name", find_env(w, "OTEL_SERVICE_NAME"));
	if (w->options->is_file)
		return; /* attributes that a process gives itself could be taken for facts */
	put_list(w, find_env(w, "OTEL_RESOURCE_ATTRIBUTES"), "service.name");
}

/* --- what is configured --- */

static void put_service_name(struct writer *w)
{
	const char *name = w->options->service_name, *place = name ? strstr(name, "{exe}") : NULL;
	char text[512];

	if (!place) {
		put_text(w, "service.name", name);
		return;
	}
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(place - name), name, executable_name(w),
		 place + strlen("{exe}"));
	put_text(w, "service.name", text);
}

static void put_host(struct writer *w)
{
	put_text(w, "host.name", w->batch->host_name);
	if (w->options->is_file)
		return; /* it may be read on another machine, and written there again */
	put_text(w, "host.id", w->options->host_id);
	put_text(w, "host.arch", w->options->host_arch);
	put_text(w, "os.type", "linux");
}

void otlp_resource_write(const struct ep_batch *batch, const struct otlp_view *view,
			 const struct otlp_encode_options *options, uint32_t process,
			 struct otlp_wire *message)
{
	struct writer w = {
		.batch = batch,
		.view = view,
		.options = options,
		.process = process,
		.message = message,
	};

	otlp_wire_init(&w.pair, MAX_BYTES);
	otlp_wire_init(&w.value, MAX_BYTES);
	otlp_wire_init(&w.keys, 1 << 20);
	message->len = 0;
	if (process)
		put_process(&w);
	put_service_name(&w);
	put_list(&w, options->resource_attributes, NULL);
	put_host(&w);
	/* After the host: a process may say which service it is, not where it runs. */
	if (process && !options->is_file) {
		put_list(&w, find_env(&w, "OTEL_RESOURCE_ATTRIBUTES"), NULL);
		put_environment(&w);
	}
	if (message->error == 0)
		message->error = w.keys.error ? w.keys.error : w.value.error;
	otlp_wire_fini(&w.pair);
	otlp_wire_fini(&w.value);
	otlp_wire_fini(&w.keys);
}

/* --- the option --- */

int otlp_parse_names(const char *text, struct otlp_encode_options *options)
{
	while (*(text += strspn(text, ", "))) {
		size_t len = strcspn(text, ", ");

		if (len >= OTLP_NAME_GLOB_BYTES || options->n_names == OTLP_MAX_NAMES ||
		    !otlp_is_utf8(text, len))
			return -EINVAL;
		memcpy(options->names[options->n_names], text, len);
		options->names[options->n_names++][len] = '\0';
		text += len;
	}
	return 0;
}
