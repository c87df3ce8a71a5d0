/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixture from a stranger, without its compression: what the reader takes is written and read
 * again, and its stacks are walked and printed as those of any other.
 */
#include "core/replay/fixture.h"
#include "core/replay/replay.h"
#include "core/replay/shim/helpers.h"
#include "tests/kit/fuzz.h"

#define MAX_TEXT_BYTES (4u << 20)
#define MAX_THREADS    8 /* that are walked */

static void check_round_trip(const struct ep_fixture *fixture)
{
	struct ep_fixture *again = NULL;
	struct ep_vec bytes;

	ep_vec_init(&bytes, 1, EP_FIXTURE_MAX_BYTES);
	assert(ep_fixture_encode(fixture, &bytes) == 0);
	assert(ep_fixture_decode(bytes.data, bytes.len, &again) == 0);
	assert(again->mappings.len == fixture->mappings.len);
	assert(again->threads.len == fixture->threads.len);
	assert(again->executables.len == fixture->executables.len);
	assert(again->block_addrs.len == fixture->block_addrs.len);
	ep_fixture_free(again);
	ep_vec_fini(&bytes);
}

static void check_replay(struct ep_fixture *fixture, unsigned int runs)
{
	struct ep_replay *replay = NULL;
	struct ep_vec text;

	fixture->threads.len = EP_MIN(fixture->threads.len, MAX_THREADS);
	ep_vec_init(&text, 1, MAX_TEXT_BYTES);
	if (ep_replay_new(fixture, NULL, runs & 1 ? ep_shim_objects : NULL, &replay) == 0 &&
	    ep_replay_attach(replay) == 0)
		(void)ep_replay_print(replay, &text);
	ep_replay_free(replay);
	ep_vec_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned int runs;
	struct ep_fixture *fixture = NULL;

	if (ep_fixture_parse(data, size, &fixture) < 0)
		return 0;
	if (runs++ % 64 == 0) /* compression takes its time */
		check_round_trip(fixture);
	check_replay(fixture, runs);
	ep_fixture_free(fixture);
	return 0;
}
