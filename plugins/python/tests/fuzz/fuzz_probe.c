/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python plugin over a file and a process in which everything may be anything: probe, attach,
 * what changes later, names of some frames.
 *
 *	input	16 symbols, each with its va (2 bytes) and size (2 bytes), 0: absent | bytes
 *
 * The bytes are the file's from FILE_VA on, and over and over again the process's memory.
 */
#include "core/base/util.h"
#include "core/plugin/unwinder.h"
#include "plugins/python/python.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_VA 0x1000u

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

struct input {
	const uint8_t *symbols, *bytes;
	size_t size;
	uint32_t writes; /* of state and ranges */
};

/* Between looks at a layout; here it changes nothing. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time;
	(void)left;
	return 0;
}

static int input_symbol(void *arg, const char *name, struct ep_symbol *ret)
{
	const struct input *input = arg;
	uint16_t fields[2];

	for (size_t i = 0; i < EP_LEN(names); i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		memcpy(fields, input->symbols + 4 * i, sizeof(fields));
		if (!fields[0])
			return -ENODATA;
		/* Sizes up to the whole address space. */
		*ret = (struct ep_symbol){
			.va = fields[0],
			.bytes = fields[1] == 0xffff ? UINT64_MAX : fields[1],
		};
		return 0;
	}
	return -ENODATA;
}

static int input_read(void *arg, uint64_t va, void *buf, size_t bytes)
{
	const struct input *input = arg;

	if (va < FILE_VA || va - FILE_VA > input->size || input->size - (va - FILE_VA) < bytes)
		return -ENODATA;
	memcpy(buf, input->bytes + (va - FILE_VA), bytes);
	return 0;
}

static int input_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	(void)va;
	return input_symbol(arg, "a function", ret);
}

static int target_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct input *input = arg;
	uint8_t *out = buf;

	if (addr < 4096 || input->size == 0)
		return -EFAULT;
	for (size_t i = 0; i < bytes; i++)
		out[i] = input->bytes[(addr + i) % input->size];
	return 0;
}

static int target_tls(void *arg, uint64_t off, struct ep_tls *ret)
{
	(void)arg;
	*ret = (struct ep_tls){.steps = 1, .off = {(int32_t)off}};
	return 0;
}

static int target_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	return target_tls(arg, key, ret);
}

/* BPF relies on these. */
static int target_set_state(void *arg, const void *bytes, size_t n)
{
	const struct py_state *state = bytes;

	if (n != sizeof(*state) || state->frame_bytes > PY_FRAME_BYTES ||
	    state->code_bytes > PY_CODE_BYTES)
		abort();
	((struct input *)arg)->writes++;
	return 0;
}

static int target_set_ranges(void *arg, const struct ep_range *ranges, size_t n)
{
	(void)ranges;
	if (n == 0 || n > EP_MAX_RANGES)
		abort();
	((struct input *)arg)->writes++;
	return 0;
}

static void target_count(void *arg, uint32_t counter, uint64_t n)
{
	(void)arg;
	(void)counter;
	(void)n;
}

static int names_add(void *arg, const struct ep_name *name)
{
	(void)arg;
	return name->function ? 0 : -EINVAL;
}

static void use(void *instance, const struct input *input)
{
	struct ep_names frame_names = {.add = names_add};
	struct ep_raw_frame frame = {.n_words = 1};

	for (int i = 0; i < 4; i++) {
		target_read((void *)input, 5000 + 40 * (uint64_t)i, &frame.aux, sizeof(frame.aux));
		target_read((void *)input, 5008 + 40 * (uint64_t)i, frame.words,
			    sizeof(frame.words));
		frame.n_words = frame.aux % 4;
		(void)py_symbolize(instance, &frame, &frame_names);
		if (py_refresh(instance) < 0)
			return;
	}
}

__attribute__((format(printf, 2, 3))) static void no_log(enum ep_host_level level, const char *fmt,
							 ...)
{
	(void)level;
	(void)fmt;
}

static const struct ep_unwinder_host *quiet_host(void)
{
	static const struct ep_host host = {.size = sizeof(host), .log = no_log};
	static struct ep_unwinder_host unwinder_host;

	unwinder_host = *ep_unwinder_host_get();
	unwinder_host.host = &host;
	return &unwinder_host;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ep_file_ops file_ops = {
		.symbol = input_symbol,
		.section = input_symbol,
		.read = input_read,
		.function = input_function,
	};
	static const struct ep_target_ops target_ops = {
		.read = target_read,
		.tls_variable = target_tls,
		.tls_key = target_key,
		.set_state = target_set_state,
		.set_ranges = target_set_ranges,
		.count = target_count,
	};
	size_t head = 4 * EP_LEN(names);
	struct input input = {.symbols = data, .bytes = data + head, .size = size - head};
	struct ep_file file = {.ops = &file_ops, .arg = &input, .path = "/python",
			       .machine = EM_X86_64};
	struct ep_target target = {.ops = &target_ops, .arg = &input, .pid = 1};
	void *executable = NULL, *instance = NULL;

	if (size <= head)
		return 0;
	if (py_probe(quiet_host(), &file, &executable) != 0)
		return 0;
	if (py_attach(executable, &target, &instance) == 0) {
		if (!input.writes)
			abort();
		use(instance, &input);
		py_detach(instance);
	}
	py_unload(executable);
	return 0;
}
