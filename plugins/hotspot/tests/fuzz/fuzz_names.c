/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole VM of hostile memory: the input is the memory that the made-up VM (tests/unit/made_vm.h)
 * has, with one byte for its family before. Whatever is in it: frames are named by text of one
 * line, or not at all; what is kept stays within its bound; and a second look gives the same.
 */
#include "core/base/util.h"
#include "plugins/hotspot/symbolize/names.h"
#include "plugins/hotspot/tests/unit/made_app.h"
#include "tests/kit/fuzz.h"

const char *hotspot_stubs_name(const struct hotspot_stubs *stubs, uint64_t addr)
{
	return stubs && addr ? "" : NULL;
}

static struct made_vm vm;

static void check_text(const char *text)
{
	for (; text && *text; text++) {
		if ((unsigned char)*text < 0x20)
			abort();
	}
}

static int add(struct ep_names *to, const struct ep_name *name)
{
	uint64_t *hash = (uint64_t *)to;

	check_text(name->function);
	check_text(name->system_name);
	check_text(name->file);
	*hash = (*hash ^ name->line ^ strlen(name->function)) * 0x100000001b3ull;
	return 0;
}

static void name(struct hotspot_names *names, const struct ep_raw_frame *frame)
{
	uint64_t first = 0, second = 0;
	int r = hotspot_names_of(names, NULL, frame, add, (struct ep_names *)&first);
	int again = hotspot_names_of(names, NULL, frame, add, (struct ep_names *)&second);

	if (r == 0 && (again != 0 || first != second))
		abort();
}

/* With the words that BPF would have read from this memory. */
static void name_all(struct hotspot_names *names, const struct made_app *app)
{
	struct ep_raw_frame frame = {.n_words = 2};
	uint64_t method;
	uint32_t id;

	memcpy(&method, vm.memory + (app->blob - MADE_BASE) + 80, 8);
	memcpy(&id, vm.memory + (app->blob - MADE_BASE) + 204, 4);
	frame.words[0] = app->blob;
	frame.words[1] = HOTSPOT_COMPILED_WORD(id, method);
	for (frame.aux = 240; frame.aux < 500; frame.aux += 16) {
		frame.flags = HOTSPOT_FRAME_COMPILED << HOTSPOT_FRAME_SHIFT;
		name(names, &frame);
		frame.flags |= EP_FRAME_INTERRUPTED;
		name(names, &frame);
	}
	frame.flags = HOTSPOT_FRAME_INTERPRETED << HOTSPOT_FRAME_SHIFT;
	frame.words[0] = app->run;
	frame.words[1] = made_interpreted_word(&vm, app->run);
	for (frame.aux = 0; frame.aux < 80; frame.aux += 30)
		name(names, &frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory memory = {.read = fake_memory_read, .arg = &vm.reads};
	struct hotspot_names *names = NULL;
	struct made_app app;

	if (size < 1)
		return 0;
	made_init(&vm, data[0] % MADE_FAMILIES);
	app = made_app(&vm, 6);
	memcpy(vm.memory, data + 1, EP_MIN(size - 1, (size_t)MADE_BYTES));
	if (hotspot_names_new(&memory, &vm.layout, &names) < 0)
		abort();
	name_all(names, &app);
	if (hotspot_names_bytes(names) > HOTSPOT_NAMES_MAX_HEAP)
		abort();
	hotspot_names_free(names);
	return 0;
}
