/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Perl plugin over a file and a process in which everything may be anything: probe, attach, names
 * of frames.
 *
 *	input	16 symbols, each with its va (2 bytes) and size (2 bytes), 0: absent | bytes
 *
 * The bytes are the file's from FILE_VA on, and over and over again the process's memory. A seed has
 * there what an interpreter is made of, so that all of its parts are reached.
 */
#include "core/base/util.h"
#include "core/plugin/unwinder.h"
#include "plugins/perl/perl.h"
#include "plugins/perl/symbolize/files.h"
#include "plugins/perl/symbolize/names.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FILE_VA 0x1000u

static const char *const names[16] = {
	"Perl_runops_standard", "Perl_runops_debug", "PL_revision", "PL_version",
	"PL_curinterp",		"PL_thr_key",	     "PL_current_context", "PL_op_name",
	"PL_op",		"PL_curcop",	     "PL_curstackinfo", "PL_defstash",
	"PL_DBsub",		"PL_compiling",	     "PL_incgv", "a function",
};

struct input {
	const uint8_t *symbols, *bytes;
	size_t size;
	uint32_t writes; /* of state and ranges */
};

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

	if (addr < FILE_VA || input->size == 0)
		return -EFAULT;
	for (size_t i = 0; i < bytes; i++)
		out[i] = input->bytes[(addr - FILE_VA + i) % input->size];
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
	const struct pl_state *state = bytes;

	if (n != sizeof(*state) || state->cx_bytes > PL_CX_BYTES ||
	    state->cx_eval_env > state->cx_bytes - 8)
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
	return name->function && strlen(name->function) < 4096 ? 0 : -EINVAL;
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

/* The check that BPF would have taken of what is there, so that names are read at all. */
static uint64_t right_check(const struct input *input, enum pl_kind kind, uint64_t what,
			    uint64_t cop)
{
	__u64 words[PL_CV_WORDS] = {0}, body = 0;
	__u32 ints[PL_COP_INTS] = {0};

	if (kind != PL_KIND_SUB && kind != PL_KIND_FORMAT) {
		(void)target_read((void *)input, cop + PL_COP_AT, ints, sizeof(ints));
		if (kind != PL_KIND_CLOSURE)
			return pl_check_cop(ints);
		(void)target_read((void *)input, what, &body, sizeof(body));
		(void)target_read((void *)input, body + PL_GV_NAME_AT, words, 16);
		return pl_check_name(pl_check_cop(ints), words[0], words[1]);
	}
	(void)target_read((void *)input, what, &body, sizeof(body));
	(void)target_read((void *)input, body + PL_CV_AT, words, sizeof(words));
	return pl_check_cv(words);
}

static struct ep_raw_frame make_frame(const struct input *input, const uint16_t *fields)
{
	enum pl_kind kind = (enum pl_kind)(fields[0] % 16);
	uint64_t what = FILE_VA + (fields[1] & ~7ull), cop = FILE_VA + (fields[2] & ~7ull);
	uint64_t check = right_check(input, kind, what, cop);

	return (struct ep_raw_frame){
		.aux = (fields[3] & 0xfffu) | (uint32_t)(check & 0xff) << PL_OP_BITS,
		.n_words = 2u + (fields[0] >> 4) % 2,
		.flags = fields[0] >> 8 & 0xff,
		.words = {what >> 3 | (check >> 8 & 0xffff) << PL_CHECK_SHIFT | (uint64_t)kind << PL_KIND_SHIFT,
			  cop >> 3 | check >> 24 << 44, fields[4]},
	};
}

/* Frames at all places and of all kinds: the input says which. */
static void use(void *instance, const struct input *input)
{
	struct ep_names frame_names = {.add = names_add};
	uint16_t fields[5];

	for (uint32_t i = 0; i < 16; i++) {
		struct ep_raw_frame frame;

		target_read((void *)input, FILE_VA + sizeof(fields) * i, fields, sizeof(fields));
		frame = make_frame(input, fields);
		(void)pl_symbolize(instance, &frame, &frame_names);
	}
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
	struct ep_file file = {.ops = &file_ops, .arg = &input, .path = "/perl",
			       .machine = EM_X86_64};
	struct ep_target target = {.ops = &target_ops, .arg = &input, .pid = 1};
	void *executable = NULL, *instance = NULL;

	if (size <= head)
		return 0;
	if (pl_probe(quiet_host(), &file, &executable) != 0)
		return 0;
	if (pl_attach(executable, &target, &instance) == 0) {
		if (!input.writes)
			abort();
		use(instance, &input);
		pl_detach(instance);
	}
	pl_unload(executable);
	return 0;
}
