/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This very process as a sample with a copy of its stack: registers and stack of a thread in a known
 * recursion, rows and tables of what the process has mapped. x86-64 with glibc.
 */
#ifndef EP_TESTS_WALK_OWN_H
#define EP_TESTS_WALK_OWN_H

#include "core/elf/file.h"
#include "core/proc/maps.h"
#include "tests/unit/walk_world.h"

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>

#define OWN_MAX_FRAMES 512
#define OWN_MAX_ROWS   256
#define OWN_TAKE_BYTES 4096 /* more than the code of own_take, instrumented too */

struct own {
	unsigned int depth;
	uint64_t regs[EP_REGS];
	void *frames[OWN_MAX_FRAMES]; /* as the C library sees them, from own_take on */
	int n_frames;
	struct walk_event event;
};

/* As BPF does it: page by page, until one cannot be read. */
/* Each call is one, in code of its own. */
#if __has_attribute(noipa)
#define OWN_KEEP __attribute__((noipa))
#else
#define OWN_KEEP __attribute__((noinline))
#endif

static inline void own_copy_stack(struct own *own)
{
	struct ep_copy *copy = &own->event.copy;
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);

	copy->bytes = 0;
	while (fd >= 0 && copy->bytes < sizeof(own->event.stack) &&
	       pread(fd, (uint8_t *)own->event.stack + copy->bytes, EP_COPY_PAGE_BYTES,
		     (off_t)(copy->addr + copy->bytes)) == EP_COPY_PAGE_BYTES)
		copy->bytes += EP_COPY_PAGE_BYTES;
	close(fd);
	own->event.sample.copy_bytes = (uint32_t)sizeof(*copy) + copy->bytes;
}

/* Registers in DWARF order: System V ABI AMD64 supplement, figure 3.36. */
OWN_KEEP static void own_take(struct own *own)
{
	struct ep_copy *copy = &own->event.copy;

	__asm__ volatile("movq %%rax, 0(%0)\n\tmovq %%rdx, 8(%0)\n\tmovq %%rcx, 16(%0)\n\t"
			 "movq %%rbx, 24(%0)\n\tmovq %%rsi, 32(%0)\n\tmovq %%rdi, 40(%0)\n\t"
			 "movq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\tmovq %%r8, 64(%0)\n\t"
			 "movq %%r9, 72(%0)\n\tmovq %%r10, 80(%0)\n\tmovq %%r11, 88(%0)\n\t"
			 "movq %%r12, 96(%0)\n\tmovq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\tleaq 1f(%%rip), %%rax\n\tmovq %%rax, 128(%0)\n1:"
			 :
			 : "r"(own->regs)
			 : "rax", "memory");
	walk_event_init(&own->event, own->regs[EP_REG_PC], 0);
	memcpy(copy->regs, own->regs, sizeof(copy->regs));
	copy->addr = own->regs[EP_REG_SP] & ~(uint64_t)(EP_COPY_PAGE_BYTES - 1);
	own_copy_stack(own);
	own->n_frames = backtrace(own->frames, OWN_MAX_FRAMES);
	/* A sanitizer puts a function of its own in front. */
	while (own->n_frames > 0 && (uint64_t)own->frames[0] - (uint64_t)own_take >= OWN_TAKE_BYTES)
		memmove(own->frames, own->frames + 1, sizeof(void *) * (size_t)--own->n_frames);
}

OWN_KEEP static uint64_t own_recurse(struct own *own, unsigned int depth)
{
	uint64_t value = depth;

	if (depth == 0)
		own_take(own);
	else
		value += own_recurse(own, depth - 1);
	__asm__ volatile("" : "+r"(value));
	return value;
}

static inline void *own_thread(void *arg)
{
	struct own *own = arg;

	(void)own_recurse(own, own->depth);
	return NULL;
}

/* In a thread of its own: there are few frames below the recursion. */
static inline void own_sample(struct own *own, unsigned int depth)
{
	pthread_t thread;
	void *warm[1];

	(void)backtrace(warm, 1); /* it loads a library the first time */
	own->depth = depth;
	if (pthread_create(&thread, NULL, own_thread, own) != 0)
		abort();
	pthread_join(thread, NULL);
	walk_event_flatten(&own->event);
}

/* The ELF virtual address of a mapping's first byte. */
static inline bool own_find_va(const struct ep_elf *elf, const struct ep_mapping *mapping,
			       uint64_t *ret_va)
{
	struct ep_elf_segment segments[8];
	size_t n = EP_MIN(ep_elf_exec_segments(elf, segments, 8), (size_t)8);

	for (size_t i = 0; i < n; i++) {
		uint64_t off = EP_ALIGN_DOWN(segments[i].file_off, EP_PAGE_BYTES);

		if (mapping->file_off < off || mapping->file_off >= off + segments[i].mem_bytes)
			continue;
		*ret_va = EP_ALIGN_DOWN(segments[i].va, EP_PAGE_BYTES) + mapping->file_off - off;
		return true;
	}
	return false;
}

static inline void own_add_row(struct walk_world *world, const struct ep_mapping *mapping,
			       struct ep_row *rows, size_t *n)
{
	struct ep_row row = {.start = mapping->start, .end = mapping->end};
	struct ep_delta_store_segment segment;
	struct ep_unwind_table *table = NULL;
	struct ep_elf *elf = NULL;
	uint64_t va = 0;

	if (ep_elf_open(mapping->path, &elf) < 0)
		return;
	if (own_find_va(elf, mapping, &va) && *n < OWN_MAX_ROWS &&
	    ep_unwind_table_build(elf, NULL, &table) == 0) {
		segment = walk_put_text(world, table);
		row.va = va;
		row.executable = (uint32_t)*n + 1;
		row.pages = segment.pages + 2 * (uint32_t)((row.va - segment.va) >> EP_PAGE_SHIFT);
		rows[(*n)++] = row;
	}
	ep_unwind_table_free(table);
	ep_elf_close(elf);
}

/* Rows of all that is mapped executable from a file; executable is the row's index + 1. */
static inline size_t own_rows(struct walk_world *world, struct ep_row rows[OWN_MAX_ROWS])
{
	const struct ep_mapping *mapping;
	ep_cleanup(ep_maps_fini) struct ep_maps maps;
	size_t n = 0;

	ep_maps_init(&maps, OWN_MAX_ROWS);
	if (ep_maps_read(&maps, getpid(), EP_MAPS_EXECUTABLE) < 0)
		abort();
	ep_vec_each (&maps.mappings, mapping) {
		if (mapping->kind == EP_MAPPING_FILE)
			own_add_row(world, mapping, rows, &n);
	}
	return n;
}

#endif
