/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Perl plugin over a file and a process in which everything may be anything: probe, attach,
 * names of frames.
 */
#include "plugins/perl/perl.h"
#include "plugins/perl/tests/frames.h"
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

/* With the check that BPF would have taken of what is there, so that names are read at all. */
static struct ep_raw_frame any_frame(struct fuzz_process *process, const uint16_t *fields)
{
	const struct memory memory = {fuzz_process_read, process};
	enum pl_kind kind = (enum pl_kind)(fields[0] % 16);
	uint64_t what = FUZZ_VA + (fields[1] & ~7ull), cop = FUZZ_VA + (fields[2] & ~7ull), check;
	struct ep_raw_frame frame;

	if (kind == PL_KIND_SUB || kind == PL_KIND_FORMAT)
		check = check_of_cv(&memory, what);
	else if (kind == PL_KIND_CLOSURE)
		check = check_of_closure(&memory, cop, what, false);
	else
		check = check_of_cop(&memory, cop);
	frame = make_frame(kind, what, check, cop, 0);
	frame.aux |= fields[3] & 0xfffu;
	frame.n_words += (fields[0] >> 4) % 2;
	frame.flags = fields[0] >> 8 & 0xff;
	frame.words[2] = fields[4];
	return frame;
}

/* Frames at all places and of all kinds: the input says which. */
static void use(void *instance, struct fuzz_process *process)
{
	uint16_t fields[5];

	for (uint32_t i = 0; i < 16; i++) {
		struct ep_raw_frame frame;

		fuzz_process_read(process, FUZZ_VA + sizeof(fields) * i, fields, sizeof(fields));
		frame = any_frame(process, fields);
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
