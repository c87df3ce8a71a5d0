/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of WebAssembly, over a module that is made, in the layouts of all that have any. */
#include "plugins/v8/symbolize/names.h"

#include "plugins/v8/tests/names/made_heap.h"
#include "tests/kit/test.h"

/* An imported function, and two of its own; 5000 bytes of something else; names. */
static const uint8_t head[] = {
	0, 'a', 's', 'm', 1, 0, 0, 0,
	2, 7, 1, 1, 'm', 1, 'f', 0, 0,
	3, 3, 2, 0, 0,
	0, 0x88, 0x27, 1, 'x',
};
static const uint8_t tail[] = {
	0, 18, 4, 'n', 'a', 'm', 'e', 1, 11, 2, 1, 3, 'o', 'n', 'e', 2, 3, 't', 'w', 'o',
};
#define TAIL_AT	   (sizeof(head) - 2 + 5000)
#define WIRE_BYTES (TAIL_AT + sizeof(tail))
#define NAMES_AT   (WIRE_BYTES - 8) /* "one" */

#define CODE_START 0x7000000000ull
#define CODE_BYTES 0x40u /* of each: one is after the other */

struct made_module {
	struct made_heap heap;
	struct v8_names *names;
	uint64_t instance, wire; /* addresses */
	uint64_t codes[2];
};

static uint64_t raw(struct made_heap *heap, uint32_t bytes)
{
	return take(heap, bytes) - V8_TAG;
}

static void put_raw(struct made_heap *heap, uint64_t addr, uint64_t value)
{
	put_bytes(heap, addr, &value, sizeof(value));
}

/* A Managed<NativeModule>. */
static uint64_t new_managed(struct made_heap *heap, uint64_t native)
{
	uint64_t foreign = new_object(heap, 70, 16), destructor = raw(heap, 40),
		 shared = raw(heap, 16);

	put64(heap, foreign, 8, destructor);
	put_raw(heap, destructor + 24, shared);
	put_raw(heap, shared, native);
	return foreign;
}

static uint64_t new_wasm_code(struct made_heap *heap, uint64_t native, uint32_t nth)
{
	const struct v8_layout *layout = &heap->layout;
	uint64_t code = raw(heap, 96);
	uint32_t index = nth + 1, bytes = CODE_BYTES;

	put_raw(heap, code + (uint32_t)layout->wasm_code_start, CODE_START + nth * CODE_BYTES);
	put_raw(heap, code + (uint32_t)layout->wasm_code_native, native);
	put_bytes(heap, code + (uint32_t)layout->wasm_code_bytes, &bytes, sizeof(bytes));
	put_bytes(heap, code + (uint32_t)layout->wasm_code_index, &index, sizeof(index));
	return code;
}

static uint64_t new_native(struct made_module *made)
{
	struct made_heap *heap = &made->heap;
	uint64_t native = raw(heap, 640), table = raw(heap, 16), vector = raw(heap, 16);

	made->wire = raw(heap, WIRE_BYTES);
	put_bytes(heap, made->wire, head, sizeof(head));
	put_bytes(heap, made->wire + TAIL_AT, tail, sizeof(tail));
	put_raw(heap, vector, made->wire);
	put_raw(heap, vector + 8, WIRE_BYTES);
	put_raw(heap, native + (uint32_t)heap->layout.wasm_native_bytes, vector);
	put_raw(heap, native + (uint32_t)heap->layout.wasm_native_codes, table);
	for (uint32_t i = 0; i < 2; i++) {
		made->codes[i] = new_wasm_code(heap, native, i);
		put_raw(heap, table + 8 * i, made->codes[i]);
	}
	return native;
}

/* False: there is no such layout. */
static bool made_module_init(struct made_module *made, size_t version)
{
	struct made_heap *heap = &made->heap;
	const struct v8_layout *layout = &heap->layout;
	struct memory memory = {.read = made_heap_read, .arg = heap};
	uint64_t managed, module, object, data;

	made_heap_init(heap, version);
	if (!v8_has(layout->wasm_native_bytes)) {
		made_heap_fini(heap);
		return false;
	}
	managed = new_managed(heap, new_native(made));
	module = new_object(heap, 72, 320);
	object = new_object(heap, 73, 320);
	data = new_object(heap, 74, 320);
	put64(heap, module, layout->wasm_module_native, managed);
	put64(heap, object, layout->wasm_instance_module, module);
	put64(heap, data, layout->wasm_data_instance, object);
	put64(heap, data, layout->wasm_data_module, managed);
	made->instance = (v8_has(layout->wasm_data_instance) ? data : object) - V8_TAG;
	assert_int_equal(v8_names_new(&memory, layout, &heap->state, &made->names), 0);
	return true;
}

static void made_module_fini(struct made_module *made)
{
	v8_names_free(made->names);
	made_heap_fini(&made->heap);
}

static char taken[256];

static int take_name(struct ep_names *to, const struct ep_name *name)
{
	snprintf(taken, sizeof(taken), "%s", name->function);
	return 0;
}

static const char *named(struct made_module *made, uint64_t pc, uint32_t flags)
{
	struct ep_raw_frame frame = {
		.flags = V8_FRAME_WASM << V8_FRAME_SHIFT | flags,
		.n_words = 2,
		.words = {made->instance, pc},
	};
	int r = v8_names_of(made->names, &frame, take_name, NULL);

	return r == 0 ? taken : "none";
}

#define EACH_MODULE(made)                                                                          \
	for (size_t v_ = 0; v_ < N_VERSIONS; v_++)                                                 \
		if (made_module_init(&(made), v_))                                                 \
			for (bool once_ = true; once_; once_ = false, made_module_fini(&(made)))

EP_TEST(names_functions_by_their_code)
{
	struct made_module made;
	size_t n = 0;

	EACH_MODULE(made)
	{
		n++;
		assert_string_equal(named(&made, CODE_START + 5, 0), "wasm one");
		assert_string_equal(named(&made, CODE_START + CODE_BYTES + 5, 0), "wasm two");
		assert_string_equal(named(&made, CODE_START - 1, 0), "wasm (function)");
		assert_string_equal(named(&made, CODE_START, 0), "wasm (function)");
		assert_string_equal(named(&made, CODE_START, EP_FRAME_INTERRUPTED), "wasm one");
		/* It was replaced: better code of the same function is elsewhere. */
		put_raw(&made.heap, made.codes[1] + (uint32_t)made.heap.layout.wasm_code_start,
			CODE_START + 0x1000);
		assert_string_equal(named(&made, CODE_START + CODE_BYTES + 5, 0),
				    "wasm (function)");
	}
	assert_int_equal(n, N_VERSIONS - 2);
}

/* After the last call of a function there is nothing of it, and a wrapper may begin, which is no
 * function. */
EP_TEST(names_no_function_behind_its_code)
{
	const uint64_t end = CODE_START + 2 * CODE_BYTES;
	struct made_module made;

	EACH_MODULE(made)
	{
		assert_string_equal(named(&made, end, 0), "wasm two");
		assert_string_equal(named(&made, end, EP_FRAME_INTERRUPTED), "wasm (function)");
		assert_string_equal(named(&made, end - CODE_BYTES, 0), "wasm one");
		assert_string_equal(named(&made, end - CODE_BYTES, EP_FRAME_INTERRUPTED),
				    "wasm two");
	}
}

/* All its addresses are those of the first one, and its size. */
EP_TEST(knows_another_module_where_one_was)
{
	struct made_module made;

	EACH_MODULE(made)
	{
		assert_string_equal(named(&made, CODE_START + 5, 0), "wasm one");
		put_bytes(&made.heap, made.wire + NAMES_AT, "uno", 3);
		assert_string_equal(named(&made, CODE_START + 6, 0), "wasm uno");
		put_bytes(&made.heap, made.wire + NAMES_AT, "one", 3);
		assert_string_equal(named(&made, CODE_START + 7, 0), "wasm one");
	}
}
