/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbolizer over memory that may hold anything, and that changes while it is read. A name that
 * comes out is one line of valid UTF-8 within its limit; nothing is read more often than a handful
 * of times, or in larger pieces than a line table may have.
 */
#include "plugins/python/symbolize/code.h"
#include "plugins/python/tests/unit/target.h"
#include "tests/kit/fuzz.h"

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
		memory->pieces[0].at[(size_t)(change_at >> 8) * 8 % memory->pieces[0].bytes] ^= 0x41;
}

static void must(bool truth, const char *what)
{
	if (truth)
		return;
	fprintf(stderr, "fuzz: not so: %s\n", what);
	abort();
}

static unsigned int sequence_len(uint8_t first)
{
	return first < 0x80   ? 1
	       : first < 0xc2 ? 0
	       : first < 0xe0 ? 2
	       : first < 0xf0 ? 3
	       : first < 0xf5 ? 4
			      : 0;
}

static void check_text(const char *text, size_t limit)
{
	size_t len = strlen(text);

	must(len < limit, "a text is within its limit");
	for (size_t i = 0; i < len;) {
		unsigned int n = sequence_len((uint8_t)text[i]);

		must(n && i + n <= len, "a text is UTF-8");
		must((uint8_t)text[i] >= 0x20 && text[i] != 0x7f, "a text is one line");
		for (unsigned int k = 1; k < n; k++)
			must(((uint8_t)text[i + k] & 0xc0) == 0x80, "a text is UTF-8");
		must((uint8_t)text[i] != 0xed || (uint8_t)text[i + 1] < 0xa0, "no surrogates");
		i += n;
	}
}

static uint32_t take_check(const struct ep_target *target, const struct py_code_layout *layout,
			   uint64_t code_addr)
{
	__u64 words[PY_CHECK_WORDS] = {0};

	(void)target_read(target, code_addr + layout->check_off, words, sizeof(words));
	return py_code_check(words, layout->check_mask);
}

static void symbolize_frames(struct ep_target *target, const struct py_code_layout *layout,
			     uint64_t code_addr)
{
	static struct ep_names names;
	struct names_cache *cache = NULL;
	uint32_t check = take_check(target, layout, code_addr);

	must(py_code_cache_new(&cache) == 0, "memory for a cache");
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		int r;

		target->memory.n_reads = 0;
		names.n = 0;
		r = py_code_symbolize(cache, &test_host, target, layout, code_addr, check, i * 6,
				      &names);
		must(target->memory.n_reads <= MAX_READS, "few reads");
		must(r == 0 ? names.n == 1 : names.n == 0, "one name, or none");
		must(r == 0 || r == EP_FRAME_GONE || r == -EBADMSG, "the header's outcomes");
		if (r == 0) {
			check_text(names.function, PY_FUNCTION_BYTES);
			check_text(names.file, PY_FILE_BYTES);
		}
	}
	names_cache_free(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ep_target target = {0};
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
	fake_memory_add(&target.memory, BASE_ADDR, memory, size);
	target.memory.change = change_at ? change_memory : NULL;
	target.memory.change_arg = &target.memory;
	target.memory.change_at = CHANGE_FROM + (change_at & 7);
	symbolize_frames(&target, &layout, BASE_ADDR + code_off);
	free(memory);
	return 0;
}
