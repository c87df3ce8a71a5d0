/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a name costs, over a running JVM: names_of_hotspot PID. All its nmethods are taken, each three debug points of
 * those that have any: first when nothing is known of it, then a new place in it, then a known one. Medians and
 * 99th percentiles, in nanoseconds.
 */
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/symbolize/names.h"
#include "plugins/hotspot/symbolize/nmethods.h"
#include "plugins/hotspot/tests/unit/live_vm.h"

#include <time.h>

#define MAX_TIMES 65536

const char *hotspot_stubs_name(const struct hotspot_stubs *stubs, uint64_t addr)
{
	return stubs && addr ? "" : NULL;
}

struct times {
	uint64_t ns[MAX_TIMES];
	size_t n;
};

static struct live_vm vm;
static struct hotspot_layout layout;
static struct times fresh, next, known;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int add(struct ep_names *to, const struct ep_name *name)
{
	*(uint64_t *)to += name->line;
	return 0;
}

static bool take(struct hotspot_names *names, const struct ep_raw_frame *frame, struct times *times)
{
	uint64_t sum = 0, before = now_ns();
	int r = hotspot_names_of(names, NULL, frame, add, (struct ep_names *)&sum);

	if (r == 0 && times->n < MAX_TIMES)
		times->ns[times->n++] = now_ns() - before;
	return r == 0;
}

static void measure(struct hotspot_names *names, const struct hotspot_nmethod *nmethod)
{
	const struct hotspot_scopes *scopes = &nmethod->scopes;
	struct ep_raw_frame frame = {
		.n_words = 2,
		.flags = HOTSPOT_FRAME_COMPILED << HOTSPOT_FRAME_SHIFT,
		.words = {nmethod->item.key[0], nmethod->item.key[1]},
	};

	if (scopes->n_pcs < 3)
		return;
	frame.aux = nmethod->header.code_off + scopes->pcs[scopes->n_pcs / 3].off;
	if (!take(names, &frame, &fresh) || !take(names, &frame, &known))
		return;
	frame.aux = nmethod->header.code_off + scopes->pcs[scopes->n_pcs / 3 + 1].off;
	take(names, &frame, &next);
	take(names, &frame, &known);
}

static void look_at(struct hotspot_names *names, const struct hotspot_methods *methods,
		    uint64_t blob)
{
	uint64_t method = live_word(&vm, blob + layout.fields[HOTSPOT_F_nmethod_method].off);
	uint64_t id = (uint32_t)live_word(&vm, blob +
					  layout.fields[HOTSPOT_F_nmethod_compile_id].off);
	struct hotspot_nmethod *nmethod;

	if (hotspot_nmethod_get(methods, blob, HOTSPOT_COMPILED_WORD(id, method), &nmethod) != 0)
		return;
	measure(names, nmethod);
	names_item_unref(&nmethod->item);
}

static void look_through(struct hotspot_names *names, const struct hotspot_methods *methods,
			 uint64_t heap)
{
	uint64_t memory = heap + layout.fields[HOTSPOT_F_heap_memory].off;
	uint32_t shift = (uint32_t)live_word(
		&vm, heap + layout.fields[HOTSPOT_F_heap_log2_segment].off);
	uint64_t at = live_word(&vm, memory + layout.fields[HOTSPOT_F_space_low].off);
	uint64_t end = live_word(&vm, memory + layout.fields[HOTSPOT_F_space_high].off);
	uint32_t block = layout.sizes[HOTSPOT_Z_block_bytes];

	while (at < end) {
		uint32_t length = (uint32_t)live_word(&vm, at);
		char name[16];

		if (!length)
			return;
		live_string(&vm, live_word(&vm, at + block +
						   layout.fields[HOTSPOT_F_blob_name].off),
			    name, sizeof(name));
		if (strcmp(name, "nmethod") == 0)
			look_at(names, methods, at + block);
		at += (uint64_t)length << shift;
	}
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void print(const char *what, struct times *times)
{
	qsort(times->ns, times->n, sizeof(*times->ns), compare);
	if (times->n)
		printf("%s: median %" PRIu64 " ns, 99%% %" PRIu64 " ns (%zu)\n", what,
		       times->ns[times->n / 2], times->ns[times->n * 99 / 100], times->n);
}

int main(int argc, char **argv)
{
	struct memory memory = {.read = live_read, .arg = &vm};
	struct hotspot_names *names = NULL;
	struct names_cache *cache = NULL;
	uint32_t excluded = 0;
	struct hotspot_methods methods = {
		.memory = &memory, .layout = &layout, .excluded = &excluded};
	uint64_t heaps[8];
	size_t n;

	if (argc != 2) {
		fprintf(stderr, "usage: names_of_hotspot PID\n");
		return 77;
	}
	live_vm_init(&vm, atoi(argv[1]), &layout);
	LIVE_CHECK(hotspot_names_new(&memory, &layout, &names) == 0);
	LIVE_CHECK(names_cache_new(&(struct names_budget){.classes = {64u << 20}}, &cache) == 0);
	methods.cache = cache;
	n = live_heaps(&vm, &layout, heaps);
	for (size_t i = 0; i < n; i++)
		look_through(names, &methods, heaps[i]);
	print("new nmethod", &fresh);
	print("known nmethod, new place", &next);
	print("known", &known);
	names_cache_free(cache);
	hotspot_names_free(names);
	live_vm_fini(&vm);
	return 0;
}
