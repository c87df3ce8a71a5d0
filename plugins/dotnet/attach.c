/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. The first word of g_dacTable is the map of its code (vm/codeman.cpp: g_codeRangeMap;
 * debug/ inc/dacvars.h has it first), 0 until the runtime starts; the map is empty until it has
 * loaded its first image. Then one way through all structures that naming goes is tried before
 * anything is trusted:
 *
 *	map ──► range ──► heap: code header ──► MethodDesc ──► chunk ──► MethodTable ──► Module ──►
 *		"BSJB"
 *
 * BPF walks the map itself, so it knows new code at once. Its memory is no ELF file's, so it is
 * offered as anonymous memory. Only in a single-file program images lie in a mapping of an ELF file:
 * these are exact ranges, looked for anew when something is mapped.
 */
#include "core/base/util.h"
#include "plugins/dotnet/descriptor.h"
#include "plugins/dotnet/dotnet.h"
#include "plugins/dotnet/symbolize/metadata.h"
#include "plugins/dotnet/symbolize/names.h"
#include "plugins/dotnet/symbolize/types.h"
#include "plugins/shared/attach/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LOOKS	       5	  /* before a layout is refused: the process goes on meanwhile */
#define MAX_METHODS    64	  /* that are tried of a range */
#define MAX_BUCKETS_SEEN 64	  /* of a map of entry points */
#define MAX_SEEN       256	  /* images: an ASP.NET server has some 100 */
#define MAX_HEAP_BYTES (16u << 10) /* of each heap, whose methods are looked for */

/* docs/design/datacontracts/contract-descriptor.md, v9.0.0. */
#define DESCRIPTOR_MAGIC 0x0043414443434e44ull /* "DNCCDAC" */
struct descriptor {
	uint64_t magic;
	uint32_t flags, bytes;
	uint64_t text;
	uint32_t n_pointers, pad;
	uint64_t pointers;
};

static const struct attach_language language = {.plugin = "dotnet", .frames = ".NET"};

struct instance {
	struct attach process;
	const struct dotnet_executable *exe;
	struct dotnet_layout layout;
	struct dotnet_reader reader;
	struct dotnet_names *names;
	struct ep_range *ranges; /* of images, while they are looked for */
	struct ep_tls thread;
	bool is_proven; /* by compiled code, too; else that is tried again */
	uint32_t n_ranges, n_seen;
	uint64_t seen[MAX_SEEN]; /* modules whose functions were looked at */
};

static int refuse(const struct instance *inst, const char *why)
{
	return attach_refuse(&inst->process, why, "this CoreCLR (%u.%u) is", inst->exe->major,
			     inst->exe->minor);
}

/* --- the layout ----------------------------------------------------------------------------- */

/* What the process publishes. Where that is not to be understood the table holds, and is proven as
 * it is. */
static int read_descriptor(struct instance *inst)
{
	ep_autofree char *text = NULL;
	struct descriptor head;
	uint64_t addr = attach_addr(&inst->process, inst->exe->descriptor_va);
	int r = addr ? attach_read(inst, addr, &head, sizeof(head)) : -ENODATA;

	if (r < 0)
		return r == -ENODATA ? 0 : r;
	if (head.magic != DESCRIPTOR_MAGIC || head.bytes > DOTNET_DESCRIPTOR_MAX_BYTES ||
	    !head.bytes)
		return 0;
	text = malloc(head.bytes);
	if (!text)
		return -ENOMEM;
	r = attach_read(inst, head.text, text, head.bytes);
	if (r == 0 && dotnet_layout_publish(&inst->layout, text, head.bytes, NULL) < 0)
		inst->process.host->host->log(EP_HOST_DEBUG,
					      "dotnet: pid %d: its data contract is not understood",
					      inst->process.host->target_pid(inst->process.target));
	return r;
}

/* --- the proof ------------------------------------------------------------------------------ */

struct proof {
	const struct instance *inst;
	uint32_t n_ranges, n_methods;
	bool is_proven, has_failed;
	bool is_named; /* the method that was tried last */
	bool is_begun; /* a method of an image is named */
	int result; /* of reading: -ESRCH */
};

/* A method with a row of its own, whose module has metadata. `r`: whether it could be read where it
 * is. */
static int prove_method(struct proof *proof, int r, uint64_t addr)
{
	const struct dotnet_reader *reader = &proof->inst->reader;
	struct dotnet_metadata metadata;
	struct dotnet_method method;
	struct dotnet_type type;
	struct dotnet_definition definition;

	if (r == 0)
		r = dotnet_method_read(reader, addr, &method);
	if (++proof->n_methods > MAX_METHODS)
		return 1;
	if (r == 0 && (method.kind == DOTNET_METHOD_DYNAMIC || method.kind == DOTNET_METHOD_ARRAY))
		return 0;
	if (r == 0)
		r = dotnet_metadata_of(reader, method.module, &metadata);
	if (r == -ENODATA) /* of Reflection.Emit */
		return 0;
	if (r == 0)
		r = dotnet_type_read(reader, &metadata, method.type_rid, false, &type);
	if (r == 0)
		r = dotnet_definition_read(reader, &metadata, method.rid, &definition);
	proof->is_named |= r == 0;
	proof->has_failed |= r == -EBADMSG || r == -EFAULT;
	if (r == -ESRCH)
		proof->result = r;
	return r == 0 || r == -ESRCH;
}

static int prove_code(void *arg, uint64_t start)
{
	struct proof *proof = arg;
	uint64_t method;
	int r = dotnet_method_of_start(&proof->inst->reader, start, &method);

	return prove_method(proof, r, method);
}

/*
 * Code of images runs for a tenth of a second before the first method is compiled. Who is at their
 * entries is named the same way, so that is enough to begin with; that it is not there yet is no
 * failure.
 */
static int prove_image(struct proof *proof, const struct dotnet_range *range)
{
	const struct dotnet_reader *reader = &proof->inst->reader;
	const struct dotnet_layout *layout = reader->layout;
	bool had_failed = proof->has_failed;
	uint64_t info = 0, buckets = 0, bucket[8];
	int r = dotnet_module_r2r(reader, range->module, &info);

	if (r == 0)
		r = dotnet_read_word(reader, info + layout->r2r_map + layout->map_buckets,
				     &buckets);
	proof->is_named = false;
	for (uint32_t i = 1; r == 0 && i <= MAX_BUCKETS_SEEN && !proof->is_named; i++) {
		r = memory_read(&reader->memory, buckets + 64ull * i, bucket, sizeof(bucket));
		for (uint32_t j = 0; r == 0 && j < 4 && !proof->is_named; j++) {
			if (bucket[j] - range->begin < range->end - range->begin)
				(void)prove_method(proof, 0, bucket[4 + j] << 1);
		}
	}
	proof->is_begun |= proof->is_named;
	proof->has_failed = had_failed;
	if (r == -ESRCH)
		proof->result = r;
	return proof->result;
}

static int prove_range(void *arg, const struct dotnet_range *range)
{
	struct proof *proof = arg;
	int r;

	proof->n_ranges++;
	proof->n_methods = 0;
	if (!range->flags && range->module && !proof->is_begun)
		return prove_image(proof, range);
	if ((range->flags & ~7u) || !(range->flags & DOTNET_RANGE_HEAP) ||
	    range->flags & DOTNET_RANGE_COLLECTIBLE)
		return 0;
	proof->is_named = false;
	r = dotnet_heap_visit(&proof->inst->reader, range, MAX_HEAP_BYTES, prove_code, proof);
	proof->is_proven |= proof->is_named;
	if (r < 0 && r != -ESRCH)
		proof->has_failed = true;
	return r < 0 && r != -ESRCH ? 0 : r;
}

/* 0; EP_NOT_YET: no method was compiled so far; -ENOTSUP, -ESRCH, -ENOMEM. */
static int prove(void *instance)
{
	struct instance *inst = instance;
	struct proof proof = {.inst = inst};
	int r = dotnet_ranges_visit(&inst->reader, prove_range, &proof);

	if (r == -ESRCH || r == -ENOMEM || proof.result < 0)
		return proof.result < 0 ? proof.result : r;
	if (!proof.is_proven && (r < 0 || proof.has_failed))
		return -ENOTSUP;
	inst->is_proven = proof.is_proven;
	return proof.is_proven || proof.is_begun ? 0 : EP_NOT_YET;
}

static int prove_all(struct instance *inst)
{
	int r = attach_look(prove, inst, LOOKS);

	return r == -ENOTSUP ? refuse(inst, "its structures") : r;
}

/* --- ranges --------------------------------------------------------------------------------- */

static void see_image(struct instance *inst, const struct dotnet_range *range)
{
	for (uint32_t i = 0; i < inst->n_seen; i++) {
		if (inst->seen[i] == range->module)
			return;
	}
	if (inst->n_seen == MAX_SEEN)
		return;
	inst->seen[inst->n_seen++] = range->module;
	dotnet_functions_see(&inst->reader, range);
}

static int add_image(void *arg, const struct dotnet_range *range)
{
	struct instance *inst = arg;
	const struct ep_range *last = inst->n_ranges ? &inst->ranges[inst->n_ranges - 1] : NULL;

	/* The same one once more, or what changes while it is read. */
	if (range->flags || !range->module || (last && range->begin < last->end))
		return 0;
	see_image(inst, range);
	if (!inst->exe->is_host)
		return 0;
	if (inst->n_ranges == EP_MAX_RANGES - 1)
		return 1;
	inst->ranges[inst->n_ranges++] =
		(struct ep_range){.start = range->begin, .end = range->end, .mode = EP_RANGE_ENTER};
	return 0;
}

static int set_ranges(struct instance *inst)
{
	int r;

	inst->n_ranges = 0;
	inst->ranges = malloc(EP_MAX_RANGES * sizeof(*inst->ranges));
	if (!inst->ranges)
		return -ENOMEM;
	r = dotnet_ranges_visit(&inst->reader, add_image, inst);
	inst->ranges[inst->n_ranges++] = (struct ep_range){
		.end = UINT64_MAX,
		.mode = EP_RANGE_ENTER,
		.flags = EP_RANGE_ANONYMOUS,
	};
	if (r >= 0)
		r = inst->exe->host->set_ranges(inst->process.target, inst->ranges, inst->n_ranges);
	free(inst->ranges);
	inst->ranges = NULL;
	return r;
}

/* --- state ---------------------------------------------------------------------------------- */

static int set_state(struct instance *inst)
{
	struct dotnet_state state = {
		.range_map = inst->reader.range_map,
		.trip = attach_addr(&inst->process, inst->exe->helpers.trip),
		.funclet = attach_addr(&inst->process, inst->exe->helpers.funclet),
	};

	/* Not known (yet) is no error: what needs it does without. */
	(void)attach_thread(&inst->process, 0, &inst->exe->helpers.thread, &inst->thread);
	state.thread = inst->thread;
#define FIELD(...)
#define BPF_FIELD(name, ...) state.name = inst->layout.name;
#include "plugins/dotnet/fields.def"
	return inst->exe->host->set_state(inst->process.target, &state, sizeof(state));
}

/* --- attach --------------------------------------------------------------------------------- */

void dotnet_detach(void *instance)
{
	struct instance *inst = instance;

	dotnet_names_free(inst->names);
	free(inst);
}

static int read_file(void *instance, struct ep_target_file *file, uint64_t off, void *buf,
		     size_t bytes)
{
	const struct instance *inst = instance;
	const struct ep_unwinder_host *host = inst->exe->host;

	return EP_HAS(host, target_file)
		       ? host->target_file(inst->process.target, file, off, buf, bytes)
		       : -ENODATA;
}

int dotnet_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	const struct dotnet_executable *exe = executable;
	struct instance *inst = attach_new(sizeof(*inst), &language, exe->host, target);
	struct dotnet_files files = {.read = read_file};
	int r;

	if (!inst)
		return -ENOMEM;
	files.arg = inst;
	files.program = exe->is_host ? exe->host->target_bias(target) : 0;
	inst->exe = exe;
	inst->reader =
		(struct dotnet_reader){.memory = {attach_read, inst}, .layout = &inst->layout};
	r = dotnet_layout_find(exe->major, &inst->layout)
		    ? dotnet_read_word(&inst->reader, attach_addr(&inst->process, exe->table_va),
				       &inst->reader.range_map)
		    : refuse(inst, "8.0 is the oldest whose structures are known");
	if (r == 0)
		r = inst->reader.range_map ? read_descriptor(inst) : EP_NOT_YET;
	if (r == 0)
		r = prove_all(inst);
	if (r == 0)
		r = set_ranges(inst);
	if (r == 0)
		r = set_state(inst);
	if (r == 0)
		r = dotnet_names_new(&inst->reader, &files, &inst->names);
	(void)attach_may_look(&inst->process);
	return attach_give(r, inst, dotnet_detach, ret_instance);
}

int dotnet_refresh(void *instance)
{
	struct instance *inst = instance;

	if (!inst->is_proven) {
		int r = prove_all(inst);

		if (r < 0)
			return r;
	}
	/* Of a bundle: exact ranges are wanted at once. */
	return inst->exe->is_host || attach_may_look(&inst->process) ? set_ranges(inst) : 0;
}

int dotnet_advise(void *instance, void (*say)(void *arg, const char *found, const char *fix),
		  void *arg)
{
	struct instance *inst = instance;

	return dotnet_say_advice(&inst->reader, dotnet_names_lines(inst->names), say, arg);
}

int dotnet_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;
	int r = dotnet_names_of(inst->names, frame, inst->exe->host->add_name, names);

	if (r == EP_FRAME_GONE)
		inst->exe->host->count(inst->process.target, DOTNET_COUNT_GONE, 1);
	return r;
}
