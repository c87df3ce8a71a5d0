/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The world of one sample for tests of BPF programs that walk stacks, compiled for user space: the
 * per-CPU record, the maps, memory that is made up, and tail calls. A test of a language's program
 * includes the program first, and says what its state is:
 *
 *	#define EP_SHIM_OBJECT "test"
 *	#include "plugins/toy/toy_unwind.bpf.c"
 *	#define WORLD_STATE struct toy_state
 *	#include "tests/kit/world.h"
 *
 *	world_begin(SLOT, 40);			everything is empty; REC and WALK are this sample's
 *	world_add_memory(STACK, 4096);		zeros, which world_put fills
 *	world_add_map("&toy_scratch", ...);	a map of its own, by the name that the program passes
 *	world_put(STACK + 8, JIT + 0x20);
 *	WALK->pc = ...
 *	assert_int_equal(world_run(toy_unwind), EP_SLOT_NATIVE);
 *	assert_string_equal(world_say(say_frame), "native 5 1020 return address\n" ...);
 *
 * A tail call ends a run of the program, as in the kernel. With world.calls_fail it is noted and
 * fails, as where the slot is empty.
 *
 * Needs the shim of <bpf/bpf_helpers.h> (core/replay/shim; shim_flags of the build), cmocka, and
 * the public headers.
 */
#ifndef EP_TESTS_KIT_WORLD_H
#define EP_TESTS_KIT_WORLD_H

#include "core/base/util.h"
#include "tests/kit/memory.h"
#include "tests/kit/test.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef WORLD_STATE
#define WORLD_STATE struct ep_state_cell
#endif
#define WORLD_MEMORY_BYTES (1u << 20) /* all pieces together */
#define WORLD_MAX_MAPS	   8
#define WORLD_RING_BYTES   (1u << 20)
#define WORLD_MAX_RUNS	   200 /* of a program that calls itself: it is stopped there */
#define WORLD_FIRST_ERROR  100 /* its error 0 is "error 100" */
#define WORLD_NO_CALL	   UINT32_MAX

static struct {
	struct ep_record rec;
	struct bpf_perf_event_data ctx; /* registers of what was interrupted: of the kernel, unless a test says other */
	struct ep_memo_set memo[EP_MEMO_SETS];
	union {
		struct ep_state_cell cell;
		WORLD_STATE state;
	};
	uint64_t counters[16];
	uint64_t chunk[EP_CHUNK_BYTES / 8]; /* rows, and codes after them */
	struct {
		const char *name;
		uint8_t *values;
		size_t bytes; /* of a value */
	} maps[WORLD_MAX_MAPS];
	uint32_t n_maps;
	struct fake_memory memory;
	uint64_t task, thread_pointer; /* 0: it cannot be read */
	bool calls_fail;
	uint64_t ring_used; /* of WORLD_RING_BYTES */
	void (*on_sent)(const void *record, size_t bytes); /* to the ring; NULL: nobody asks */
	uint32_t called[8], entered[8],
		n_called; /* slots in the last run, and what they find in the walk */
	uint32_t n_runs;
	jmp_buf back;
	char text[8192];
} world;

static uint8_t world_bytes[WORLD_MEMORY_BYTES], *world_bytes_end;

#define REC  (&world.rec)
#define WALK (&world.rec.walk)

/* --- helpers of BPF
 * ------------------------------------------------------------------------------- */

void *ep_shim_map_lookup(const char *object, const char *name, const void *map, const void *key)
{
	uint32_t index = *(const uint32_t *)key;

	(void)object, (void)map;
	if (strcmp(name, "&ep_records") == 0)
		return REC;
	if (strcmp(name, "&ep_memo") == 0)
		return &world.memo[index];
	if (strcmp(name, "&ep_chunks") == 0 || strcmp(name, "chunk") == 0)
		return world.chunk;
	if (strcmp(name, "&ep_states") == 0)
		return &world.cell;
	if (strcmp(name, "&ep_lang_counts") == 0)
		return &world.counters[index & 15];
	for (uint32_t i = 0; i < world.n_maps; i++) {
		if (strcmp(name, world.maps[i].name) == 0)
			return world.maps[i].values + index * world.maps[i].bytes;
	}
	fail_msg("the world has no map %s", name);
	return NULL;
}

long ep_shim_tail_call(const char *object, const char *name, void *ctx, __u32 slot)
{
	assert_true(world.n_called < 8);
	world.entered[world.n_called] = WALK->core.entered;
	world.called[world.n_called++] = slot;
	if (!world.calls_fail)
		longjmp(world.back, 1);
	return -1;
}

long ep_shim_read_user(void *to, __u32 bytes, const void *from)
{
	if (fake_memory_read(&world.memory, (uint64_t)(uintptr_t)from, to, bytes) == 0)
		return 0;
	memset(to, 0, bytes); /* bpf-helpers(7) */
	return -14;
}

long ep_shim_read_user_str(void *to, __u32 bytes, const void *from)
{
	const void *at = fake_memory_find(&world.memory, (uint64_t)(uintptr_t)from, bytes);

	return at ? (long)snprintf(to, bytes, "%s", (const char *)at) + 1 : -14;
}

/* The thread pointer is all that unwinders read of the kernel. */
long ep_shim_read_kernel(void *to, __u32 bytes, const void *from)
{
	assert_int_equal(bytes, sizeof(world.thread_pointer));
	memcpy(to, &world.thread_pointer, bytes);
	return world.thread_pointer ? 0 : -14;
}

__u64 ep_shim_ringbuf_query(__u64 what)
{
	return what == BPF_RB_AVAIL_DATA ? world.ring_used : WORLD_RING_BYTES;
}

long ep_shim_ringbuf_output(const char *object, const char *name, const void *data, __u64 bytes,
			    __u64 flags)
{
	assert_true(bytes > 0);
	if (world.on_sent)
		world.on_sent(data, bytes);
	return 0;
}

__u64 ep_shim_task(void)
{
	return world.task;
}

/* --- what is made up
 * ------------------------------------------------------------------------------- */

/* What a sample begins with that its language was entered for; tests say what is different. */
static void world_begin_sample(void)
{
	uint64_t sequence = WALK->sequence;

	memset(REC, 0, sizeof(*REC));
	REC->sample.pid = REC->sample.tid = 77;
	WALK->sequence = sequence + 1;
	WALK->core.slots[0] = (uint8_t)ep_self.slot;
	WALK->core.states[0] = 1;
	WALK->core.max_calls = 26;
	WALK->core.memo_tag = 0x100000001ull;
	world.n_runs = world.n_called = 0;
}

/* What is constant for a program is read-only memory for the compilers of today (gcc 13 on). */
static void world_let_constants_change(void)
{
	size_t page = (size_t)getpagesize();
	uintptr_t first = EP_ALIGN_DOWN((uintptr_t)&ep_self, page);
	size_t bytes = EP_ALIGN_UP((uintptr_t)&ep_self + sizeof(ep_self), page) - first;

	assert_int_equal(mprotect((void *)first, bytes, PROT_READ | PROT_WRITE), 0);
}

static void world_begin(uint32_t slot, uint32_t frames_per_run)
{
	const struct ep_self self = {
		.slot = slot,
		.kind = EP_FRAME_FIRST_DYNAMIC + slot,
		.first_error = WORLD_FIRST_ERROR,
		.frames_per_run = frames_per_run,
	};

	memset(&world, 0, sizeof(world));
	world_bytes_end = world_bytes;
	world_let_constants_change();
	memcpy((void *)(uintptr_t)&ep_self, &self, sizeof(self));
	world_begin_sample();
}

static void world_add_memory(uint64_t addr, size_t bytes)
{
	assert_in_range(bytes, 1, sizeof(world_bytes) - (size_t)(world_bytes_end - world_bytes));
	memset(world_bytes_end, 0, bytes);
	fake_memory_add(&world.memory, addr, world_bytes_end, bytes);
	world_bytes_end += bytes;
}

/* A map of `bytes` a value, borrowed and zeroed. */
static void world_add_map(const char *name, void *values, size_t bytes, size_t n)
{
	assert_true(world.n_maps < WORLD_MAX_MAPS);
	memset(values, 0, bytes * n);
	world.maps[world.n_maps].name = name;
	world.maps[world.n_maps].values = values;
	world.maps[world.n_maps++].bytes = bytes;
}

static void world_put_bytes(uint64_t addr, const void *bytes, size_t n)
{
	fake_memory_put(&world.memory, addr, bytes, n);
}

static void world_put(uint64_t addr, uint64_t word)
{
	world_put_bytes(addr, &word, sizeof(word));
}

static void world_put_int(uint64_t addr, uint32_t word)
{
	world_put_bytes(addr, &word, sizeof(word));
}

/* Mappings of the process, sorted. */
static void world_put_rows(const struct ep_row *rows, uint32_t n)
{
	memcpy(world.chunk, rows, n * sizeof(*rows));
	WALK->core.n_rows = n;
}

/* How to get from the code at `addr` to its caller, as the native unwinder remembers it. */
static void world_remember(uint64_t addr, uint32_t executable, uint64_t bias, uint32_t rule)
{
	struct ep_memo_set *set = &world.memo[EP_MEMO_SET(0, addr, WALK->core.memo_tag)];
	bool is_taken = set->ways[0].addr && set->ways[0].addr != addr;

	set->ways[is_taken] = (struct ep_memo){addr, WALK->core.memo_tag, bias, executable, rule};
}

/* --- runs, and what was pushed
 * ---------------------------------------------------------------------- */

typedef int world_program(struct bpf_perf_event_data *ctx);

/* Runs it once: the slot that it goes on in. */
static uint32_t world_step(world_program *program)
{
	world.n_runs++;
	world.n_called = 0;
	if (setjmp(world.back) == 0)
		program(&world.ctx);
	return world.n_called ? world.called[0] : WORLD_NO_CALL;
}

/* Runs it as often as it calls itself. */
static uint32_t world_run(world_program *program)
{
	uint32_t slot;

	do {
		slot = world_step(program);
	} while (slot == ep_self.slot && world.n_runs < WORLD_MAX_RUNS);
	return slot;
}

__attribute__((format(printf, 1, 2))) static void world_add_text(const char *format, ...)
{
	size_t used = strlen(world.text);
	va_list args;

	va_start(args, format);
	vsnprintf(world.text + used, sizeof(world.text) - used, format, args);
	va_end(args);
}

/*
 * The stack as text, a frame a line, cut where there is no space: "native EXECUTABLE VA", followed
 * by "return address" if it is one, "gap", "error N", and what say_frame adds for the language's
 * own.
 */
static const char *world_say(void (*say_frame)(uint64_t header, const __u64 *words))
{
	world.text[0] = 0;
	for (uint32_t at = 0; at < REC->sample.n_words; at += 1 + EP_FRAME_WORDS(REC->words[at])) {
		uint64_t header = REC->words[at];

		if (EP_FRAME_KIND(header) == EP_FRAME_NATIVE)
			world_add_text(
				"native %u %llx%s\n", EP_FRAME_AUX(header), REC->words[at + 1],
				EP_FRAME_FLAGS(header) & EP_FRAME_RETURN_ADDRESS ? " return address" : "");
		else if (EP_FRAME_KIND(header) == EP_FRAME_ERROR)
			world_add_text("error %u\n", EP_FRAME_AUX(header));
		else if (EP_FRAME_KIND(header) == EP_FRAME_GAP)
			world_add_text("gap\n");
		else
			say_frame(header, REC->words + at + 1);
	}
	return world.text;
}

/* The trace's hash is that of its words: a frame that was taken back has left nothing. */
static void world_check_hash(void)
{
	uint64_t hash = 0;

	for (uint32_t at = 0; at < REC->sample.n_words; at++)
		hash = ep_hash_word(hash, REC->words[at]);
	assert_int_equal(hash, WALK->core.hash);
}

#endif
