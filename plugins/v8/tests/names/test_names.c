/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/names.h"

#include "plugins/v8/symbolize/heap.h"
#include "plugins/v8/symbolize/lines.h"
#include "plugins/v8/symbolize/scripts.h"
#include "plugins/v8/symbolize/text.h"
#include "plugins/v8/tests/names/made_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Names as one line: "f 2:10 a.js [1]; ...". */
struct taken {
	char text[2048];
	size_t used;
};

static int take_name(struct ep_names *to, const struct ep_name *name)
{
	struct taken *taken = (struct taken *)to;

	taken->used += (size_t)snprintf(taken->text + taken->used,
					sizeof(taken->text) - taken->used, "%s%s %u:%u %s [%u]%s",
					taken->used ? "; " : "", name->function, name->line,
					name->column, name->file ? name->file : "-",
					name->start_line, name->system_name ? "?" : "");
	return 0;
}

static int name(struct world *world, const struct ep_raw_frame *frame, struct taken *taken)
{
	*taken = (struct taken){0};
	return v8_names_of(world->names, frame, take_name, (struct ep_names *)taken);
}

static void assert_named(struct world *world, const struct ep_raw_frame *frame, const char *want)
{
	struct taken taken;

	assert_int_equal(name(world, frame, &taken), 0);
	assert_string_equal(taken.text, want);
}

#define F_START "f 1:11 /a.js [1]"

#define EACH_VERSION(world)                                                                        \
	for (size_t v_ = 0; v_ < N_VERSIONS && (world_init(&(world), v_), true);                   \
	     world_fini(&(world)), v_++)

static struct ep_raw_frame interpreted(const struct world *world, uint32_t off)
{
	return frame_of(&world->heap, V8_FRAME_INTERPRETED, world->f, world->bytecodes - V8_TAG,
			off);
}

static void names_function_with_its_place(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct ep_raw_frame frame = interpreted(&world, 7);

		assert_named(&world, &frame, "f 2:10 /a.js [1]");
		frame.aux = 5;
		assert_named(&world, &frame, "f 2:3 /a.js [1]");
		frame.aux = 1; /* before the first */
		assert_named(&world, &frame, F_START);
		frame.aux = V8_OFFSET_UNKNOWN;
		assert_named(&world, &frame, "f 1:0 /a.js [1]?");
		frame.flags |= V8_FRAME_CONSTRUCT;
		assert_named(&world, &frame, "new f 1:0 /a.js [1]?");
		frame.flags = V8_FRAME_FROM_REGISTER;
		assert_named(&world, &frame, F_START);
	}
}

/*
 * A worker's isolate has gone, and the next one's is where it was: other functions and scripts with the same ids. What
 * the first one's were is known still.
 */
static void knows_another_thread_where_one_was(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_heap *heap = &world.heap;
		const struct v8_layout *layout = &heap->layout;
		struct made_scope scope = {.start = AT("(a)") - 1, .end = AT("class") - 1};
		struct ep_raw_frame frame = interpreted(&world, 7), known;

		frame.words[2] |= 1ull << V8_THREAD_SHIFT;
		known = frame;
		known.flags = V8_FRAME_COMPILED << V8_FRAME_SHIFT;
		assert_named(&world, &frame, "f 2:10 /a.js [1]");
		scope.name = one_byte(heap, "g");
		put64(heap, world.f, layout->sfi_name,
		      v8_has(layout->sfi_scope_info) ? scope.name : new_scope(heap, &scope));
		put64(heap, world.script, layout->script_name, one_byte(heap, "/b.js"));
		put64(heap, world.script, layout->script_source, one_byte(heap, "\n\n" SOURCE));
		frame.words[2] += 1ull << V8_THREAD_SHIFT;
		assert_named(&world, &frame, "g 4:8 /b.js [3]");
		heap->fail_with = -ESRCH;
		heap->fail_at = heap->n_reads + 1;
		assert_named(&world, &known, "f 1:0 /a.js [1]?");
	}
}

static void reads_nothing_for_a_known_frame(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct ep_raw_frame frame = interpreted(&world, 7);
		uint32_t reads;

		assert_named(&world, &frame, "f 2:10 /a.js [1]");
		reads = world.heap.n_reads;
		assert_true(reads > 0);
		assert_named(&world, &frame, "f 2:10 /a.js [1]");
		assert_int_equal(world.heap.n_reads, reads);
	}
}

static void names_no_other_function(void **state)
{
	struct world world;
	struct taken taken;

	(void)state;
	EACH_VERSION(world)
	{
		const struct v8_layout *layout = &world.heap.layout;
		struct ep_raw_frame frame = interpreted(&world, 7), other = frame;

		other.words[1] ^= 1;
		assert_int_equal(name(&world, &other, &taken), EP_FRAME_GONE);
		other = frame;
		other.words[0] = world.script - V8_TAG;
		assert_int_equal(name(&world, &other, &taken), EP_FRAME_GONE);
		other.words[0] = 0x1000;
		assert_int_equal(name(&world, &other, &taken), EP_FRAME_GONE);
		/* A number in the place of what tells functions apart. */
		put32(&world.heap, world.f,
		      v8_has(layout->sfi_unique_id) ? layout->sfi_unique_id :
						      layout->sfi_literal_id, 9);
		assert_int_equal(name(&world, &frame, &taken), EP_FRAME_GONE);
		assert_int_equal(taken.used, 0);
	}
}

static void follows_one_move(void **state)
{
	struct world world;
	struct taken taken;

	(void)state;
	EACH_VERSION(world)
	{
		struct ep_raw_frame frame = interpreted(&world, 7);
		uint64_t moved = take(&world.heap, 160);

		put_bytes(&world.heap, moved - V8_TAG,
			  world.heap.bytes + (world.f - V8_TAG - BASE), 160);
		memset(world.heap.bytes + (world.f - V8_TAG - BASE), 0xcc, 160);
		put64(&world.heap, world.f, 0, moved - V8_TAG);
		/* Its code's proof is by addresses: the name is. */
		assert_int_equal(name(&world, &frame, &taken), 0);
		assert_true(strncmp(taken.text, "f 2:10", 6) == 0);
	}
}

static void sees_that_it_changed_meanwhile(void **state)
{
	struct world world;
	struct taken taken;

	(void)state;
	EACH_VERSION(world)
	{
		struct ep_raw_frame frame = interpreted(&world, 7);

		/* The first two reads are of its map and the cookie; from then on it is another. */
		world.heap.change_at = 5;
		world.heap.change_addr = world.f - V8_TAG + world.heap.state.cookie_at;
		world.heap.change_to = 0x1234567812345678;
		assert_int_equal(name(&world, &frame, &taken), EP_FRAME_GONE);
		assert_int_equal(taken.used, 0);
		assert_int_equal(name(&world, &frame, &taken), EP_FRAME_GONE);
	}
}

/* Its name is another one's by the time that it is read: what was read may be anything. */
static void sees_that_its_name_changed_meanwhile(void **state)
{
	struct taken taken;

	(void)state;
	for (size_t v = 0; v < N_VERSIONS; v++) {
		uint32_t n_gone = 0;

		for (uint32_t at = 1; at < 12; at++) {
			struct made_scope scope = {.start = AT("(a)"), .end = AT("class") - 1};
			struct world world;
			struct ep_raw_frame frame;
			int r;

			world_init(&world, v);
			frame = interpreted(&world, 7);
			scope.name = one_byte(&world.heap, "late");
			world.heap.change_at = at;
			world.heap.change_addr = world.f - V8_TAG + (uint32_t)world.heap.layout.sfi_name;
			world.heap.change_to = v8_has(world.heap.layout.sfi_scope_info) ?
						       scope.name : new_scope(&world.heap, &scope);
			r = name(&world, &frame, &taken);
			n_gone += r == EP_FRAME_GONE;
			assert_true(r == EP_FRAME_GONE || strncmp(taken.text, "f 2:10", 6) == 0 ||
				    strncmp(taken.text, "late 2:10", 9) == 0);
			assert_true(r == 0 || taken.used == 0);
			world_fini(&world);
		}
		assert_true(n_gone > 0 && n_gone < 11);
	}
}

static void survives_reads_that_fail(void **state)
{
	static const int errors[] = {-EFAULT, -ESRCH};
	struct taken taken;

	(void)state;
	for (size_t v = 0; v < N_VERSIONS; v++) {
		for (uint32_t i = 0; i < 2 * 40; i++) {
			struct world world;
			struct ep_raw_frame frame;
			struct taken again;
			int r;

			world_init(&world, v);
			frame = interpreted(&world, 7);
			world.heap.fail_at = i / 2 + 1;
			world.heap.fail_with = errors[i & 1];
			r = name(&world, &frame, &taken);
			assert_true(r == 0 || r == EP_FRAME_GONE || r == -ESRCH);
			world.heap.fail_at = 0;
			assert_int_equal(name(&world, &frame, &again), 0);
			assert_true(strcmp(again.text, "f 2:10 /a.js [1]") == 0 ||
				    (r == 0 && strstr(taken.text, "?") &&
				     strcmp(again.text, taken.text) == 0));
			world_fini(&world);
		}
	}
}

/* A function that was named has its name still, without the place; none has that was not. */
static void names_known_functions_of_what_is_gone(void **state)
{
	static const int errors[] = {-EFAULT, -ESRCH};
	struct taken taken;

	(void)state;
	for (size_t i = 0; i < 2 * N_VERSIONS; i++) {
		struct world world;
		struct ep_raw_frame frame, other;
		bool is_unique;

		world_init(&world, i / 2);
		is_unique = world.heap.state.flags & V8_STATE_UNIQUE_ID;
		frame = interpreted(&world, 7);
		assert_named(&world, &frame, "f 2:10 /a.js [1]");
		other = frame;
		other.words[1]++;
		frame.aux = 2;
		world.heap.fail_with = errors[i % 2];
		world.heap.fail_at = world.heap.n_reads + 1;
		if (errors[i % 2] == -ESRCH || is_unique)
			assert_named(&world, &frame, "f 1:0 /a.js [1]?");
		else
			assert_int_equal(name(&world, &frame, &taken), EP_FRAME_GONE);
		world.heap.fail_at = world.heap.n_reads + 1;
		assert_true(name(&world, &other, &taken) != 0);
		world_fini(&world);
	}
}

/* ---- what a function is called ---- */

static const char *named(struct world *world, const struct made_function *made,
			 struct taken *taken)
{
	struct made_function function = *made;
	struct ep_raw_frame frame;
	char *end;

	function.script = world->script;
	function.bytecodes = world->bytecodes;
	frame = frame_of(&world->heap, V8_FRAME_INTERPRETED, new_function(&world->heap, &function), 0,
			 V8_OFFSET_UNKNOWN);
	if (name(world, &frame, taken) != 0)
		return "gone";
	end = strstr(taken->text, " 1:");
	if (end)
		*end = '\0';
	return taken->text;
}

static uint32_t kind_of(const struct v8_layout *layout, int32_t mask)
{
	return layout->function_kind_is_set ? (uint32_t)(mask & -mask) :
					      (uint32_t)__builtin_ctz((uint32_t)mask);
}

static void composes_names(void **state)
{
	struct world world;
	struct taken taken;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_heap *heap = &world.heap;
		const struct v8_layout *layout = &heap->layout;
		struct made_function made = {.scope = {.start = 2, .end = 20}, .unique_id = 1};

		assert_string_equal(named(&world, &made, &taken), "(anonymous)");
		made.unique_id++;
		made.literal++;
		if (v8_has(layout->sfi_inferred_name) || v8_has(layout->scope_inferred_name_bit)) {
			made.scope.inferred = one_byte(heap, "holder.late");
			assert_string_equal(named(&world, &made, &taken), "holder.late");
		}
		made.unique_id++;
		made.literal++;
		made.scope.name = one_byte(heap, "own");
		assert_string_equal(named(&world, &made, &taken), "own");
		made.scope.n_locals = 80; /* from 10.x on their names are elsewhere */
		made.unique_id++;
		made.literal++;
		assert_string_equal(named(&world, &made, &taken), "own");
		made.kind = kind_of(layout, layout->kinds_getter);
		assert_string_equal(named(&world, &made, &taken), "get own");
		made.scope.name = one_byte(heap, "get half");
		made.literal++;
		made.unique_id++;
		assert_string_equal(named(&world, &made, &taken), "get half");
		made.kind = kind_of(layout, layout->kinds_constructor);
		made.literal++;
		made.unique_id++;
		made.scope.name = one_byte(heap, "Shape");
		assert_string_equal(named(&world, &made, &taken), "new Shape");
		if (layout->kinds_fields) {
			made.kind = kind_of(layout, layout->kinds_fields);
			assert_string_equal(named(&world, &made, &taken),
					    "<instance_members_initializer>");
		}
		if (layout->kinds_static) {
			made.kind = kind_of(layout, layout->kinds_static & ~layout->kinds_getter &
							    ~layout->kinds_setter);
			assert_string_equal(named(&world, &made, &taken), "static Shape");
		}
	}
}

/*
 * What WebAssembly exports is called by its index. Its wrapper is compiled code of that function: where the code is
 * not to be found, or was interrupted before it had a frame, it has the wrapper's name all the same.
 */
static void names_no_wrapper_by_an_index(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_heap *heap = &world.heap;
		struct made_function made = {.scope = {.name = one_byte(heap, "2"), .start = 2, .end = 20},
					     .literal = 21, .unique_id = 21};
		struct ep_raw_frame frame;

		frame = frame_of(heap, V8_FRAME_COMPILED, new_function(heap, &made), 0x700000, 0);
		assert_named(&world, &frame, "(js-to-wasm) 0:0 - [0]");
		frame.flags |= V8_FRAME_FROM_REGISTER;
		assert_named(&world, &frame, "(js-to-wasm) 0:0 - [0]");
		heap->fail_with = -ESRCH;
		heap->fail_at = heap->n_reads + 1;
		frame.words[2]++;
		assert_named(&world, &frame, "(js-to-wasm) 0:0 - [0]");
		made.script = new_script(heap, one_byte(heap, "wasm://wasm/1"), 0, 78);
		put64(heap, made.script, heap->layout.script_type, smi(3));
		made.literal++;
		made.unique_id++;
		frame = frame_of(heap, V8_FRAME_COMPILED, new_function(heap, &made), 0x700000, 0);
		assert_named(&world, &frame, "(js-to-wasm) 0:0 wasm://wasm/1 [0]?");
		made.script = world.script; /* ({2() {}})[2] */
		made.literal++;
		made.unique_id++;
		frame = frame_of(heap, V8_FRAME_COMPILED, new_function(heap, &made), 0x700000, 0);
		assert_named(&world, &frame, "2 1:0 /a.js [1]?");
	}
}

static void finds_class_by_its_scope(void **state)
{
	struct world world;
	struct taken taken;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_heap *heap = &world.heap;
		const struct v8_layout *layout = &heap->layout;
		struct made_scope class_scope = {.is_class = true, .start = 2, .end = 30};
		struct made_function method = {.literal = 5, .unique_id = 5}, made = {0};
		uint64_t infos[12] = {0}, outer;

		if (!v8_has(layout->scope_type_class))
			continue;
		outer = new_scope(heap, &class_scope);
		made = (struct made_function){.scope = {.name = one_byte(heap, "Shape"), .outer = outer},
					      .kind = kind_of(layout, layout->kinds_constructor),
					      .literal = 7, .unique_id = 7, .script = world.script};
		infos[7] = new_function(heap, &made) | 2; /* weak */
		made.scope.outer = new_scope(heap, &class_scope);
		made.scope.name = one_byte(heap, "Other");
		infos[6] = new_function(heap, &made) | 2;
		infos[4] = 3; /* cleared */
		put64(heap, world.script, layout->script_infos,
		      new_array(heap, layout->type_weak_array, infos, 12));
		method.scope = (struct made_scope){.name = one_byte(heap, "twice"), .outer = outer,
						   .start = 3, .end = 9};
		assert_string_equal(named(&world, &method, &taken), "twice"); /* as of a field */
		method.kind = kind_of(layout, layout->kinds_method);
		assert_string_equal(named(&world, &method, &taken), "Shape.twice");
		method.kind = kind_of(layout, layout->kinds_setter);
		assert_string_equal(named(&world, &method, &taken), "set Shape.twice");
		/* An object's, within a method that has no scope of its own. */
		made = method;
		made.script = world.script;
		made.literal = 3;
		infos[3] = new_function(heap, &made) | 2;
		put64(heap, world.script, layout->script_infos,
		      new_array(heap, layout->type_weak_array, infos, 12));
		method.scope.start = 5;
		method.unique_id = method.literal = 9;
		assert_string_equal(named(&world, &method, &taken), "set twice");
		/* All of the class is the place of a constructor that nobody wrote. */
		made.kind = kind_of(layout, layout->kinds_default_constructor);
		made.scope.start = 2;
		made.scope.end = 30;
		infos[3] = new_function(heap, &made) | 2;
		infos[7] = 0;
		put64(heap, world.script, layout->script_infos,
		      new_array(heap, layout->type_weak_array, infos, 12));
		method.unique_id = method.literal = 10;
		assert_string_equal(named(&world, &method, &taken), "set Shape.twice");
		method.literal = 5;
		made.scope.name = one_byte(heap, "Shape");
		infos[3] = 0;
		/* A second constructor: whose the method is cannot be said. */
		made.scope.outer = method.scope.outer = new_scope(heap, &class_scope);
		infos[7] = new_function(heap, &made) | 2;
		infos[8] = new_function(heap, &made) | 2;
		put64(heap, world.script, layout->script_infos,
		      new_array(heap, layout->type_weak_array, infos, 12));
		method.literal = 6;
		method.unique_id = 6;
		assert_string_equal(named(&world, &method, &taken), "set twice");
	}
}

/* A class's scope is where another's was, and begins where that began; both constructors are alive. */
static void finds_another_class_where_one_was(void **state)
{
	struct world world;
	struct taken taken;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_heap *heap = &world.heap;
		const struct v8_layout *layout = &heap->layout;
		struct made_scope class_scope = {.is_class = true, .start = 2, .end = 30};
		struct made_function method = {.literal = 5, .unique_id = 5}, one, other;
		uint64_t infos[12] = {0}, array;

		if (!v8_has(layout->scope_type_class))
			continue;
		one = (struct made_function){.kind = kind_of(layout, layout->kinds_constructor),
					     .literal = 6, .unique_id = 6, .script = world.script};
		one.scope = (struct made_scope){.name = one_byte(heap, "One"),
						.outer = new_scope(heap, &class_scope)};
		other = one;
		other.scope.name = one_byte(heap, "Other");
		other.unique_id = 7;
		other.literal = 7;
		array = new_array(heap, layout->type_weak_array, infos, 12);
		put64(heap, world.script, layout->script_infos, array);
		method.kind = kind_of(layout, layout->kinds_method);
		method.scope = (struct made_scope){.name = one_byte(heap, "m"), .outer = one.scope.outer,
						   .start = 3, .end = 9};
		/* There is no constructor yet. */
		assert_string_equal(named(&world, &method, &taken), "m");
		put64(heap, array, layout->array_data + 8 * 6, new_function(heap, &one) | 2);
		method.unique_id = 4;
		method.literal = 4;
		assert_string_equal(named(&world, &method, &taken), "One.m");
		/* The first one's has moved, and its constructor knows where to. */
		one.scope.outer = new_scope(heap, &class_scope);
		put64(heap, get64(heap, array, layout->array_data + 8 * 6) & ~2ull, layout->sfi_name,
		      new_scope(heap, &one.scope));
		put64(heap, array, layout->array_data + 8 * 7, new_function(heap, &other) | 2);
		method.unique_id = 3;
		method.literal = 3;
		assert_string_equal(named(&world, &method, &taken), "Other.m");
	}
}

/* ---- strings ---- */

static void assert_text(struct v8_heap *heap, uint64_t string, size_t size, const char *want)
{
	char buf[64];

	assert_true(size <= sizeof(buf));
	v8_heap_forget(heap);
	assert_int_equal(v8_string_read(heap, string, buf, size), 0);
	assert_string_equal(buf, want);
}

static void reads_strings(void **state)
{
	static const uint16_t units[] = {'a', 0x20ac, 0xd83d, 0xde00, 0xd83d, 'z', 0xde00};
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_heap *made = &world.heap;
		struct v8_memory memory = {.read = made_heap_read, .arg = made};
		struct v8_heap heap;
		uint64_t ab = one_byte(made, "ab"), empty = one_byte(made, ""), flat, cons, loop;
		char buf[64];

		assert_int_equal(v8_heap_init(&heap, &memory, &made->layout), 0);
		assert_text(&heap, ab, 8, "ab");
		assert_text(&heap, one_byte(made, "h\xe9\x07!"), 64, "hé\xef\xbf\xbd!");
		assert_text(&heap, two_byte(made, units, 7), 64,
			    "a€😀\xef\xbf\xbdz\xef\xbf\xbd");
		assert_text(&heap, one_byte(made, "a long text"), 8, "a lo…");
		cons = other_string(made, CONS | ONE_BYTE, 4, ab, one_byte(made, "cd"));
		assert_text(&heap, cons, 64, "abcd");
		assert_text(&heap, other_string(made, CONS, 5, cons, one_byte(made, "!")), 64, "abcd!");
		flat = other_string(made, CONS | ONE_BYTE, 2, ab, empty);
		assert_text(&heap, flat, 64, "ab");
		assert_text(&heap, other_string(made, THIN | ONE_BYTE, 2, ab, 0), 64, "ab");
		assert_text(&heap, other_string(made, SLICED | ONE_BYTE, 3,
						one_byte(made, "0123456"), smi(2)), 64, "234");
		assert_text(&heap, other_string(made, EXTERNAL | ONE_BYTE, 2, 0x1000,
						ab - V8_TAG + (uint32_t)made->layout.string_chars),
			    64, "ab");
		/* What is hostile: a slice behind the end, rings, a string without its data. */
		v8_heap_forget(&heap);
		assert_int_equal(v8_string_read(&heap, other_string(made, SLICED | ONE_BYTE, 3, ab,
								    smi(1)), buf, 64), -EBADMSG);
		loop = other_string(made, CONS | ONE_BYTE, 4, 0, ab);
		put64(made, loop, made->layout.string_first, loop);
		v8_heap_forget(&heap);
		assert_int_equal(v8_string_read(&heap, loop, buf, 64), -ENOTSUP);
		loop = other_string(made, THIN | ONE_BYTE, 4, 0, 0);
		put64(made, loop, made->layout.string_first, loop);
		v8_heap_forget(&heap);
		assert_int_equal(v8_string_read(&heap, loop, buf, 64), -EBADMSG);
		assert_int_equal(v8_string_read(&heap, world.f, buf, 64), -EBADMSG);
		v8_heap_forget(&heap);
		assert_int_equal(
			v8_string_read(&heap,
				       other_string(made,
						    EXTERNAL | ONE_BYTE |
							    1 << made->layout.string_uncached_bit,
						    2, 0x1000, 0), buf, 64),
			-ENOTSUP);
		v8_heap_fini(&heap);
	}
}

/* ---- compiled code ---- */

#define F_RETURN "f 2:3 /a.js [1]"
#define F_CALL	 "f 2:10 /a.js [1]"
#define G	 "g 4:17 /a.js [4]"

static void names_inlined_functions(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		uint64_t start = make_optimized(&world, NULL);
		struct ep_raw_frame frame = frame_of(&world.heap, V8_FRAME_COMPILED, world.f, start, 0);
#define AT_RETURN(off) (frame.words[2] = start + (off), frame.flags = V8_FRAME_COMPILED << V8_FRAME_SHIFT)
#define AT_LEAF(off) (AT_RETURN(off), frame.flags |= EP_FRAME_INTERRUPTED)
		AT_RETURN(15);
		assert_named(&world, &frame, G "; " F_RETURN);
		AT_RETURN(20); /* the call before it is the first one's */
		assert_named(&world, &frame, G "; " F_RETURN);
		AT_RETURN(25);
		assert_named(&world, &frame, G "; " F_CALL);
		AT_RETURN(35);
		assert_named(&world, &frame, F_CALL);
		AT_RETURN(5);
		assert_named(&world, &frame, F_START);
		/* Between two that do not agree: only what both share. */
		AT_LEAF(15);
		assert_named(&world, &frame, F_RETURN);
		AT_LEAF(42);
		assert_named(&world, &frame, G "; " F_CALL);
		AT_LEAF(50);
		assert_named(&world, &frame, F_CALL);
		frame.words[2] = start + 4000; /* in no code */
		assert_named(&world, &frame, "f 1:0 /a.js [1]?");
	}
}

/*
 * Who asks again may mean other code: the core asks once for the same words, and again when its table was full. Of a
 * process that has gone a function that was known has its name.
 */
static void reads_compiled_frames_each_time(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		uint64_t start = make_optimized(&world, NULL);
		struct ep_raw_frame frame = frame_of(&world.heap, V8_FRAME_COMPILED, world.f, start + 15, 0);
		struct taken taken;
		uint8_t *code = world.heap.bytes + (start - BASE - (uint32_t)world.heap.layout.code_first);
		uint8_t head[8];

		assert_named(&world, &frame, G "; " F_RETURN);
		memcpy(head, code, sizeof(head));
		memset(code, 0xcc, sizeof(head)); /* it is no code object any more */
		assert_named(&world, &frame, "f 1:0 /a.js [1]?");
		memcpy(code, head, sizeof(head));
		assert_named(&world, &frame, G "; " F_RETURN);
		world.heap.fail_with = -ESRCH;
		world.heap.fail_at = world.heap.n_reads + 1;
		assert_named(&world, &frame, "f 1:0 /a.js [1]?");
		put32(&world.heap, world.f, world.heap.layout.sfi_literal_id, 99);
		put32(&world.heap, world.f, world.heap.layout.sfi_unique_id, 99);
		assert_int_equal(name(&world, &frame, &taken), EP_FRAME_GONE);
	}
}

/*
 * 6.2, 6.8: the interpreter may not be known to BPF; its code is a builtin's, the offset comes along. Later ones are
 * always known, aux is none: the function has a line, but not a bytecode's.
 */
static void places_what_the_heaps_interpreter_runs(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_code made = {.bytes = 64, .kind = world.heap.layout.code_builtin_kind};
		struct ep_raw_frame frame;
		uint64_t code, start = new_code(&world.heap, &made, &code);

		frame = frame_of(&world.heap, V8_FRAME_COMPILED, world.f, start + 9, 7);
		assert_named(&world, &frame, world.heap.layout.version.major < 7 ? F_CALL :
										   "f 1:0 /a.js [1]?");
		frame.aux = V8_OFFSET_UNKNOWN;
		assert_named(&world, &frame, "f 1:0 /a.js [1]?");
	}
}

static void names_no_inlined_function_of_other_code(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		uint64_t start = make_optimized(&world, NULL);
		struct made_function made = {.script = world.script, .literal = 9, .unique_id = 99,
					     .bytecodes = world.bytecodes,
					     .scope = {.start = AT("(a)"), .end = 30}};
		struct ep_raw_frame frame;

		made.scope.name = one_byte(&world.heap, "other");
		frame = frame_of(&world.heap, V8_FRAME_COMPILED, new_function(&world.heap, &made),
				 start + 15, 0);
		assert_named(&world, &frame, "other 1:0 /a.js [1]?");
	}
}

static void put_le(uint8_t *to, uint32_t value, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

/* Two returns at 15 and 25, whose trampolines are at 56 and 60. */
static uint32_t make_safepoints(const struct v8_layout *layout, uint8_t table[128])
{
	static const uint8_t pairs[][2] = {{15, 56}, {25, 60}};
	uint32_t at = layout->safepoint_shape == 2 ? 4 : 0;

	memset(table, 0, 128);
	put_le(table + at, 2, 4);
	if (layout->safepoint_shape == 0) {
		for (uint32_t i = 0; i < 2; i++) {
			put_le(table + 8 + 12 * i, pairs[i][0], 4);
			put_le(table + 16 + 12 * i, pairs[i][1], 4);
		}
		return 32;
	}
	put_le(table + at + 4, 1 | 1 << 1 | 2 << 4 | 1 << 7, 4); /* registers 1, pc 2, index 1 */
	for (uint32_t i = 0; i < 2; i++) {
		put_le(table + at + 8 + 6 * i, pairs[i][0], 2);
		put_le(table + at + 8 + 6 * i + 2, i + 1, 1);
		put_le(table + at + 8 + 6 * i + 3, pairs[i][1] + 1u, 2);
	}
	return at + 8 + 12;
}

static void maps_returns_of_deoptimized_frames(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		uint8_t table[128];
		struct made_code more = {.safepoints = table,
					 .n_safepoints = make_safepoints(&world.heap.layout, table)};
		uint64_t start = make_optimized(&world, &more);
		struct ep_raw_frame frame = frame_of(&world.heap, V8_FRAME_COMPILED, world.f,
						     start + 56, 0);

		assert_named(&world, &frame, G "; " F_RETURN);
		frame.words[2] = start + 60;
		assert_named(&world, &frame, G "; " F_CALL);
	}
}

/* ---- what code would deoptimize to ---- */

#define N_EXITS 3
#define EXIT(i) (48 + 5 * (i)) /* of a code's 64 bytes */

/* A translation's opcodes, how many operands they have, and how it is written: 6.2 to 14.6. */
static const struct writing {
	uint8_t begin, begin_operands, frame, frame_operands;
	bool low_bit, is_byte;
} writings[N_VERSIONS] = {
	{0, 2, 1, 3, true, false},  {0, 3, 1, 3, true, false},	{0, 3, 1, 5, true, false},
	{0, 3, 1, 5, true, false},  {3, 3, 18, 5, false, false}, {3, 3, 18, 5, false, false},
	{2, 3, 23, 5, false, true}, {12, 3, 0, 5, false, true}, {14, 3, 0, 6, false, true},
	{14, 3, 0, 6, false, true},
};

struct written {
	const struct writing *how;
	uint8_t bytes[128];
	uint32_t n;
};

static void write_number(struct written *to, uint32_t value)
{
	do {
		uint8_t more = value > 0x7f;

		to->bytes[to->n++] = to->how->low_bit ? (uint8_t)(value << 1 | more) :
							(uint8_t)((value & 0x7f) | more << 7);
		value >>= 7;
	} while (value);
}

static void write_opcode(struct written *to, uint32_t opcode)
{
	if (to->how->is_byte)
		to->bytes[to->n++] = (uint8_t)opcode;
	else
		write_number(to, opcode << 1);
}

/* A function at a bytecode. */
static void write_frame(struct written *to, uint32_t bytecode_off, uint32_t literal)
{
	write_opcode(to, to->how->frame);
	write_number(to, bytecode_off << 1);
	write_number(to, literal << 1);
	for (uint32_t i = 2; i < to->how->frame_operands; i++)
		write_number(to, 0);
}

/* Functions at bytecodes, of these literals, outermost first. Where it begins. */
static uint32_t write_translation(struct written *to, const uint32_t (*frames)[2], uint32_t n)
{
	uint32_t at = to->n;

	write_opcode(to, to->how->begin);
	if (to->how->is_byte)
		write_number(to, 0); /* looks back at none */
	write_number(to, n << 1);
	write_number(to, n << 1);
	if (to->how->begin_operands == 3 && !to->how->is_byte)
		write_number(to, 0);
	for (uint32_t i = 0; i < n; i++)
		write_frame(to, frames[i][0], frames[i][1]);
	return at;
}

/* g within f from 10 on, and another g from 30 on, both called at "g(a)" by the table of positions. */
static uint64_t make_inlined(struct world *world, int32_t kind, uint64_t *ret_deopt,
			     const struct made_code *more)
{
	struct made_heap *heap = &world->heap;
	const struct v8_layout *layout = &heap->layout;
	const int32_t pairs[][2] = {{2, AT("return 1")}};
	const uint8_t codes[8] = {11, 0};
	struct made_function g = {.script = world->script, .literal = 4, .unique_id = 44,
				  .scope = {.start = AT("m()"), .end = AT(" }\n")}};
	const struct inlining inlining[] = {{raw_position(layout, AT("g(a)"), -1), 0, 0},
					    {raw_position(layout, AT("g(a)"), -1), 0, 0}};
	struct made_code code = {.kind = kind, .bytes = 64};
	struct table table = {0};
	uint64_t functions[2] = {0, world->f}, object;

	g.scope.name = one_byte(heap, "g");
	g.bytecodes = new_bytecodes(heap, codes, sizeof(codes), positions_of(heap, pairs, 1));
	functions[0] = new_function(heap, &g);
	for (uint32_t i = 0; i < 4; i++)
		add_position(&table, layout, 10 + 10 * i, AT("return 1"), i > 1, true);
	code.deopt = *ret_deopt = new_deopt(heap, world->f, functions, 2,
					    new_bytes(heap, inlining, sizeof(inlining)));
	code.positions = new_bytes(heap, table.bytes, table.n);
	if (more) {
		code.safepoints = more->safepoints;
		code.n_safepoints = more->n_safepoints;
	}
	return new_code(heap, &code, &object);
}

/* Of each entry the bytecode of f; 0: the callee is not g. */
static void put_entries(struct world *world, size_t version, uint64_t deopt, const uint32_t *offs,
			uint32_t n)
{
	const struct v8_layout *layout = &world->heap.layout;
	struct written written = {.how = &writings[version]};

	for (uint32_t i = 0; i < N_EXITS; i++) {
		int32_t at = layout->array_data + 8 * (layout->deopt_first_entry + 3 * (int32_t)i);
		const uint32_t frames[][2] = {{i < n && offs[i] ? offs[i] : 2, 1}, {2, i < n && !offs[i]}};
		uint32_t begin = i < n ? write_translation(&written, frames, 2) : 0;

		put64(&world->heap, deopt, at + 8, i < n ? (uint64_t)begin << 32 : 1);
		put64(&world->heap, deopt, at + 16, (uint64_t)EXIT(i) << 32);
	}
	put64(&world->heap, deopt, layout->array_data,
	      new_bytes(&world->heap, written.bytes, written.n));
}

static void translates_returns(void **state)
{
	static const uint32_t offs[] = {2, 6};
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		uint8_t points[128];
		struct made_code more = {.safepoints = points,
					 .n_safepoints = make_safepoints(&world.heap.layout, points)};
		uint64_t deopt, start = make_inlined(&world, world.heap.layout.code_optimized, &deopt, &more);
		struct ep_raw_frame frame = frame_of(&world.heap, V8_FRAME_COMPILED, world.f, start + 15, 0);

		put_entries(&world, v_, deopt, offs, 2);
		assert_named(&world, &frame, G "; " F_RETURN);
		frame.words[2] = start + 56; /* where it goes once it was deoptimized */
		assert_named(&world, &frame, G "; " F_RETURN);
		frame.words[2] = start + 20; /* no entry's */
		assert_named(&world, &frame, v_ < 4 ? G "; " F_RETURN : G "; " F_CALL);
	}
}

/* What is right of code that the world has, with these entries, interrupted in the first g. */
static void assert_leaf(size_t version, const uint32_t *offs, uint32_t n, bool with_jumps,
			const char *want)
{
	struct world world;
	struct ep_raw_frame frame;
	uint64_t deopt, start;
	bool has_maglev;

	world_init(&world, version);
	has_maglev = v8_has(world.heap.layout.code_maglev);
	start = make_inlined(&world, has_maglev ? world.heap.layout.code_maglev :
						  world.heap.layout.code_optimized, &deopt, NULL);
	for (uint32_t i = 0; i < 2 && with_jumps; i++) { /* jne to the exits, one in each g */
		uint32_t from = i ? 34 : 14;
		const uint8_t jne[6] = {0x0f, 0x85, (uint8_t)(EXIT(i) - from - 6), 0, 0, 0};

		put_bytes(&world.heap, start + from, jne, sizeof(jne));
	}
	put_entries(&world, version, deopt, offs, n);
	frame = frame_of(&world.heap, V8_FRAME_COMPILED, world.f, start + 12, 0);
	frame.flags |= EP_FRAME_INTERRUPTED;
	assert_named(&world, &frame, want);
	frame.words[2] = start + 31; /* in the other */
	if (with_jumps && has_maglev)
		assert_named(&world, &frame, G "; " F_CALL);
	world_fini(&world);
}

/* Entries' bytecodes: the table's place is right where one has it that may be the same call. */
static void mends_places_of_inlined_calls(void **state)
{
	static const uint32_t one[] = {2}, both[] = {2, 6}, none[] = {0};

	(void)state;
	for (size_t v = 0; v < N_VERSIONS; v++) {
		const struct v8_layout layout = layout_of(v);
		bool mends = v8_has(layout.code_maglev) || layout.version.major < 9;

		assert_leaf(v, one, 1, false, mends ? G "; " F_RETURN : G "; " F_CALL);
		assert_leaf(v, both, 2, false, G "; " F_CALL);
		assert_leaf(v, none, 1, false, G "; " F_CALL);
		assert_leaf(v, both, 2, true,
			    v8_has(layout.code_maglev) ? G "; " F_RETURN : G "; " F_CALL);
	}
}

/* 6.2: the table has g in f, at a place that is not in f; an entry has it in h, which is in f. */
static void finds_callers_that_are_left_out(void **state)
{
	static const uint32_t frames[][2] = {{2, 1}, {6, 2}, {2, 0}};
	struct world world;

	(void)state;
	for (size_t v = 0; v < 2; v++) {
		struct written written = {.how = &writings[v]};
		const struct v8_layout *layout = &world.heap.layout;
		uint64_t deopt, start, functions[3], literals, inlining;
		struct made_function h = {.literal = 6, .unique_id = 66};
		struct ep_raw_frame frame;
		uint64_t raw;

		world_init(&world, v);
		start = make_inlined(&world, layout->code_optimized, &deopt, NULL);
		h.script = world.script;
		h.bytecodes = world.bytecodes;
		h.scope = (struct made_scope){.name = one_byte(&world.heap, "h"), .start = AT("(a)"), .end = 40};
		literals = get64(&world.heap, deopt, layout->array_data + 8 * layout->deopt_literals);
		functions[0] = get64(&world.heap, literals, layout->array_data);
		functions[1] = world.f;
		functions[2] = new_function(&world.heap, &h);
		put64(&world.heap, deopt, layout->array_data + 8 * layout->deopt_literals,
		      new_array(&world.heap, layout->type_fixed_array, functions, 3));
		frame = frame_of(&world.heap, V8_FRAME_COMPILED, world.f, start + 12, 0);
		frame.flags |= EP_FRAME_INTERRUPTED;
		put_entries(&world, v, deopt, NULL, 0);
		(void)write_translation(&written, frames, 3);
		put64(&world.heap, deopt, layout->array_data,
		      new_bytes(&world.heap, written.bytes, written.n));
		put64(&world.heap, deopt, layout->array_data + 8 * (layout->deopt_first_entry + 1), 0);
		/* Its place is one of f's: then it is in f. */
		assert_named(&world, &frame, G "; " F_CALL);
		inlining = get64(&world.heap, deopt, layout->array_data + 8 * layout->deopt_positions);
		raw = raw_position(layout, AT("class"), -1);
		put64(&world.heap, inlining, layout->array_data, raw);
		frame.words[2]++; /* not what is known */
		assert_named(&world, &frame, G "; h 2:10 /a.js [1]; " F_RETURN);
		world_fini(&world);
	}
}

static void places_baseline_code(void **state)
{
	/* Of each version two bytecodes of one byte and then Wide: LdaZero is 12 from 9.4 on */
	static const uint8_t codes[] = {12, 12, 12, 12, 12, 12, 12, 12};
	static const uint8_t sizes[] = {10, 5, 5, 5, 5, 5, 5, 5, 5};
	const int32_t pairs[][2] = {{2, AT("return g")}, {6, AT("g(a)")}};
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_heap *heap = &world.heap;
		const struct v8_layout *layout = &heap->layout;
		struct made_code made = {.kind = layout->code_baseline, .bytes = 64};
		struct ep_raw_frame frame;
		uint64_t start, code;

		if (!v8_has(layout->code_baseline))
			continue;
		made.deopt = new_bytecodes(heap, codes, sizeof(codes), positions_of(heap, pairs, 2));
		made.positions = new_bytes(heap, sizes, sizeof(sizes));
		start = new_code(heap, &made, &code);
		if (v8_has(layout->type_baseline_data)) {
			uint64_t data = new_object(heap, layout->type_baseline_data, 24);

			put64(heap, data, layout->baseline_data_code, code);
			put64(heap, data, layout->baseline_data_data, made.deopt);
			code = data;
		}
		put64(heap, world.f, layout->sfi_data, code);
		frame = frame_of(heap, V8_FRAME_COMPILED, world.f, start + 25, 0); /* behind the third */
		assert_named(&world, &frame, F_RETURN);
		frame.words[2] = start + 45;
		assert_named(&world, &frame, F_CALL);
		frame.words[2] = start + 40;
		assert_named(&world, &frame, F_RETURN);
		frame.flags |= EP_FRAME_INTERRUPTED;
		assert_named(&world, &frame, F_CALL);
		frame.words[2] = start + 5;
		assert_named(&world, &frame, F_START);
	}
}

/* ---- other frames ---- */

static const char *builtin_name(void *arg, uint32_t id)
{
	(void)arg;
	return id == 7 ? "ArrayForEach" : NULL;
}

static void names_other_frames(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct ep_raw_frame frame = {.flags = V8_FRAME_GC << V8_FRAME_SHIFT};
		struct made_code made = {.bytes = 32, .kind = world.heap.layout.code_builtin_kind};
		struct taken taken;
		uint64_t code;

		assert_named(&world, &frame, "(garbage collector) 0:0 - [0]");
		frame.flags = V8_FRAME_REGEXP << V8_FRAME_SHIFT;
		assert_named(&world, &frame, "(regexp) 0:0 - [0]");
		frame.flags = V8_FRAME_CODE << V8_FRAME_SHIFT;
		assert_true(name(&world, &frame, &taken) != 0); /* without its word */
		frame.n_words = 1;
		frame.words[0] = new_code(&world.heap, &made, &code) + 3;
		put32(&world.heap, code, world.heap.layout.code_builtin, 7);
		v8_names_set_builtins(world.names, builtin_name, NULL);
		assert_named(&world, &frame,
			     world.heap.layout.code_builtin_bytes == 4 ?
				     "Builtins_ArrayForEach 0:0 - [0]" : "(builtin) 0:0 - [0]");
		frame.flags = V8_FRAME_TO_JS << V8_FRAME_SHIFT;
		assert_named(&world, &frame, "(wasm-to-js) 0:0 - [0]");
	}
}

/* What BPF has no function of: by its code alone. */
static void names_code_by_its_kind(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		const struct v8_layout *layout = &world.heap.layout;
		const struct {
			int32_t kind;
			const char *want;
		} kinds[] = {
			{layout->code_optimized, "(function) 0:0 - [0]"},
			{layout->code_baseline, "(function) 0:0 - [0]"},
			{layout->code_maglev, "(function) 0:0 - [0]"},
			{layout->code_builtin_kind, "(builtin) 0:0 - [0]"},
			{layout->code_handler, "(bytecode handler) 0:0 - [0]"},
			{layout->code_stub, "(stub) 0:0 - [0]"},
			{layout->code_js_to_wasm, "(js-to-wasm) 0:0 - [0]"},
			{layout->code_wasm_to_js, "(wasm-to-js) 0:0 - [0]"},
			{layout->code_wasm, "(code) 0:0 - [0]"},
		};
		struct ep_raw_frame frame = {.flags = V8_FRAME_CODE << V8_FRAME_SHIFT, .n_words = 1};

		for (size_t i = 0; i < EP_LEN(kinds); i++) {
			struct made_code made = {.bytes = 32, .kind = kinds[i].kind};
			uint64_t code;

			if (!v8_has(made.kind))
				continue;
			frame.words[0] = new_code(&world.heap, &made, &code) + 3;
			assert_named(&world, &frame, kinds[i].want);
		}
		frame.words[0] = 0x7f0000000000;
		assert_named(&world, &frame, "(code) 0:0 - [0]");
	}
}

/*
 * A name of 2^40 pieces, each behind strings that only lead on, all in pages that are kept in the same place: it
 * ends after so many reads, and others are named as before.
 */
static void reads_no_more_than_it_may(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_heap *heap = &world.heap;
		struct made_function made = {.literal = 11, .unique_id = 1111, .script = world.script,
					     .bytecodes = world.bytecodes};
		uint64_t name_of = one_byte(heap, "a");
		struct ep_raw_frame frame;
		struct taken taken;

		heap->has_aliases = true;
		for (uint32_t i = 0; i < 40; i++) {
			for (uint32_t hop = 0; hop < 10; hop++)
				name_of = other_string(heap, THIN | ONE_BYTE, 1, name_of + ALIAS(hop), 0);
			name_of = other_string(heap, CONS | ONE_BYTE, 1, name_of + ALIAS(3),
					       name_of + ALIAS(9));
		}
		made.scope = (struct made_scope){.name = name_of, .start = 2, .end = 20};
		frame = frame_of(heap, V8_FRAME_INTERPRETED, new_function(heap, &made), 0,
				 V8_OFFSET_UNKNOWN);
		assert_int_equal(name(&world, &frame, &taken), EP_FRAME_GONE);
		assert_int_equal(heap->n_reads, V8_HEAP_MAX_READS);
		frame = interpreted(&world, 7);
		assert_named(&world, &frame, "f 2:10 /a.js [1]");
	}
}

/* A source whose table of lines could not be kept is read once, not for each place; it has no lines. */
static void reads_a_source_once(void **state)
{
	struct world world;

	(void)state;
	EACH_VERSION(world)
	{
		struct made_heap *heap = &world.heap;
		struct ep_raw_frame frame = interpreted(&world, 7);
		uint32_t reads;

		put64(heap, world.script, heap->layout.script_source,
		      other_string(heap, EXTERNAL | ONE_BYTE, N_NEWLINES, NEWLINES, NEWLINES));
		assert_named(&world, &frame, "f 0:0 /a.js [0]");
		reads = heap->n_reads;
		assert_true(reads > V8_LINES_MAX_BYTES / V8_LINES_PIECE / 2 &&
			    reads < N_NEWLINES / V8_LINES_PIECE);
		frame.aux = 5;
		assert_named(&world, &frame, "f 0:0 /a.js [0]");
		assert_true(heap->n_reads - reads < 12);
	}
}

#define PAGES_BYTES (V8_HEAP_PAGES * sizeof(struct v8_page))

/* Any number of frames, functions, and scripts with their lines, in turn at one place of the heap. */
static void keeps_within_its_bound(void **state)
{
	struct world world;
	struct made_heap *heap = &world.heap;
	int32_t literal_at, id_at;

	(void)state;
	world_init(&world, N_VERSIONS - 1);
	literal_at = heap->layout.sfi_literal_id;
	id_at = heap->layout.sfi_unique_id;
	for (uint32_t i = 0; i < 100000; i++) {
		struct ep_raw_frame frame;

		put32(heap, world.f, literal_at, i / 4);
		put32(heap, world.f, id_at, i / 4);
		put64(heap, world.script, heap->layout.script_id, smi((int32_t)(i / 16)));
		frame = interpreted(&world, 7 + i % 4);
		assert_named(&world, &frame, "f 2:10 /a.js [1]");
	}
	assert_in_range(v8_names_bytes(world.names) - PAGES_BYTES, V8_NAMES_MAX_BYTES / 2,
			V8_NAMES_MAX_BYTES + (64u << 10));
	world_fini(&world);
}

/* A function is known when its process has gone, however many frames were named since. */
static void frames_push_out_no_functions(void **state)
{
	struct world world;
	struct ep_raw_frame frame, other;
	uint64_t f, g;

	(void)state;
	world_init(&world, N_VERSIONS - 1);
	frame = interpreted(&world, 7);
	assert_named(&world, &frame, "f 2:10 /a.js [1]");
	f = world.f;
	g = new_function(&world.heap, &(struct made_function){
			.scope = {.name = one_byte(&world.heap, "g"), .start = AT("(a)"), .end = AT("class") - 1},
			.script = world.script, .bytecodes = world.bytecodes, .literal = 8, .unique_id = 8});
	world.f = g;
	for (uint32_t i = 0; i < 20000; i++) {
		struct taken taken;

		other = interpreted(&world, 7);
		other.words[2] += 8ull * i;
		assert_int_equal(name(&world, &other, &taken), 0);
	}
	world.f = f;
	frame.aux = 2;
	world.heap.fail_with = -ESRCH;
	world.heap.fail_at = world.heap.n_reads + 1;
	assert_named(&world, &frame, "f 1:0 /a.js [1]?");
	world_fini(&world);
}

/* Scripts with large tables have no more than one of them has, and leave small things where they are. */
static void keeps_large_tables_within_theirs(void **state)
{
	struct world world;
	struct made_heap *heap = &world.heap;
	struct ep_raw_frame small, large;
	uint64_t f, script;
	uint32_t reads;

	(void)state;
	world_init(&world, N_VERSIONS - 1);
	small = interpreted(&world, 7);
	assert_named(&world, &small, "f 2:10 /a.js [1]");
	f = world.f;
	script = new_script(heap, one_byte(heap, "/large.js"),
			    other_string(heap, EXTERNAL | ONE_BYTE, N_NEWLINES / 4, NEWLINES, NEWLINES), 78);
	world.f = new_function(heap, &(struct made_function){
			.scope = {.name = one_byte(heap, "g"), .start = 4, .end = 900},
			.script = script, .bytecodes = world.bytecodes, .literal = 8, .unique_id = 8});
	for (uint32_t i = 0; i < 20; i++) {
		put64(heap, script, heap->layout.script_id, smi((int32_t)(100 + i)));
		put32(heap, world.f, heap->layout.sfi_unique_id, 100 + i);
		large = interpreted(&world, 7);
		reads = heap->n_reads;
		assert_named(&world, &large, "g 26:1 /large.js [5]");
		assert_true(heap->n_reads - reads > N_NEWLINES / 4 / V8_LINES_PIECE);
		large.aux = 5;
		reads = heap->n_reads;
		assert_named(&world, &large, "g 19:1 /large.js [5]");
		assert_true(heap->n_reads - reads < 12); /* its lines are known */
	}
	assert_in_range(v8_names_bytes(world.names) - PAGES_BYTES, V8_NAMES_MAX_BYTES,
			V8_NAMES_MAX_LARGE + (64u << 10));
	world.f = f;
	reads = heap->n_reads;
	assert_named(&world, &small, "f 2:10 /a.js [1]");
	assert_int_equal(heap->n_reads, reads);
	world_fini(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_function_with_its_place),
		cmocka_unit_test(knows_another_thread_where_one_was),
		cmocka_unit_test(reads_nothing_for_a_known_frame),
		cmocka_unit_test(names_no_other_function),
		cmocka_unit_test(follows_one_move),
		cmocka_unit_test(sees_that_it_changed_meanwhile),
		cmocka_unit_test(sees_that_its_name_changed_meanwhile),
		cmocka_unit_test(survives_reads_that_fail),
		cmocka_unit_test(names_known_functions_of_what_is_gone),
		cmocka_unit_test(composes_names),
		cmocka_unit_test(names_no_wrapper_by_an_index),
		cmocka_unit_test(finds_class_by_its_scope),
		cmocka_unit_test(finds_another_class_where_one_was),
		cmocka_unit_test(reads_strings),
		cmocka_unit_test(names_inlined_functions),
		cmocka_unit_test(reads_compiled_frames_each_time),
		cmocka_unit_test(places_what_the_heaps_interpreter_runs),
		cmocka_unit_test(names_no_inlined_function_of_other_code),
		cmocka_unit_test(maps_returns_of_deoptimized_frames),
		cmocka_unit_test(translates_returns),
		cmocka_unit_test(mends_places_of_inlined_calls),
		cmocka_unit_test(finds_callers_that_are_left_out),
		cmocka_unit_test(places_baseline_code),
		cmocka_unit_test(names_other_frames),
		cmocka_unit_test(names_code_by_its_kind),
		cmocka_unit_test(reads_no_more_than_it_may),
		cmocka_unit_test(reads_a_source_once),
		cmocka_unit_test(keeps_within_its_bound),
		cmocka_unit_test(frames_push_out_no_functions),
		cmocka_unit_test(keeps_large_tables_within_theirs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
