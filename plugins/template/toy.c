/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An unwinder for the toy interpreter of tests/programs/toy.h, to be changed into one for a real
 * language; docs/adding-a-language.md walks through it. What the interpreter publishes of itself:
 *
 *	toy_run		symbol: the function that interprets
 *	toy_top		thread-local symbol: struct toy_frame *, the innermost frame
 *	toy_about	symbol: struct toy_about, which version it is and where its fields are
 *	toy_stubs	symbol: struct toy_stubs_head and struct toy_stub, its code in assembly
 */
#include "toy_shared.h"

#include <ebpf-profiler/plugin.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "toy_bpf.inc.h" /* toy_bpf_object: the bytes of the BPF object */

#define TOY_VERSION    1
#define TOY_NAME_BYTES 256
#define TOY_MAX_PARTS  4
#define TOY_OFF_MAX    (TOY_FRAME_BYTES - 8)
#define TOY_MAX_STUBS  64

/* struct toy_about of tests/programs/toy.h. */
struct toy_about {
	uint32_t version;
	uint32_t ready; /* 0 until the interpreter is initialised */
	uint32_t frame_previous, frame_function, frame_line, frame_entry;
	uint32_t function_name, function_file, function_line;
	uint32_t pad;
};

/* toy_stubs of tests/programs/stubs.h: a head, and then n of these. */
struct toy_stubs_head {
	uint32_t n, stub_bytes;
};

struct toy_stub {
	int32_t off; /* of its code, from the head */
	uint32_t bytes;
	uint32_t pushed_at, popped_at; /* between them rbp is on the stack */
	char name[16];
};

/* One ELF file that has the interpreter; does not change after probe. Addresses are of the file. */
struct toy_executable {
	const struct ep_unwinder_host *host;
	struct ep_symbol about, top;
	struct ep_symbol stubs; /* va 0: it has none */
	struct ep_symbol
		run[TOY_MAX_PARTS]; /* the interpreter; compilers put parts of it elsewhere */
	uint32_t n_run;
};

/* One process that runs it. */
struct toy_instance {
	const struct toy_executable *executable;
	struct ep_target *target;
	struct toy_about about;
};

/* --- probe: is it the interpreter? ----------------------------------------------------------- */

static int probe(const struct ep_unwinder_host *host, const struct ep_file *file,
		 void **ret_executable)
{
	struct toy_executable *executable;
	struct ep_symbol run, about, top;

	/* Nearly every file is somebody else's: the first look-up says so, and it is cheap. */
	if (host->file_symbol(file, "toy_run", &run) < 0)
		return EP_NOT_MINE;
	if (host->file_symbol(file, "toy_about", &about) < 0 ||
	    host->file_symbol(file, "toy_top", &top) < 0)
		return EP_NOT_MINE;
	if (host->file_function(file, run.va, &run) < 0 && !run.bytes)
		return -ENODATA; /* no rules, no size: what is its code? */
	executable = malloc(sizeof(*executable));
	if (!executable)
		return -ENOMEM;
	*executable = (struct toy_executable){.host = host, .about = about, .top = top};
	if (host->file_symbol(file, "toy_stubs", &executable->stubs) < 0)
		executable->stubs.va = 0;
	executable->n_run = host->file_parts(file, &run, executable->run, TOY_MAX_PARTS);
	*ret_executable = executable;
	return 0;
}

static void unload(void *arg)
{
	free(arg);
}

/* --- describe: code that has neither unwind rules nor symbols -------------------------------- */

/* Before its push, after it, and after its pop. rbx and r12 to r15 are not touched. */
static int describe_stub(const struct toy_executable *executable, uint64_t va,
			 const struct toy_stub *stub, struct ep_description *description)
{
	const struct ep_code_row entry = {
		.va = va,
		.bytes = stub->pushed_at,
		.flags = EP_CODE_KEEPS,
		.cfa_reg = 7, /* rsp */
		.cfa_off = 8,
		.ra_place = EP_CODE_AT_CFA,
		.ra = -8,
	};
	struct ep_code_row rows[3] = {entry, entry, entry};
	struct ep_symbol symbol = {.va = va, .bytes = stub->bytes};
	char name[sizeof(stub->name) + 1] = "";
	int r;

	/* What a file says is checked, too. */
	if (stub->pushed_at == 0 || stub->popped_at <= stub->pushed_at ||
	    stub->bytes <= stub->popped_at)
		return -EBADMSG;
	rows[1].va = va + stub->pushed_at;
	rows[1].bytes = stub->popped_at - stub->pushed_at;
	rows[1].cfa_off = 16;
	rows[1].fp_place = EP_CODE_AT_CFA;
	rows[1].fp = -16;
	rows[2].va = va + stub->popped_at;
	rows[2].bytes = stub->bytes - stub->popped_at;
	r = executable->host->add_rows(description, rows, 3);
	memcpy(name, stub->name, sizeof(stub->name));
	return r < 0 ? r : executable->host->add_symbol(description, &symbol, name);
}

static int describe(void *arg, const struct ep_file *file, struct ep_description *description)
{
	const struct toy_executable *executable = arg;
	uint64_t start = executable->stubs.va;
	struct toy_stubs_head head;
	struct toy_stub stub;
	int r;

	if (!start)
		return 0;
	r = executable->host->file_read(file, start, &head, sizeof(head));
	if (r == 0 && (head.n > TOY_MAX_STUBS || head.stub_bytes != sizeof(stub)))
		r = -ENOTSUP;
	for (uint32_t i = 0; r == 0 && i < head.n; i++) {
		r = executable->host->file_read(
			file, start + sizeof(head) + i * sizeof(stub), &stub, sizeof(stub));
		if (r == 0)
			r = describe_stub(executable, start + (uint64_t)(int64_t)stub.off, &stub,
					  description);
	}
	return r;
}

/* --- attach: where are its structures in this process? --------------------------------------- */

/* What comes from a process is checked before anything is built on it. */
static int check_about(const struct toy_executable *executable, const struct ep_target *target,
		       const struct toy_about *about)
{
	if (about->version == TOY_VERSION && about->frame_previous <= TOY_OFF_MAX &&
	    about->frame_function <= TOY_OFF_MAX && about->frame_line <= TOY_OFF_MAX &&
	    about->frame_entry <= TOY_OFF_MAX)
		return 0;
	executable->host->host->log(EP_HOST_WARN,
				    "toy: pid %d: version %u is not known, its frames stay native",
				    executable->host->target_pid(target), about->version);
	return -ENOTSUP;
}

static int publish_state(const struct toy_executable *executable, struct ep_target *target,
		      const struct toy_about *about)
{
	struct toy_state state = {
		.frame_previous = about->frame_previous,
		.frame_function = about->frame_function,
		.frame_line = about->frame_line,
		.frame_entry = about->frame_entry,
		.function_name = about->function_name,
	};
	int r = executable->host->tls_variable(target, executable->top.va, &state.top);

	return r < 0 ? r : executable->host->set_state(target, &state, sizeof(state));
}

/* The interpreter has unwind rules of its own: native unwinding goes on through it. */
static int publish_ranges(const struct toy_executable *executable, struct ep_target *target)
{
	struct ep_range ranges[TOY_MAX_PARTS];

	for (uint32_t i = 0; i < executable->n_run; i++) {
		uint64_t start = executable->host->target_bias(target) + executable->run[i].va;

		ranges[i] = (struct ep_range){
			.start = start,
			.end = start + executable->run[i].bytes,
			.mode = EP_RANGE_MARK,
		};
	}
	return executable->host->set_ranges(target, ranges, executable->n_run);
}

static int attach(void *arg, struct ep_target *target, void **ret_instance)
{
	const struct toy_executable *executable = arg;
	const struct ep_unwinder_host *host = executable->host;
	struct toy_instance *instance;
	struct toy_about about;
	int r;

	r = host->target_read(target, host->target_bias(target) + executable->about.va, &about,
			      sizeof(about));
	if (r < 0)
		return r;
	if (!about.ready)
		return EP_NOT_YET;
	r = check_about(executable, target, &about);
	if (r == 0)
		r = publish_state(executable, target, &about);
	if (r == 0)
		r = publish_ranges(executable, target);
	if (r < 0)
		return r;
	instance = malloc(sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	*instance = (struct toy_instance){executable, target, about};
	*ret_instance = instance;
	return 0;
}

static void detach(void *arg)
{
	free(arg);
}

/* --- symbolize: names for a frame that BPF pushed -------------------------------------------- */

static int read_pointer(const struct toy_instance *instance, uint64_t addr, uint64_t *ret)
{
	return instance->executable->host->target_read(instance->target, addr, ret, sizeof(*ret));
}

static int symbolize(void *arg, const struct ep_raw_frame *frame, struct ep_names *names)
{
	const struct toy_instance *instance = arg;
	const struct ep_unwinder_host *host = instance->executable->host;
	char function[TOY_NAME_BYTES], file[TOY_NAME_BYTES];
	struct ep_name name = {.size = sizeof(name), .function = function, .file = file};
	uint64_t at = frame->words[0], name_addr = 0, file_addr = 0;

	/* The program went on meanwhile: what the sample saw may be something else by now. */
	if (read_pointer(instance, at + instance->about.function_name, &name_addr) < 0 ||
	    name_addr != frame->words[1] ||
	    host->target_string(instance->target, name_addr, function, sizeof(function)) < 0) {
		host->count(instance->target, TOY_COUNT_GONE, 1);
		return EP_FRAME_GONE;
	}
	if (read_pointer(instance, at + instance->about.function_file, &file_addr) < 0 ||
	    host->target_string(instance->target, file_addr, file, sizeof(file)) < 0)
		name.file = NULL;
	if (host->target_read(instance->target, at + instance->about.function_line,
			      &name.start_line, sizeof(name.start_line)) < 0)
		name.start_line = 0;
	name.line = frame->aux;
	return host->add_name(names, &name);
}

/* --- the descriptor -------------------------------------------------------------------------- */

/* As enum toy_error. */
static const char *const errors[] = {
	"frame unreadable",
	NULL,
};

/* As enum toy_counter. */
static const char *const counters[] = {
	"threads without frames",
	"functions gone before they were named",
	NULL,
};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = TOY_MAX_FRAMES_PER_RUN,
	.object = toy_bpf_object,
	.object_bytes = sizeof(toy_bpf_object),
	.program = "toy_unwind",
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = probe,
	.attach = attach,
	.symbolize = symbolize,
	.detach = detach,
	.unload = unload,
	.describe = describe,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "toy",
	.version = "1.0",
	.unwinder = &ops,
};
