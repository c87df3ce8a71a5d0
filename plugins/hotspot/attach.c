/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. The library's tables are there as soon as it is relocated, its heaps of code and the
 * interpreter a few ten milliseconds later: until then EP_NOT_YET. Stubs come later too, when
 * compilers start or are first needed, so they are looked for again, after 50 ms, 200 ms and so on:
 * 4 ms of CPU time each.
 */
#include "core/base/util.h"
#include "plugins/hotspot/code/heaps.h"
#include "plugins/hotspot/hotspot.h"
#include "plugins/hotspot/symbolize/names.h"
#include "plugins/shared/attach/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SOON_NS		 2000000000ull /* while it starts, names are an occasion as well */
#define MAX_POINTER_SPAN 65536

#define WHAT		 "this Java VM is" /* not as expected */

static const struct attach_language language = {.plugin = "hotspot", .frames = "Java"};

struct instance {
	struct attach process;
	const struct hotspot_executable *exe;
	struct memory memory;
	struct hotspot_layout layout;
	struct hotspot_state state;
	struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS];
	size_t n_heaps;
	struct hotspot_stubs *stubs;
	struct hotspot_names *names;
	uint64_t interpreter_end; /* of its code when it was read: it may not all have been made */
};

/*
 * The Zero VM interprets in C++ and compiles nothing. Its internal_vm_info_string begins with
 * "OpenJDK 64-Bit Zero VM" (VMNAME: src/share/vm/runtime/vm_version.cpp, 8;
 * src/hotspot/share/runtime/abstract_vm_version.cpp, 11 to 27).
 */
static int refuse_zero(const struct instance *inst)
{
	uint64_t addr = attach_word(&inst->process, inst->layout.statics[HOTSPOT_S_vm_info]);
	char text[128];

	if (!addr || memory_read_string(&inst->memory, addr, text, sizeof(text), MEMORY_PAGE) < 0 ||
	    !strstr(text, "Zero VM"))
		return 0;
	inst->exe->host->host->log(
		EP_HOST_WARN,
		"hotspot: pid %d runs the Zero VM, whose Java frames cannot be walked: "
		"run it with the server VM (java -server; package openjdk-N-jre-headless)",
		inst->exe->host->target_pid(inst->process.target));
	return -ENOTSUP;
}

/* --- code at fixed places --------------------------------------------------------------------- */

static int compare_named(const void *a, const void *b)
{
	const struct hotspot_named_address *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The variables lie close together: one read. What cannot be read has no names, which is no
 * error. */
static int read_stubs(struct instance *inst, struct hotspot_stubs **ret)
{
	const struct hotspot_executable *exe = inst->exe;
	size_t max = exe->n_pointers, n = 0;
	uint64_t first = max ? exe->pointers[0].va : 0, value;
	uint64_t span = max ? exe->pointers[max - 1].va - first + sizeof(value) : 0;
	ep_autofree struct hotspot_named_address *named = calloc(max + 1, sizeof(*named));
	ep_autofree uint8_t *bytes = span <= MAX_POINTER_SPAN ? malloc(span + 1) : NULL;

	if (named && bytes &&
	    attach_read(inst, attach_addr(&inst->process, first), bytes, span) == 0) {
		for (size_t i = 0; i < max; i++) {
			memcpy(&value, bytes + (exe->pointers[i].va - first), sizeof(value));
			named[n].addr = value;
			named[n].name = exe->pointers[i].name;
			n += value != 0;
		}
		qsort(named, n, sizeof(*named), compare_named);
	}
	return hotspot_stubs_read(&inst->memory, &inst->layout, named, n, inst->stubs, ret);
}

/* --- what BPF gets to know -------------------------------------------------------------------- */

static int set_ranges(const struct instance *inst)
{
	ep_autofree struct ep_range *ranges = calloc(EP_MAX_RANGES, sizeof(*ranges));
	const struct ep_range *pieces;
	size_t n = hotspot_stubs_ranges(inst->stubs, &pieces);

	if (!ranges)
		return -ENOMEM;
	n = hotspot_heaps_ranges(inst->heaps, inst->n_heaps, pieces, n, ranges, EP_MAX_RANGES);
	return inst->exe->host->set_ranges(inst->process.target, ranges, n);
}

static int publish(struct instance *inst)
{
	const struct hotspot_executable *exe = inst->exe;
	const char *why = NULL;
	int r = hotspot_state_fill(exe, &inst->memory, inst->process.bias, &inst->layout,
				   &inst->state, &why);

	if (r == -ENOTSUP)
		return attach_refuse(&inst->process, why, WHAT);
	if (r != 0)
		return r;
	/* Not known (yet) is no error: the walk has the thread in a register, in Java code. */
	(void)attach_thread(&inst->process, exe->thread_key_va, &exe->thread, &inst->state.thread);
	r = exe->host->set_state(inst->process.target, &inst->state, sizeof(inst->state));
	return r == 0 ? set_ranges(inst) : r;
}

/* --- attach ----------------------------------------------------------------------------------- */

/* It grows while the VM makes it, in a few milliseconds. 0: not known. */
static uint64_t find_interpreter_end(struct instance *inst)
{
	const struct hotspot_layout *layout = &inst->layout;
	uint8_t bytes[256];
	uint32_t size = layout->sizes[HOTSPOT_Z_queue_bytes];
	uint64_t queue = attach_word(&inst->process, layout->statics[HOTSPOT_S_interpreter]);

	if (size > sizeof(bytes) || !queue || attach_read(inst, queue, bytes, size) < 0)
		return 0;
	return hotspot_get(layout, HOTSPOT_F_queue_end, bytes, size);
}

/*
 * The interpreter is made when the heaps are: what does not hold before that is not made yet, or
 * not even relocated (rows of the tables are then missing), and proves nothing.
 */
static int read_layout(struct instance *inst, uint64_t *ret_interpreter)
{
	const struct hotspot_layout *layout = &inst->layout;
	uint64_t va = inst->exe->interpreter_va, queue = 0;
	int r;

	/* A look at one word tells of most tries that they come too early; else the tables do. */
	if (va && attach_read(inst, inst->process.bias + va, &queue, 8) == 0 && !queue)
		return EP_NOT_YET;
	r = hotspot_tables_read(inst->exe->tables, &inst->memory, inst->process.bias,
				&inst->layout);
	/* Until .bss is mapped over it the strides are what the file has there. */
	if (r == -EBADMSG)
		return EP_NOT_YET;
	if (r == 0 && (!layout->statics[HOTSPOT_S_interpreter] ||
		       !hotspot_has(layout, HOTSPOT_F_queue_buffer)))
		return EP_NOT_YET;
	if (r == 0)
		r = attach_read(inst, layout->statics[HOTSPOT_S_interpreter], &queue, 8);
	if (r == 0 && !queue)
		return EP_NOT_YET;
	if (r == 0)
		r = attach_read(inst, queue + hotspot_off(layout, HOTSPOT_F_queue_buffer),
				ret_interpreter, 8);
	if (r == 0 && !*ret_interpreter)
		return EP_NOT_YET;
	return r == 0 ? refuse_zero(inst) : r;
}

static int read_code(struct instance *inst, uint64_t interpreter)
{
	const struct hotspot_heap *heap = inst->heaps, *end;
	int r = hotspot_heaps_read(&inst->memory, &inst->layout, inst->heaps, &inst->n_heaps);

	if (r == -EBADMSG)
		return attach_refuse(&inst->process, "CodeCache::_heaps", WHAT);
	if (r != 0)
		return r;
	/* The first block of the interpreter's heap is made when the VM starts, and stays. */
	end = heap + inst->n_heaps;
	while (heap < end && (interpreter < heap->start || interpreter >= heap->end))
		heap++;
	r = heap < end ? hotspot_heaps_check(&inst->memory, &inst->layout, heap) : -EBADMSG;
	if (r == -EBADMSG)
		return attach_refuse(&inst->process, "HeapBlock and CodeBlob", WHAT);
	inst->interpreter_end = find_interpreter_end(inst);
	return r == 0 ? read_stubs(inst, &inst->stubs) : r;
}

/*
 * An agent that takes CompiledMethodLoad events leaves the flag as it is: what is compiled from
 * then on has the records all the same, unless the flag was set by hand (DebugInformationRecorder::
 * recording_non_safepoints, share/code/debugInfoRec.cpp, 8 to 27).
 */
int hotspot_advise(void *instance, void (*say)(void *arg, const char *found, const char *fix),
		   void *arg)
{
	const struct instance *inst = instance;
	bool on = true;

	if (hotspot_tables_flag(inst->exe->tables, &inst->memory, inst->process.bias, &inst->layout,
				"DebugNonSafepoints", &on) == 0 &&
	    !on)
		say(arg,
		    "DebugNonSafepoints is off: which inlined method a sample hit is guessed from "
		    "the next "
		    "place that the compiler recorded",
		    "java -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints: then it is "
		    "exact; an "
		    "agent with CompiledMethodLoad turns it on, too");
	return 0;
}

void hotspot_detach(void *instance)
{
	struct instance *inst = instance;

	hotspot_names_free(inst->names);
	hotspot_stubs_free(inst->stubs);
	free(inst);
}

int hotspot_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	const struct hotspot_executable *exe = executable;
	struct instance *inst = attach_new(sizeof(*inst), &language, exe->host, target);
	uint64_t interpreter = 0;
	int r;

	if (!inst)
		return -ENOMEM;
	inst->exe = exe;
	inst->memory = (struct memory){.read = attach_read, .arg = inst};
	r = read_layout(inst, &interpreter);
	if (r == 0)
		r = read_code(inst, interpreter);
	if (r == 0)
		r = hotspot_names_new(&inst->memory, &inst->layout, &inst->names);
	if (r == 0)
		r = publish(inst);
	(void)attach_may_look(&inst->process);
	return attach_give(r, inst, hotspot_detach, ret_instance);
}

/* An interpreter that was read while it was made is read again when it is whole. */
static bool may_look(struct instance *inst)
{
	uint64_t end;

	if (attach_may_look(&inst->process))
		return true;
	if (inst->process.pause_ns > ATTACH_FIRST_PAUSE_NS)
		return false;
	end = find_interpreter_end(inst);
	if (!end || end == inst->interpreter_end)
		return false;
	inst->interpreter_end = end;
	return true;
}

/* What fails leaves all as it was: the process may be ending. */
int hotspot_refresh(void *instance)
{
	struct instance *inst = instance;
	struct hotspot_stubs *stubs = NULL;
	int r;

	if (!may_look(inst))
		return 0;
	r = read_stubs(inst, &stubs);
	if (r != 0)
		return r;
	hotspot_stubs_free(inst->stubs);
	inst->stubs = stubs;
	return publish(inst);
}

/* Made since. */
static bool is_unknown_stub(const struct instance *inst, const struct ep_raw_frame *frame)
{
	return HOTSPOT_FRAME(frame->flags) == HOTSPOT_FRAME_STUB &&
	       frame->aux == HOTSPOT_BLOB_OTHER && frame->n_words > 0 &&
	       !hotspot_stubs_name(inst->stubs, frame->words[0]);
}

int hotspot_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *inst = instance;
	uint64_t guesses;
	int r;

	if (inst->process.pause_ns <= SOON_NS || is_unknown_stub(inst, frame))
		(void)hotspot_refresh(inst);
	r = hotspot_names_of(inst->names, inst->stubs, frame, inst->exe->host->add_name, names);
	if (r == EP_FRAME_GONE)
		inst->exe->host->count(inst->process.target, HOTSPOT_COUNT_GONE, 1);
	guesses = hotspot_names_take_approximate(inst->names);
	if (guesses)
		inst->exe->host->count(inst->process.target, HOTSPOT_COUNT_APPROXIMATE, guesses);
	return r;
}
