/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of any version, of which any bytes are others: strings, scopes, functions, code with its
 * deoptimization data and tables; and a file that publishes anything that is sane of its own layout
 * (fields.def). Whatever they say, naming ends, reads no more than it may, and what comes out is
 * lines of UTF-8.
 *
 *	version, what is named, at which offset, then for each byte that is another: where (24
 *	bits), what
 *	or, for each value that is published: which, lower byte, 0xff, higher byte
 */
#include "plugins/v8/symbolize/heap.h"
#include "plugins/v8/symbolize/scopes.h"
#include "plugins/v8/symbolize/text.h"
#include "plugins/v8/tests/names/made_world.h"
#include "tests/kit/fuzz.h"

#define HEAD	  3

static bool is_line(const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c;) {
		uint32_t n = *c < 0x80	     ? 0
			     : *c >> 5 == 6  ? 1
			     : *c >> 4 == 14 ? 2
			     : *c >> 3 == 30 ? 3
					     : 9;

		if (n == 9 || *c < 0x20 || *c == 0x7f)
			return false;
		for (c++; n > 0; n--, c++) {
			if (*c >> 6 != 2)
				return false;
		}
	}
	return true;
}

static int check_name(struct ep_names *to, const struct ep_name *name)
{
	uint32_t *n = (uint32_t *)to;

	if (++*n > 64 || !name->function || !name->function[0] || !is_line(name->function) ||
	    (name->file && !is_line(name->file)))
		abort();
	return 0;
}

static void name(struct world *world, const struct ep_raw_frame *frame)
{
	uint32_t n = 0, before = world->heap.n_reads;
	int r = v8_names_of(world->names, frame, check_name, (struct ep_names *)&n);

	if ((r == 0) != (n > 0) || world->heap.n_reads - before > V8_HEAP_MAX_READS)
		abort();
}

/* More objects than a function has as a rule, so that all of the reading is reached. */
static uint64_t make_method(struct world *world)
{
	struct made_heap *heap = &world->heap;
	const struct v8_layout *layout = &heap->layout;
	struct made_scope class_scope = {.is_class = true, .start = 2, .end = 30};
	struct made_function made = {.script = world->script, .literal = 5, .unique_id = 5,
				     .bytecodes = world->bytecodes};
	uint64_t infos[8] = {0}, outer = 0, part = one_byte(heap, "some"), method;

	if (v8_has(layout->scope_type_class))
		outer = new_scope(heap, &class_scope);
	made.scope = (struct made_scope){.start = 3, .end = 60, .outer = outer, .n_locals = 3};
	made.scope.name = other_string(heap, CONS | ONE_BYTE, 7, part,
				       other_string(heap, SLICED | ONE_BYTE, 3, part, smi(1)));
	made.scope.inferred = other_string(heap, THIN | ONE_BYTE, 4, part, 0);
	method = new_function(heap, &made);
	made.literal = 6;
	made.unique_id = 6;
	made.kind = layout->function_kind_is_set
			    ? 32
			    : (uint32_t)__builtin_ctz((uint32_t)layout->kinds_constructor);
	infos[5] = method | 2;
	infos[6] = new_function(heap, &made) | 2;
	put64(heap, world->script, layout->script_infos,
	      new_array(heap, layout->type_fixed_array, infos, 8));
	return method;
}

/* --- what a file publishes */

enum sanity { OFFSET, SLOT, TYPE, NUMBER, SHIFT };

static const struct value {
	size_t at;
	enum sanity sanity;
	bool is_published;
} values[] = {
#define V8_VALUE(member_, sanity_, names_, ...)                                                    \
	{.at = offsetof(struct v8_layout, member_),                                                \
	 .sanity = sanity_,                                                                        \
	 .is_published = sizeof(names_) > 1},
#include "plugins/v8/fields.def"
};

static int32_t make_sane(enum sanity sanity, uint32_t value)
{
	if (sanity == OFFSET)
		return (int32_t)(value % 4096);
	if (sanity == SLOT)
		return -8 * (int32_t)(1 + value % 16);
	return (int32_t)(sanity == SHIFT ? value % 32 : value);
}

static bool is_value(const uint8_t *data)
{
	return data[2] == 0xff;
}

static void publish(struct v8_layout *layout, const uint8_t *data, size_t size)
{
	for (; size >= 4; data += 4, size -= 4) {
		const struct value *value = &values[data[0] % EP_LEN(values)];
		int32_t sane = make_sane(value->sanity, data[1] | (uint32_t)data[3] << 8);

		if (is_value(data) && value->is_published)
			memcpy((char *)layout + value->at, &sane, sizeof(sane));
	}
}

static void change(struct made_heap *heap, const uint8_t *data, size_t size)
{
	for (; size >= 4; data += 4, size -= 4) {
		uint32_t at = data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;

		if (is_value(data))
			continue;
		/* Small ones are where the objects are. */
		heap->bytes[at % (at & 0x800000 ? HEAP_BYTES : heap->used)] = data[3];
	}
}

/* The heap is made as its version has it, and named as the file says. */
static void be_published(struct world *world, const uint8_t *data, size_t size)
{
	struct memory memory = {.read = made_heap_read, .arg = &world->heap};

	publish(&world->heap.layout, data, size);
	v8_names_free(world->names);
	if (v8_names_new(&memory, &world->heap.layout, &world->heap.state, &world->names) < 0)
		abort();
}

static void read_parts(struct world *world, uint64_t object)
{
	struct memory memory = {.read = made_heap_read, .arg = &world->heap};
	struct v8_heap heap;
	struct v8_scope scope;
	char text[64];

	if (v8_heap_init(&heap, &memory, &world->heap.layout) < 0)
		return;
	if (v8_string_read(&heap, object, text, sizeof(text)) == 0 && !is_line(text))
		abort();
	(void)v8_scope_read(&heap, &object, &scope);
	v8_heap_fini(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world;
	struct ep_raw_frame frames[4];
	uint64_t method, code;

	if (size < HEAD)
		return 0;
	world_init(&world, data[0] % N_VERSIONS);
	method = make_method(&world);
	code = make_optimized(&world, NULL);
	world.heap.has_aliases = true; /* more pages than are kept */
	change(&world.heap, data + HEAD, size - HEAD);
	frames[0] = frame_of(&world.heap, V8_FRAME_INTERPRETED, world.f, world.bytecodes - V8_TAG,
			     data[2]);
	frames[1] = frame_of(&world.heap, V8_FRAME_INTERPRETED, method, world.bytecodes - V8_TAG,
			     data[2]);
	frames[2] = frame_of(&world.heap, V8_FRAME_COMPILED, world.f, code + data[2], 0);
	frames[3] = frames[2];
	frames[3].flags |= EP_FRAME_INTERRUPTED;
	be_published(&world, data + HEAD, size - HEAD);
	for (size_t i = 0; i < EP_LEN(frames); i++)
		name(&world, &frames[i]);
	read_parts(&world, BASE + V8_TAG + 8ull * data[1] * 32);
	world_fini(&world);
	return 0;
}
