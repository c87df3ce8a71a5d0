/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/language_maps.h"
#include "core/base/clock.h"
#include "core/base/map.h"
#include "ebpf-profiler/bpf/record.h"
#include "ebpf-profiler/bpf/self.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xxhash.h>

#define REST_NS EP_NS_PER_SEC

struct cell {
	uint32_t refs;
	uint32_t next; /* in the queue that it is in */
	bool is_idle;  /* see ep_language_maps_find_idle */
	uint64_t released_ns; /* CLOCK_MONOTONIC, as these: */
	uint64_t given_ns, sampled_ns; /* sampled_ns 0: never */
	uint64_t hash;
};

struct queue {
	uint32_t head, tail;
	size_t len;
};

struct ep_language_maps {
	int states_fd, counts_fd;
	uint8_t *memory;
	struct ep_map by_hash; /* hash of the contents -> index */
	struct queue free, resting;
	struct cell cells[EP_MAX_STATES]; /* 0 is nobody's */
};

static uint8_t *cell_memory(const struct ep_language_maps *maps, uint32_t index)
{
	return maps->memory + (size_t)index * EP_STATE_BYTES;
}

static void queue_add(struct ep_language_maps *maps, struct queue *queue, uint32_t index)
{
	maps->cells[index].next = 0;
	if (queue->tail)
		maps->cells[queue->tail].next = index;
	else
		queue->head = index;
	queue->tail = index;
	queue->len++;
}

static uint32_t queue_take(struct ep_language_maps *maps, struct queue *queue)
{
	uint32_t index = queue->head;

	queue->head = maps->cells[index].next;
	if (!queue->head)
		queue->tail = 0;
	queue->len--;
	return index;
}

static int create_maps(struct ep_language_maps *maps)
{
	LIBBPF_OPTS(bpf_map_create_opts, mapped, .map_flags = BPF_F_MMAPABLE);
	void *memory;

	maps->states_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ep_states", sizeof(uint32_t),
					      EP_STATE_BYTES, EP_MAX_STATES, &mapped);
	maps->counts_fd = bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "ep_lang_counts",
					      sizeof(uint32_t), sizeof(uint64_t), EP_MAX_LANGUAGE_COUNTERS,
					      NULL);
	if (maps->states_fd < 0 || maps->counts_fd < 0)
		return maps->states_fd < 0 ? maps->states_fd : maps->counts_fd;
	memory = mmap(NULL, (size_t)EP_MAX_STATES * EP_STATE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_SHARED, maps->states_fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	maps->memory = memory;
	return 0;
}

int ep_language_maps_new(struct ep_language_maps **ret_maps)
{
	struct ep_language_maps *maps = calloc(1, sizeof(*maps));
	int r;

	if (!maps)
		return -ENOMEM;
	maps->states_fd = maps->counts_fd = -1;
	ep_map_init(&maps->by_hash, EP_MAX_STATES);
	for (uint32_t i = 1; i < EP_MAX_STATES; i++)
		queue_add(maps, &maps->free, i);
	r = create_maps(maps);
	if (r < 0) {
		ep_language_maps_free(maps);
		return r;
	}
	*ret_maps = maps;
	return 0;
}

void ep_language_maps_free(struct ep_language_maps *maps)
{
	if (!maps)
		return;
	if (maps->memory)
		munmap(maps->memory, (size_t)EP_MAX_STATES * EP_STATE_BYTES);
	ep_closep(&maps->states_fd);
	ep_closep(&maps->counts_fd);
	ep_map_fini(&maps->by_hash);
	free(maps);
}

int ep_language_maps_map_fd(const struct ep_language_maps *maps, const char *name)
{
	if (strcmp(name, "ep_states") == 0)
		return maps->states_fd;
	return strcmp(name, "ep_lang_counts") == 0 ? maps->counts_fd : -ENOENT;
}

/* A cell that has waited, out of the queue; 0: there is none, or no more than are spared. */
static uint32_t take_free(struct ep_language_maps *maps, uint64_t now_ns, size_t spare)
{
	struct queue *resting = &maps->resting;

	while (resting->len > 0 && now_ns - maps->cells[resting->head].released_ns >= REST_NS)
		queue_add(maps, &maps->free, queue_take(maps, resting));
	return maps->free.len > spare ? queue_take(maps, &maps->free) : 0;
}

static int add_state(struct ep_language_maps *maps, const uint8_t *state, uint64_t hash,
		     uint64_t sampled_ns)
{
	uint64_t now_ns = ep_clock_mono_ns();
	uint32_t index = take_free(maps, now_ns, sampled_ns ? 0 : EP_SPARE_STATES);

	if (!index)
		return -E2BIG;
	memcpy(cell_memory(maps, index), state, EP_STATE_BYTES);
	maps->cells[index] = (struct cell){
		.refs = 1, .hash = hash, .given_ns = now_ns, .sampled_ns = sampled_ns};
	(void)ep_map_set(&maps->by_hash, hash, index); /* else it is not shared */
	return (int)index;
}

int ep_language_maps_get_state(struct ep_language_maps *maps, const void *state, size_t bytes,
			       uint64_t sampled_ns)
{
	uint8_t padded[EP_STATE_BYTES] = {0};
	const uint64_t *found;
	uint64_t hash;

	if (bytes > sizeof(padded))
		return -E2BIG;
	memcpy(padded, state, bytes);
	hash = XXH3_64bits(padded, sizeof(padded));
	found = ep_map_find(&maps->by_hash, hash);
	if (found && memcmp(cell_memory(maps, (uint32_t)*found), padded, sizeof(padded)) == 0) {
		maps->cells[*found].refs++;
		ep_language_maps_touch_state(maps, (uint32_t)*found, sampled_ns);
		return (int)*found;
	}
	return add_state(maps, padded, hash, sampled_ns);
}

uint32_t ep_language_maps_share_state(struct ep_language_maps *maps, uint32_t index)
{
	maps->cells[index].refs++;
	return index;
}

void ep_language_maps_put_state(struct ep_language_maps *maps, uint32_t index)
{
	struct cell *cell = index ? &maps->cells[index] : NULL;
	const uint64_t *found;

	if (!cell || --cell->refs > 0)
		return;
	found = ep_map_find(&maps->by_hash, cell->hash);
	if (found && *found == index)
		ep_map_remove(&maps->by_hash, cell->hash);
	cell->released_ns = ep_clock_mono_ns();
	queue_add(maps, &maps->resting, index);
}

void ep_language_maps_touch_state(struct ep_language_maps *maps, uint32_t index, uint64_t sampled_ns)
{
	struct cell *cell = &maps->cells[index];

	cell->sampled_ns = EP_MAX(cell->sampled_ns, sampled_ns);
}

#define SAMPLED (1ull << 63) /* times are far below */

/* What a cell is worth: the smallest go first. */
static uint64_t worth(const struct cell *cell)
{
	return cell->sampled_ns ? cell->sampled_ns | SAMPLED : cell->given_ns;
}

static int compare_worths(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

bool ep_language_maps_find_idle(struct ep_language_maps *maps)
{
	ep_autofree uint64_t *worths = NULL;
	size_t n = 0, marked = 0;

	if (maps->free.len + maps->resting.len >= 2 * EP_SPARE_STATES)
		return false;
	worths = calloc(EP_MAX_STATES, sizeof(*worths));
	for (uint32_t i = 1; worths && i < EP_MAX_STATES; i++) {
		if (maps->cells[i].refs > 0)
			worths[n++] = worth(&maps->cells[i]);
	}
	if (n < EP_SPARE_STATES)
		return false;
	qsort(worths, n, sizeof(*worths), compare_worths);
	for (uint32_t i = 1; i < EP_MAX_STATES; i++) {
		struct cell *cell = &maps->cells[i];

		cell->is_idle = cell->refs > 0 && marked < EP_SPARE_STATES &&
				worth(cell) <= worths[EP_SPARE_STATES - 1];
		marked += cell->is_idle;
	}
	return true;
}

bool ep_language_maps_is_idle(const struct ep_language_maps *maps, uint32_t index)
{
	return maps->cells[index].is_idle;
}

uint64_t ep_language_maps_counter(const struct ep_language_maps *maps, uint32_t index)
{
	int n = libbpf_num_possible_cpus();
	ep_autofree uint64_t *values = n > 0 ? calloc((size_t)n, sizeof(*values)) : NULL;
	uint64_t sum = 0;

	if (!values || bpf_map_lookup_elem(maps->counts_fd, &index, values) < 0)
		return 0;
	for (int i = 0; i < n; i++)
		sum += values[i];
	return sum;
}

size_t ep_language_maps_bytes(const struct ep_language_maps *maps)
{
	(void)maps;
	return (size_t)EP_MAX_STATES * EP_STATE_BYTES;
}
