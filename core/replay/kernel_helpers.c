/* SPDX-License-Identifier: Apache-2.0 */
/* The helpers: as functions for sources compiled for user space, and by number for bytecode. */
#include "core/replay/kernel_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ep_kernel_complain(const char *fmt, ...)
{
	va_list args;

	if (*ep_kernel_current->trouble)
		return;
	va_start(args, fmt);
	vsnprintf(ep_kernel_current->trouble, sizeof(ep_kernel_current->trouble), fmt, args);
	va_end(args);
}

static bool is_inner_map(const void *addr)
{
	const struct ep_kernel_map *chunks =
		ep_kernel_maps_find(&ep_kernel_current->maps, "core", "ep_chunks");

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

	for (size_t i = 0; i < ep_kernel_current->n_bound; i++) {
		if (ep_kernel_current->bound[i].addr == addr)
			return ep_kernel_current->bound[i].map;
	}
	if (*name == '&') {
		map = ep_kernel_maps_find(&ep_kernel_current->maps, object, name + 1);
		if (map && ep_kernel_current->n_bound < EP_LEN(ep_kernel_current->bound))
			ep_kernel_current->bound[ep_kernel_current->n_bound++] =
				(struct ep_kernel_bound){addr, map};
	} else if (is_inner_map(addr)) {
		map = (struct ep_kernel_map *)addr;
	}
	if (!map)
		ep_kernel_complain("%s: no map %s", object, name);
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

/* The program that runs when this one has ended. */
static int set_next(uint32_t slot)
{
	const struct ep_kernel_program *program =
		slot < EP_SLOT_COUNT_ALL ? &ep_kernel_current->programs[slot] : NULL;

	if (!program || (!program->run && !program->code))
		return -ENOENT;
	if (ep_kernel_current->tail_calls >= EP_KERNEL_MAX_TAIL_CALLS)
		return -E2BIG;
	if (ep_kernel_current->see)
		ep_kernel_current->see(ep_kernel_current->see_arg);
	ep_kernel_current->tail_calls++;
	ep_kernel_current->next = *program;
	return 0;
}

long ep_shim_tail_call(const char *object, const char *name, void *ctx, __u32 slot)
{
	int r;

	if (strcmp(name, "&ep_progs") != 0 || ctx != &ep_kernel_current->ctx)
		ep_kernel_complain("%s: a tail call through %s", object, name);
	r = set_next(slot);
	if (r < 0)
		return r;
	longjmp(ep_kernel_current->next_program, 1);
}

long ep_shim_ringbuf_output(const char *object, const char *name, const void *data, __u64 bytes,
			    __u64 flags)
{
	const struct ep_kept *kept = data;

	(void)flags;
	if (strcmp(name, "&ep_ring") == 0 && bytes >= sizeof(*kept) && kept->event.type == EP_EVENT_KEPT &&
	    ep_kernel_current->keep) {
		ep_kernel_current->keep(ep_kernel_current->arg, kept, bytes);
		return 0;
	}
	if (strcmp(name, "&ep_ring") != 0 || ep_kernel_current->event->len > 0) {
		ep_kernel_complain("%s: more than one event", object);
		return -EINVAL;
	}
	return ep_vec_append(ep_kernel_current->event, data, bytes) < 0 ? -EAGAIN : 0;
}

__u64 ep_shim_ringbuf_query(__u64 what)
{
	return what == BPF_RB_RING_SIZE ? 1 << 20 : 0;
}

/* A read that fails leaves zeros: linux/kernel/trace/bpf_trace.c, bpf_probe_read_user_common. */
long ep_shim_read_user(void *to, __u32 bytes, const void *from)
{
	int r = ep_kernel_current->read_user(ep_kernel_current->arg, (uint64_t)from, to, bytes);

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
		if (ep_kernel_current->read_user(ep_kernel_current->arg, (uint64_t)from + at,
						 text + at, 1) < 0) {
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
	uint64_t off = (uint64_t)from - EP_KERNEL_TASK_ADDR;

	if (ep_in_bounds(off, bytes, sizeof(ep_kernel_current->task))) {
		memcpy(to, (const char *)&ep_kernel_current->task + off, bytes);
		return 0;
	}
	memset(to, 0, bytes);
	return -EFAULT;
}

__u64 ep_shim_pid_tgid(void)
{
	return (uint64_t)ep_kernel_current->task.tgid << 32 | ep_kernel_current->tid;
}

long ep_shim_comm(void *to, __u32 bytes)
{
	memset(to, 0, bytes);
	memcpy(to, ep_kernel_current->comm, EP_MIN(bytes, sizeof(ep_kernel_current->comm)));
	return 0;
}

__u64 ep_shim_task(void)
{
	return EP_KERNEL_TASK_ADDR;
}

__u64 ep_shim_task_pt_regs(__u64 task)
{
	return task + offsetof(struct ep_kernel_task, regs);
}

/* No fixture has the kernel's part of a stack: addresses of nothing, or what a test wants. */
long ep_shim_kernel_stack(void *to, __u32 bytes, __u64 flags)
{
	int32_t n = ep_kernel_current->kernel_stack;
	uint64_t *words = to;

	(void)flags;
	memset(to, 0, bytes);
	for (int32_t i = 0; i < n && (uint32_t)i < bytes / 8; i++)
		words[i] = EP_KERNEL_TEXT_ADDR + (uint64_t)i;
	return n < 0 ? n : (long)EP_MIN((uint32_t)n * 8, bytes);
}

/* --- helpers of bytecode --------------------------------------------------------------------- */

static void *pointer(uint64_t value)
{
	return (void *)(uintptr_t)value;
}

/* What a helper returns. False for one we lack. */
static bool call_helper(const struct ep_kernel_program *program, int32_t id, const uint64_t a[5],
			long *ret)
{
	struct ep_kernel_map *map = pointer(a[0]);

	switch (id) {
	case BPF_FUNC_map_lookup_elem:
		*ret = (long)(uintptr_t)ep_kernel_map_lookup(map, pointer(a[1]));
		return true;
	case BPF_FUNC_map_update_elem:
		*ret = ep_kernel_map_update(map, pointer(a[1]), pointer(a[2]), a[3]);
		return true;
	case BPF_FUNC_map_delete_elem:
		*ret = ep_kernel_map_delete(map, pointer(a[1]));
		return true;
	case BPF_FUNC_ringbuf_output:
		*ret = ep_shim_ringbuf_output(
			program->object->name,
			map->type == BPF_MAP_TYPE_RINGBUF ? "&ep_ring" : map->name, pointer(a[1]),
			a[2], a[3]);
		return true;
	case BPF_FUNC_ringbuf_query:
		*ret = (long)ep_shim_ringbuf_query(a[1]);
		return true;
	case BPF_FUNC_probe_read_user:
		*ret = ep_shim_read_user(pointer(a[0]), (uint32_t)a[1], pointer(a[2]));
		return true;
	case BPF_FUNC_probe_read_user_str:
		*ret = ep_shim_read_user_str(pointer(a[0]), (uint32_t)a[1], pointer(a[2]));
		return true;
	case BPF_FUNC_probe_read_kernel:
		*ret = ep_shim_read_kernel(pointer(a[0]), (uint32_t)a[1], pointer(a[2]));
		return true;
	case BPF_FUNC_get_current_pid_tgid:
		*ret = (long)ep_shim_pid_tgid();
		return true;
	case BPF_FUNC_get_current_comm:
		*ret = ep_shim_comm(pointer(a[0]), (uint32_t)a[1]);
		return true;
	case BPF_FUNC_get_current_task:
	case BPF_FUNC_get_current_task_btf:
		*ret = (long)ep_shim_task();
		return true;
	case BPF_FUNC_task_pt_regs:
		*ret = (long)ep_shim_task_pt_regs(a[0]);
		return true;
	case BPF_FUNC_get_smp_processor_id:
		*ret = 0;
		return true;
	case BPF_FUNC_ktime_get_ns:
	case BPF_FUNC_ktime_get_boot_ns:
		ep_kernel_current->now_ns += ep_kernel_current->step_ns;
		*ret = (long)ep_kernel_current->now_ns;
		return true;
	case BPF_FUNC_get_stack:
		*ret = ep_shim_kernel_stack(pointer(a[1]), (uint32_t)a[2], a[3]);
		return true;
	}
	return false;
}

int ep_kernel_call_helper(void *arg, int32_t id, const uint64_t a[5], uint64_t *ret)
{
	long value = id == BPF_FUNC_tail_call ? set_next((uint32_t)a[2]) : 0;

	if (id != BPF_FUNC_tail_call && !call_helper(arg, id, a, &value))
		return -ENOTSUP;
	*ret = (uint64_t)value;
	return id == BPF_FUNC_tail_call && value == 0;
}
