/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/guide.h"

#include <stdlib.h>
#include <string.h>

#define MAP_BYTES     ((size_t)1 << 16)
#define MAX_KEPT      8192
#define MAX_KEPT_SIZE ((size_t)256 << 20)
#define MAX_CONSTANTS 1024

/* Its own edges are not of interest, and would call it for ever. */
#if defined(__has_attribute) && __has_attribute(no_sanitize_coverage)
#define UNSEEN __attribute__((no_sanitize_coverage, no_sanitize("address", "undefined")))
#else
#define UNSEEN
#endif

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_switch(uint64_t value, void *cases);

static struct {
	bool on;
	uint8_t map[MAP_BYTES];	 /* how often, of this run */
	uint8_t seen[MAP_BYTES]; /* bits: how often, by powers of two, of any */
	size_t n_features;
	struct guide_input kept[MAX_KEPT];
	size_t n_kept, kept_bytes;
	uint64_t constants[MAX_CONSTANTS]; /* each in a place of its own; 0: none */
} guide;

UNSEEN static inline void count(uintptr_t place, uint64_t what)
{
	size_t at = ((place ^ what << 20) * 0x9e3779b97f4a7c15ULL) >> 48;

	if (guide.on && guide.map[at] < 255)
		guide.map[at]++;
}

UNSEEN void __sanitizer_cov_trace_pc(void)
{
	count((uintptr_t)__builtin_return_address(0), 0);
}

/* The more bits are equal the nearer the input is to the other way: a feature for each number of them. */
UNSEEN static inline void compare(uintptr_t place, uint64_t a, uint64_t b)
{
	count(place, 1 + (uint64_t)__builtin_popcountll(a ^ b));
}

UNSEEN static inline void compare_constant(uintptr_t place, uint64_t constant, uint64_t value)
{
	compare(place, constant, value);
	if (guide.on && constant > 16 && constant != value)
		guide.constants[(constant * 0x9e3779b97f4a7c15ULL) >> 54] = constant;
}

#define PLACE ((uintptr_t)__builtin_return_address(0))

/* Of operands of so many bytes: trace_cmp4(a, b), and trace_const_cmp4(constant, value). */
#define TRACE(bytes, type)                                                                         \
	void __sanitizer_cov_trace_cmp##bytes(type a, type b);                                     \
	void __sanitizer_cov_trace_const_cmp##bytes(type constant, type value);                    \
	UNSEEN void __sanitizer_cov_trace_cmp##bytes(type a, type b)                               \
	{                                                                                          \
		compare(PLACE, a, b);                                                              \
	}                                                                                          \
	UNSEEN void __sanitizer_cov_trace_const_cmp##bytes(type constant, type value)              \
	{                                                                                          \
		compare_constant(PLACE, constant, value);                                          \
	}

TRACE(1, uint8_t)
TRACE(2, uint16_t)
TRACE(4, uint32_t)
TRACE(8, uint64_t)

/* cases: their number, the bits of one, then they: sanitizer's own format (gcc(1) does not say it). */
UNSEEN void __sanitizer_cov_trace_switch(uint64_t value, void *cases)
{
	const uint64_t *words = cases;

	for (uint64_t i = 0; i < words[0] && i < 64; i++)
		compare_constant(PLACE + i, words[2 + i], value);
}

UNSEEN void guide_begin(void)
{
	memset(guide.map, 0, sizeof(guide.map));
	guide.on = true;
}

/* 1, 2, 3, 4 to 7, 8 to 15, 16 to 31, 32 to 127, more. */
UNSEEN static uint8_t bit_of(uint8_t n)
{
	static const uint8_t upto[] = {1, 2, 3, 7, 15, 31, 127};
	unsigned int bit = 0;

	while (bit < sizeof(upto) && n > upto[bit])
		bit++;
	return (uint8_t)(1u << bit);
}

UNSEEN bool guide_end(void)
{
	size_t before = guide.n_features;

	guide.on = false;
	for (size_t at = 0; at < MAP_BYTES; at += 8) {
		uint64_t eight;

		memcpy(&eight, guide.map + at, sizeof(eight));
		for (size_t i = at; eight && i < at + 8; i++) {
			uint8_t bit = guide.map[i] ? bit_of(guide.map[i]) : 0;

			guide.n_features += (bit & ~guide.seen[i]) != 0;
			guide.seen[i] |= bit;
		}
	}
	return guide.n_features > before;
}

UNSEEN void guide_keep(const uint8_t *data, size_t size)
{
	struct guide_input *input = &guide.kept[guide.n_kept];

	if (guide.n_kept >= MAX_KEPT || size > MAX_KEPT_SIZE - guide.kept_bytes)
		return;
	input->data = malloc(size + 1);
	if (!input->data)
		return;
	memcpy(input->data, data, size);
	input->size = size;
	guide.kept_bytes += size;
	guide.n_kept++;
}

size_t guide_n_kept(void)
{
	return guide.n_kept;
}

const struct guide_input *guide_kept(size_t i)
{
	return &guide.kept[i];
}

size_t guide_n_features(void)
{
	return guide.n_features;
}

bool guide_constant(uint64_t number, uint64_t *ret_value)
{
	*ret_value = guide.constants[number % MAX_CONSTANTS];
	return *ret_value != 0;
}
