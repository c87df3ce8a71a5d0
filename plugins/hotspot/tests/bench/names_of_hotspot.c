/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a name costs, over a running JVM: names_of_hotspot PID. All its nmethods are taken, each
 * three debug points of those that have any: first when nothing is known of it, then a new place in
 * it, then a known one. Medians and 99th percentiles, in nanoseconds.
 */
#include "plugins/hotspot/tests/unit/live_vm.h"

#define MAX_TIMES 65536

static struct live_vm vm;

struct times {
	uint64_t ns[MAX_TIMES];
	size_t n;
};

static struct times fresh, next, known;

static int add(struct ep_names *to, const struct ep_name *name)
{
	*(uint64_t *)to += name->line;
	return 0;
}

static bool take(const struct ep_raw_frame *frame, struct times *times)
{
	uint64_t sum = 0, before = ep_clock_mono_ns();
	int r = hotspot_names_of(vm.names, NULL, frame, add, (struct ep_names *)&sum);

	if (r == 0 && times->n < MAX_TIMES)
		times->ns[times->n++] = ep_clock_mono_ns() - before;
	return r == 0;
}

static void measure(const struct hotspot_nmethod *nmethod)
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
	if (!take(&frame, &fresh) || !take(&frame, &known))
		return;
	frame.aux = nmethod->header.code_off + scopes->pcs[scopes->n_pcs / 3 + 1].off;
	take(&frame, &next);
	take(&frame, &known);
}

static void look_at(uint64_t blob, bool is_native)
{
	struct hotspot_nmethod *nmethod;
	uint64_t method;

	if (is_native || live_read_nmethod(&vm, blob, &nmethod, &method) != 0)
		return;
	measure(nmethod);
	names_item_unref(&nmethod->item);
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
	if (argc != 2) {
		fprintf(stderr, "usage: names_of_hotspot PID\n");
		return 77;
	}
	live_vm_open(&vm, atoi(argv[1]));
	live_vm_read(&vm);
	live_begin_names(&vm);
	live_each_nmethod(&vm, look_at);
	print("new nmethod", &fresh);
	print("known nmethod, new place", &next);
	print("known", &known);
	live_vm_close(&vm);
	return 0;
}
