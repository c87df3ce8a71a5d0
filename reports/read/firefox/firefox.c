/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Firefox Profiler's processed profiles, version 61, as exporters/firefox writes them: see
 * exporters/firefox/encode.h for what is in them. Other versions differ in their tables, and are
 * refused, as is what other programs wrote, whose threads have tables of their own.
 *
 * Lost in this format: addresses in the kernel, symbols before demangling, users, cgroups and
 * containers, the programs' paths. Samples are one by one; where the file says that their times are
 * not known they have none.
 */
#include "reports/read/firefox/profile.h"

#include <errno.h>
#include <stdio.h>

#define VERSION	     61
#define OURS	     "ebpf-profiler"
#define MAX_ROWS     (1u << 24) /* core/profile/tables.h has the same */
#define MAX_NODES    (1u << 27)
#define MAX_CATEGORY 256
#define MAX_LIST     (1u << 20)

/* --- meta --- */

struct meta {
	uint32_t version;
	bool is_ours;
	int64_t interval_ns, start_ns, duration_ns;
};

static void copy_text(struct ep_json *json, char *text, size_t bytes)
{
	struct ep_piece piece;

	text[0] = '\0';
	if (ep_json_text(json, &piece))
		ep_piece_copy(piece, text, bytes);
}

/* "99 Hz", "0". */
static uint64_t leading_number(const char *text)
{
	uint64_t number = 0;

	for (; *text >= '0' && *text <= '9' && number < UINT32_MAX; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	return number;
}

static void read_fact(struct firefox_read *fx)
{
	char label[64] = "", value[FIREFOX_TEXT_BYTES] = "";
	struct ep_piece key;

	ep_json_enter(&fx->json, '{');
	while (ep_json_key(&fx->json, &key)) {
		if (ep_piece_is(key, "label"))
			copy_text(&fx->json, label, sizeof(label));
		else if (ep_piece_is(key, "value") && ep_json_is(&fx->json, '"'))
			copy_text(&fx->json, value, sizeof(value));
		else
			ep_json_skip(&fx->json);
	}
	if (strcmp(label, "Host") == 0)
		memcpy(fx->host, value, sizeof(fx->host));
	else if (strcmp(label, "Frequency") == 0)
		fx->header.period_hz =
			(uint32_t)EP_MIN(leading_number(value), (uint64_t)UINT32_MAX);
	else if (strcmp(label, "Samples lost") == 0)
		fx->header.lost_samples = leading_number(value);
	else if (strcmp(label, "Times of samples") == 0)
		fx->has_times = false;
}

/* [ { "label": "Recording", "entries": [ { "label": "Host", "value": "web1" } ] } ] */
static void read_facts(struct firefox_read *fx)
{
	struct ep_piece key;

	ep_json_enter(&fx->json, '[');
	while (ep_json_more(&fx->json)) {
		ep_json_enter(&fx->json, '{');
		while (ep_json_key(&fx->json, &key)) {
			if (!ep_piece_is(key, "entries")) {
				ep_json_skip(&fx->json);
				continue;
			}
			ep_json_enter(&fx->json, '[');
			while (ep_json_more(&fx->json))
				read_fact(fx);
		}
	}
}

static int read_categories(struct firefox_read *fx)
{
	struct ep_json *json = &fx->json;
	struct ep_piece key;
	int r = 0;

	ep_json_enter(json, '[');
	while (r == 0 && ep_json_more(json)) {
		uint32_t kind = 0;

		ep_json_enter(json, '{');
		while (r == 0 && ep_json_key(json, &key)) {
			if (ep_piece_is(key, "name"))
				r = firefox_add_string(fx, ep_json_here(json), &kind);
			ep_json_skip(json);
		}
		if (r == 0 && fx->kinds.len == 0) /* what no kind has a category for */
			r = ep_profile_add_string(fx->builder, "unknown", strlen("unknown"), &kind);
		if (r == 0)
			r = ep_vec_append(&fx->kinds, &kind, 1);
	}
	if (r == -E2BIG)
		ep_json_fail(json, "it has more than 256 categories");
	return r;
}

static int read_meta(struct firefox_read *fx, struct meta *meta)
{
	struct ep_json *json = &fx->json;
	struct ep_piece key;
	int r = 0;

	*json = ep_json_at(json, fx->meta);
	ep_json_enter(json, '{');
	while (r == 0 && ep_json_key(json, &key)) {
		if (ep_piece_is(key, "preprocessedProfileVersion")) {
			ep_json_row(json, &meta->version);
		} else if (ep_piece_is(key, "product") && ep_json_is(json, '"')) {
			if (ep_json_text(json, &key))
				meta->is_ours = key.bytes >= strlen(OURS) &&
						memcmp(key.text, OURS, strlen(OURS)) == 0;
		} else if (ep_piece_is(key, "interval")) {
			ep_json_parts(json, 6, &meta->interval_ns);
		} else if (ep_piece_is(key, "startTime")) {
			ep_json_parts(json, 6, &meta->start_ns);
		} else if (ep_piece_is(key, "profilingEndTime") && !ep_json_is(json, 'n')) {
			ep_json_parts(json, 6, &meta->duration_ns);
		} else if (ep_piece_is(key, "categories")) {
			r = read_categories(fx);
		} else if (ep_piece_is(key, "extra")) {
			read_facts(fx);
		} else {
			ep_json_skip(json);
		}
	}
	return r;
}

static void check_meta(struct firefox_read *fx, const struct meta *meta)
{
	if (!meta->is_ours)
		ep_json_fail(&fx->json, "this is a Firefox profile of another program, which is "
					"not read: open it in profiler.firefox.com");
	else if (meta->version != VERSION)
		ep_json_fail(&fx->json, "this version of Firefox's format is not read, 61 is: "
					"give the .otlp.gz or .pb.gz of the same recording");
	else if (meta->start_ns < 0 || meta->duration_ns < 0 || meta->interval_ns < 0)
		ep_json_fail(&fx->json, "a time in it is negative");
	fx->header.start_ns = (uint64_t)meta->start_ns;
	fx->header.duration_ns = (uint64_t)meta->duration_ns;
	fx->header.period_ns = (uint64_t)meta->interval_ns;
}

/* --- the reader --- */

static void find_parts(struct firefox_read *fx)
{
	const struct {
		const char *key;
		const uint8_t **at;
	} parts[] = {{"meta", &fx->meta},
		     {"libs", &fx->libs_at},
		     {"shared", &fx->shared},
		     {"threads", &fx->threads}};
	struct ep_json *json = &fx->json;
	struct ep_piece key;

	ep_json_enter(json, '{');
	while (ep_json_key(json, &key)) {
		for (size_t i = 0; i < EP_LEN(parts); i++) {
			if (ep_piece_is(key, parts[i].key))
				*parts[i].at = ep_json_here(json);
		}
		ep_json_skip(json);
	}
}

/* meta is found out first: what others wrote has no other part that is known here. */
static int read_parts(struct firefox_read *fx, const uint8_t **ret_after)
{
	struct meta meta = {0};
	int r = 0;

	find_parts(fx);
	*ret_after = ep_json_next_document(&fx->json);
	if (!fx->json.why && !fx->meta)
		ep_json_fail(&fx->json, "the document that ends here is no profile");
	if (!fx->json.why)
		r = read_meta(fx, &meta);
	if (r == 0 && !fx->json.why)
		check_meta(fx, &meta);
	if (r == 0 && !fx->json.why && (!fx->libs_at || !fx->shared || !fx->threads))
		ep_json_fail(&fx->json, "it lacks its tables or its threads: it is no whole file");
	if (r == 0 && !fx->json.why)
		r = firefox_tables(fx);
	if (r == 0 && !fx->json.why)
		r = firefox_threads(fx);
	return r;
}

static void set_measure(struct firefox_read *fx)
{
	bool is_bytes = strcmp(fx->weight_type, "bytes") == 0;

	fx->header.host_name = fx->host;
	if (!fx->weight_type[0] || strcmp(fx->weight_type, "tracing-ms") == 0) {
		fx->header.sample_type = "cpu";
		fx->header.weight_unit = "nanoseconds";
		return;
	}
	fx->header.period_ns = 0;
	fx->header.sample_type = is_bytes ? "bytes" : "samples";
	fx->header.weight_unit = is_bytes ? "bytes" : "count";
}

/* By the version that only processed profiles have; of other JSON the whole file is looked through.
 */
static bool firefox_matches(const uint8_t *data, size_t bytes)
{
	ep_cleanup(ep_vec_fini) struct ep_vec text;
	struct ep_json json = ep_json_of(data, bytes, data, &text);
	struct ep_piece key;

	if (!ep_json_is(&json, '{') || !ep_json_enter(&json, '{'))
		return false;
	while (ep_json_key(&json, &key)) {
		if (!ep_piece_is(key, "meta")) {
			ep_json_skip(&json);
			continue;
		}
		ep_json_enter(&json, '{');
		while (ep_json_key(&json, &key)) {
			if (ep_piece_is(key, "preprocessedProfileVersion"))
				return true;
			ep_json_skip(&json);
		}
		return false;
	}
	return false;
}

static void firefox_fini(struct firefox_read *fx)
{
	for (size_t i = 0; i < FIREFOX_COLUMNS; i++)
		ep_vec_fini(&fx->columns[i]);
	ep_vec_fini(&fx->text);
	ep_vec_fini(&fx->strings);
	ep_vec_fini(&fx->kinds);
	ep_vec_fini(&fx->libs);
	ep_vec_fini(&fx->funcs);
	ep_vec_fini(&fx->locations);
	ep_vec_fini(&fx->stacks);
	ep_vec_fini(&fx->stack);
	ep_vec_fini(&fx->lines);
}

static void firefox_init(struct firefox_read *fx, const uint8_t *data, size_t bytes,
			 const uint8_t *at)
{
	fx->json = ep_json_of(data, bytes, at, &fx->text);
	fx->has_times = true;
	for (size_t i = 0; i < FIREFOX_COLUMNS; i++)
		ep_vec_init(&fx->columns[i], sizeof(uint32_t),
			    i <= STACK_PREFIX ? MAX_NODES : MAX_ROWS);
	ep_vec_init(&fx->strings, sizeof(const uint8_t *), MAX_ROWS);
	ep_vec_init(&fx->kinds, sizeof(uint32_t), MAX_CATEGORY);
	ep_vec_init(&fx->libs, sizeof(struct firefox_lib), MAX_ROWS);
	ep_vec_init(&fx->funcs, sizeof(struct firefox_func), MAX_ROWS);
	ep_vec_init(&fx->locations, sizeof(uint32_t), MAX_ROWS);
	ep_vec_init(&fx->stacks, sizeof(uint32_t), MAX_NODES);
	ep_vec_init(&fx->stack, sizeof(uint32_t), MAX_LIST);
	ep_vec_init(&fx->lines, sizeof(struct ep_profile_line), MAX_LIST);
}

/* The document at *at, which moves to the one after it, or NULL. */
static int read_document(const uint8_t *data, size_t bytes, const uint8_t **at,
			 struct ep_profile_builder *builder, char *why)
{
	ep_cleanup(firefox_fini) struct firefox_read fx = {.builder = builder};
	int r;

	firefox_init(&fx, data, bytes, *at);
	r = read_parts(&fx, at);
	r = ep_json_end(&fx.json, r, why);
	set_measure(&fx);
	return r < 0 ? r : ep_profile_add_header(builder, &fx.header);
}

static int firefox_read(const uint8_t *data, size_t bytes, struct ep_profile_builder *builder,
			char *why)
{
	const uint8_t *at = data;
	int r = 0;

	why[0] = '\0';
	while (r == 0 && at)
		r = read_document(data, bytes, &at, builder, why);
	return r;
}

const struct ep_reader ep_firefox_reader = {
	.name = "Firefox profile", .matches = firefox_matches, .read = firefox_read};
