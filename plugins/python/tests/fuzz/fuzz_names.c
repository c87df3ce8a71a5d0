/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolizer over memory that may hold anything, and that changes while it is read. A name that
 * comes out is within its limit; nothing is read more often than a handful of times.
 */
#include "plugins/python/symbolize/names.h"
#include "tests/kit/fuzz.h"
#include "tests/kit/host.h"

#define BASE_ADDR   0x10000
#define HEAD_BYTES  5
#define MAX_READS   16
#define N_FRAMES    4
#define CHANGE_FROM 1

/* Which read (low bits) finds which byte of the memory changed (high byte, times 8); 0: none. */
static uint16_t change_at;

static void change_memory(void *arg)
{
	struct fake_memory *memory = arg;

	if (memory->pieces[0].bytes)
		memory->pieces[0].at[(size_t)(change_at >> 8) * 8 % memory->pieces[0].bytes] ^=
			0x41;
}

static void must(bool truth, const char *what)
{
	if (truth)
		return;
	fprintf(stderr, "fuzz: not so: %s\n", what);
	abort();
}

static void symbolize_frames(struct fake_host *host, const struct py_code_layout *layout,
			     uint64_t code_addr)
{
	struct py_namer namer = {
		.host = fake_host_services(host),
		.memory = {fake_memory_read, &host->memory},
		.layout = *layout,
	};
	struct ep_raw_frame frame = {.n_words = 2, .words = {code_addr}};
	__u64 words[PY_CHECK_WORDS] = {0};

	(void)fake_memory_read(&host->memory, code_addr + layout->check_off, words, sizeof(words));
	frame.aux = py_code_check(words, layout->check_mask);

	must(py_namer_init(&namer) == 0, "memory for a cache");
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		int r;

		host->memory.n_reads = 0;
		host->n_names = 0;
		frame.words[1] = i * 6;
		r = py_names_add(&namer, &frame, &host->names);
		must(host->memory.n_reads <= MAX_READS, "few reads");
		must(host->n_names == (r == 0), "one name, or none");
		must(r == 0 || r == EP_FRAME_GONE || r == -EBADMSG, "the header's outcomes");
		must(strlen(host->function) < PY_FUNCTION_BYTES &&
			     strlen(host->file_name) < PY_FILE_BYTES,
		     "a text is within its limit");
	}
	py_namer_fini(&namer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake_host host;
	struct py_code_layout layout;
	uint16_t code_off;
	uint8_t *memory;

	if (size < HEAD_BYTES)
		return 0;
	memcpy(&code_off, data + 1, sizeof(code_off));
	memcpy(&change_at, data + 3, sizeof(change_at));
	if (py_code_layout_find(PY_VERSION(3, data[0] & 15), data[0] & 16, &layout) < 0)
		return 0;
	size -= HEAD_BYTES;
	memory = malloc(size + 1);
	if (!memory)
		abort();
	memcpy(memory, data + HEAD_BYTES, size);
	fake_host_init(&host, NULL, 0);
	fake_memory_add(&host.memory, BASE_ADDR, memory, size);
	host.memory.change = change_at ? change_memory : NULL;
	host.memory.change_arg = &host.memory;
	host.memory.change_at = CHANGE_FROM + (change_at & 7);
	symbolize_frames(&host, &layout, BASE_ADDR + code_off);
	free(memory);
	return 0;
}
