/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/kernel.h"
#include "core/base/log.h"
#include "core/replay/bytecode.h"
#include "core/replay/kernel_internal.h"
#include "ebpf-profiler/bpf/record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

const struct ep_config ep_kernel_config = {
	.frames_per_run = 36,
	.task_mm_off = offsetof(struct ep_kernel_task, mm),
	.task_stack_off = offsetof(struct ep_kernel_task, stack),
	.task_group_leader_off = offsetof(struct ep_kernel_task, group_leader),
	.task_start_off = offsetof(struct ep_kernel_task, start_boottime),
	.task_flags_off = offsetof(struct ep_kernel_task, flags),
	.task_tgid_off = offsetof(struct ep_kernel_task, tgid),
	.has_task_pt_regs = 1,
	.task_signal_off = offsetof(struct ep_kernel_task, signal),
	.task_tls_off = offsetof(struct ep_kernel_task, thread_pointer),
	.task_exec_id_off = offsetof(struct ep_kernel_task, self_exec_id),
	.mm_map_count_off = offsetof(struct ep_kernel_task, map_count),
	.kernel_frames = EP_MAX_KERNEL,
	.ring_bytes = 1 << 20,
};

_Thread_local struct ep_kernel *ep_kernel_current;

int ep_kernel_new(ep_kernel_read read_user, void *arg, struct ep_kernel **ret_kernel)
{
	struct ep_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return -ENOMEM;
	kernel->read_user = read_user;
	kernel->arg = arg;
	kernel->kernel_stack = 1;
	kernel->now_ns = 1;
	*ret_kernel = kernel;
	return 0;
}

void ep_kernel_free(struct ep_kernel *kernel)
{
	if (!kernel)
		return;
	for (size_t i = 0; i < kernel->n_objects; i++)
		ep_bytecode_free(kernel->objects[i].bytecode);
	ep_kernel_maps_fini(&kernel->maps);
	free(kernel);
}

struct map_finder {
	const struct ep_kernel_maps *maps;
	const char *object;
};

static void *find_map_of(void *arg, const char *name)
{
	const struct map_finder *finder = arg;

	return ep_kernel_maps_find(finder->maps, finder->object, name);
}

int ep_kernel_add_object(struct ep_kernel *kernel, const char *name,
			 const struct ep_shim_object *shim, const void *elf, size_t bytes)
{
	struct map_finder finder = {&kernel->maps, name};
	struct ep_kernel_object *object = &kernel->objects[kernel->n_objects];
	int r;

	if (kernel->n_objects == EP_KERNEL_MAX_OBJECTS)
		return -E2BIG;
	*object = (struct ep_kernel_object){.name = name, .shim = shim};
	r = ep_kernel_maps_add(&kernel->maps, name, elf, bytes);
	if (r == 0 && !shim)
		r = ep_bytecode_load(elf, bytes, find_map_of, &finder, &object->bytecode);
	if (r == 0)
		kernel->n_objects++;
	return r;
}

static struct ep_kernel_object *find_object(struct ep_kernel *kernel, const char *name)
{
	for (size_t i = 0; i < kernel->n_objects; i++) {
		if (strcmp(kernel->objects[i].name, name) == 0)
			return &kernel->objects[i];
	}
	return NULL;
}

int ep_kernel_set_constants(struct ep_kernel *kernel, const char *object_name, const char *constant,
			    const void *data, size_t bytes)
{
	struct ep_kernel_object *object = find_object(kernel, object_name);
	size_t size = 0;
	void *at = object ? object->constants : NULL;

	if (object && object->shim)
		size = EP_MIN(object->shim->constants_bytes, sizeof(object->constants));
	else if (object)
		at = ep_bytecode_constant(object->bytecode, constant, &size);
	if (!at || size != bytes)
		return -EINVAL;
	memcpy(at, data, bytes);
	object->constants_bytes = bytes;
	return 0;
}

static bool find_program(const struct ep_kernel_object *object, const char *name,
			 struct ep_kernel_program *ret)
{
	const struct ep_shim_object *shim = object->shim;

	*ret = (struct ep_kernel_program){.object = object};
	for (uint32_t i = 0; shim && i < shim->n_programs; i++) {
		if (strcmp(shim->programs[i].name, name) == 0)
			ret->run = shim->programs[i].run;
	}
	if (object->bytecode)
		ret->code = ep_bytecode_find(object->bytecode, name);
	return ret->run || ret->code;
}

int ep_kernel_set_program(struct ep_kernel *kernel, uint32_t slot, const char *object_name,
			  const char *name)
{
	const struct ep_kernel_object *object = find_object(kernel, object_name);
	struct ep_kernel_program program;

	if (slot >= EP_SLOT_COUNT_ALL || !object)
		return -EINVAL;
	if (!find_program(object, name, &program))
		return -ENOENT;
	kernel->programs[slot] = program;
	return 0;
}

void *ep_kernel_entry(struct ep_kernel *kernel, const char *name, uint32_t index)
{
	struct ep_kernel_map *map = ep_kernel_maps_find(&kernel->maps, "core", name);

	return map && map->values ? ep_kernel_map_lookup(map, &index) : NULL;
}

int ep_kernel_update(struct ep_kernel *kernel, const char *name, const void *key, const void *value)
{
	struct ep_kernel_map *map = ep_kernel_maps_find(&kernel->maps, "core", name);

	return map ? ep_kernel_map_update(map, key, value, BPF_ANY) : -ENOENT;
}

int ep_kernel_add_chunk(void *arg, uint32_t index, void **ret_memory)
{
	struct ep_kernel *kernel = arg;
	struct ep_kernel_map *map = ep_kernel_maps_find(&kernel->maps, "core", "ep_chunks");
	struct ep_kernel_map *inner;
	int r = map ? ep_kernel_map_add_inner(map, index, EP_CHUNK_BYTES, &inner) : -EINVAL;

	if (r == 0)
		*ret_memory = inner->values;
	return r;
}

void ep_kernel_remove_chunk(void *arg, uint32_t index, void *memory)
{
	struct ep_kernel *kernel = arg;
	struct ep_kernel_map *map = ep_kernel_maps_find(&kernel->maps, "core", "ep_chunks");

	(void)memory;
	if (map)
		ep_kernel_map_drop_inner(map, index);
}

void ep_kernel_set_keep(struct ep_kernel *kernel, ep_kernel_keep keep)
{
	kernel->keep = keep;
}

const char *ep_kernel_trouble(const struct ep_kernel *kernel)
{
	return kernel->trouble;
}

/* --- running --------------------------------------------------------------------------------- */

/* Constants are const to the program's compiler: they lie in pages that are made writable once. */
static int write_constants(const struct ep_kernel_object *object)
{
	size_t page = (size_t)getpagesize();
	uintptr_t start, first;
	size_t bytes;

	if (!object->shim)
		return 0;
	start = (uintptr_t)object->shim->constants;
	first = EP_ALIGN_DOWN(start, page);
	bytes = EP_ALIGN_UP(start + object->constants_bytes, page) - first;
	if (mprotect((void *)first, bytes, PROT_READ | PROT_WRITE) < 0)
		return -errno;
	memcpy((void *)start, object->constants, object->constants_bytes);
	return 0;
}

/* In DWARF order, as take_regs of bpf/entry.bpf.h reads them; of other machines what all have. */
static void fill_regs(const struct ep_replay_thread *thread, struct pt_regs *regs)
{
	const uint64_t *from = thread->regs;

	*regs = (struct pt_regs){0};
	if (thread->arch->machine == EM_X86_64) {
		regs->rax = from[0], regs->rdx = from[1], regs->rcx = from[2], regs->rbx = from[3];
		regs->rsi = from[4], regs->rdi = from[5];
		regs->r8 = from[8], regs->r9 = from[9], regs->r10 = from[10], regs->r11 = from[11];
		regs->r12 = from[12], regs->r13 = from[13], regs->r14 = from[14];
		regs->r15 = from[15];
	}
	regs->rbp = from[thread->arch->fp];
	regs->rsp = from[thread->arch->sp];
	regs->rip = from[thread->arch->pc];
	regs->orig_rax = thread->in_syscall ? 0 : ~0ull;
	regs->cs = 0x33; /* arch/x86/include/asm/segment.h, __USER_CS */
}

static void enter(struct ep_kernel *kernel, const struct ep_replay_thread *thread)
{
	struct ep_kernel_task *task = &kernel->task;

	*task = (struct ep_kernel_task){
		.mm = EP_KERNEL_TASK_ADDR, /* what is read of it is in the task, too */
		.map_count = ~0u,
		.group_leader = EP_KERNEL_TASK_ADDR,
		.start_boottime = thread->start_ns,
		.thread_pointer = thread->thread_pointer,
		.tgid = thread->pid,
		.flags = kernel->task_flags,
	};
	fill_regs(thread, &task->regs);
	/* A thread in a system call is interrupted in the kernel. */
	kernel->ctx = (struct bpf_perf_event_data){.regs = task->regs, .sample_period = kernel->period_ns};
	if (thread->in_syscall)
		kernel->ctx.regs.cs = 0x10; /* __KERNEL_CS */
	kernel->tid = thread->tid;
	memcpy(kernel->comm, thread->comm, sizeof(kernel->comm));
	kernel->tail_calls = 0;
	kernel->trouble[0] = '\0';
}

/* A tail call of a compiled source comes back to the setjmp; bytecode just ends. */
static void run_programs(struct ep_kernel *kernel)
{
	(void)setjmp(kernel->next_program);
	while (ep_kernel_current->next.object) {
		struct ep_kernel_program program = ep_kernel_current->next;
		int r = 0;

		ep_kernel_current->next = (struct ep_kernel_program){0};
		if (program.run)
			program.run(&ep_kernel_current->ctx);
		else
			r = ep_bytecode_run(program.code, &ep_kernel_current->ctx,
					    ep_kernel_call_helper, &program);
		if (r < 0)
			ep_kernel_complain("%s: bytecode: %s", program.object->name,
					   ep_strerror(r));
	}
}

void ep_kernel_on_tail_call(struct ep_kernel *kernel, ep_kernel_see *see, void *arg)
{
	kernel->see = see;
	kernel->see_arg = arg;
}

int ep_kernel_run(struct ep_kernel *kernel, const struct ep_replay_thread *thread,
		  struct ep_vec *event)
{
	struct ep_control *control = ep_kernel_entry(kernel, "ep_control", 0);

	if (kernel->n_objects == 0 || !find_program(&kernel->objects[0], "ep_entry", &kernel->next))
		return -EINVAL;
	for (size_t i = 0; i < kernel->n_objects; i++) {
		int r = write_constants(&kernel->objects[i]);

		if (r < 0)
			return r;
	}
	if (control)
		control->epoch++; /* nothing was sent before */
	enter(kernel, thread);
	event->len = 0;
	kernel->event = event;
	ep_kernel_current = kernel;
	run_programs(kernel);
	ep_kernel_current = NULL;
	if (*kernel->trouble)
		return -EIO;
	return event->len > 0 ? 0 : -ENODATA;
}
