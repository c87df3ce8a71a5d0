/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. V8's heap is there some ten milliseconds after the file is mapped: until then EP_NOT_YET. The
 * walk needs no more of it than that its layout holds (heap_check.c); what else there is has an address in the
 * file: builtins, wherever the file is mapped. V8 maps their pages a second time next to its JIT code ("short
 * builtin calls": CodeRange::RemapEmbeddedBuiltins, heap/code-range.cc, 9.x on): same file, same place in it.
 */
#include "core/base/util.h"
#include "plugins/v8/symbolize/names.h"
#include "plugins/v8/v8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MAX_KEYS      1024 /* PTHREAD_KEYS_MAX of glibc; musl has 128 */
#define MAX_BLOBS     64   /* mappings of the builtins: one for each isolate group */
#define FIRST_LOOK_NS 50000000ull
#define LOOK_FACTOR   4
#define LAST_LOOK_NS  (60 * 1000000000ull)

struct instance {
	const struct v8_executable *exe;
	struct ep_target *target;
	struct v8_memory memory;
	uint64_t bias; /* of the file as it is loaded */
	struct v8_state state;
	struct v8_names *names;
	uint64_t looked_ns, next_look_ns; /* for heap builtins: when, and how long until the next */
};

static const struct ep_unwinder_host *host_of(const struct instance *inst)
{
	return inst->exe->host;
}

static int read_target(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct instance *inst = arg;

	return host_of(inst)->target_read(inst->target, addr, buf, bytes);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- what is refused -------------------------------------------------------------------------- */

static int refuse(const struct instance *inst, const char *why)
{
	const struct v8_version *version = &inst->exe->layout.version;

	host_of(inst)->host->log(EP_HOST_WARN,
				 "v8: pid %d: this V8 (%s%u.%u) is not as expected (%s): its JavaScript "
				 "frames are missing, native ones stay",
				 host_of(inst)->target_pid(inst->target),
				 inst->exe->has_version ? "" : "perhaps ", version->major,
				 version->minor, why);
	return -ENOTSUP;
}

/* Pointer compression makes each word of a heap 32 bits wide, and a sandbox puts tables between pointers. */
static int check_file(const struct instance *inst)
{
	const struct v8_executable *exe = inst->exe;

	if (exe->layout.smi_shift_bytes == 0)
		return refuse(inst, "its pointers are compressed");
	if (!exe->builtins && exe->layout.version.major >= 7)
		return refuse(inst, "its embedded builtins were not found");
	return 0;
}

/* --- ranges ----------------------------------------------------------------------------------- */

struct blobs {
	const struct instance *inst;
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

static int add_blobs(struct blobs *blobs)
{
	const struct instance *inst = blobs->inst;
	int r = host_of(inst)->target_mappings(inst->target, find_blob, blobs);

	if (r == 0)
		r = blobs->result;
	if (r == 0 && !blobs->path)
		return EP_NOT_YET;
	if (r == 0)
		r = host_of(inst)->target_mappings(inst->target, add_blob, blobs);
	free(blobs->path);
	return r == 0 && blobs->n == 0 ? EP_NOT_YET : r; /* to be read, not yet to be run */
}

/* The host may have found the copy before the file's own mapping. */
static int set_ranges(struct instance *inst)
{
	const struct v8_builtins *builtins = inst->exe->builtins;
	uint64_t bias = host_of(inst)->target_bias(inst->target);
	struct blobs blobs = {.inst = inst};
	int r = 0;

	if (builtins) {
		blobs.addr = bias + v8_builtins_va(builtins);
		blobs.bytes = v8_builtins_bytes(builtins);
		r = add_blobs(&blobs);
		bias = blobs.whole_begin - v8_builtins_va(builtins);
	}
	if (r != 0)
		return r;
	inst->bias = bias;
	blobs.ranges[blobs.n++] = (struct ep_range){
		.end = UINT64_MAX,
		.mode = EP_RANGE_ENTER,
		.flags = EP_RANGE_ANONYMOUS,
	};
	return host_of(inst)->set_ranges(inst->target, blobs.ranges, blobs.n);
}

/* --- state ------------------------------------------------------------------------------------ */

static bool find_isolate_by_key(const struct instance *inst, struct ep_tls *ret)
{
	const struct v8_executable *exe = inst->exe;
	int32_t key;

	return exe->isolate_key_va &&
	       read_target((void *)inst, inst->bias + exe->isolate_key_va, &key, sizeof(key)) == 0 &&
	       key >= 0 && key < MAX_KEYS &&
	       exe->host->tls_key(inst->target, (uint32_t)key, ret) == 0;
}

/* Not known (yet) is no error: in V8's code a register has it. */
static void find_isolate(struct instance *inst)
{
	const struct v8_executable *exe = inst->exe;
	struct ep_tls tls = {0};

	if (inst->state.isolate_tls.steps)
		return;
	if (find_isolate_by_key(inst, &tls) ||
	    (exe->isolate.kind && exe->host->tls_path(inst->target, &exe->isolate, &tls) == 0))
		inst->state.isolate_tls = tls;
}

/* -1: not known. */
static int read_flag(const struct instance *inst, uint64_t va)
{
	uint8_t flag = 0;

	if (!va || read_target((void *)inst, inst->bias + va, &flag, 1) < 0 || flag > 1)
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
	r = v8_heap_iet_return(host_of(inst), inst->target, &inst->exe->layout, &addr);
	if (r < 0 && r != -ENODATA)
		return r;
	state->iet_return = r == 0 ? addr : 0;
	state->flags &= (__u8)~V8_STATE_IET_UNKNOWN;
	if (r != 0)
		state->flags |= V8_STATE_IET_UNKNOWN;
	return 0;
}

static int tell(struct instance *inst)
{
	int r = set_ranges(inst);

	if (r != 0)
		return r;
	find_isolate(inst);
	if (read_flag(inst, inst->exe->frames_flag_va) == 1)
		inst->state.flags |= V8_STATE_IET_COPIES;
	return host_of(inst)->set_state(inst->target, &inst->state, sizeof(inst->state));
}

/* --- attach ----------------------------------------------------------------------------------- */

static void instance_free(struct instance *inst)
{
	v8_names_free(inst->names);
	free(inst);
}

static int attach(struct instance *inst)
{
	const char *why = NULL;
	int r = check_file(inst);

	if (r == 0)
		r = v8_heap_check(host_of(inst), inst->target, &inst->exe->layout, &why);
	if (r == -ENOTSUP && why)
		return refuse(inst, why);
	if (r != 0)
		return r;
	v8_state_fill(inst->exe, &inst->state);
	r = find_heap_builtins(inst);
	if (r == 0)
		r = tell(inst);
	if (r == 0)
		r = v8_names_new(&inst->memory, &inst->exe->layout, &inst->state, &inst->names);
	if (r == 0 && inst->exe->heap_builtins.n)
		v8_names_set_builtins(inst->names, v8_heap_builtin_name, (void *)inst->exe);
	inst->looked_ns = now_ns();
	inst->next_look_ns = FIRST_LOOK_NS;
	return r;
}

int v8_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	struct instance *inst = calloc(1, sizeof(*inst));
	int r;

	if (!inst)
		return -ENOMEM;
	inst->exe = executable;
	inst->target = target;
	inst->memory = (struct v8_memory){.read = read_target, .arg = inst};
	r = attach(inst);
	if (r != 0) {
		instance_free(inst);
		return r;
	}
	*ret_instance = inst;
	return 0;
}

/* --- later ------------------------------------------------------------------------------------ */

/* Workers of 10 bring builtins of their own: half a millisecond for each MiB of code. */
static bool may_look(struct instance *inst)
{
	uint64_t now = now_ns();

	if (inst->exe->builtins || now - inst->looked_ns < inst->next_look_ns)
		return false;
	inst->looked_ns = now;
	inst->next_look_ns = EP_MIN(LOOK_FACTOR * inst->next_look_ns, LAST_LOOK_NS);
	return true;
}

int v8_refresh(void *instance)
{
	struct instance *inst = instance;
	int r = may_look(inst) ? find_heap_builtins(inst) : 0;

	return r == 0 ? tell(inst) : r;
}

int v8_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;
	int r = v8_names_of(inst->names, frame, host_of(inst)->add_name, names);

	if (r == EP_FRAME_GONE)
		host_of(inst)->count(inst->target, V8_COUNT_GONE, 1);
	return r;
}

/*
 * Of optimized code V8 keeps where calls are, unless a debugger or profiler of V8's own is there or it is told
 * to keep all (Isolate::NeedsDetailedOptimizedCodeLineInfo, execution/isolate.cc; 6.2 has no such flag, 6.8 has
 * it on). Node's inspector is such a debugger, always: seen in 20, where tables of TurboFan's code are the same
 * with the flag and without. The same conditions make V8 collect all positions of bytecode at once.
 */
int v8_advise(void *instance, void (*say)(void *arg, const char *found, const char *fix), void *arg)
{
	struct instance *inst = instance;

	if (read_flag(inst, inst->exe->lines_flag_va) == 0 &&
	    v8_heap_lacks_positions(host_of(inst), inst->target, &inst->exe->layout))
		say(arg,
		    "V8 keeps lines of optimized code at calls only: in between, inlined functions are "
		    "shown where the calls on both sides agree",
		    "node --detailed-line-info, or V8::SetFlagsFromString(\"--detailed-line-info\"): then V8 "
		    "keeps all of them");
	return 0;
}

void v8_detach(void *instance)
{
	instance_free(instance);
}
