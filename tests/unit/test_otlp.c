/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OTLP encoder. With --requests DIRECTORY what the tests encode goes there, with what is
 * expected of it, for the judge in tests/otlp/judge.py.
 */
#include "ebpf-profiler/frame.h"
#include "exporters/shared/otlp/encode.h"
#include "exporters/shared/proto/otlp_fields.h"
#include "exporters/otlp/gzip.h"
#include "exporters/shared/otlp/kernel.h"
#include "tests/kit/test.h"
#include "tests/otlp/batch.h"
#include "tests/unit/profile_batch.h"

#define MAX_REQUESTS 512

/* What the last batch became. */
static struct requests {
	uint8_t *data[MAX_REQUESTS];
	size_t len[MAX_REQUESTS];
	uint64_t events, profiles;
	size_t n;
} requests;

static int keep_request(void *arg, const struct otlp_request *request)
{
	uint8_t *to = malloc(request->bytes + 1);
	size_t len = 0;

	assert_non_null(to);
	assert_in_range(requests.n, 0, MAX_REQUESTS - 1);
	for (size_t i = 0; i < request->n_pieces; i++) {
		if (request->pieces[i].len)
			memcpy(to + len, request->pieces[i].data, request->pieces[i].len);
		len += request->pieces[i].len;
	}
	assert_int_equal(len, request->bytes);
	requests.data[requests.n] = to;
	requests.len[requests.n++] = len;
	requests.events += request->samples;
	requests.profiles += request->profiles;
	return 0;
}

static void free_requests(void *made)
{
	while (requests.n > 0)
		free(requests.data[--requests.n]);
	requests.events = requests.profiles = 0;
}

static uint64_t encode(const struct ep_batch *batch, const struct otlp_encode_options *options)
{
	struct otlp_sink sink = {.take = keep_request};
	uint64_t too_big = 0;

	free_requests(NULL);
	ep_test_owns(&requests, free_requests);
	assert_int_equal(otlp_encode(batch, options, &sink, &too_big), 0);
	return too_big;
}

static const char *directory; /* NULL: nothing is kept */
static uint32_t n_groups;

static FILE *open_in_directory(const char *what)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u%s", directory, n_groups, what);
	file = fopen(path, "we");
	assert_non_null(file);
	return file;
}

/* The judge is to find these lines in all requests of the last batch together: "events 40", "line
 * text". */
__attribute__((format(printf, 1, 2))) static void expect(const char *format, ...)
{
	va_list args;
	FILE *file;

	if (!directory)
		return;
	file = open_in_directory(".expected");
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
	for (size_t i = 0; i < requests.n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "-%zu.bin", i);
		file = open_in_directory(name);
		assert_int_equal(fwrite(requests.data[i], 1, requests.len[i], file),
				 requests.len[i]);
		fclose(file);
	}
	n_groups++;
}

EP_TEST_RELEASES(test_batch_unref)

static struct ep_batch *new_batch(const struct test_shape *shape)
{
	struct ep_batch *batch = test_batch_new(shape);

	ep_test_owns(batch, test_batch_unref_made);
	return batch;
}

static const struct otlp_encode_options defaults = {
	.max_bytes = 4000000, .version = "1.2", .host_id = "0123", .host_arch = "amd64"};

EP_TEST(small_batch_is_one_request)
{
	struct ep_batch *batch = new_batch(&test_shape_small);

	assert_int_equal(encode(batch, &defaults), 0);
	assert_int_equal(requests.n, 1);
	assert_int_equal(requests.events, test_batch_events(batch));
	/* three processes, and one that is not known */
	expect("events %" PRIu64 "\nresources 4\n", requests.events);
}

EP_TEST(nothing_makes_no_request)
{
	struct test_shape shape = test_shape_small;
	struct ep_batch *batch;

	shape.samples = 0;
	batch = new_batch(&shape);
	encode(batch, &defaults);
	assert_int_equal(requests.n, 0);
}

/* Twins: the same stack found by frame pointer. They are one stack, and one sample. */
EP_TEST(equal_rows_become_one)
{
	struct test_shape shape = {.processes = 3,
				   .functions = 50,
				   .stacks = 20,
				   .depth = 6,
				   .samples = 40,
				   .events = 3,
				   .twins = 20};
	struct ep_batch *batch = new_batch(&shape);

	encode(batch, &defaults);
	/* row 0 is of no process, its twin is of one */
	expect("stacks 21\nsamples 21\nevents %" PRIu64 "\n", test_batch_events(batch));
}

EP_TEST(big_batch_is_split_below_the_limit)
{
	static const size_t limits[] = {16384, 20000, 65536, 300000};
	struct ep_batch *batch = new_batch(&test_shape_379k);

	for (size_t i = 0; i < EP_LEN(limits); i++) {
		struct otlp_encode_options options = defaults;

		options.max_bytes = limits[i];
		assert_int_equal(encode(batch, &options), 0);
		assert_true(requests.n > 1);
		expect("max_bytes %zu\nevents %" PRIu64 "\n", limits[i], test_batch_events(batch));
	}
}

EP_TEST(one_long_sample_goes_in_pieces)
{
	struct test_shape shape = {.processes = 1,
				   .functions = 10,
				   .stacks = 2,
				   .depth = 4,
				   .samples = 2,
				   .events = 9000};
	struct ep_batch *batch = new_batch(&shape);
	struct otlp_encode_options options = defaults;

	options.max_bytes = 16384;
	assert_int_equal(encode(batch, &options), 0);
	expect("max_bytes 16384\nevents 18000\n");
}

EP_TEST(stack_that_never_fits_is_counted)
{
	struct test_shape shape = {.processes = 1,
				   .functions = 400,
				   .stacks = 2,
				   .depth = 300,
				   .samples = 2,
				   .events = 1,
				   .name_bytes = 200};
	struct ep_batch *batch = new_batch(&shape);
	struct otlp_encode_options options = defaults;

	options.max_bytes = 16384;
	assert_int_equal(encode(batch, &options), 2);
	assert_int_equal(requests.n, 0);
}

EP_TEST(stacks_come_out_as_they_went_in)
{
	struct ep_batch *batch = new_batch(&test_shape_small);
	static char text[65536];
	size_t len = 0;

	encode(batch, &defaults);
	for (uint32_t row = 0; row < batch->n_samples; row++) {
		uint32_t leaf = batch->stack_location
					[batch->stack_location_first[batch->sample_stack[row]]];
		uint32_t function = batch->line_function[batch->location_line_first[leaf]];
		const char *const *texts = batch->string_text,
				  *kind = texts[batch->location_kind[leaf]];
		bool is_unnamed = batch->location_flags[leaf] & EP_LOCATION_UNNAMED;
		char address[32] = "";

		if (is_unnamed)
			snprintf(address, sizeof(address), "+0x%" PRIx64,
				 batch->location_address[leaf]);
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "line %s%s <%s> %u\n",
			is_unnamed ? texts[batch->mapping_path[batch->location_mapping[leaf]]]
				   : texts[batch->function_name[function]],
			address, strcmp(kind, "error") == 0 ? "abort-marker" : kind,
			batch->sample_count[row]);
	}
	expect("%s", text);
}

static const struct ep_profile_header header = {
	.start_ns = 100, .duration_ns = 5000, .period_ns = 50000000, .period_hz = 20, .host_name = "host", .sample_type = "cpu",
	.weight_unit = "nanoseconds"};
static const uint64_t time_ns[] = {200};

EP_TEST(frames_have_their_type_and_their_lines)
{
	static const struct made_frame call = {"go", {{"main.inner", "in.go", 3}, {"main.outer", "out.go", 9}}};
	static const struct made_frame caller = {"native", {{"caller"}}};
	static const struct made_sample sample = {NULL, 7, 0, 1, 50000000, "prog", time_ns, {&call, &caller}};

	encode(make_batch(&header, &sample, 1), &defaults);
	assert_int_equal(requests.events, 1);
	expect("line ;caller <native>;main.outer;main.inner <go> 1\n");
}

static void check_texts(bool are_there, const char *const *texts)
{
	for (; *texts; texts++)
		if ((memmem(requests.data[0], requests.len[0], *texts, strlen(*texts)) != NULL) !=
		    are_there)
			fail_msg("%s%s", *texts, are_there ? " is not there" : "");
}

/* What the first request has, and what it has not. */
#define HOLDS(...) check_texts(true, (const char *const[]){__VA_ARGS__, NULL})
#define LACKS(...) check_texts(false, (const char *const[]){__VA_ARGS__, NULL})

/* Three samples of two processes: one is named, one passes code of no file, one is not complete. */
static struct ep_batch *new_nameless_batch(void)
{
	static const struct made_frame f = {"native", {{"f"}}, 0x1000}, raw = {"native", .address = 0x1000};
	static const struct made_frame cut = {"error", {{"[truncated: stack memory unreadable]"}}, .flags = EP_LOCATION_ERROR};
	static const struct made_process one = {77, 7}, other = {77, 8};
	static const struct made_sample samples[] = {
		{&one, 7, 0, 1, 50000000, "prog", time_ns, {&raw}},
		{&one, 7, 0, 1, 50000000, "prog", time_ns, {&f}},
		{&other, 8, 0, 1, 50000000, "prog", time_ns, {&f, &cut}, EP_ERROR_BAD_READ, EP_UNNAMED_MISSING,
		 "stack memory unreadable", "frames missing"},
	};

	return make_batch(&header, samples, EP_LEN(samples));
}

EP_TEST(names_that_are_missing_are_told)
{
	struct ep_batch *batch = new_nameless_batch(), old = *batch;

	encode(batch, &defaults);
	HOLDS("code of no known file", "frames missing");
	for (uint32_t pid = 7; pid <= 8; pid++) /* of each process its own */
		expect("line %u ?: ebpf_profiler.samples.complete %u, ebpf_profiler.samples.named %u, "
		       "ebpf_profiler.samples.unverified %u\n",
		       pid, pid == 7, pid == 7, pid == 7);

	old.size = offsetof(struct ep_batch, stack_unnamed);
	encode(&old, &defaults);
	expect("events 3\n");
	LACKS("ebpf_profiler.");
}

EP_TEST(devfiler_gets_only_types_it_knows)
{
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_batch(&test_shape_379k);

	encode(batch, &options);
	HOLDS("rust");
	assert_int_equal(otlp_parse_frame_types("devfiler", &options), 0);
	encode(batch, &options);
	expect("devfiler 1\n");
}

EP_TEST(frame_types_are_mapped)
{
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_batch(&test_shape_379k);

	assert_int_equal(otlp_parse_frame_types("rust=native, cpython=python3", &options), 0);
	encode(batch, &options);
	expect("events %" PRIu64 "\n", test_batch_events(batch));
	HOLDS("python3");
	LACKS("rust");
	assert_int_equal(otlp_parse_frame_types("rust", &options), -EINVAL);
	assert_int_equal(otlp_parse_frame_types("=native", &options), -EINVAL);
	assert_int_equal(otlp_parse_frame_types("rust=", &options), -EINVAL);
}

EP_TEST(resource_says_who_it_was)
{
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_batch(&test_shape_small);

	options.service_name = "batch/{exe}";
	options.resource_attributes = "team=a%20b,service.name=never,bad,host.name=mine";
	encode(batch, &options);
	expect("events %" PRIu64 "\n", test_batch_events(batch));
	HOLDS("/opt/example/bin/server1", "batch/server3", "2025-12-31T23:59:59.000Z",
	      "container.id", "a b", "mine", "vmlinux");
	LACKS("never", "host.example.com", "kallsyms");
}

EP_TEST(processes_say_who_they_are)
{
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_batch(&test_shape_small);

	options.service_name = "configured";
	options.environment = "REGION, NOT_SET";
	encode(batch, &options);
	expect("events %" PRIu64 "\n", test_batch_events(batch));
	HOLDS("shop", "1.5", "cart", "prod", "configured", "process.environment_variable.REGION",
	      "north", "process.executable.build_id.go");
	LACKS("other", "liar", "never-sent");
}

EP_TEST(only_attributes_that_are_named_are_sent)
{
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_batch(&test_shape_small);

	options.service_name = "configured";
	options.environment = "REGION";
	options.resource_attributes = "team=a,tier=b";
	assert_int_equal(otlp_parse_names("service.*, process.executable.nam?,te[a-b]m,"
					  "process.environment_variable.*",
					  &options),
			 0);
	encode(batch, &options);
	expect("events %" PRIu64 "\nresources 4\n", test_batch_events(batch));
	HOLDS("service.name", "configured", "service.version", "process.executable.name", "team",
	      "process.environment_variable.REGION");
	LACKS("process.pid", "process.executable.path", "process.creation.time", "container.id",
	      "deployment.environment.name", "tier", "host.name", "host.id", "host.arch", "os.type");
}

EP_TEST(a_resource_may_have_no_attributes)
{
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_batch(&test_shape_small);

	assert_int_equal(otlp_parse_names("nothing.is.called.so", &options), 0);
	encode(batch, &options);
	expect("events %" PRIu64 "\nresources 4\n", test_batch_events(batch));
	LACKS("service.name", "process.pid", "host.name");
}

EP_TEST(names_of_attributes_are_bounded)
{
	struct otlp_encode_options options = defaults;
	char text[OTLP_NAME_GLOB_BYTES + 1];

	assert_int_equal(otlp_parse_names("", &options), 0);
	assert_int_equal(otlp_parse_names(" , ", &options), 0);
	assert_int_equal(options.n_names, 0);
	for (size_t len = OTLP_NAME_GLOB_BYTES - 1; len <= OTLP_NAME_GLOB_BYTES; len++) {
		memset(text, 'a', len);
		text[len] = '\0';
		assert_int_equal(otlp_parse_names(text, &options),
				 len < OTLP_NAME_GLOB_BYTES ? 0 : -EINVAL);
	}
	assert_int_equal(otlp_parse_names("\xff", &options), -EINVAL);
	while (options.n_names < OTLP_MAX_NAMES)
		assert_int_equal(otlp_parse_names("b", &options), 0);
	assert_int_equal(otlp_parse_names("b", &options), -EINVAL);
}

EP_TEST(other_events_are_counted)
{
	static const char *const types[] = {"probe", "off-cpu"};

	for (size_t i = 0; i < EP_LEN(types); i++) {
		struct ep_batch *batch = new_batch(&test_shape_small);

		batch->sample_type = types[i];
		encode(batch, &defaults);
		expect("events %" PRIu64 "\n", test_batch_events(batch));
		HOLDS("events");
		LACKS("nanoseconds");
	}
}

/* Each process has run on each of the CPUs 0 to 3. */
static struct ep_batch *new_spread_batch(void)
{
	struct test_shape shape = test_shape_379k;

	shape.processes = 37;
	return new_batch(&shape);
}

/* Samples weigh the periods of their CPUs. Returns all of it. */
static uint64_t weigh(struct ep_batch *batch, const uint64_t periods_ns[4])
{
	uint64_t *weight_ns = calloc(batch->n_samples, sizeof(*weight_ns)), sum_ns = 0;

	assert_non_null(weight_ns);
	ep_test_owns(weight_ns, free);
	for (uint32_t row = 0; row < batch->n_samples; row++) {
		weight_ns[row] = batch->sample_count[row] * periods_ns[batch->sample_cpu[row]];
		sum_ns += weight_ns[row];
	}
	batch->sample_weight_ns = weight_ns;
	return sum_ns;
}

/* Each process is one profile, whose period is the mean of its samples. */
EP_TEST(a_process_is_one_profile)
{
	static const uint64_t periods_ns[] = {52000000, 48000000, 54500000, 45500000};
	struct ep_batch *batch = new_spread_batch();
	uint64_t sum_ns = weigh(batch, periods_ns);

	encode(batch, &defaults);
	assert_int_equal(requests.profiles, 38);
	expect("events %" PRIu64 "\nabout_weight_ns %" PRIu64 "\nresources 38\nprofiles 38\n",
	       test_batch_events(batch), sum_ns);
}

/* Pieces of a batch that is cut have the mean of what is in them. */
EP_TEST(pieces_have_their_mean_period)
{
	static const uint64_t periods_ns[] = {1000, 1001, 1002, 3003};
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_spread_batch();
	uint64_t sum_ns = weigh(batch, periods_ns);

	options.max_bytes = 20000;
	assert_int_equal(encode(batch, &options), 0);
	assert_in_range(requests.n, 10, MAX_REQUESTS);
	expect("about_weight_ns %" PRIu64 "\n", sum_ns);
}

/* What weighs nothing, because nobody knows what, is no part of a mean. */
EP_TEST(samples_of_no_weight_have_no_period)
{
	static const uint64_t periods_ns[] = {0, 48000000, 0, 45500000};
	struct ep_batch *batch = new_spread_batch();
	uint64_t sum_ns = weigh(batch, periods_ns);

	encode(batch, &defaults);
	/* row 0 is nobody's, and alone */
	expect("about_weight_ns %" PRIu64 "\nresources 38\nprofiles %u\n", sum_ns, 2 * 37 + 1);
}

/* Each CPU has a period of its own: the batch weighs what its profiles say. */
EP_TEST(samples_have_their_cpus_period)
{
	static const uint64_t periods_ns[] = {52000000, 48000000, 54500000, 45500000};
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_spread_batch();
	uint64_t sum_ns = weigh(batch, periods_ns);

	options.per_cpu = true;
	encode(batch, &options);
	assert_int_equal(requests.profiles, 4 * 38 - 3);
	/* row 0 is nobody's */
	expect("events %" PRIu64 "\nweight_ns %" PRIu64 "\nresources 38\nprofiles %u\n",
	       test_batch_events(batch), sum_ns, 4 * 38 - 3);
}

/* Pieces of a batch that is cut keep the period they had. */
EP_TEST(pieces_have_their_cpus_period)
{
	static const uint64_t periods_ns[] = {1000, 1001, 1002, 1003};
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_spread_batch();
	uint64_t sum_ns = weigh(batch, periods_ns);

	options.max_bytes = 20000;
	options.per_cpu = true;
	assert_int_equal(encode(batch, &options), 0);
	assert_in_range(requests.n, 10, MAX_REQUESTS);
	expect("weight_ns %" PRIu64 "\n", sum_ns);
}

/* A batch of ABI 1.0 ends before the columns that came later. */
EP_TEST(batch_of_an_old_host)
{
	struct ep_batch *batch = new_batch(&test_shape_small);

	batch->size = offsetof(struct ep_batch, mapping_go_build_id);
	encode(batch, &defaults);
	expect("weight_ns %" PRIu64 "\n", test_batch_events(batch) * batch->period_ns);
	LACKS("shop", "build_id.go");
}

/* One location's address: the first one of this mapping file in print. */
EP_TEST(kernel_addresses_are_relative)
{
	struct otlp_encode_options options = defaults;
	struct ep_batch *batch = new_batch(&test_shape_379k);
	const char *proc = ep_test_directory();
	const char *kallsyms = ep_test_path(proc, "kallsyms");
	const char *modules = ep_test_path(proc, "modules");

	ep_test_write(kallsyms, "0000000000000000 A fixed_percpu_data\nffffffff80ff0000 T _text\n");
	ep_test_write(modules, "other 4096 0 - Live 0xffffffff70000000\n"
			       "nf_tables 4096 2 nft_a,nft_b, Live 0xffffffff80000000\n");
	options.kernel_base = otlp_kernel_base(kallsyms);
	options.modules_path = modules;
	assert_int_equal(options.kernel_base, 0xffffffff80ff0000);
	encode(batch, &options);
	expect("events %" PRIu64 "\n", test_batch_events(batch));
	/* location 1: 0xffffffff81000040 of the kernel; location 17: 0xffffffff81000440 of
	 * nf_tables */
	HOLDS("\x10\xc0\x80\x04\x1a", "\x10\xc0\x88\x80\x08\x1a");
	encode(batch, &defaults);
	LACKS("\x10\xc0\x80\x04\x1a");
	assert_int_equal(otlp_kernel_base("/nowhere"), 0);
}

/* --- compression --- */

EP_TEST(payload_is_what_went_in)
{
	struct ep_batch *batch = new_batch(&test_shape_379k);
	struct otlp_request request = {.n_pieces = 1};
	struct otlp_payload payload;
	struct otlp_wire plain;

	encode(batch, &defaults);
	request.pieces[0].data = requests.data[0];
	request.pieces[0].len = request.bytes = requests.len[0];
	assert_int_equal(otlp_payload_make(&request, true, &payload), 0);
	assert_true(payload.len < request.bytes / 2);
	assert_int_equal(payload.data[0], 1);
	otlp_wire_init(&plain, OTLP_MAX_ANSWER);
	assert_int_equal(otlp_gunzip(payload.data + 5, payload.len - 5, &plain), 0);
	assert_int_equal(plain.len, request.bytes);
	assert_memory_equal(plain.data, requests.data[0], plain.len);
	otlp_wire_fini(&plain);
	free(payload.data);
	assert_int_equal(otlp_payload_make(&request, false, &payload), 0);
	assert_int_equal(payload.len, request.bytes + 5);
	assert_memory_equal(payload.data + 5, requests.data[0], request.bytes);
	free(payload.data);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--requests") == 0)
		directory = argv[2];
	return ep_test_run(NULL, NULL);
}
