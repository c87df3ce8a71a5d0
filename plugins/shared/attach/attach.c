/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/attach/attach.h"

#include "core/base/clock.h"
#include "core/base/util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MAX_KEYS      1024 /* PTHREAD_KEYS_MAX of glibc; musl has 128 */
#define PAUSE_FACTOR  4
#define LAST_PAUSE_NS (60 * 1000000000ull)
#define LOOK_NS	      2000000
#define MAX_ASIDES    64
#define MAX_MARKS     32
#define MAX_MORE      4

void *attach_new(size_t bytes, const struct attach_language *language,
		 const struct ep_unwinder_host *host, struct ep_target *target)
{
	struct attach *process = calloc(1, bytes);

	if (process)
		*process = (struct attach){.language = language,
					   .host = host,
					   .target = target,
					   .bias = host->target_bias(target)};
	return process;
}

int attach_give(int result, void *instance, void (*detach)(void *instance), void **ret_instance)
{
	const struct attach *process = instance;

	if (result == EP_NOT_YET && process->armed)
		result = 0;
	if (result == 0)
		*ret_instance = instance;
	else
		detach(instance);
	return result;
}

uint64_t attach_addr(const struct attach *process, uint64_t va)
{
	return va ? va + process->bias : 0;
}

int attach_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct attach *process = arg;

	return process->host->target_read(process->target, addr, buf, bytes);
}

uint64_t attach_word(const struct attach *process, uint64_t addr)
{
	uint64_t value = 0;

	return addr && attach_read((void *)process, addr, &value, sizeof(value)) == 0 ? value : 0;
}

int attach_mark(const struct attach *process, const struct ep_symbol *code, uint32_t n,
		const struct ep_range *more, uint32_t n_more)
{
	struct ep_range ranges[MAX_MARKS + MAX_MORE];

	if (n > MAX_MARKS || n_more > MAX_MORE)
		return -E2BIG;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t start = attach_addr(process, code[i].va);

		ranges[i] = (struct ep_range){
			.start = start, .end = start + code[i].bytes, .mode = EP_RANGE_MARK};
	}
	for (uint32_t i = 0; i < n_more; i++)
		ranges[n++] = more[i];
	return process->host->set_ranges(process->target, ranges, n);
}

/* "/dev/zero (deleted)" is shared anonymous memory (mm/shmem.c: shmem_zero_setup). */
static int find_anonymous_code(void *arg, const struct ep_target_mapping *mapping)
{
	bool *found = arg;

	*found = mapping->prot & PROT_EXEC && strncmp(mapping->path, "[v", 2) != 0 &&
		 (!mapping->is_file || strncmp(mapping->path, "/dev/zero", 9) == 0);
	return *found;
}

bool attach_has_anonymous_code(const struct attach *process)
{
	bool found = false;

	(void)process->host->target_mappings(process->target, find_anonymous_code, &found);
	return found;
}

int attach_refuse(const struct attach *process, const char *why, const char *what, ...)
{
	char text[128];
	va_list args;

	va_start(args, what);
	vsnprintf(text, sizeof(text), what, args);
	va_end(args);
	process->host->host->log(
		EP_HOST_WARN,
		"%s: pid %d: %s not as expected%s%s%s: its %s frames are missing, native "
		"ones stay",
		process->language->plugin, process->host->target_pid(process->target), text,
		why ? " (" : "", why ? why : "", why ? ")" : "", process->language->frames);
	return -ENOTSUP;
}

int attach_refuse_release(const struct attach *process)
{
	return attach_refuse(process, NULL, "the structures of %s %u.%u%s are",
			     process->language->runtime, process->major, process->minor,
			     process->variant ? process->variant : "");
}

int attach_key(const struct attach *process, uint64_t va, struct ep_tls *ret)
{
	int32_t key;
	int r = attach_read((void *)process, attach_addr(process, va), &key, sizeof(key));

	if (r < 0)
		return r;
	/* Until there is one it is -1 (CPython 3.6, HotSpot 8) or 0, which a thread has no value
	 * of. */
	if (key < 0 || key >= MAX_KEYS)
		return -ENODATA;
	return process->host->tls_key(process->target, (uint32_t)key, ret);
}

int attach_thread(const struct attach *process, uint64_t key_va, const struct ep_variable *variable,
		  struct ep_tls *tls)
{
	struct ep_tls found = {0};
	int r = -ENODATA;

	if (tls->steps)
		return 0;
	if (key_va)
		r = attach_key(process, key_va, &found);
	if (r < 0 && variable && variable->kind)
		r = process->host->tls_path(process->target, variable, &found);
	if (r == 0)
		*tls = found;
	return r;
}

bool attach_may_look(struct attach *process)
{
	uint64_t now_ns = ep_clock_mono_ns();
	bool may = process->pause_ns != 0;

	if (may && now_ns - process->looked_ns < process->pause_ns)
		return false;
	process->pause_ns = may ? EP_MIN(PAUSE_FACTOR * process->pause_ns, LAST_PAUSE_NS)
				: ATTACH_FIRST_PAUSE_NS;
	process->looked_ns = now_ns;
	return may;
}

int attach_look(int (*look)(void *instance), void *instance, uint32_t n)
{
	int r = -ENOTSUP;

	for (uint32_t i = 0; i < n && r == -ENOTSUP; i++) {
		if (i)
			(void)nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		r = look(instance);
	}
	return r;
}

static int arm(struct attach *process, bool aside)
{
	const struct attach_language *language = process->language;
	const void *state = (const char *)process + language->state_off;
	int proven = language->prove(process), paths, r;

	/* When the runtime of a known release is torn down, even several looks prove nothing. */
	if (proven == -ENOTSUP &&
	    (aside || (process->is_certain && process->doubts++ < language->max_doubts)))
		proven = EP_NOT_YET;
	if (proven == -ENOTSUP)
		return attach_refuse_release(process);
	if (proven == -ESRCH || (proven != 0 && !process->is_certain))
		return proven;
	paths = language->find_paths(process);
	r = process->host->set_state(process->target, state, language->state_bytes);
	if (r == 0 && !process->armed)
		r = language->set_ranges(process);
	if (r < 0)
		return r;
	process->armed = true;
	process->complete = proven == 0 && paths == 0;
	return process->complete ? 0 : EP_NOT_YET;
}

int attach_arm(void *instance)
{
	struct attach *process = instance;

	return process->complete ? 0 : arm(process, false);
}

int attach_refresh(void *instance)
{
	int r = attach_arm(instance);

	return r == -ESRCH ? 0 : r;
}

void attach_prove_aside(void *instance)
{
	struct attach *process = instance;

	if (!process->complete && process->doubts == 0 && process->asides++ < MAX_ASIDES)
		(void)arm(process, true);
}
