/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions, strings and other frames, over heaps that are made up. */
#include "plugins/v8/tests/names/made_names.h"
#include "tests/kit/test.h"

VERSION_TEST(names_function_with_its_place)
{
	struct ep_raw_frame frame = interpreted(world, 7);

	assert_named(world, &frame, "f 2:10 /a.js [1]");
	frame.aux = 5;
	assert_named(world, &frame, "f 2:3 /a.js [1]");
	frame.aux = 1; /* before the first */
	assert_named(world, &frame, F_START);
	frame.aux = V8_OFFSET_UNKNOWN;
	assert_named(world, &frame, "f 1:0 /a.js [1]?");
	frame.flags |= V8_FRAME_CONSTRUCT;
	assert_named(world, &frame, "new f 1:0 /a.js [1]?");
	frame.flags = V8_FRAME_FROM_REGISTER;
	assert_named(world, &frame, F_START);
}

/*
 * A worker's isolate has gone, and the next one's is where it was: other functions and scripts with
 * the same ids. What the first one's were is known still.
 */
VERSION_TEST(knows_another_thread_where_one_was)
{
	struct made_heap *heap = &world->heap;
	const struct v8_layout *layout = &heap->layout;
	struct made_scope scope = {.start = AT("(a)") - 1, .end = AT("class") - 1};
	struct ep_raw_frame frame = interpreted(world, 7), known;

	frame.words[2] |= 1ull << V8_THREAD_SHIFT;
	known = frame;
	known.flags = V8_FRAME_COMPILED << V8_FRAME_SHIFT;
	assert_named(world, &frame, "f 2:10 /a.js [1]");
	scope.name = one_byte(heap, "g");
	put64(heap, world->f, layout->sfi_name,
	      v8_has(layout->sfi_scope_info) ? scope.name : new_scope(heap, &scope));
	put64(heap, world->script, layout->script_name, one_byte(heap, "/b.js"));
	put64(heap, world->script, layout->script_source, one_byte(heap, "\n\n" SOURCE));
	frame.words[2] += 1ull << V8_THREAD_SHIFT;
	assert_named(world, &frame, "g 4:8 /b.js [3]");
	heap->fail_with = -ESRCH;
	heap->fail_at = heap->n_reads + 1;
	assert_named(world, &known, "f 1:0 /a.js [1]?");
}

VERSION_TEST(reads_nothing_for_a_known_frame)
{
	struct ep_raw_frame frame = interpreted(world, 7);
	uint32_t reads;

	assert_named(world, &frame, "f 2:10 /a.js [1]");
	reads = world->heap.n_reads;
	assert_true(reads > 0);
	assert_named(world, &frame, "f 2:10 /a.js [1]");
	assert_int_equal(world->heap.n_reads, reads);
}

VERSION_TEST(names_no_other_function)
{
	struct taken taken;
	const struct v8_layout *layout = &world->heap.layout;
	struct ep_raw_frame frame = interpreted(world, 7), other = frame;

	other.words[1] ^= 1;
	assert_int_equal(name(world, &other, &taken), EP_FRAME_GONE);
	other = frame;
	other.words[0] = world->script - V8_TAG;
	assert_int_equal(name(world, &other, &taken), EP_FRAME_GONE);
	other.words[0] = 0x1000;
	assert_int_equal(name(world, &other, &taken), EP_FRAME_GONE);
	/* A number in the place of what tells functions apart. */
	put32(&world->heap, world->f,
	      v8_has(layout->sfi_unique_id) ? layout->sfi_unique_id :
					      layout->sfi_literal_id, 9);
	assert_int_equal(name(world, &frame, &taken), EP_FRAME_GONE);
	assert_int_equal(taken.used, 0);
}

VERSION_TEST(follows_one_move)
{
	struct taken taken;
	struct ep_raw_frame frame = interpreted(world, 7);
	uint64_t moved = take(&world->heap, 160);

	put_bytes(&world->heap, moved - V8_TAG,
		  world->heap.bytes + (world->f - V8_TAG - BASE), 160);
	memset(world->heap.bytes + (world->f - V8_TAG - BASE), 0xcc, 160);
	put64(&world->heap, world->f, 0, moved - V8_TAG);
	/* Its code's proof is by addresses: the name is. */
	assert_int_equal(name(world, &frame, &taken), 0);
	assert_true(strncmp(taken.text, "f 2:10", 6) == 0);
}

VERSION_TEST(sees_that_it_changed_meanwhile)
{
	struct taken taken;
	struct ep_raw_frame frame = interpreted(world, 7);

	/* The first two reads are of its map and the cookie; from then on it is another, by the
	 * cookie's last word. */
	world->heap.change_at = 5;
	world->heap.change_addr =
		world->f - V8_TAG + world->heap.state.cookie_at + 8 * (V8_COOKIE_WORDS - 1);
	world->heap.change_to = 0x1234567812345678;
	assert_int_equal(name(world, &frame, &taken), EP_FRAME_GONE);
	assert_int_equal(taken.used, 0);
	assert_int_equal(name(world, &frame, &taken), EP_FRAME_GONE);
}

/* Its name is another one's by the time that it is read: what was read may be anything. */
EP_TEST(sees_that_its_name_changed_meanwhile)
{
	struct taken taken;

	for (size_t v = 0; v < N_VERSIONS; v++) {
		uint32_t n_gone = 0;

		for (uint32_t at = 1; at < 12; at++) {
			struct made_scope scope = {.start = AT("(a)"), .end = AT("class") - 1};
			ep_cleanup(world_fini) struct world world;
			struct ep_raw_frame frame;
			int r;

			world_init(&world, v);
			frame = interpreted(&world, 7);
			scope.name = one_byte(&world.heap, "late");
			world.heap.change_at = at;
			world.heap.change_addr =
				world.f - V8_TAG + (uint32_t)world.heap.layout.sfi_name;
			world.heap.change_to = v8_has(world.heap.layout.sfi_scope_info) ?
						       scope.name : new_scope(&world.heap, &scope);
			r = name(&world, &frame, &taken);
			n_gone += r == EP_FRAME_GONE;
			assert_true(r == EP_FRAME_GONE || strncmp(taken.text, "f 2:10", 6) == 0 ||
				    strncmp(taken.text, "late 2:10", 9) == 0);
			assert_true(r == 0 || taken.used == 0);
		}
		assert_true(n_gone > 0 && n_gone < 11);
	}
}

/* A function that was named has its name still, without the place; none has that was not. */
EP_TEST(names_known_functions_of_what_is_gone)
{
	static const int errors[] = {-EFAULT, -ESRCH};
	struct taken taken;

	for (size_t i = 0; i < 2 * N_VERSIONS; i++) {
		ep_cleanup(world_fini) struct world world;
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
		world.heap.fails_on = true;
		if (errors[i % 2] == -ESRCH || is_unique)
			assert_named(&world, &frame, "f 1:0 /a.js [1]?");
		else
			assert_int_equal(name(&world, &frame, &taken), EP_FRAME_GONE);
		world.heap.fail_at = world.heap.n_reads + 1;
		assert_true(name(&world, &other, &taken) != 0);
	}
}

/* ---- what a function is called ---- */

static const char *named(struct world *world, const struct made_function *made)
{
	static struct taken taken;
	struct made_function function = *made;
	struct ep_raw_frame frame;
	char *end;

	function.script = world->script;
	function.bytecodes = world->bytecodes;
	frame = frame_of(&world->heap, V8_FRAME_INTERPRETED, new_function(&world->heap, &function),
			 0, V8_OFFSET_UNKNOWN);
	if (name(world, &frame, &taken) != 0)
		return "gone";
	end = strstr(taken.text, " 1:");
	if (end)
		*end = '\0';
	return taken.text;
}

/* What tells functions apart, in either layout. */
static void be_another(struct made_function *made)
{
	made->literal++;
	made->unique_id++;
}

static void put_infos(struct made_heap *heap, uint64_t script, const uint64_t infos[12])
{
	put64(heap, script, heap->layout.script_infos,
	      new_array(heap, heap->layout.type_weak_array, infos, 12));
}

static uint32_t kind_of(const struct v8_layout *layout, int32_t mask)
{
	return layout->function_kind_is_set ? (uint32_t)(mask & -mask) :
					      (uint32_t)__builtin_ctz((uint32_t)mask);
}

VERSION_TEST(composes_names)
{
	struct made_heap *heap = &world->heap;
	const struct v8_layout *layout = &heap->layout;
	struct made_function made = {.scope = {.start = 2, .end = 20}, .unique_id = 1};

	assert_string_equal(named(world, &made), "(anonymous)");
	be_another(&made);
	if (v8_has(layout->sfi_inferred_name) || v8_has(layout->scope_inferred_name_bit)) {
		made.scope.inferred = one_byte(heap, "holder.late");
		assert_string_equal(named(world, &made), "holder.late");
	}
	be_another(&made);
	made.scope.name = one_byte(heap, "own");
	assert_string_equal(named(world, &made), "own");
	made.scope.n_locals = 80; /* from 10.x on their names are elsewhere */
	be_another(&made);
	assert_string_equal(named(world, &made), "own");
	made.kind = kind_of(layout, layout->kinds_getter);
	assert_string_equal(named(world, &made), "get own");
	made.scope.name = one_byte(heap, "get half");
	be_another(&made);
	assert_string_equal(named(world, &made), "get half");
	made.kind = kind_of(layout, layout->kinds_constructor);
	be_another(&made);
	made.scope.name = one_byte(heap, "Shape");
	assert_string_equal(named(world, &made), "new Shape");
	if (layout->kinds_fields) {
		made.kind = kind_of(layout, layout->kinds_fields);
		assert_string_equal(named(world, &made), "<instance_members_initializer>");
	}
	if (layout->kinds_static) {
		made.kind = kind_of(layout, layout->kinds_static & ~layout->kinds_getter &
						    ~layout->kinds_setter);
		assert_string_equal(named(world, &made), "static Shape");
	}
}

/*
 * What WebAssembly exports is called by its index. Its wrapper is compiled code of that function:
 * where the code is not to be found, or was interrupted before it had a frame, it has the wrapper's
 * name all the same.
 */
VERSION_TEST(names_no_wrapper_by_an_index)
{
	struct made_heap *heap = &world->heap;
	struct made_function made = {.scope = {.name = one_byte(heap, "2"), .start = 2, .end = 20},
				     .literal = 21, .unique_id = 21};
	struct ep_raw_frame frame;

	frame = frame_of(heap, V8_FRAME_COMPILED, new_function(heap, &made), 0x700000, 0);
	assert_named(world, &frame, "(js-to-wasm) 0:0 - [0]");
	frame.flags |= V8_FRAME_FROM_REGISTER;
	assert_named(world, &frame, "(js-to-wasm) 0:0 - [0]");
	heap->fail_with = -ESRCH;
	heap->fail_at = heap->n_reads + 1;
	frame.words[2]++;
	assert_named(world, &frame, "(js-to-wasm) 0:0 - [0]");
	made.script = new_script(heap, one_byte(heap, "wasm://wasm/1"), 0, 78);
	put64(heap, made.script, heap->layout.script_type, smi(3));
	be_another(&made);
	frame = frame_of(heap, V8_FRAME_COMPILED, new_function(heap, &made), 0x700000, 0);
	assert_named(world, &frame, "(js-to-wasm) 0:0 wasm://wasm/1 [0]?");
	made.script = world->script; /* ({2() {}})[2] */
	be_another(&made);
	frame = frame_of(heap, V8_FRAME_COMPILED, new_function(heap, &made), 0x700000, 0);
	assert_named(world, &frame, "2 1:0 /a.js [1]?");
}

VERSION_TEST(finds_class_by_its_scope)
{
	struct made_heap *heap = &world->heap;
	const struct v8_layout *layout = &heap->layout;
	struct made_scope class_scope = {.is_class = true, .start = 2, .end = 30};
	struct made_function method = {.literal = 5, .unique_id = 5}, made = {0};
	uint64_t infos[12] = {0}, outer;

	if (!v8_has(layout->scope_type_class))
		return;
	outer = new_scope(heap, &class_scope);
	made = (struct made_function){.scope = {.name = one_byte(heap, "Shape"), .outer = outer},
				      .kind = kind_of(layout, layout->kinds_constructor),
				      .literal = 7, .unique_id = 7, .script = world->script};
	infos[7] = new_function(heap, &made) | 2; /* weak */
	made.scope.outer = new_scope(heap, &class_scope);
	made.scope.name = one_byte(heap, "Other");
	infos[6] = new_function(heap, &made) | 2;
	infos[4] = 3; /* cleared */
	put_infos(heap, world->script, infos);
	method.scope = (struct made_scope){.name = one_byte(heap, "twice"), .outer = outer,
					   .start = 3, .end = 9};
	assert_string_equal(named(world, &method), "twice"); /* as of a field */
	method.kind = kind_of(layout, layout->kinds_method);
	assert_string_equal(named(world, &method), "Shape.twice");
	method.kind = kind_of(layout, layout->kinds_setter);
	assert_string_equal(named(world, &method), "set Shape.twice");
	/* An object's, within a method that has no scope of its own. */
	made = method;
	made.script = world->script;
	made.literal = 3;
	infos[3] = new_function(heap, &made) | 2;
	put_infos(heap, world->script, infos);
	method.scope.start = 5;
	method.unique_id = method.literal = 9;
	assert_string_equal(named(world, &method), "set twice");
	/* All of the class is the place of a constructor that nobody wrote. */
	made.kind = kind_of(layout, layout->kinds_default_constructor);
	made.scope.start = 2;
	made.scope.end = 30;
	infos[3] = new_function(heap, &made) | 2;
	infos[7] = 0;
	put_infos(heap, world->script, infos);
	method.unique_id = method.literal = 10;
	assert_string_equal(named(world, &method), "set Shape.twice");
	method.literal = 5;
	made.scope.name = one_byte(heap, "Shape");
	infos[3] = 0;
	/* A second constructor: whose the method is cannot be known. */
	made.scope.outer = method.scope.outer = new_scope(heap, &class_scope);
	infos[7] = new_function(heap, &made) | 2;
	infos[8] = new_function(heap, &made) | 2;
	put_infos(heap, world->script, infos);
	method.literal = 6;
	method.unique_id = 6;
	assert_string_equal(named(world, &method), "set twice");
}

/* A class's scope is where another's was, and begins where that began; both constructors are
 * alive. */
VERSION_TEST(finds_another_class_where_one_was)
{
	struct made_heap *heap = &world->heap;
	const struct v8_layout *layout = &heap->layout;
	struct made_scope class_scope = {.is_class = true, .start = 2, .end = 30};
	struct made_function method = {.literal = 5, .unique_id = 5}, one, other;
	uint64_t infos[12] = {0}, array;

	if (!v8_has(layout->scope_type_class))
		return;
	one = (struct made_function){.kind = kind_of(layout, layout->kinds_constructor),
				     .literal = 6, .unique_id = 6, .script = world->script};
	one.scope = (struct made_scope){.name = one_byte(heap, "One"),
					.outer = new_scope(heap, &class_scope)};
	other = one;
	other.scope.name = one_byte(heap, "Other");
	other.unique_id = 7;
	other.literal = 7;
	array = new_array(heap, layout->type_weak_array, infos, 12);
	put64(heap, world->script, layout->script_infos, array);
	method.kind = kind_of(layout, layout->kinds_method);
	method.scope = (struct made_scope){.name = one_byte(heap, "m"), .outer = one.scope.outer,
					   .start = 3, .end = 9};
	/* There is no constructor yet. */
	assert_string_equal(named(world, &method), "m");
	put64(heap, array, layout->array_data + 8 * 6, new_function(heap, &one) | 2);
	method.unique_id = 4;
	method.literal = 4;
	assert_string_equal(named(world, &method), "One.m");
	/* The first one's has moved, and its constructor knows where to. */
	one.scope.outer = new_scope(heap, &class_scope);
	put64(heap, get64(heap, array, layout->array_data + 8 * 6) & ~2ull, layout->sfi_name,
	      new_scope(heap, &one.scope));
	put64(heap, array, layout->array_data + 8 * 7, new_function(heap, &other) | 2);
	method.unique_id = 3;
	method.literal = 3;
	assert_string_equal(named(world, &method), "Other.m");
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

VERSION_TEST(reads_strings)
{
	static const uint16_t units[] = {'a', 0x20ac, 0xd83d, 0xde00, 0xd83d, 'z', 0xde00};
	struct made_heap *made = &world->heap;
	struct memory memory = {.read = made_heap_read, .arg = made};
	ep_cleanup(v8_heap_fini) struct v8_heap heap;
	uint64_t ab = one_byte(made, "ab"), empty = one_byte(made, ""), flat, cons, loop;
	char buf[64];

	assert_int_equal(v8_heap_init(&heap, &memory, &made->layout), 0);
	assert_text(&heap, ab, 8, "ab");
	assert_text(&heap, one_byte(made, "h\xe9\x07!"), 64, "hé\xef\xbf\xbd!");
	assert_text(&heap, two_byte(made, units, 7), 64, "a€😀\xef\xbf\xbdz\xef\xbf\xbd");
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
	/* What is hostile: a slice after the end, rings, a string without its data. */
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
	assert_int_equal(v8_string_read(&heap, world->f, buf, 64), -EBADMSG);
	v8_heap_forget(&heap);
	assert_int_equal(
		v8_string_read(&heap,
			       other_string(made,
					    EXTERNAL | ONE_BYTE |
						    1 << made->layout.string_uncached_bit,
					    2, 0x1000, 0), buf, 64),
		-ENOTSUP);
}

/* ---- other frames ---- */

static const char *builtin_name(void *arg, uint32_t id)
{
	return id == 7 ? "ArrayForEach" : NULL;
}

VERSION_TEST(names_other_frames)
{
	struct ep_raw_frame frame = {.flags = V8_FRAME_GC << V8_FRAME_SHIFT};
	struct made_code made = {.bytes = 32, .kind = world->heap.layout.code_builtin_kind};
	struct taken taken;
	uint64_t code;

	assert_named(world, &frame, "(garbage collector) 0:0 - [0]");
	frame.flags = V8_FRAME_REGEXP << V8_FRAME_SHIFT;
	assert_named(world, &frame, "(regexp) 0:0 - [0]");
	frame.flags = V8_FRAME_CODE << V8_FRAME_SHIFT;
	assert_true(name(world, &frame, &taken) != 0); /* without its word */
	frame.n_words = 1;
	frame.words[0] = new_code(&world->heap, &made, &code) + 3;
	put32(&world->heap, code, world->heap.layout.code_builtin, 7);
	v8_names_set_builtins(world->names, builtin_name, NULL);
	assert_named(world, &frame,
		     world->heap.layout.code_builtin_bytes == 4 ?
			     "Builtins_ArrayForEach 0:0 - [0]" : "(builtin) 0:0 - [0]");
	frame.flags = V8_FRAME_TO_JS << V8_FRAME_SHIFT;
	assert_named(world, &frame, "(wasm-to-js) 0:0 - [0]");
}

/* What BPF has no function of: by its code alone. */
VERSION_TEST(names_code_by_its_kind)
{
	const struct v8_layout *layout = &world->heap.layout;
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
		frame.words[0] = new_code(&world->heap, &made, &code) + 3;
		assert_named(world, &frame, kinds[i].want);
	}
	frame.words[0] = 0x7f0000000000;
	assert_named(world, &frame, "(code) 0:0 - [0]");
}

/*
 * A name of 2^40 pieces, each after strings that only lead on, all in pages that are kept in the
 * same place: it ends after so many reads, and others are named as before.
 */
VERSION_TEST(reads_no_more_than_it_may)
{
	struct made_heap *heap = &world->heap;
	struct made_function made = {.literal = 11, .unique_id = 1111, .script = world->script,
				     .bytecodes = world->bytecodes};
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
	assert_int_equal(name(world, &frame, &taken), EP_FRAME_GONE);
	assert_int_equal(heap->n_reads, V8_HEAP_MAX_READS);
	frame = interpreted(world, 7);
	assert_named(world, &frame, "f 2:10 /a.js [1]");
}

/* Its source cannot be read now. */
VERSION_TEST(keeps_no_name_that_was_read_in_part)
{
	struct made_heap *heap = &world->heap;
	struct ep_raw_frame frame = interpreted(world, V8_OFFSET_UNKNOWN);
	uint64_t source = get64(heap, world->script, heap->layout.script_source);

	put64(heap, world->script, heap->layout.script_source,
	      other_string(heap, EXTERNAL | ONE_BYTE, sizeof(SOURCE) - 1, 0x1000, 0x1000));
	assert_named(world, &frame, "f 0:0 /a.js [0]?");
	put64(heap, world->script, heap->layout.script_source, source);
	assert_named(world, &frame, "f 1:0 /a.js [1]?");
}

static int count_bytes(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	*(uint64_t *)arg += bytes;
	return 0;
}

/* In few large reads, of each frame anew. */
EP_TEST(reads_no_more_bytes_than_it_may)
{
	const struct v8_layout layout = layout_of(0);
	uint64_t bytes = 0;
	struct memory memory = {.read = count_bytes, .arg = &bytes};
	ep_cleanup(v8_heap_fini) struct v8_heap heap;

	assert_int_equal(v8_heap_init(&heap, &memory, &layout), 0);
	for (uint64_t n = V8_HEAP_MAX_BYTES; n <= 2 * V8_HEAP_MAX_BYTES; n += V8_HEAP_MAX_BYTES) {
		v8_heap_limit(&heap);
		while (v8_heap_read_now(&heap, BASE, NULL, 1u << 20) == 0)
			continue;
		assert_int_equal(bytes, n);
	}
}

/* A source whose table of lines could not be kept is read once, not for each place; it has no
 * lines. */
VERSION_TEST(reads_a_source_once)
{
	struct made_heap *heap = &world->heap;
	struct ep_raw_frame frame = interpreted(world, 7);
	uint32_t reads;

	put64(heap, world->script, heap->layout.script_source,
	      other_string(heap, EXTERNAL | ONE_BYTE, N_NEWLINES, NEWLINES, NEWLINES));
	assert_named(world, &frame, "f 0:0 /a.js [0]");
	reads = heap->n_reads;
	assert_true(reads > V8_LINES_MAX_BYTES / V8_LINES_PIECE / 2 &&
		    reads < N_NEWLINES / V8_LINES_PIECE);
	frame.aux = 5;
	assert_named(world, &frame, "f 0:0 /a.js [0]");
	assert_true(heap->n_reads - reads < 12);
}

#define PAGES_BYTES (V8_HEAP_PAGES * sizeof(struct v8_page))

/* Any number of frames, functions, and scripts with their lines, in turn at one place of the
 * heap. */
EP_TEST(keeps_within_its_bound)
{
	ep_cleanup(world_fini) struct world world;
	struct made_heap *heap = &world.heap;
	int32_t literal_at, id_at;

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
			V8_NAMES_MAX_BYTES + (128u << 10));
}

/* A function is known when its process has gone, however many frames were named since. */
EP_TEST(frames_push_out_no_functions)
{
	ep_cleanup(world_fini) struct world world;
	struct ep_raw_frame frame, other;
	uint64_t f, g;

	world_init(&world, N_VERSIONS - 1);
	frame = interpreted(&world, 7);
	assert_named(&world, &frame, "f 2:10 /a.js [1]");
	f = world.f;
	g = new_function(&world.heap,
			 &(struct made_function){.scope = {.name = one_byte(&world.heap, "g"),
							   .start = AT("(a)"),
							   .end = AT("class") - 1},
						 .script = world.script,
						 .bytecodes = world.bytecodes,
						 .literal = 8,
						 .unique_id = 8});
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
}

/* Scripts with large tables have no more than one of them has, and leave small things where they
 * are. */
EP_TEST(keeps_large_tables_within_theirs)
{
	ep_cleanup(world_fini) struct world world;
	struct made_heap *heap = &world.heap;
	struct ep_raw_frame small, large;
	uint64_t f, script;
	uint32_t reads;

	world_init(&world, N_VERSIONS - 1);
	small = interpreted(&world, 7);
	assert_named(&world, &small, "f 2:10 /a.js [1]");
	f = world.f;
	script = new_script(
		heap, one_byte(heap, "/large.js"),
		other_string(heap, EXTERNAL | ONE_BYTE, N_NEWLINES / 4, NEWLINES, NEWLINES), 78);
	world.f = new_function(
		heap, &(struct made_function){
			      .scope = {.name = one_byte(heap, "g"), .start = 4, .end = 900},
			      .script = script,
			      .bytecodes = world.bytecodes,
			      .literal = 8,
			      .unique_id = 8});
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
}
