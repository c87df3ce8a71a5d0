/* SPDX-License-Identifier: Apache-2.0 */
#include "core/replay/kernel.h"
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

/* MAX_TAIL_CALL_CNT, linux/include/linux/bpf.h. */
#define MAX_TAIL_CALLS 33
#define MAX_OBJECTS    8

/* A task_struct of our own: what the programs read of it, where ep_kernel_config says. */
struct task {
	uint64_t mm, stack, group_leader, start_boottime, signal, thread_pointer;
	uint32_t flags, tgid;
	struct pt_regs regs;
};
#define TASK_ADDR 0xffff888000001000ull

const struct ep_config ep_kernel_config = {
	.frames_per_run = 36,
	.task_mm_off = offsetof(struct task, mm),
	.task_stack_off = offsetof(struct task, stack),
	.task_group_leader_off = offsetof(struct task, group_leader),
	.task_start_off = offsetof(struct task, start_boottime),
	.task_flags_off = offsetof(struct task, flags),
	.task_tgid_off = offsetof(struct task, tgid),
	.has_task_pt_regs = 1,
	.task_signal_off = offsetof(struct task, signal),
	.task_tls_off = offsetof(struct task, thread_pointer),
};

struct object {
	const struct ep_shim_object *shim;
	uint8_t constants[128];
	size_t constants_bytes;
};

struct bound_map { /* a map as a program names it */
	const void *addr;
	struct ep_kernel_map *map;
};

struct ep_kernel {
	ep_kernel_read read_user;
	void *arg;
	struct ep_kernel_maps maps;
	struct object objects[MAX_OBJECTS];
	size_t n_objects;
	struct bound_map bound[EP_KERNEL_MAX_MAPS];
	size_t n_bound;
	const struct ep_shim_program *programs[EP_SLOT_COUNT];
	/* of the run */
	jmp_buf next_program;
	const struct ep_shim_program *next;
	uint32_t tail_calls;
	struct bpf_perf_event_data ctx;
	struct task task;
	char comm[EP_REPLAY_COMM_BYTES];
	uint32_t tid;
	struct ep_vec *event;
	char trouble[128];
};

/* The helpers have no argument for it: the kernel whose program runs on this thread. */
static _Thread_local struct ep_kernel *current;

int ep_kernel_new(ep_kernel_read read_user, void *arg, struct ep_kernel **ret_kernel)
{
	struct ep_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return -ENOMEM;
	kernel->read_user = read_user;
	kernel->arg = arg;
	*ret_kernel = kernel;
	return 0;
}

void ep_kernel_free(struct ep_kernel *kernel)
{
	if (!kernel)
		return;
	ep_kernel_maps_fini(&kernel->maps);
	free(kernel);
}

int ep_kernel_add_object(struct ep_kernel *kernel, const struct ep_shim_object *shim,
			 const void *elf, size_t bytes)
{
	int r;

	if (kernel->n_objects == MAX_OBJECTS)
		return -E2BIG;
	r = ep_kernel_maps_add(&kernel->maps, shim->name, elf, bytes);
	if (r == 0)
		kernel->objects[kernel->n_objects++] = (struct object){.shim = shim};
	return r;
}

int ep_kernel_set_constants(struct ep_kernel *kernel, const struct ep_shim_object *shim,
			    const void *constants, size_t bytes)
{
	for (size_t i = 0; i < kernel->n_objects; i++) {
		struct object *object = &kernel->objects[i];

		if (object->shim != shim)
			continue;
		if (bytes != shim->constants_bytes || bytes > sizeof(object->constants))
			return -EINVAL;
		memcpy(object->constants, constants, bytes);
		object->constants_bytes = bytes;
		return 0;
	}
	return -EINVAL;
}

int ep_kernel_set_program(struct ep_kernel *kernel, uint32_t slot,
			  const struct ep_shim_object *shim, const char *program)
{
	if (slot >= EP_SLOT_COUNT)
		return -EINVAL;
	for (uint32_t i = 0; i < shim->n_programs; i++) {
		if (strcmp(shim->programs[i].name, program) == 0) {
			kernel->programs[slot] = &shim->programs[i];
			return 0;
		}
	}
	return -ENOENT;
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

int ep_kernel_add_chunk(struct ep_kernel *kernel, uint32_t index, void **ret_memory)
{
	struct ep_kernel_map *map = ep_kernel_maps_find(&kernel->maps, "core", "ep_chunks");
	struct ep_kernel_map *inner;
	int r = map ? ep_kernel_map_add_inner(map, index, EP_CHUNK_BYTES, &inner) : -EINVAL;

	if (r == 0)
		*ret_memory = inner->values;
	return r;
}

void ep_kernel_remove_chunk(struct ep_kernel *kernel, uint32_t index)
{
	struct ep_kernel_map *map = ep_kernel_maps_find(&kernel->maps, "core", "ep_chunks");

	if (map)
		ep_kernel_map_drop_inner(map, index);
}

const char *ep_kernel_trouble(const struct ep_kernel *kernel)
{
	return kernel->trouble;
}

uint32_t ep_kernel_tail_calls(const struct ep_kernel *kernel)
{
	return kernel->tail_calls;
}

/* --- running --------------------------------------------------------------------------------- */

/* Constants are const to the program's compiler: they lie in pages that are made writable once. */
static int write_constants(const struct object *object)
{
	size_t page = (size_t)getpagesize();
	uintptr_t start = (uintptr_t)object->shim->constants;
	uintptr_t first = EP_ALIGN_DOWN(start, page);
	size_t bytes = EP_ALIGN_UP(start + object->constants_bytes, page) - first;

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
	struct task *task = &kernel->task;

	*task = (struct task){
		.group_leader = TASK_ADDR,
		.start_boottime = thread->start_ns,
		.thread_pointer = thread->thread_pointer,
		.tgid = thread->pid,
	};
	fill_regs(thread, &task->regs);
	/* A thread in a system call is interrupted in the kernel. */
	kernel->ctx = (struct bpf_perf_event_data){.regs = task->regs};
	if (thread->in_syscall)
		kernel->ctx.regs.cs = 0x10; /* __KERNEL_CS */
	kernel->tid = thread->tid;
	memcpy(kernel->comm, thread->comm, sizeof(kernel->comm));
	kernel->tail_calls = 0;
	kernel->trouble[0] = '\0';
}

static void run_programs(struct ep_kernel *kernel)
{
	const struct ep_shim_program *program;

	(void)setjmp(kernel->next_program); /* a tail call comes back here */
	program = current->next;
	current->next = NULL;
	if (program)
		program->run(&current->ctx);
}

int ep_kernel_run(struct ep_kernel *kernel, const struct ep_replay_thread *thread,
		  struct ep_vec *event)
{
	struct ep_control *control = ep_kernel_entry(kernel, "ep_control", 0);
	static const struct ep_shim_program *entry;

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
	entry = &kernel->objects[0].shim->programs[0];
	kernel->next = entry;
	current = kernel;
	run_programs(kernel);
	current = NULL;
	if (*kernel->trouble)
		return -EIO;
	return event->len > 0 ? 0 : -ENODATA;
}

/* --- helpers --------------------------------------------------------------------------------- */

static void trouble(const char *fmt, ...) EP_PRINTF(1, 2);

static void trouble(const char *fmt, ...)
{
	va_list args;

	if (*current->trouble)
		return;
	va_start(args, fmt);
	vsnprintf(current->trouble, sizeof(current->trouble), fmt, args);
	va_end(args);
}

static bool is_inner_map(const void *addr)
{
	const struct ep_kernel_map *chunks = ep_kernel_maps_find(&current->maps, "core",
								 "ep_chunks");

	for (uint32_t i = 0; chunks && i < chunks->max_entries; i++) {
		if (chunks->inner[i] == addr)
			return true;
	}
	return false;
}

/* Which map a program means, by its address; the first time by its name, "&name". */
static struct ep_kernel_map *find_map(const char *object, const char *name, const void *addr)
{
	struct ep_kernel_map *map = NULL;

	for (size_t i = 0; i < current->n_bound; i++) {
		if (current->bound[i].addr == addr)
			return current->bound[i].map;
	}
	if (*name == '&') {
		map = ep_kernel_maps_find(&current->maps, object, name + 1);
		if (map && current->n_bound < EP_LEN(current->bound))
			current->bound[current->n_bound++] = (struct bound_map){addr, map};
	} else if (is_inner_map(addr)) {
		map = (struct ep_kernel_map *)addr;
	}
	if (!map)
		trouble("%s: no map %s", object, name);
	return map;
}

void *ep_shim_map_lookup(const char *object, const char *name, const void *addr, const void *key)
{
	struct ep_kernel_map *map = find_map(object, name, addr);

	return map ? ep_kernel_map_lookup(map, key) : NULL;
}

long ep_shim_map_update(const char *object, const char *name, const void *addr, const void *key,
			const void *value, __u64 flags)
{
	struct ep_kernel_map *map = find_map(object, name, addr);

	return map ? ep_kernel_map_update(map, key, value, flags) : -EINVAL;
}

long ep_shim_map_delete(const char *object, const char *name, const void *addr, const void *key)
{
	struct ep_kernel_map *map = find_map(object, name, addr);

	return map ? ep_kernel_map_delete(map, key) : -EINVAL;
}

long ep_shim_tail_call(const char *object, const char *name, void *ctx, __u32 slot)
{
	struct ep_kernel *kernel = current;

	if (strcmp(name, "&ep_progs") != 0 || ctx != &kernel->ctx)
		trouble("%s: a tail call through %s", object, name);
	if (slot >= EP_SLOT_COUNT || !kernel->programs[slot])
		return -ENOENT;
	if (kernel->tail_calls >= MAX_TAIL_CALLS)
		return -E2BIG;
	kernel->tail_calls++;
	kernel->next = kernel->programs[slot];
	longjmp(kernel->next_program, 1);
}

long ep_shim_ringbuf_output(const char *object, const char *name, const void *data, __u64 bytes,
			    __u64 flags)
{
	(void)flags;
	if (strcmp(name, "&ep_ring") != 0 || current->event->len > 0) {
		trouble("%s: more than one event", object);
		return -EINVAL;
	}
	return ep_vec_append(current->event, data, bytes) < 0 ? -EAGAIN : 0;
}

__u64 ep_shim_ringbuf_query(__u64 what)
{
	return what == BPF_RB_RING_SIZE ? 1 << 20 : 0;
}

/* A read that fails leaves zeros: linux/kernel/trace/bpf_trace.c, bpf_probe_read_user_common. */
long ep_shim_read_user(void *to, __u32 bytes, const void *from)
{
	int r = current->read_user(current->arg, (uint64_t)from, to, bytes);

	if (r == 0)
		return 0;
	memset(to, 0, bytes);
	return -EFAULT;
}

long ep_shim_read_user_str(void *to, __u32 bytes, const void *from)
{
	char *text = to;
	uint32_t at = 0;

	while (at < bytes) {
		if (current->read_user(current->arg, (uint64_t)from + at, text + at, 1) < 0) {
			memset(to, 0, bytes);
			return -EFAULT;
		}
		if (text[at++] == '\0')
			return at;
	}
	if (bytes > 0)
		text[bytes - 1] = '\0';
	return bytes;
}

long ep_shim_read_kernel(void *to, __u32 bytes, const void *from)
{
	uint64_t off = (uint64_t)from - TASK_ADDR;

	if (ep_in_bounds(off, bytes, sizeof(current->task))) {
		memcpy(to, (const char *)&current->task + off, bytes);
		return 0;
	}
	memset(to, 0, bytes);
	return -EFAULT;
}

__u64 ep_shim_pid_tgid(void)
{
	return (uint64_t)current->task.tgid << 32 | current->tid;
}

long ep_shim_comm(void *to, __u32 bytes)
{
	memset(to, 0, bytes);
	memcpy(to, current->comm, EP_MIN(bytes, sizeof(current->comm)));
	return 0;
}

__u64 ep_shim_task(void)
{
	return TASK_ADDR;
}

__u64 ep_shim_task_pt_regs(__u64 task)
{
	return task + offsetof(struct task, regs);
}

/* No fixture has the kernel's part of a stack. */
long ep_shim_kernel_stack(void *to, __u32 bytes, __u64 flags)
{
	(void)to, (void)bytes, (void)flags;
	return 0;
}
