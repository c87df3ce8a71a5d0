/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin may read all of a file's constants to find a few names in them: the rest need not be kept. */
#include "core/replay/replay_internal.h"

#include <errno.h>
#include <string.h>

#define LONG_READ_BYTES	 32768u
#define MAX_STRING_BYTES 4096u /* words may point anywhere */

/* A long read keeps only the parts that words in the process's memory point to. */
static int trim_answer(const struct ep_replay *replay, uint64_t bias,
		       const struct ep_fixture_answer *answer)
{
	const struct ep_vec *memory = &replay->fixture->block_bytes;
	uint8_t *bytes = (uint8_t *)replay->fixture->data.data + answer->data;
	ep_autofree uint8_t *kept = calloc(1, answer->bytes);

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < memory->len * EP_FIXTURE_BLOCK_BYTES; i += 8) {
		uint64_t word = ep_get_u64((const uint8_t *)memory->data + i);
		uint64_t off = word - (bias + answer->va);

		if (off < answer->bytes)
			memcpy(kept + off, bytes + off,
			       strnlen((const char *)bytes + off,
				       EP_MIN(answer->bytes - off, (uint64_t)MAX_STRING_BYTES)));
	}
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
