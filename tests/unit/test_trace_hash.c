/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of stacks in a batch: equal where the names are, in whatever process. */
#include "tests/unit/trace_source.h"

/* A stack of one frame, named or not, as a batch of its own. */
typedef struct ep_batch *stack_maker(uint32_t pid, uint64_t va, const struct ep_frame_line *line);

struct likeness {
	const char *label;
	uint64_t va;
	struct ep_frame_line line;
	bool equal;
};

/* Whether the stacks of the rows are the first one's, which another process has. */
static void check_likeness(stack_maker *make, uint64_t va, const struct ep_frame_line *line,
			   const struct likeness *rows, size_t n)
{
	struct ep_batch *a = make(7, va, line);

	for (size_t i = 0; i < n; i++) {
		struct ep_batch *b = make(8, rows[i].va, &rows[i].line);

		if ((memcmp(a->stack_hash[1], b->stack_hash[1], 16) == 0) != rows[i].equal)
			fail_msg("%s", rows[i].label);
	}
}

static struct ep_batch *batch_of(uint32_t pid, uint64_t va, const struct ep_frame_line *line)
{
	struct ep_store *store = new_store(100, NULL);

	add_native(store, va * pid, pid, va);
	resolve(store, 1, line, line->function != NULL, NULL);
	return finish(store);
}

EP_TEST(stack_hash_is_that_of_the_names)
{
	static const struct ep_frame_line f = {.function = "f"}, none = {0};
	static const struct likeness named[] = {
		{"same in two processes", 0x1000, {.function = "f"}, true},
		{"two lines of one function", 0x1004, {.function = "f"}, true},
		{"two functions", 0x1000, {.function = "g"}, false},
	};
	static const struct likeness unnamed[] = {
		{"one unnamed address", 0x1000, {0}, true},
		{"two unnamed addresses", 0x1004, {0}, false},
	};

	check_likeness(batch_of, 0x1000, &f, named, EP_LEN(named));
	check_likeness(batch_of, 0x1000, &none, unnamed, EP_LEN(unnamed));
}

static struct ep_batch *batch_of_language(uint32_t pid, uint64_t word,
					  const struct ep_frame_line *line)
{
	struct ep_store *store = new_store(100, NULL);

	event_init(&event, EP_EVENT_TRACE, word * pid, pid);
	event_user(&event, TOY, EP_FRAME_ENTRY, 0, word);
	add_event(store, &event);
	resolve(store, 1, line, line->function != NULL, NULL);
	return finish(store);
}

EP_TEST(stack_hash_of_a_language_is_where_it_is_written)
{
#define LINE(name, path, at, start) {.function = name, .file = path, .line = at, .start_line = start}
	static const struct ep_frame_line f = LINE("C.f", "/app/a.py", 12, 10);
	static const struct likeness rows[] = {
		{"same", 0x2000, LINE("C.f", "/app/a.py", 12, 10), true},
		{"line", 0x2000, LINE("C.f", "/app/a.py", 15, 10), true},
		{"name", 0x2000, LINE("C.g", "/app/a.py", 12, 10), false},
		{"file", 0x2000, LINE("C.f", "/app/b.py", 12, 10), false},
		{"start", 0x2000, LINE("C.f", "/app/a.py", 12, 9), false},
		{"none", 0x2000, {0}, false},
	};

	check_likeness(batch_of_language, 0x1000, &f, rows, EP_LEN(rows));
}

/* Of a native type. */
static struct ep_batch *batch_of_type(uint32_t pid, uint64_t va, const struct ep_frame_line *line)
{
	struct ep_store *store = new_store(100, NULL);

	add_native(store, pid, pid, va);
	(void)ep_frames_resolve_as(ep_store_frames(store),
				   ep_frames_take(ep_store_frames(store)),
				   EP_FRAME_TYPE_GO, line, 1);
	return finish(store);
}

/* Closures are numbered in their file. */
EP_TEST(stack_hash_of_a_type_is_where_it_is_written)
{
	static const struct ep_frame_line closure = LINE("f.func1", "a.go", 7, 3);
	static const struct likeness rows[] = {
		{"same", 0x1000, LINE("f.func1", "a.go", 7, 3), true},
		{"another line", 0x2000, LINE("f.func1", "a.go", 8, 3), true},
		{"another file", 0x1000, LINE("f.func1", "b.go", 7, 3), false},
		{"another function", 0x1000, LINE("f.func1", "a.go", 7, 4), false},
	};
#undef LINE

	check_likeness(batch_of_type, 0x1000, &closure, rows, EP_LEN(rows));
}
