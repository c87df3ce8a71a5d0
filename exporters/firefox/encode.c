/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/firefox/encode.h"
#include "exporters/firefox/json.h"
#include "exporters/firefox/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GECKO_VERSION 30 /* of the format that Firefox itself would have sent; nothing here depends on it */
#define LIBRARY	      1	 /* resource type */
#define BASE_ALIGN    0x10000
#define MAX_KINDS     255 /* categories are bytes to the profiler, as are depths */

struct firefox {
	const struct ep_batch *batch;
	struct firefox_tables tables;
	struct json json;
	bool is_time; /* weights are nanoseconds */
};

static size_t n_frames(const struct firefox *fx)
{
	return fx->tables.funcs.len ? fx->batch->n_lines : 0;
}

static void put_string(struct firefox *fx, const char *key, uint32_t string)
{
	json_text(&fx->json, key, fx->batch->string_text[string], fx->batch->string_bytes[string]);
}

static void put_index(struct firefox *fx, uint32_t index)
{
	if (index == FIREFOX_NONE)
		json_null(&fx->json, NULL);
	else
		json_u64(&fx->json, NULL, index);
}

static void put_number_or_null(struct firefox *fx, uint32_t number)
{
	put_index(fx, number ? number : FIREFOX_NONE);
}

/* A column of `n` nulls, or of one number. */
static void put_nulls(struct firefox *fx, const char *key, size_t n)
{
	json_open(&fx->json, key, '[');
	for (size_t i = 0; i < n; i++)
		json_null(&fx->json, NULL);
	json_close(&fx->json, ']');
}

static void put_equal(struct firefox *fx, const char *key, size_t n, uint64_t value)
{
	json_open(&fx->json, key, '[');
	for (size_t i = 0; i < n; i++)
		json_u64(&fx->json, NULL, value);
	json_close(&fx->json, ']');
}

/* --- meta --- */

static const char *color_of(const char *kind, size_t row)
{
	static const struct {
		const char *kind, *color;
	} known[] = {{"kernel", "orange"}, {"native", "blue"}, {"error", "red"}, {"gap", "lightred"}};
	static const char *const others[] = {"yellow", "green", "purple", "magenta", "lightblue", "brown"};

	for (size_t i = 0; i < EP_LEN(known); i++) {
		if (strcmp(known[i].kind, kind) == 0)
			return known[i].color;
	}
	return others[row % EP_LEN(others)];
}

static void put_category(struct firefox *fx, const char *name, size_t bytes, const char *color)
{
	struct json *json = &fx->json;

	json_open(json, NULL, '{');
	json_text(json, "name", name, bytes);
	json_str(json, "color", color);
	json_open(json, "subcategories", '[');
	json_str(json, NULL, "Other");
	json_close(json, ']');
	json_close(json, '}');
}

/* The first is what the profiler takes where there is none; it wants a grey one. */
static void put_categories(struct firefox *fx)
{
	const struct ep_batch *batch = fx->batch;

	json_open(&fx->json, "categories", '[');
	put_category(fx, "Other", strlen("Other"), "grey");
	for (size_t i = 0; i < fx->tables.kinds.len && i < MAX_KINDS; i++) {
		uint32_t kind = *ep_vec_at(&fx->tables.kinds, uint32_t, i);

		put_category(fx, batch->string_text[kind], batch->string_bytes[kind],
			     color_of(batch->string_text[kind], i));
	}
	json_close(&fx->json, ']');
}

static void put_fact(struct firefox *fx, const char *label, const char *text)
{
	json_open(&fx->json, NULL, '{');
	json_str(&fx->json, "label", label);
	json_str(&fx->json, "format", "string");
	json_str(&fx->json, "value", text);
	json_close(&fx->json, '}');
}

static bool has_times(const struct firefox *fx)
{
	for (size_t i = 0; i < fx->tables.n_moments; i++) {
		if (!fx->tables.moments[i].timed)
			return false;
	}
	return true;
}

/* Shown with the profile's other facts. */
static void put_facts(struct firefox *fx)
{
	char number[32];

	json_open(&fx->json, "extra", '[');
	json_open(&fx->json, NULL, '{');
	json_str(&fx->json, "label", "Recording");
	json_open(&fx->json, "entries", '[');
	put_fact(fx, "Host", fx->batch->host_name);
	snprintf(number, sizeof(number), "%" PRIu32 " Hz", fx->batch->period_hz);
	put_fact(fx, "Frequency", number);
	snprintf(number, sizeof(number), "%" PRIu64, fx->batch->lost_samples);
	put_fact(fx, "Samples lost", number);
	if (!has_times(fx))
		put_fact(fx, "Times of samples", "not known: they stand one after another");
	json_close(&fx->json, ']');
	json_close(&fx->json, '}');
	json_close(&fx->json, ']');
}

static void put_meta(struct firefox *fx, const char *version)
{
	const struct ep_batch *batch = fx->batch;
	struct json *json = &fx->json;
	char by[128];

	snprintf(by, sizeof(by), "ebpf-profiler %s", version ? version : "");
	json_open(json, "meta", '{');
	json_ms(json, "interval", (int64_t)(fx->is_time ? batch->period_ns : 1000000));
	json_ms(json, "startTime", (int64_t)batch->start_ns);
	json_ms(json, "profilingStartTime", 0);
	json_ms(json, "profilingEndTime", (int64_t)batch->duration_ns);
	json_u64(json, "processType", 0);
	json_str(json, "product", by);
	json_str(json, "importedFrom", by);
	json_u64(json, "stackwalk", 1);
	json_u64(json, "version", GECKO_VERSION);
	json_u64(json, "preprocessedProfileVersion", FIREFOX_VERSION);
	json_bool(json, "symbolicated", true);
	json_bool(json, "usesOnlyOneStackType", true);
	json_bool(json, "sourceCodeIsNotOnSearchfox", true);
	put_categories(fx);
	json_open(json, "markerSchema", '[');
	json_close(json, ']');
	json_open(json, "sampleUnits", '{');
	json_str(json, "time", "ms");
	json_str(json, "eventDelay", "ms");
	json_str(json, "threadCPUDelta", "ns");
	json_close(json, '}');
	put_facts(fx);
	json_close(json, '}');
}

/* --- libraries: one for each mapping but row 0 --- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * Breakpad's id of a file: the first 16 bytes of its build id as a GUID, which has its first three numbers in
 * little-endian order, and a 0.
 */
static void make_breakpad_id(const char *build_id, char id[34])
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	size_t len = strlen(build_id);

	id[0] = '\0';
	if (len == 0)
		return;
	for (size_t i = 0; i < 32; i++) {
		size_t at = 2u * order[i / 2] + i % 2;
		char c = at < len ? build_id[at] : '0';

		id[i] = c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c;
	}
	memcpy(id + 32, "0", 2);
}

static void put_address(struct firefox *fx, const char *key, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_str(&fx->json, key, text);
}

/*
 * What the format has no place for, under our own name, which the profiler leaves alone: so that
 * addresses are what they were when `report` and `convert` read the file again. Text, since JSON's
 * readers lose greater numbers.
 */
static void put_own_lib(struct firefox *fx, uint32_t mapping)
{
	const struct ep_batch *batch = fx->batch;

	json_open(&fx->json, "ebpfProfiler", '{');
	put_address(fx, "startVa", batch->mapping_start_va[mapping]);
	put_address(fx, "limitVa", batch->mapping_limit_va[mapping]);
	put_address(fx, "fileOffset", batch->mapping_file_off[mapping]);
	put_address(fx, "flags", batch->mapping_flags[mapping]);
	json_str(&fx->json, "fileId", batch->string_text[batch->mapping_file_id[mapping]]);
	json_close(&fx->json, '}');
}

static void put_lib(struct firefox *fx, uint32_t mapping)
{
	const struct ep_batch *batch = fx->batch;
	const char *path = batch->string_text[batch->mapping_path[mapping]];
	const char *build_id = batch->string_text[batch->mapping_build_id[mapping]];
	char breakpad_id[34];

	make_breakpad_id(build_id, breakpad_id);
	json_open(&fx->json, NULL, '{');
	json_str(&fx->json, "arch", "");
	json_str(&fx->json, "name", base_name(path));
	json_str(&fx->json, "path", path);
	json_str(&fx->json, "debugName", base_name(path));
	json_str(&fx->json, "debugPath", path);
	json_str(&fx->json, "breakpadId", breakpad_id);
	if (build_id[0])
		json_str(&fx->json, "codeId", build_id);
	else
		json_null(&fx->json, "codeId");
	put_own_lib(fx, mapping);
	json_close(&fx->json, '}');
}

/*
 * An address in a library is what it is beyond the library's first address. Of that a batch knows no more than
 * that one code segment begins at start_va and file_off: linkers put them apart by multiples of a page at most,
 * and begin a file at a multiple of 64 kB. Addresses of the kernel are greater than what JSON's readers keep.
 */
static int64_t relative_address(const struct ep_batch *batch, uint32_t mapping, uint64_t address)
{
	uint64_t base = batch->mapping_start_va[mapping] - batch->mapping_file_off[mapping];

	if (!mapping || (batch->mapping_flags[mapping] & EP_MAPPING_KERNEL))
		return -1;
	base = EP_ALIGN_DOWN(base, BASE_ALIGN);
	return address >= base && address - base < INT32_MAX ? (int64_t)(address - base) : -1;
}

/* --- shared tables --- */

static void put_stacks(struct firefox *fx)
{
	const struct firefox_node *node;

	json_open(&fx->json, "stackTable", '{');
	json_open(&fx->json, "frame", '[');
	ep_vec_each(&fx->tables.nodes, node)
		json_u64(&fx->json, NULL, node->frame);
	json_close(&fx->json, ']');
	json_open(&fx->json, "prefix", '[');
	ep_vec_each(&fx->tables.nodes, node)
		put_index(fx, node->prefix);
	json_close(&fx->json, ']');
	json_u64(&fx->json, "length", fx->tables.nodes.len);
	json_close(&fx->json, '}');
}

static uint32_t location_of(const struct firefox *fx, uint32_t line)
{
	return fx->tables.location_of_line[line];
}

static void put_frame_address(struct firefox *fx, uint32_t line)
{
	uint32_t location = location_of(fx, line);

	json_i64(&fx->json, NULL, relative_address(fx->batch, fx->batch->location_mapping[location],
						   fx->batch->location_address[location]));
}

/* The outermost function is the last line, and has depth 0. */
static void put_frame_depth(struct firefox *fx, uint32_t line)
{
	uint32_t end = fx->batch->location_line_first[location_of(fx, line) + 1];

	json_u64(&fx->json, NULL, end > line ? EP_MIN(end - 1 - line, (uint32_t)UINT8_MAX) : 0);
}

static void put_frame_category(struct firefox *fx, uint32_t line)
{
	uint32_t location = location_of(fx, line);
	uint32_t row = location ? fx->tables.row_of_kind[fx->batch->location_kind[location]] : FIREFOX_NONE;

	json_u64(&fx->json, NULL, row < MAX_KINDS ? 1 + row : 0);
}

static void put_frame_func(struct firefox *fx, uint32_t line)
{
	json_u64(&fx->json, NULL, fx->tables.func_of_line[line]);
}

static void put_frame_symbol(struct firefox *fx, uint32_t line)
{
	uint32_t end = fx->batch->location_line_first[location_of(fx, line) + 1];
	bool has = location_of(fx, line) && end - fx->batch->location_line_first[location_of(fx, line)] > 1;

	put_index(fx, has ? fx->tables.symbol_of_func[fx->tables.func_of_line[end - 1]] : FIREFOX_NONE);
}

static void put_frame_line(struct firefox *fx, uint32_t line)
{
	put_number_or_null(fx, fx->batch->line_line[line]);
}

static void put_frame_column(struct firefox *fx, uint32_t line)
{
	put_number_or_null(fx, fx->batch->line_column[line]);
}

static void put_frames(struct firefox *fx)
{
	static const struct {
		const char *key;
		void (*put)(struct firefox *fx, uint32_t line);
	} columns[] = {
		{"address", put_frame_address}, {"inlineDepth", put_frame_depth},
		{"category", put_frame_category}, {"func", put_frame_func},
		{"nativeSymbol", put_frame_symbol}, {"line", put_frame_line},
		{"column", put_frame_column},
	};
	size_t n = n_frames(fx);

	json_open(&fx->json, "frameTable", '{');
	for (size_t i = 0; i < EP_LEN(columns); i++) {
		json_open(&fx->json, columns[i].key, '[');
		for (uint32_t line = 0; line < n; line++)
			columns[i].put(fx, line);
		json_close(&fx->json, ']');
	}
	put_equal(fx, "subcategory", n, 0);
	put_equal(fx, "innerWindowID", n, 0);
	json_u64(&fx->json, "length", n);
	json_close(&fx->json, '}');
}

static void put_false(struct firefox *fx, const char *key, size_t n)
{
	json_open(&fx->json, key, '[');
	for (size_t i = 0; i < n; i++)
		json_bool(&fx->json, NULL, false);
	json_close(&fx->json, ']');
}

static void put_funcs(struct firefox *fx)
{
	const struct firefox_tables *tables = &fx->tables;
	const struct ep_batch *batch = fx->batch;
	const struct firefox_func *func;
	struct json *json = &fx->json;

	json_open(json, "funcTable", '{');
	json_open(json, "name", '[');
	ep_vec_each(&tables->funcs, func)
		json_u64(json, NULL, tables->number_of_string[batch->function_name[func->function]]);
	json_close(json, ']');
	json_open(json, "resource", '[');
	ep_vec_each(&tables->funcs, func)
		json_i64(json, NULL, (int64_t)func->mapping - 1);
	json_close(json, ']');
	json_open(json, "source", '[');
	ep_vec_each(&tables->funcs, func)
		put_index(fx, tables->source_of_string[batch->function_file[func->function]]);
	json_close(json, ']');
	json_open(json, "lineNumber", '[');
	ep_vec_each(&tables->funcs, func)
		put_number_or_null(fx, batch->function_line[func->function]);
	json_close(json, ']');
	put_nulls(fx, "columnNumber", tables->funcs.len);
	put_false(fx, "isJS", tables->funcs.len);
	put_false(fx, "relevantForJS", tables->funcs.len);
	json_u64(json, "length", tables->funcs.len);
	json_close(json, '}');
}

static void put_resources(struct firefox *fx)
{
	uint32_t n = fx->batch->n_mappings ? fx->batch->n_mappings - 1 : 0;

	json_open(&fx->json, "resourceTable", '{');
	json_open(&fx->json, "lib", '[');
	for (uint32_t i = 0; i < n; i++)
		json_u64(&fx->json, NULL, i);
	json_close(&fx->json, ']');
	json_open(&fx->json, "name", '[');
	for (uint32_t i = 0; i < n; i++) /* see put_strings */
		json_u64(&fx->json, NULL, fx->tables.strings.len + i);
	json_close(&fx->json, ']');
	put_nulls(fx, "host", n);
	put_equal(fx, "type", n, LIBRARY);
	json_u64(&fx->json, "length", n);
	json_close(&fx->json, '}');
}

static void put_symbols(struct firefox *fx)
{
	const struct ep_batch *batch = fx->batch;
	const struct firefox_symbol *symbol;
	struct json *json = &fx->json;

	json_open(json, "nativeSymbols", '{');
	json_open(json, "libIndex", '[');
	ep_vec_each(&fx->tables.symbols, symbol)
		json_i64(json, NULL,
			 (int64_t)ep_vec_at(&fx->tables.funcs, struct firefox_func, symbol->func)->mapping - 1);
	json_close(json, ']');
	json_open(json, "address", '[');
	ep_vec_each(&fx->tables.symbols, symbol)
		json_i64(json, NULL,
			 relative_address(batch, ep_vec_at(&fx->tables.funcs, struct firefox_func, symbol->func)->mapping,
					  symbol->address));
	json_close(json, ']');
	json_open(json, "name", '[');
	ep_vec_each(&fx->tables.symbols, symbol) {
		uint32_t function = ep_vec_at(&fx->tables.funcs, struct firefox_func, symbol->func)->function;

		json_u64(json, NULL, fx->tables.number_of_string[batch->function_name[function]]);
	}
	json_close(json, ']');
	put_nulls(fx, "functionSize", fx->tables.symbols.len);
	json_u64(json, "length", fx->tables.symbols.len);
	json_close(json, '}');
}

static void put_sources(struct firefox *fx)
{
	size_t n = fx->tables.sources.len;
	const uint32_t *string;

	json_open(&fx->json, "sources", '{');
	put_nulls(fx, "id", n);
	json_open(&fx->json, "filename", '[');
	ep_vec_each(&fx->tables.sources, string)
		json_u64(&fx->json, NULL, fx->tables.number_of_string[*string]);
	json_close(&fx->json, ']');
	put_equal(fx, "startLine", n, 1);
	put_equal(fx, "startColumn", n, 1);
	put_nulls(fx, "sourceMapURL", n);
	json_u64(&fx->json, "length", n);
	json_close(&fx->json, '}');
}

/* Those of the tables, then the names of libraries, which are parts of their paths. */
static void put_strings(struct firefox *fx)
{
	const struct ep_batch *batch = fx->batch;
	const uint32_t *string;

	json_open(&fx->json, "stringArray", '[');
	ep_vec_each(&fx->tables.strings, string)
		put_string(fx, NULL, *string);
	for (uint32_t i = 1; i < batch->n_mappings; i++)
		json_str(&fx->json, NULL, base_name(batch->string_text[batch->mapping_path[i]]));
	json_close(&fx->json, ']');
}

/* --- threads --- */

static const char *weight_type(const struct firefox *fx)
{
	if (fx->is_time)
		return "tracing-ms";
	return strcmp(fx->batch->weight_unit, "bytes") == 0 ? "bytes" : "samples";
}

static void put_weights(struct firefox *fx, const struct ep_moment *first, const struct ep_moment *end)
{
	json_open(&fx->json, "weight", '[');
	for (const struct ep_moment *moment = first; moment < end; moment++) {
		if (fx->is_time)
			json_ms(&fx->json, NULL, (int64_t)moment->weight);
		else
			json_u64(&fx->json, NULL, moment->weight);
	}
	json_close(&fx->json, ']');
	json_str(&fx->json, "weightType", weight_type(fx));
	if (!fx->is_time)
		return;
	json_open(&fx->json, "threadCPUDelta", '[');
	for (const struct ep_moment *moment = first; moment < end; moment++)
		json_u64(&fx->json, NULL, moment->weight);
	json_close(&fx->json, ']');
}

/* Samples without a time stand one period after another. */
static void put_samples(struct firefox *fx, const struct ep_moment *first, const struct ep_moment *end)
{
	const struct ep_batch *batch = fx->batch;
	struct json *json = &fx->json;

	json_open(json, "samples", '{');
	json_open(json, "stack", '[');
	for (const struct ep_moment *moment = first; moment < end; moment++)
		put_index(fx, fx->tables.node_of_stack[batch->sample_stack[moment->row]]);
	json_close(json, ']');
	json_open(json, "time", '[');
	for (const struct ep_moment *moment = first; moment < end; moment++)
		json_ms(json, NULL,
			moment->timed ? (int64_t)(moment->time_ns - batch->start_ns)
				      : (int64_t)((uint64_t)(moment - first) *
						  (fx->is_time && batch->period_ns ? batch->period_ns : 1000000)));
	json_close(json, ']');
	put_weights(fx, first, end);
	json_u64(json, "length", (uint64_t)(end - first));
	json_close(json, '}');
}

static void put_no_markers(struct firefox *fx)
{
	static const char *const columns[] = {"data", "name", "startTime", "endTime", "phase", "category"};

	json_open(&fx->json, "markers", '{');
	for (size_t i = 0; i < EP_LEN(columns); i++)
		put_nulls(fx, columns[i], 0);
	json_u64(&fx->json, "length", 0);
	json_close(&fx->json, '}');
}

static void put_pid(struct firefox *fx, uint32_t process)
{
	uint32_t nth = fx->tables.nth_of_pid[process];
	char text[32];

	if (nth)
		snprintf(text, sizeof(text), "%" PRIu32 ".%" PRIu32, fx->batch->process_pid[process], nth);
	else
		snprintf(text, sizeof(text), "%" PRIu32, fx->batch->process_pid[process]);
	json_str(&fx->json, "pid", text);
}

static void put_thread(struct firefox *fx, const struct firefox_thread *thread, const struct ep_moment *first,
		       const struct ep_moment *end)
{
	const struct ep_batch *batch = fx->batch;
	uint32_t comm = batch->process_comm[thread->process];
	uint64_t start_ns = batch->process_start_ns[thread->process];
	int64_t since = start_ns ? (int64_t)(start_ns - batch->start_ns) : 0;
	struct json *json = &fx->json;

	json_open(json, NULL, '{');
	json_str(json, "processType", "default");
	put_string(fx, "processName", comm ? comm : thread->name);
	json_ms(json, "processStartupTime", since);
	json_null(json, "processShutdownTime");
	json_ms(json, "registerTime", since);
	json_null(json, "unregisterTime");
	put_nulls(fx, "pausedRanges", 0);
	put_string(fx, "name", thread->name ? thread->name : comm);
	json_bool(json, "isMainThread", thread->tid == batch->process_pid[thread->process]);
	put_pid(fx, thread->process);
	json_u64(json, "tid", thread->tid);
	put_samples(fx, first, end);
	put_no_markers(fx);
	json_close(json, '}');
}

static void put_threads(struct firefox *fx)
{
	const struct firefox_tables *tables = &fx->tables;
	const struct ep_moment *moment = tables->moments, *end = moment + tables->n_moments;
	const struct firefox_thread *thread;
	uint32_t row = 0;

	json_open(&fx->json, "threads", '[');
	ep_vec_each(&tables->threads, thread) {
		const struct ep_moment *first = moment;

		while (moment < end && tables->thread_of_sample[moment->row] == row)
			moment++;
		put_thread(fx, thread, first, moment);
		row++;
	}
	json_close(&fx->json, ']');
}

static void put_profile(struct firefox *fx, const char *version)
{
	struct json *json = &fx->json;

	json_open(json, NULL, '{');
	put_meta(fx, version);
	json_open(json, "libs", '[');
	for (uint32_t i = 1; i < fx->batch->n_mappings; i++)
		put_lib(fx, i);
	json_close(json, ']');
	json_open(json, "shared", '{');
	put_stacks(fx);
	put_frames(fx);
	put_funcs(fx);
	put_resources(fx);
	put_symbols(fx);
	put_sources(fx);
	put_strings(fx);
	json_close(json, '}');
	put_threads(fx);
	json_close(json, '}');
}

static void tables_fini(struct firefox *fx)
{
	firefox_tables_fini(&fx->tables);
}

int firefox_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	ep_cleanup(tables_fini) struct firefox fx = {.batch = batch};
	int r = firefox_tables_init(&fx.tables, batch);

	if (r < 0)
		return r;
	fx.is_time = !EP_HAS(batch, weight_unit) || !batch->weight_unit ||
		     strcmp(batch->weight_unit, "nanoseconds") == 0;
	fx.json.out = ep_text_out_new(sink);
	if (!fx.json.out)
		return -ENOMEM;
	put_profile(&fx, version);
	return ep_text_out_end(fx.json.out);
}
