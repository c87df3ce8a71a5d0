/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin may read all of a file's constants to find a few names in them: the rest need not be kept. */
#include "core/replay/replay_internal.h"

#include <errno.h>
#include <string.h>

#define LONG_READ_BYTES	 32768u
#define MAX_STRING_BYTES 4096u /* words may point anywhere */

/* A long read, and where it is in the process's memory. */
struct trim {
	const struct ep_replay *replay;
	const uint8_t *from; /* its bytes */
	uint8_t *to;	     /* those that stay */
	uint64_t addr, bytes;
};

static void keep_string(struct trim *trim, uint64_t off)
{
	size_t max = EP_MIN(trim->bytes - off, (uint64_t)MAX_STRING_BYTES);
	const uint8_t *end = memchr(trim->from + off, 0, max);
	size_t n = end ? (size_t)(end - (trim->from + off)) : max;

	memcpy(trim->to + off, trim->from + off, n);
}

static void keep_pointed(struct trim *trim)
{
	const struct ep_vec *memory = &trim->replay->fixture->block_bytes;
	const uint8_t *bytes = memory->data;
	size_t n = memory->len * EP_FIXTURE_BLOCK_BYTES;
	uint64_t word;

	for (size_t i = 0; i < n; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		if (word - trim->addr < trim->bytes)
			keep_string(trim, word - trim->addr);
	}
}

static int trim_answer(const struct ep_replay *replay, uint64_t bias,
		       const struct ep_fixture_answer *answer)
{
	uint8_t *bytes = (uint8_t *)replay->fixture->data.data + answer->data;
	ep_autofree uint8_t *kept = calloc(1, answer->bytes);
	struct trim trim = {replay, bytes, kept, bias + answer->va, answer->bytes};

	if (!kept)
		return -ENOMEM;
	keep_pointed(&trim);
	memcpy(bytes, kept, answer->bytes);
	return 0;
}

int ep_replay_trim(struct ep_replay *replay)
{
	const struct ep_fixture_answer *answer;
	uint64_t bias;
	int r = 0;

	for (uint32_t i = 0; i < replay->fixture->executables.len; i++) {
		if (ep_replay_find_bias(replay, i, &bias) < 0)
			continue;
		ep_vec_each (&ep_replay_executable(replay, i)->answers, answer) {
			if (r == 0 && answer->question == EP_FIXTURE_READ && answer->result == 0 &&
			    answer->bytes >= LONG_READ_BYTES)
				r = trim_answer(replay, bias, answer);
		}
	}
	return r;
}
