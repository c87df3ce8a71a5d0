/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process. The library's tables are there as soon as it is relocated, its heaps of code and the
 * interpreter a few ten milliseconds later: until then EP_NOT_YET. Stubs come later too, when compilers
 * start or are first needed, so they are looked for again, after 50 ms, 200 ms and so on: 4 ms of CPU time
 * each.
 */
#include "core/base/util.h"
#include "plugins/hotspot/heaps.h"
#include "plugins/hotspot/hotspot.h"
#include "plugins/hotspot/symbolize/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_KEYS	 1024 /* PTHREAD_KEYS_MAX of glibc; musl has 128 */
#define FIRST_LOOK_NS	 50000000ull
#define LOOK_FACTOR	 4
#define LAST_LOOK_NS	 (60 * 1000000000ull)
#define SOON_NS		 2000000000ull /* while it starts, names are an occasion as well */
#define MAX_POINTER_SPAN 65536

struct instance {
	const struct hotspot_executable *exe;
	struct ep_target *target;
	struct hotspot_memory memory;
	struct hotspot_layout layout;
	struct hotspot_state state;
	struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS];
	size_t n_heaps;
	struct hotspot_stubs *stubs;
	struct hotspot_names *names;
	uint64_t looked_ns, next_look_ns; /* when, and how long until the next */
	uint64_t interpreter_end; /* of its code when it was read: it may not all have been made */
};

static const struct ep_unwinder_host *host_of(const struct instance *inst)
{
	return inst->exe->host;
}

static uint64_t bias_of(const struct instance *inst)
{
	return host_of(inst)->target_bias(inst->target);
}

static int read_target(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct instance *inst = arg;

	return host_of(inst)->target_read(inst->target, addr, buf, bytes);
}

static int read_pointer(const struct instance *inst, uint64_t addr, uint64_t *ret)
{
	return read_target((void *)inst, addr, ret, sizeof(*ret));
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
	host_of(inst)->host->log(EP_HOST_WARN,
				 "hotspot: pid %d: this Java VM is not as expected (%s): its Java frames "
				 "are missing, native ones stay",
				 host_of(inst)->target_pid(inst->target), why);
	return -ENOTSUP;
}

/*
 * The Zero VM interprets in C++ and compiles nothing. Its internal_vm_info_string begins with "OpenJDK
 * 64-Bit Zero VM" (VMNAME: src/share/vm/runtime/vm_version.cpp, 8;
 * src/hotspot/share/runtime/abstract_vm_version.cpp, 11 to 27).
 */
static bool is_zero(const struct instance *inst)
{
	uint64_t addr = inst->layout.statics[HOTSPOT_S_vm_info];
	char text[128];

	return addr && read_pointer(inst, addr, &addr) == 0 && addr &&
	       hotspot_read_string(&inst->memory, addr, text, sizeof(text)) == 0 &&
	       strstr(text, "Zero VM");
}

static int refuse_zero(const struct instance *inst)
{
	host_of(inst)->host->log(EP_HOST_WARN,
				 "hotspot: pid %d runs the Zero VM, whose Java frames cannot be walked: "
				 "run it with the server VM (java -server; package openjdk-N-jre-headless)",
				 host_of(inst)->target_pid(inst->target));
	return -ENOTSUP;
}

/* --- code at fixed places --------------------------------------------------------------------- */

static int compare_named(const void *a, const void *b)
{
	const struct hotspot_named_address *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* The variables lie close together: one read. What cannot be read has no names, which is no error. */
static size_t read_pointers(const struct instance *inst, struct hotspot_named_address *ret)
{
	const struct hotspot_executable *exe = inst->exe;
	uint64_t first = exe->pointers[0].va, value;
	uint64_t span = exe->pointers[exe->n_pointers - 1].va - first + sizeof(value);
	ep_autofree uint8_t *bytes = span <= MAX_POINTER_SPAN ? malloc(span) : NULL;
	size_t n = 0;

	if (!bytes || read_target((void *)inst, bias_of(inst) + first, bytes, span) < 0)
		return 0;
	for (size_t i = 0; i < exe->n_pointers; i++) {
		memcpy(&value, bytes + (exe->pointers[i].va - first), sizeof(value));
		if (value)
			ret[n++] = (struct hotspot_named_address){
				.addr = value,
				.name = exe->pointers[i].name,
			};
	}
	qsort(ret, n, sizeof(*ret), compare_named);
	return n;
}

static int read_stubs(const struct instance *inst, struct hotspot_stubs **ret)
{
	size_t max = inst->exe->n_pointers, n = 0;
	ep_autofree struct hotspot_named_address *named = max ? calloc(max, sizeof(*named)) : NULL;

	if (named)
		n = read_pointers(inst, named);
	return hotspot_stubs_read(&inst->memory, &inst->layout, named, n, inst->stubs, ret);
}

/* --- the way to a thread ---------------------------------------------------------------------- */

static bool find_thread_by_key(const struct instance *inst, struct ep_tls *ret)
{
	const struct hotspot_executable *exe = inst->exe;
	int32_t key;

	if (!exe->thread_key_va ||
	    read_target((void *)inst, bias_of(inst) + exe->thread_key_va, &key, sizeof(key)) < 0)
		return false;
	/* Until it is created it is -1 (8: threadLocalStorage.cpp) or 0. */
	return key >= 0 && key < MAX_KEYS && exe->host->tls_key(inst->target, (uint32_t)key, ret) == 0;
}

/*
 * The key before the variable: to find where a variable is takes all relocations of the file, 2.6 MB, for
 * each process, and the walk one read more. Not known (yet) is no error: the walk has the thread in a
 * register, in Java code.
 */
static void find_thread(struct instance *inst)
{
	const struct hotspot_executable *exe = inst->exe;
	struct ep_tls tls = {0};

	if (inst->state.thread.steps)
		return;
	if (find_thread_by_key(inst, &tls) ||
	    (exe->thread.kind && exe->host->tls_path(inst->target, &exe->thread, &tls) == 0))
		inst->state.thread = tls;
}

/* --- what BPF gets to know -------------------------------------------------------------------- */

static int fill_state(struct instance *inst)
{
	const char *why = NULL;
	int r = hotspot_state_fill(inst->exe, &inst->memory, bias_of(inst), &inst->layout,
				   &inst->state, &why);

	if (r == -ENOTSUP)
		return refuse(inst, why);
	if (r == 0)
		find_thread(inst);
	return r;
}

static int set_ranges(const struct instance *inst)
{
	ep_autofree struct ep_range *ranges = calloc(EP_MAX_RANGES, sizeof(*ranges));
	const struct ep_range *pieces;
	size_t n = hotspot_stubs_ranges(inst->stubs, &pieces);

	if (!ranges)
		return -ENOMEM;
	n = hotspot_heaps_ranges(inst->heaps, inst->n_heaps, pieces, n, ranges, EP_MAX_RANGES);
	return host_of(inst)->set_ranges(inst->target, ranges, n);
}

static int tell(struct instance *inst)
{
	int r = fill_state(inst);

	if (r == 0)
		r = host_of(inst)->set_state(inst->target, &inst->state, sizeof(inst->state));
	return r == 0 ? set_ranges(inst) : r;
}

/* --- attach ----------------------------------------------------------------------------------- */

/*
 * The interpreter is made when the heaps are: what does not hold before that is not made yet, or not even
 * relocated (rows of the tables are then missing), and proves nothing.
 */
static int find_interpreter(const struct instance *inst, uint64_t *ret_buffer)
{
	const struct hotspot_layout *layout = &inst->layout;
	uint64_t queue = 0;
	int r;

	if (!layout->statics[HOTSPOT_S_interpreter] ||
	    !hotspot_has(layout, HOTSPOT_F_queue_buffer))
		return EP_NOT_YET;
	r = read_pointer(inst, layout->statics[HOTSPOT_S_interpreter], &queue);
	if (r == 0 && !queue)
		return EP_NOT_YET;
	if (r == 0)
		r = read_pointer(inst, queue + hotspot_off(layout, HOTSPOT_F_queue_buffer),
				 ret_buffer);
	if (r < 0)
		return r;
	return *ret_buffer ? 0 : EP_NOT_YET;
}

/* The first block of the interpreter's heap is made when the VM starts, and stays. */
static int check_heap_of(const struct instance *inst, uint64_t addr)
{
	for (size_t i = 0; i < inst->n_heaps; i++) {
		const struct hotspot_heap *heap = &inst->heaps[i];

		if (addr >= heap->start && addr < heap->end)
			return hotspot_heaps_check(&inst->memory, &inst->layout, heap);
	}
	return -EBADMSG;
}

/* It grows while the VM makes it, in a few milliseconds. 0: not known. */
static uint64_t find_interpreter_end(const struct instance *inst)
{
	const struct hotspot_layout *layout = &inst->layout;
	uint8_t bytes[256];
	uint32_t size = layout->sizes[HOTSPOT_Z_queue_bytes];
	uint64_t queue = 0;

	if (size > sizeof(bytes) || !layout->statics[HOTSPOT_S_interpreter] ||
	    read_pointer(inst, layout->statics[HOTSPOT_S_interpreter], &queue) < 0 ||
	    read_target((void *)inst, queue, bytes, size) < 0)
		return 0;
	return hotspot_get(layout, HOTSPOT_F_queue_end, bytes, size);
}

/* A look at one word tells of most tries that they come too early; without the symbol the tables do. */
static bool is_too_early(const struct instance *inst)
{
	uint64_t va = inst->exe->interpreter_va, queue;

	return va && read_pointer(inst, bias_of(inst) + va, &queue) == 0 && !queue;
}

static int read_layout(struct instance *inst, uint64_t *ret_interpreter)
{
	int r;

	if (is_too_early(inst))
		return EP_NOT_YET;
	r = hotspot_tables_read(inst->exe->tables, &inst->memory, bias_of(inst), &inst->layout);

	/* Between the mapping of the file and that of its .bss the strides are what the file has there. */
	if (r == -EBADMSG)
		return EP_NOT_YET;
	if (r == 0)
		r = find_interpreter(inst, ret_interpreter);
	if (r == 0 && is_zero(inst))
		return refuse_zero(inst);
	return r;
}

static int read_code(struct instance *inst, uint64_t interpreter)
{
	int r = hotspot_heaps_read(&inst->memory, &inst->layout, inst->heaps, &inst->n_heaps);

	if (r == -EBADMSG)
		return refuse(inst, "CodeCache::_heaps");
	if (r == 0) {
		r = check_heap_of(inst, interpreter);
		if (r == -EBADMSG)
			return refuse(inst, "HeapBlock and CodeBlob");
	}
	inst->interpreter_end = find_interpreter_end(inst);
	if (r == 0)
		r = read_stubs(inst, &inst->stubs);
	return r;
}

/* False as well where it cannot be read. */
static bool is_flag_off(const struct instance *inst)
{
	bool on = true;

	return hotspot_tables_flag(inst->exe->tables, &inst->memory, bias_of(inst), &inst->layout,
				   "DebugNonSafepoints", &on) == 0 &&
	       !on;
}

/* The users' own question: why do lines and inlined methods look odd? */
static void tell_flag(const struct instance *inst)
{
	if (is_flag_off(inst))
		host_of(inst)->host->log(
			EP_HOST_DEBUG,
			"hotspot: pid %d: DebugNonSafepoints is off: what is inlined at a leaf is that "
			"of the next debug point; java -XX:+UnlockDiagnosticVMOptions "
			"-XX:+DebugNonSafepoints makes it exact",
			host_of(inst)->target_pid(inst->target));
}

/*
 * An agent that takes CompiledMethodLoad events leaves the flag as it is: what is compiled from then on has
 * the records all the same, unless the flag was set by hand (DebugInformationRecorder::
 * recording_non_safepoints, share/code/debugInfoRec.cpp, 8 to 27).
 */
int hotspot_advise(void *instance, void (*say)(void *arg, const char *found, const char *fix), void *arg)
{
	if (is_flag_off(instance))
		say(arg,
		    "DebugNonSafepoints is off: which inlined method a sample hit is guessed from the next "
		    "place that the compiler recorded",
		    "java -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints: then it is exact; an "
		    "agent with CompiledMethodLoad turns it on, too");
	return 0;
}

static void instance_free(struct instance *inst)
{
	if (!inst)
		return;
	hotspot_names_free(inst->names);
	hotspot_stubs_free(inst->stubs);
	free(inst);
}

static int attach(struct instance *inst)
{
	uint64_t interpreter = 0;
	int r = read_layout(inst, &interpreter);

	if (r == 0)
		r = read_code(inst, interpreter);
	if (r == 0)
		r = hotspot_names_new(&inst->memory, &inst->layout, &inst->names);
	if (r == 0)
		r = tell(inst);
	if (r != 0)
		return r;
	tell_flag(inst);
	inst->looked_ns = now_ns();
	inst->next_look_ns = FIRST_LOOK_NS;
	return 0;
}

int hotspot_attach(void *executable, struct ep_target *target, void **ret_instance)
{
	struct instance *inst = calloc(1, sizeof(*inst));
	int r;

	if (!inst)
		return -ENOMEM;
	inst->exe = executable;
	inst->target = target;
	inst->memory = (struct hotspot_memory){.read = read_target, .arg = inst};
	r = attach(inst);
	if (r != 0) {
		instance_free(inst);
		return r;
	}
	*ret_instance = inst;
	return 0;
}

/* --- later ------------------------------------------------------------------------------------ */

/* An interpreter that was read while it was made is read anew when it is whole. */
static bool may_look(struct instance *inst)
{
	uint64_t end, now = now_ns();

	if (now - inst->looked_ns >= inst->next_look_ns) {
		inst->looked_ns = now;
		inst->next_look_ns = EP_MIN(LOOK_FACTOR * inst->next_look_ns, LAST_LOOK_NS);
		return true;
	}
	if (inst->next_look_ns > FIRST_LOOK_NS)
		return false;
	end = find_interpreter_end(inst);
	if (!end || end == inst->interpreter_end)
		return false;
	inst->interpreter_end = end;
	return true;
}

/* What fails leaves all as it was: the process may be ending. */
static int look_again(struct instance *inst)
{
	struct hotspot_stubs *stubs = NULL;
	int r;

	if (!may_look(inst))
		return 0;
	r = read_stubs(inst, &stubs);
	if (r != 0)
		return r;
	hotspot_stubs_free(inst->stubs);
	inst->stubs = stubs;
	return tell(inst);
}

int hotspot_refresh(void *instance)
{
	return look_again(instance);
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

	if (inst->next_look_ns <= SOON_NS || is_unknown_stub(inst, frame))
		(void)look_again(inst);
	r = hotspot_names_of(inst->names, inst->stubs, frame, host_of(inst)->add_name, names);
	if (r == EP_FRAME_GONE)
		host_of(inst)->count(inst->target, HOTSPOT_COUNT_GONE, 1);
	guesses = hotspot_names_take_approximate(inst->names);
	if (guesses)
		host_of(inst)->count(inst->target, HOTSPOT_COUNT_APPROXIMATE, guesses);
	return r;
}

void hotspot_detach(void *instance)
{
	instance_free(instance);
}
