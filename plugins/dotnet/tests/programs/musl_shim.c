/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What glibc's libstdc++ and libgcc_s ask of their libc and musl 1.2.3 has not: with it in
 * LD_PRELOAD the musl build of .NET runs on Debian, which has no such libraries made for musl.
 * Exceptions of C++ find their tables by _dl_find_object (glibc 2.35, dlfcn.h).
 */
#define _GNU_SOURCE
#include <link.h>
#include <locale.h>
#include <sys/random.h>
#include <time.h>

struct found {
	unsigned long long flags;
	void *start, *end, *link_map, *eh_frame;
	unsigned long long reserved[7];
};

struct wanted {
	uintptr_t pc;
	struct found *found;
};

char __libc_single_threaded = 0;
unsigned int __cpu_model[4];

int __cpu_indicator_init(void)
{
	return 0;
}

/* Nobody of the runtime's threads waits for these to run. */
int __cxa_thread_atexit_impl(void (*run)(void *), void *object, void *library)
{
	(void)run, (void)object, (void)library;
	return 0;
}

unsigned int arc4random(void)
{
	unsigned int value = 0;

	(void)getrandom(&value, sizeof(value), 0);
	return value;
}

size_t __strftime_l(char *text, size_t bytes, const char *format, const struct tm *time,
		    locale_t locale)
{
	return strftime_l(text, bytes, format, time, locale);
}

static int find(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct wanted *wanted = arg;
	uintptr_t low = UINTPTR_MAX, high = 0, table = 0;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_memsz;

		if (header->p_type == PT_GNU_EH_FRAME)
			table = start;
		if (header->p_type != PT_LOAD)
			continue;
		low = start < low ? start : low;
		high = end > high ? end : high;
	}
	if (!table || wanted->pc < low || wanted->pc >= high)
		return 0;
	*wanted->found = (struct found){.start = (void *)low,
					.end = (void *)high,
					.eh_frame = (void *)table};
	return 1;
}

int _dl_find_object(void *pc, struct found *found)
{
	struct wanted wanted = {(uintptr_t)pc, found};

	return dl_iterate_phdr(find, &wanted) == 1 ? 0 : -1;
}
