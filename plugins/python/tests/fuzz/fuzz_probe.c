/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python plugin over a file and a process in which everything may be anything: probe, attach,
 * what changes later, names of some frames.
 */
#include "plugins/python/python.h"
#include "plugins/shared/attach/attach.h"
#include "tests/kit/fuzz.h"
#include "tests/kit/fuzz_process.h"

static const char *const names[16] = {
	"_PyRuntime",
	"_PyThreadState_Current",
	"_PyEval_EvalFrameDefault",
	"PyCode_Type",
	"PyType_Type",
	"Py_Version",
	"_PyThreadState_GetCurrent",
	"PyGILState_GetThisThreadState",
	"_Py_tss_tstate",
	"_Py_PrintReferences",
	"PyIter_Send",
	"PyObject_VectorcallMethod",
	"PyCode_NewWithPosOnlyArgs",
	"interp_head",
	".text",
	"a function", /* every address is in it */
};

/* BPF relies on these. */
static void check_set(const struct fake_host *host, const struct py_state *state)
{
	if (!host->n_states || !host->n_ranges_set || host->n_ranges == 0 ||
	    state->frame_bytes > PY_FRAME_BYTES ||
	    state->code_bytes > PY_CODE_BYTES)
		abort();
}

static void use(void *instance, struct fuzz_process *process)
{
	struct ep_raw_frame frame = {.n_words = 1};

	for (int i = 0; i < 4; i++) {
		fuzz_process_read(process, 5000 + 40 * (uint64_t)i, &frame.aux, sizeof(frame.aux));
		fuzz_process_read(process, 5008 + 40 * (uint64_t)i, frame.words,
			    sizeof(frame.words));
		frame.n_words = frame.aux % 4;
		(void)py_symbolize(instance, &frame, &process->host.names);
		if (attach_arm(instance) < 0)
			return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_process process;
	static struct py_state state;
	void *executable = NULL, *instance = NULL;
	struct fake_host *host = &process.host;

	if (!fuzz_process_init(&process, names, data, size, &state, sizeof(state)))
		return 0;
	if (py_probe(fake_host_services(host), &host->file, &executable) != 0)
		return 0;
	if (py_attach(executable, &host->target, &instance) == 0) {
		check_set(host, &state);
		use(instance, &process);
		check_set(host, &state);
		py_detach(instance);
	}
	py_unload(executable);
	return 0;
}
