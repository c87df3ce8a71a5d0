/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Perl plugin over a file and a process in which everything may be anything: probe, attach, names
 * of frames.
 */
#include "plugins/perl/perl.h"
#include "tests/kit/fuzz.h"
#include "tests/kit/fuzz_process.h"

static const char *const names[16] = {
	"Perl_runops_standard", "Perl_runops_debug", "PL_revision", "PL_version",
	"PL_curinterp",		"PL_thr_key",	     "PL_current_context", "PL_op_name",
	"PL_op",		"PL_curcop",	     "PL_curstackinfo", "PL_defstash",
	"PL_DBsub",		"PL_compiling",	     "PL_incgv", "a function",
};

/* BPF relies on these. */
static void check_set(const struct fake_host *host, const struct pl_state *state)
{
	if (!host->n_states || !host->n_ranges_set || host->n_ranges == 0 ||
	    state->cx_bytes > PL_CX_BYTES ||
	    state->cx_eval_env > state->cx_bytes - 8)
		abort();
}

/* The check that BPF would have taken of what is there, so that names are read at all. */
static uint64_t right_check(struct fuzz_process *process, enum pl_kind kind, uint64_t what,
			    uint64_t cop)
{
	__u64 words[PL_CV_WORDS] = {0}, body = 0;
	__u32 ints[PL_COP_INTS] = {0};

	if (kind != PL_KIND_SUB && kind != PL_KIND_FORMAT) {
		(void)fuzz_process_read(process, cop + PL_COP_AT, ints, sizeof(ints));
		if (kind != PL_KIND_CLOSURE)
			return pl_check_cop(ints);
		(void)fuzz_process_read(process, what, &body, sizeof(body));
		(void)fuzz_process_read(process, body + PL_GV_NAME_AT, words, 16);
		return pl_check_name(pl_check_cop(ints), words[0], words[1]);
	}
	(void)fuzz_process_read(process, what, &body, sizeof(body));
	(void)fuzz_process_read(process, body + PL_CV_AT, words, sizeof(words));
	return pl_check_cv(words);
}

static struct ep_raw_frame make_frame(struct fuzz_process *process, const uint16_t *fields)
{
	enum pl_kind kind = (enum pl_kind)(fields[0] % 16);
	uint64_t what = FUZZ_VA + (fields[1] & ~7ull), cop = FUZZ_VA + (fields[2] & ~7ull);
	uint64_t check = right_check(process, kind, what, cop);

	return (struct ep_raw_frame){
		.aux = (fields[3] & 0xfffu) | (uint32_t)(check & 0xff) << PL_OP_BITS,
		.n_words = 2u + (fields[0] >> 4) % 2,
		.flags = fields[0] >> 8 & 0xff,
		.words = {what >> 3 | (check >> 8 & 0xffff) << PL_CHECK_SHIFT | (uint64_t)kind << PL_KIND_SHIFT,
			  cop >> 3 | check >> 24 << 44, fields[4]},
	};
}

/* Frames at all places and of all kinds: the input says which. */
static void use(void *instance, struct fuzz_process *process)
{
	uint16_t fields[5];

	for (uint32_t i = 0; i < 16; i++) {
		struct ep_raw_frame frame;

		fuzz_process_read(process, FUZZ_VA + sizeof(fields) * i, fields, sizeof(fields));
		frame = make_frame(process, fields);
		(void)pl_symbolize(instance, &frame, &process->host.names);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_process process;
	static struct pl_state state;
	void *executable = NULL, *instance = NULL;
	struct fake_host *host = &process.host;

	if (!fuzz_process_init(&process, names, data, size, &state, sizeof(state)))
		return 0;
	process.origin = FUZZ_VA;
	if (pl_probe(fake_host_services(host), &host->file, &executable) != 0)
		return 0;
	if (pl_attach(executable, &host->target, &instance) == 0) {
		check_set(host, &state);
		use(instance, &process);
		check_set(host, &state);
		pl_detach(instance);
	}
	pl_unload(executable);
	return 0;
}
