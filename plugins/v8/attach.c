/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. V8's heap is there some ten milliseconds after the file is mapped: until then
 * EP_NOT_YET. The walk needs no more of it than that its layout holds (layout_check.c); what else
 * there is has an address in the file: builtins, wherever the file is mapped. V8 maps their pages a
 * second time next to its JIT code ("short builtin calls": CodeRange::RemapEmbeddedBuiltins,
 * heap/code-range.cc, 9.x on): same file, same place in it.
 */
#include "core/base/util.h"
#include "plugins/shared/attach/attach.h"
#include "plugins/v8/symbolize/names.h"
#include "plugins/v8/v8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_BLOBS 64 /* mappings of the builtins: one for each isolate group */

static const struct attach_language language = {.plugin = "v8", .frames = "JavaScript"};

struct instance {
	struct attach process;
	const struct v8_executable *exe;
	struct v8_state state;
	struct v8_names *names;
};

static int refuse(const struct instance *inst, const char *why)
{
	const struct v8_version *version = &inst->exe->layout.version;

	return attach_refuse(&inst->process, why, "this V8 (%s%u.%u) is",
			     inst->exe->has_version ? "" : "perhaps ", version->major,
			     version->minor);
}

/* --- ranges ----------------------------------------------------------------------------------- */

struct blobs {
	uint64_t addr, bytes; /* where the host says that they are: in any mapping */
	char *path;	      /* NULL: not seen yet */
	uint64_t off;	      /* in the file */
	uint64_t whole_bytes, whole_begin; /* of the largest mapping: that of the whole code */
	struct ep_range ranges[MAX_BLOBS + 1];
	size_t n;
	int result;
};

static int find_blob(void *arg, const struct ep_target_mapping *mapping)
{
	struct blobs *blobs = arg;

	if (!mapping->is_file || blobs->addr < mapping->start || blobs->addr >= mapping->end)
		return 0;
	blobs->off = mapping->file_off + (blobs->addr - mapping->start);
	blobs->path = strdup(mapping->path);
	blobs->result = blobs->path ? 0 : -ENOMEM;
	return 1;
}

/* What is mapped of them: begin may be below the mapping's start. */
static int add_blob(void *arg, const struct ep_target_mapping *mapping)
{
	struct blobs *blobs = arg;
	uint64_t bytes = mapping->end - mapping->start, begin;

	if (!mapping->is_file || !(mapping->prot & PROT_EXEC) ||
	    mapping->file_off >= blobs->off + blobs->bytes ||
	    mapping->file_off + bytes <= blobs->off || strcmp(mapping->path, blobs->path) != 0)
		return 0;
	begin = mapping->start + blobs->off - mapping->file_off;
	if (bytes > blobs->whole_bytes) {
		blobs->whole_bytes = bytes;
		blobs->whole_begin = begin;
	}
	blobs->ranges[blobs->n++] = (struct ep_range){
		.start = EP_MAX(begin, mapping->start),
		.end = EP_MIN(begin + blobs->bytes, mapping->end),
		.mode = EP_RANGE_ENTER,
	};
	return blobs->n == MAX_BLOBS;
}

/* The host may have found the copy before the file's own mapping, and its bias. Ours is the
 * file's. */
static int set_ranges(struct instance *inst)
{
	const struct ep_unwinder_host *host = inst->exe->host;
	const struct v8_builtins *builtins = inst->exe->builtins;
	struct blobs blobs = {0};
	int r = 0;

	if (builtins) {
		blobs.addr = host->target_bias(inst->process.target) + v8_builtins_va(builtins);
		blobs.bytes = v8_builtins_bytes(builtins);
		r = host->target_mappings(inst->process.target, find_blob, &blobs);
		if (r == 0 && blobs.path)
			r = host->target_mappings(inst->process.target, add_blob, &blobs);
		free(blobs.path);
		if (r == 0 && blobs.n == 0) /* not yet to be read, or not to be run */
			r = blobs.result < 0 ? blobs.result : EP_NOT_YET;
		if (r != 0)
			return r;
		inst->process.bias = blobs.whole_begin - v8_builtins_va(builtins);
	}
	blobs.ranges[blobs.n++] = (struct ep_range){
		.end = UINT64_MAX,
		.mode = EP_RANGE_ENTER,
		.flags = EP_RANGE_ANONYMOUS,
	};
	return host->set_ranges(inst->process.target, blobs.ranges, blobs.n);
}

/* --- state ------------------------------------------------------------------------------------ */

/* -1: not known. */
static int read_flag(struct instance *inst, uint64_t va)
{
	uint8_t flag = 0;

	if (!va || attach_read(inst, attach_addr(&inst->process, va), &flag, 1) < 0 || flag > 1)
		return -1;
	return flag;
}

/* Not found is no error: what an interpreted frame is, naming tells then. */
static int find_heap_builtins(struct instance *inst)
{
	struct v8_state *state = &inst->state;
	uint64_t addr = 0;
	int r;

	if (inst->exe->builtins)
		return 0;
	r = v8_heap_iet_return(inst->exe->host, inst->process.target, &inst->exe->layout, &addr);
	if (r < 0 && r != -ENODATA)
		return r;
	state->iet_return = r == 0 ? addr : 0;
	state->flags &= (__u8)~V8_STATE_IET_UNKNOWN;
	if (r != 0)
		state->flags |= V8_STATE_IET_UNKNOWN;
	return 0;
}

static int publish(struct instance *inst)
{
	int r = set_ranges(inst);

	if (r != 0)
		return r;
	/* Not known (yet) is no error: in V8's code a register has it. */
	(void)attach_thread(&inst->process, inst->exe->isolate_key_va, &inst->exe->isolate,
			    &inst->state.isolate_tls);
	if (read_flag(inst, inst->exe->frames_flag_va) == 1)
		inst->state.flags |= V8_STATE_IET_COPIES;
	return inst->exe->host->set_state(inst->process.target, &inst->state, sizeof(inst->state));
}

/* --- attach ----------------------------------------------------------------------------------- */

void v8_detach(void *instance)
{
	struct instance *inst = instance;

	v8_names_free(inst->names);
	free(inst);
}

int v8_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	const struct v8_executable *exe = executable;
	struct instance *inst = attach_new(sizeof(*inst), &language, exe->host, target);
	const char *why = NULL;
	int r = -ENOTSUP;

	if (!inst)
		return -ENOMEM;
	inst->exe = exe;
	/* Then words of a heap have 32 bits; a sandbox puts tables between pointers as well. */
	if (exe->layout.smi_shift_bytes == 0)
		why = "its pointers are compressed";
	else if (!exe->builtins && exe->layout.version.major >= 7)
		why = "its embedded builtins were not found";
	else
		r = v8_heap_check(exe->host, target, &exe->layout, &why);
	if (r == -ENOTSUP && why)
		r = refuse(inst, why);
	v8_state_fill(exe, &inst->state);
	if (r == 0)
		r = find_heap_builtins(inst);
	if (r == 0)
		r = publish(inst);
	if (r == 0)
		r = v8_names_new(&(struct memory){.read = attach_read, .arg = inst},
				 &exe->layout, &inst->state, &inst->names);
	if (r == 0 && exe->heap_builtins.n)
		v8_names_set_builtins(inst->names, v8_heap_builtin_name, (void *)exe);
	(void)attach_may_look(&inst->process);
	return attach_give(r, inst, v8_detach, ret_instance);
}

/* --- later ------------------------------------------------------------------------------------ */

/* Workers of 10 bring builtins of their own: half a millisecond for each MiB of code. */
int v8_refresh(void *instance)
{
	struct instance *inst = instance;
	int r = 0;

	if (!inst->exe->builtins && attach_may_look(&inst->process))
		r = find_heap_builtins(inst);
	return r == 0 ? publish(inst) : r;
}

int v8_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;
	int r = v8_names_of(inst->names, frame, inst->exe->host->add_name, names);

	if (r == EP_FRAME_GONE)
		inst->exe->host->count(inst->process.target, V8_COUNT_GONE, 1);
	return r;
}

/*
 * V8 keeps only the places of calls in optimized code, unless a debugger or profiler of V8's own is
 * there, or it is set to keep all (Isolate::NeedsDetailedOptimizedCodeLineInfo,
 * execution/isolate.cc; 6.2 has no such flag, 6.8 has it on). Node's inspector is such a debugger,
 * always: seen in 20, where tables of TurboFan's code are the same with the flag and without. The
 * same conditions make V8 collect all positions of bytecode at once.
 */
int v8_advise(void *instance, void (*say)(void *arg, const char *found, const char *fix), void *arg)
{
	struct instance *inst = instance;

	if (read_flag(inst, inst->exe->lines_flag_va) == 0 &&
	    v8_heap_lacks_positions(inst->exe->host, inst->process.target, &inst->exe->layout))
		say(arg,
		    "V8 keeps lines of optimized code at calls only: in between, inlined functions "
		    "are shown where the calls on both sides agree",
		    "node --detailed-line-info, or "
		    "V8::SetFlagsFromString(\"--detailed-line-info\"): then V8 keeps all of them");
	return 0;
}
