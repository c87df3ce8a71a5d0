/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/hotspot/tests/live/step/step.h"

#include <inttypes.h>
#include <stdio.h>

static bool is_right(const struct sample *sample, const struct shadow_caller *truth)
{
	if (truth->addr && sample->walked.caller == truth->addr)
		return true;
	if (sample->within && sample->walked.caller == sample->within)
		return true;
	/* A replaced return address, while it is replaced: either may be reported. */
	return truth->fate == FATE_PATCHED && sample->now && sample->walked.caller == sample->now;
}

/* Where it was returned to, or would be, that is known; else its address may have been replaced. */
static bool is_judged(const struct shadow_caller *truth)
{
	return truth->fate == FATE_OPEN || truth->fate == FATE_RETURNED ||
	       truth->fate == FATE_THROWN;
}

static enum step_verdict judge(const struct sample *sample, const struct shadow_caller *truth)
{
	if (truth->fate == FATE_UNKNOWN)
		return STEP_UNKNOWN;
	if (is_right(sample, truth))
		return is_judged(truth) ? STEP_RIGHT : STEP_UNSURE_RIGHT;
	return is_judged(truth) ? STEP_WRONG : STEP_UNSURE_WRONG;
}

static void print_example(const struct sample *sample, const struct shadow_caller *truth)
{
	static const char *const fates[] = {"open",   "returned", "patched",
					    "thrown", "unwound",  "unknown"};

	printf("  %s %s pc %#" PRIx64 " (blob %#" PRIx64 "+%#" PRIx64 ") sp %#" PRIx64
	       "\n    bytes",
	       is_judged(truth) ? "WRONG" : "unsure", sample->name, sample->pc, sample->start,
	       sample->pc - sample->start, sample->sp);
	tally_print_code(sample->code, STEP_CODE_BYTES, sizeof(sample->code));
	printf("    said %#" PRIx64 " true %#" PRIx64 " (%s) slot holds %#" PRIx64
	       " error %u frames %u headers %x %x %x leaf %#" PRIx64 "\n",
	       sample->walked.caller, truth->addr, fates[truth->fate], sample->now,
	       sample->walked.error, sample->walked.n_frames, sample->walked.header[0],
	       sample->walked.header[1], sample->walked.header[2], sample->walked.leaf);
}

void judge_all(struct stepping *run, const struct shadow *shadow)
{
	const struct sample *sample;

	ep_vec_each (&run->samples, sample) {
		const struct shadow_caller *truth = shadow_caller(shadow, sample->caller);

		if (tally_add(&run->tally, sample->name, sample->is_counted, judge(sample, truth),
			      sample->pc))
			print_example(sample, truth);
	}
	printf("  returns %" PRIu64 ", elsewhere %" PRIu64 ", lost track %" PRIu64 "\n",
	       shadow->returns, shadow->returns_elsewhere, shadow->lost);
}
