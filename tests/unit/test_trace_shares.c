/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No program takes what others need: one floods the tables of the store with what nobody else has,
 * beside it a neighbour has an ordinary profile, and that must be whole.
 */
#include "tests/kit/test.h"
#include "tests/unit/trace_store.h"

#include <errno.h>
#include <stdio.h>

#define FLOOD	  1000000 /* pid of the first flooder */
#define NEIGHBOUR 7
#define DEPTH	  40

static struct event event, known;
static uint64_t n_made; /* frames that nobody else has */

/* A stack of so many frames, each in no file (executable 0) or at a place of its own in a file. */
static void make_flood(uint32_t pid, uint64_t hash, uint32_t executable)
{
	event_init(&event, EP_EVENT_TRACE, hash, pid);
	event_kernel(&event, 0xffffffff81000010);
	for (int i = 0; i < DEPTH; i++)
		event_user(&event, EP_FRAME_NATIVE, EP_FRAME_RETURN_ADDRESS, executable, ++n_made * 16);
}

/* One of 500 stacks through 2000 places, as a busy program has; it comes upon new ones all the time. */
static void make_ordinary(uint32_t pid, uint64_t number)
{
	number = number / 16 % 500;
	event_init(&event, EP_EVENT_TRACE, ep_mix64(number + 1), pid);
	event_kernel(&event, 0xffffffff81000010);
	for (uint64_t i = 0; i < DEPTH; i++)
		event_user(&event, EP_FRAME_NATIVE, i > 0 ? EP_FRAME_RETURN_ADDRESS : 0, 9,
			   0x100000 + (number * 7919 + i * 104729) % 2000 * 16);
}

/* Samples of one process with and without all of their frames. */
struct count {
	uint64_t whole, shared, others;
};

static struct count count_of(const struct ep_interval *iv, uint32_t pid)
{
	struct count count = {0};

	for (uint32_t i = 0; i < ep_interval_n_rows(iv); i++) {
		const struct ep_sample_row *row = ep_interval_row(iv, i);
		const struct ep_trace *trace = ep_interval_trace(iv, row->trace);
		uint32_t last = ep_interval_frame_ids(iv, trace)[trace->n_frames - 1];

		if (ep_interval_process(iv, trace->process)->pid != pid)
			continue;
		if (trace->error == 0 && trace->n_frames == DEPTH + 1)
			count.whole += row->count;
		else if (trace->error == EP_ERROR_SHARE && last == EP_ERROR_SHARE)
			count.shared += row->count;
		else
			count.others += row->count;
	}
	return count;
}

/* As a machine of two CPUs: each in turn, for as long as it takes to fill all there is, and longer. */
static struct ep_interval *flood(struct ep_store *store, uint32_t n_flooders, uint32_t executable,
				 uint64_t n_rounds)
{
	for (uint64_t i = 0; i < n_rounds; i++) {
		for (uint32_t pid = FLOOD; pid < FLOOD + n_flooders; pid++) {
			make_flood(pid, ep_mix64(i << 20 | pid), executable);
			assert_int_equal(event_add(store, &event), 0);
		}
		make_ordinary(NEIGHBOUR, i);
		assert_int_equal(event_add(store, &event), 0);
	}
	return seal(store, 2000);
}

static const struct {
	const char *label;
	uint32_t n_flooders, executable;
} floods[] = {{"one floods", 1, 0}, {"some flood", 5, 0}, {"one floods with return addresses in a file", 1, 9}};

EP_TEST_EACH(stacks_beside_a_flood_of_frames_are_whole, size_t, i, EP_LEN(floods))
{
	struct ep_store *store = new_store(0, NULL);
	uint64_t n_rounds = 8000 / floods[i].n_flooders;
	struct ep_interval *iv = flood(store, floods[i].n_flooders, floods[i].executable, n_rounds);
	struct count neighbour = count_of(iv, NEIGHBOUR);

	print_message("%s\n", floods[i].label);
	assert_int_equal(neighbour.whole, n_rounds);
	assert_int_equal(neighbour.shared + neighbour.others, 0);
	assert_int_equal(ep_interval_lost(iv), 0);
	assert_true(ep_store_counters(store)->over_share > 0);
	for (uint32_t pid = FLOOD; pid < FLOOD + floods[i].n_flooders; pid++) {
		struct count flooder = count_of(iv, pid);

		assert_true(flooder.whole > 0 && flooder.shared > 0);
		assert_int_equal(flooder.others, 0);
		assert_int_equal(flooder.whole + flooder.shared, n_rounds);
	}
}

/* The next interval has a new table, and begins with what comes as a hash: what was whole stays so. */
EP_TEST(after_a_flood_the_table_is_replaced_and_its_neighbour_copied)
{
	struct ep_store *store = new_store(0, NULL);
	struct ep_interval *iv = flood(store, 1, 0, 8000);

	assert_int_equal(ep_store_counters(store)->resets, 1);
	assert_ptr_not_equal(ep_interval_frames(iv), ep_store_frames(store));
	for (uint64_t i = 0; i < 500; i++) {
		event_init(&known, EP_EVENT_KNOWN, ep_mix64(i + 1), NEIGHBOUR);
		assert_int_equal(event_add(store, &known), 0);
	}
	assert_int_equal(ep_store_counters(store)->copied, 500);
	assert_int_equal(count_of(seal(store, 3000), NEIGHBOUR).whole, 500);
}

/* The same few frames in ever new orders: it is traces that are many. */
static void make_shuffled(uint32_t pid, uint64_t hash)
{
	event_init(&event, EP_EVENT_TRACE, hash, pid);
	event_kernel(&event, 0xffffffff81000010);
	for (uint64_t i = 0; i < DEPTH; i++)
		event_user(&event, EP_FRAME_NATIVE, EP_FRAME_RETURN_ADDRESS, 5,
			   (ep_mix64(hash ^ i << 32) % 64 + 1) * 16);
}

EP_TEST(stacks_beside_one_that_floods_traces_are_whole)
{
	struct ep_store_limits limits = EP_STORE_DEFAULT_LIMITS;
	struct ep_store *store;
	struct count neighbour, flooder;
	struct ep_interval *iv;
	uint64_t n_rounds = 10000;

	limits.max_interval_bytes = 2 << 20;
	store = new_store(0, &limits);
	for (uint64_t i = 0; i < n_rounds; i++) {
		make_shuffled(FLOOD, ep_mix64(i + 1));
		assert_int_equal(event_add(store, &event), 0);
		make_ordinary(NEIGHBOUR, i);
		assert_int_equal(event_add(store, &event), 0);
	}
	/* BPF takes a trace for known that was refused. */
	event_init(&known, EP_EVENT_KNOWN, ep_mix64(n_rounds), FLOOD);
	assert_int_equal(event_add(store, &known), 0);
	iv = seal(store, 2000);
	neighbour = count_of(iv, NEIGHBOUR);
	flooder = count_of(iv, FLOOD);
	assert_int_equal(neighbour.whole, n_rounds);
	assert_int_equal(neighbour.shared + neighbour.others, 0);
	assert_true(flooder.whole > 0 && flooder.shared > 0);
	assert_int_equal(flooder.others, 0);
	assert_int_equal(flooder.whole + flooder.shared, n_rounds + 1);
	assert_int_equal(ep_interval_lost(iv), 0);
	assert_true(ep_interval_bytes(iv) < limits.max_interval_bytes + 1024);
}

/* A program alone may have half of what there is, and what is left of it is cut, not lost. */
EP_TEST(one_program_has_half_of_the_table)
{
	struct ep_frames *frames = new_frames(10000, 1 << 20, 1 << 20);
	uint64_t word = 0;
	uint32_t id;
	int r = 0;

	while (r == 0 && ++word < 20000)
		r = ep_frames_add(frames, EP_FRAME_HEADER(EP_FRAME_NATIVE, 0, 1, 5), &word,
				  (struct ep_program){.pid = FLOOD, .start_ns = 1}, &id);
	assert_int_equal(r, -EDQUOT);
	assert_in_range(word, 4900, 5010);
	assert_true(ep_frames_is_full(frames));
	/* What is there is found, whoever asks, and the kernel's frames are nobody's. */
	(void)add_native_frame(frames, 5, 1, FLOOD);
	for (word = 1; word <= 1000; word++)
		(void)add_frame(frames, EP_FRAME_HEADER(EP_FRAME_KERNEL, 0, 1, 0), word, FLOOD);
	for (word = 1; word <= 1000; word++)
		(void)add_native_frame(frames, 6, word, NEIGHBOUR);
}

/* Long before one is refused a frame its table is known to be too small. */
EP_TEST(a_table_is_replaced_before_a_program_has_its_share)
{
	struct ep_frames *frames = new_frames(10000, 1 << 20, 1 << 20);
	uint64_t word;

	for (word = 1; !ep_frames_is_full(frames); word++)
		(void)add_native_frame(frames, 5, word, FLOOD);
	assert_in_range(word, 4300, 4500);
}

static uint32_t add_named(struct ep_frames *frames, uint32_t pid, uint64_t word, const char *name)
{
	struct ep_frame_line line = {.function = name, .file = "file.c"};
	uint32_t id = add_native_frame(frames, pid, word, pid);

	(void)ep_frames_resolve(frames, id, &line, 1, NULL);
	return id;
}

EP_TEST(names_beside_one_that_floods_them_are_there)
{
	static char long_name[EP_FRAME_MAX_NAME_BYTES];
	uint64_t n_refused = 0;
	struct ep_frames *frames = new_frames(100000, 4 << 20, 4 << 20);
	char name[32];

	memset(long_name, 'n', sizeof(long_name) - 1);
	for (uint64_t i = 1; i <= 1000; i++) {
		uint32_t id;

		memcpy(long_name, &i, 4);
		for (int byte = 0; byte < 4; byte++)
			long_name[byte] = (char)('a' + (i >> 4 * byte & 15));
		id = add_named(frames, FLOOD, i, long_name);
		n_refused += ep_frames_unnamed(frames, id) == EP_UNNAMED_LIMIT;
		snprintf(name, sizeof(name), "function_%u", (unsigned int)i);
		id = add_named(frames, NEIGHBOUR, i, name);
		assert_int_equal(ep_frames_unnamed(frames, id), EP_UNNAMED_NONE);
	}
	assert_in_range(n_refused, 500, 950);
	assert_int_equal(ep_frames_names_over_share(frames), n_refused);
	assert_true(ep_frames_is_full(frames));
}

/* Code of no executable is named by what is mapped there, which may be anything. */
EP_TEST(names_beside_one_that_floods_modules_are_there)
{
	static char module[4096];
	uint64_t n_refused = 0;
	struct ep_frames *frames = new_frames(100000, 4 << 20, 4 << 20);
	uint32_t id;

	memset(module, 'm', sizeof(module) - 1);
	for (uint64_t i = 1; i <= 2000; i++) {
		(void)snprintf(module, 16, "%015u", (unsigned int)i);
		module[15] = '/';
		id = add_native_frame(frames, 0, i, FLOOD);
		(void)ep_frames_resolve(frames, id, NULL, 0, module);
		n_refused += ep_frames_unnamed(frames, id) == EP_UNNAMED_LIMIT;
		id = add_named(frames, NEIGHBOUR, i, "function");
		assert_int_equal(ep_frames_unnamed(frames, id), EP_UNNAMED_NONE);
	}
	assert_in_range(n_refused, 1000, 1900);
}

/* Lines are what inlined functions take: 64 of one frame, with strings that all have. */
EP_TEST(lines_beside_one_that_floods_them_are_there)
{
	struct ep_frame_line lines[EP_FRAME_MAX_LINES];
	uint64_t n_refused = 0;
	struct ep_frames *frames = new_frames(100000, 4 << 20, 1 << 20);

	for (size_t i = 0; i < EP_LEN(lines); i++)
		lines[i] = (struct ep_frame_line){.function = "f", .file = "f.c", .line = 1};
	for (uint64_t i = 1; i <= 1000; i++) {
		uint32_t id = add_native_frame(frames, 5, i, FLOOD);

		(void)ep_frames_resolve(frames, id, lines, EP_LEN(lines), NULL);
		n_refused += ep_frames_unnamed(frames, id) == EP_UNNAMED_LIMIT;
		id = add_named(frames, NEIGHBOUR, i, "function");
		assert_int_equal(ep_frames_unnamed(frames, id), EP_UNNAMED_NONE);
	}
	assert_in_range(n_refused, 600, 990);
}
