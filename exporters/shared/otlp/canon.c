/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/canon.h"
#include "exporters/shared/otlp/frame_type.h"

#include <errno.h>
#include <sys/random.h>

/*
 * The hashes start from a number nobody can know: what is hashed are addresses and names of
 * programs, one of which may want us to compare all with all.
 */
struct context {
	uint64_t seed;
	const struct ep_batch *batch;
	const struct otlp_view *view;
	const struct otlp_encode_options *options;
	struct otlp_canon *canon;
};

/* Both halves of a product, one of whose factors nobody can choose. */
static inline uint64_t mix(const struct context *c, uint64_t hash, uint64_t value)
{
	unsigned __int128 product =
		(unsigned __int128)(hash ^ 0x9e3779b97f4a7c15ull) * (value ^ c->seed);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

typedef uint64_t (*hash_row)(const struct context *c, uint32_t row);
typedef bool (*equal_rows)(const struct context *c, uint32_t a, uint32_t b);

/*
 * Fills of[0..n) through a hash table of rows that lives only for this. Row 0 stays row 0. Inline,
 * so that the two functions are: they run for each row.
 */
__attribute__((always_inline)) static inline int find_equal(const struct context *c, uint32_t n,
							    hash_row hash, equal_rows equal,
							    uint32_t first, uint32_t *of)
{
	uint32_t n_slots = 16, *slots;

	while (n_slots / 2 < n)
		n_slots *= 2;
	slots = calloc(n_slots, sizeof(*slots)); /* row + 1 */
	if (!slots)
		return -ENOMEM;
	for (uint32_t row = 0; row < first; row++)
		of[row] = row;
	for (uint32_t row = first; row < n; row++) {
		uint32_t at = (uint32_t)hash(c, row) & (n_slots - 1);

		while (slots[at] && !equal(c, slots[at] - 1, row))
			at = (at + 1) & (n_slots - 1);
		if (!slots[at])
			slots[at] = row + 1;
		of[row] = slots[at] - 1;
	}
	free(slots);
	return 0;
}

/* --- mappings --- */

static uint64_t hash_mapping(const struct context *c, uint32_t row)
{
	const struct ep_batch *b = c->batch;

	return mix(c, mix(c, b->mapping_path[row], b->mapping_start_va[row]),
		   (uint64_t)b->mapping_build_id[row] << 32 | b->mapping_file_id[row]);
}

static uint64_t load_address(const struct context *c, uint32_t row)
{
	return c->view->mapping_load_address ? c->view->mapping_load_address[row] : 0;
}

/* Those that a mapping is recognised by. */
static uint32_t mapping_flags(const struct context *c)
{
	return EP_MAPPING_KERNEL | (c->options->is_file ? EP_MAPPING_HAS_FUNCTIONS : 0);
}

static bool equal_mappings(const struct context *c, uint32_t x, uint32_t y)
{
	const struct ep_batch *b = c->batch;
	const uint32_t *go = c->view->mapping_go_build_id;

	return b->mapping_start_va[x] == b->mapping_start_va[y] &&
	       b->mapping_limit_va[x] == b->mapping_limit_va[y] &&
	       b->mapping_file_off[x] == b->mapping_file_off[y] &&
	       b->mapping_path[x] == b->mapping_path[y] &&
	       b->mapping_build_id[x] == b->mapping_build_id[y] &&
	       b->mapping_file_id[x] == b->mapping_file_id[y] &&
	       load_address(c, x) == load_address(c, y) && (!go || go[x] == go[y]) &&
	       ((b->mapping_flags[x] ^ b->mapping_flags[y]) & mapping_flags(c)) == 0;
}

/* --- locations --- */

bool otlp_is_nameless(const struct ep_batch *batch, const struct otlp_encode_options *options,
		      uint32_t location)
{
	return !options->is_file && (batch->location_flags[location] & EP_LOCATION_UNNAMED) &&
	       batch->location_mapping[location];
}

/* Its address says nothing, and is not written. */
static bool is_error(const struct context *c, uint32_t location)
{
	return !c->options->is_file && (c->batch->location_flags[location] & EP_LOCATION_ERROR);
}

static uint32_t n_lines(const struct context *c, uint32_t location)
{
	const struct ep_batch *b = c->batch;

	if (otlp_is_nameless(b, c->options, location))
		return 0;
	return b->location_line_first[location + 1] - b->location_line_first[location];
}

/* All lines: one function is inlined into many, and a source may be one long line. */
static uint64_t hash_location(const struct context *c, uint32_t row)
{
	const struct ep_batch *b = c->batch;
	uint32_t line = b->location_line_first[row];
	uint64_t hash = mix(c, c->canon->mapping_of[b->location_mapping[row]],
			    is_error(c, row) ? 0 : b->location_address[row]);

	for (uint32_t n = n_lines(c, row); n > 0; n--, line++)
		hash = mix(c, hash + b->line_column[line],
			   (uint64_t)b->line_function[line] << 32 | b->line_line[line]);
	return hash;
}

static bool equal_lines(const struct context *c, uint32_t x, uint32_t y)
{
	const struct ep_batch *b = c->batch;
	uint32_t n = n_lines(c, x), i = b->location_line_first[x], j = b->location_line_first[y];

	if (n != n_lines(c, y))
		return false;
	for (; n > 0; n--, i++, j++) {
		if (b->line_function[i] != b->line_function[j] ||
		    b->line_line[i] != b->line_line[j] || b->line_column[i] != b->line_column[j])
			return false;
	}
	return true;
}

/* What only a file says of a location. */
static bool equal_facts(const struct context *c, uint32_t x, uint32_t y)
{
	const struct ep_batch *b = c->batch;
	const uint32_t *unnamed = c->view->location_unnamed;

	return !c->options->is_file ||
	       (b->location_kind[x] == b->location_kind[y] &&
		b->location_flags[x] == b->location_flags[y] &&
		(!unnamed || unnamed[x] == unnamed[y]));
}

/* Kinds may differ and be one type all the same: the option maps them. */
static bool equal_types(const struct context *c, uint32_t x, uint32_t y)
{
	const struct ep_batch *b = c->batch;

	return b->location_kind[x] == b->location_kind[y] ||
	       strcmp(otlp_frame_type_of(b, x, c->options), otlp_frame_type_of(b, y, c->options)) ==
		       0;
}

static bool equal_locations(const struct context *c, uint32_t x, uint32_t y)
{
	const struct ep_batch *b = c->batch;
	const uint32_t *mapping_of = c->canon->mapping_of;

	return is_error(c, x) == is_error(c, y) &&
	       (is_error(c, x) || b->location_address[x] == b->location_address[y]) &&
	       mapping_of[b->location_mapping[x]] == mapping_of[b->location_mapping[y]] &&
	       equal_lines(c, x, y) && equal_types(c, x, y) && equal_facts(c, x, y);
}

/* --- stacks --- */

static uint64_t hash_stack(const struct context *c, uint32_t row)
{
	const struct ep_batch *b = c->batch;
	const uint32_t *of = c->canon->location_of;
	const uint32_t *at = b->stack_location + b->stack_location_first[row];
	uint32_t n = b->stack_location_first[row + 1] - b->stack_location_first[row];
	uint64_t hash = n;

	for (; n >= 2; n -= 2, at += 2)
		hash = mix(c, hash, (uint64_t)of[at[0]] << 32 | of[at[1]]);
	return n ? mix(c, hash, of[at[0]]) : hash;
}

static bool equal_stacks(const struct context *c, uint32_t x, uint32_t y)
{
	const struct ep_batch *b = c->batch;
	const uint32_t *of = c->canon->location_of;
	uint32_t i = b->stack_location_first[x], j = b->stack_location_first[y];
	uint32_t n = b->stack_location_first[x + 1] - i;

	if (n != b->stack_location_first[y + 1] - j)
		return false;
	for (; n > 0; n--, i++, j++) {
		if (of[b->stack_location[i]] != of[b->stack_location[j]])
			return false;
	}
	return true;
}

/* --- samples --- */

static uint64_t hash_sample(const struct context *c, uint32_t row)
{
	const struct ep_batch *b = c->batch;
	uint64_t hash = mix(c, c->canon->stack_of[b->sample_stack[row]], b->sample_process[row]);

	return mix(c, hash, (uint64_t)b->sample_tid[row] << 32 | b->sample_cpu[row]);
}

/* What samples say of their stacks; two of these may be one list of locations. */
static bool equal_stack_facts(const struct context *c, uint32_t x, uint32_t y)
{
	const struct ep_batch *b = c->batch;
	const uint32_t *reason = c->view->stack_unnamed, *why = c->view->stack_unnamed_text;
	const uint32_t *text = c->view->stack_error_text;

	if (why && why[x] != why[y])
		return false;
	return !c->options->is_file ||
	       (b->stack_error[x] == b->stack_error[y] && (!text || text[x] == text[y]) &&
		(!reason || reason[x] == reason[y]));
}

static bool equal_samples(const struct context *c, uint32_t x, uint32_t y)
{
	const struct ep_batch *b = c->batch;
	const uint32_t *of = c->canon->stack_of, *event = c->view->sample_event;

	return of[b->sample_stack[x]] == of[b->sample_stack[y]] &&
	       b->sample_process[x] == b->sample_process[y] &&
	       b->sample_tid[x] == b->sample_tid[y] && b->sample_cpu[x] == b->sample_cpu[y] &&
	       b->sample_thread_name[x] == b->sample_thread_name[y] &&
	       equal_stack_facts(c, b->sample_stack[x], b->sample_stack[y]) &&
	       (!event || event[x] == event[y]);
}

/* Those of one identity as a list in the order of their rows. */
static int link_samples(const struct context *c)
{
	uint32_t n = c->batch->n_samples;
	ep_autofree uint32_t *of = calloc((size_t)n + 1, sizeof(*of));
	ep_autofree uint32_t *last = calloc((size_t)n + 1, sizeof(*last));
	int r;

	c->canon->next_sample = calloc((size_t)n + 1, sizeof(uint32_t));
	c->canon->is_later = calloc((size_t)n + 1, 1);
	if (!of || !last || !c->canon->next_sample || !c->canon->is_later)
		return -ENOMEM;
	r = find_equal(c, n, hash_sample, equal_samples, 0, of);
	for (uint32_t row = 0; row < n && r == 0; row++) {
		if (of[row] != row) {
			c->canon->next_sample[last[of[row]]] = row;
			c->canon->is_later[row] = 1;
		}
		last[of[row]] = row;
	}
	return r;
}

static bool has_merged(const uint32_t *of, uint32_t n)
{
	for (uint32_t row = 0; row < n; row++)
		if (of[row] != row)
			return true;
	return false;
}

/* --- all --- */

static int find_all(const struct context *c)
{
	const struct ep_batch *b = c->batch;
	struct otlp_canon *canon = c->canon;
	int r;

	r = find_equal(c, b->n_mappings, hash_mapping, equal_mappings, 1, canon->mapping_of);
	if (r == 0)
		r = find_equal(c, b->n_locations, hash_location, equal_locations, 1,
			       canon->location_of);
	if (r == 0)
		r = find_equal(c, b->n_stacks, hash_stack, equal_stacks, 1, canon->stack_of);
	/* Two rows of samples can only be one when their stacks have become one. */
	if (r == 0 && has_merged(canon->stack_of, b->n_stacks))
		r = link_samples(c);
	return r;
}

int otlp_canon_init(struct otlp_canon *canon, const struct ep_batch *batch,
		    const struct otlp_view *view, const struct otlp_encode_options *options)
{
	struct context c = {.batch = batch, .view = view, .options = options, .canon = canon};

	(void)!getrandom(&c.seed, sizeof(c.seed), GRND_NONBLOCK);

	*canon = (struct otlp_canon){
		.mapping_of = calloc((size_t)batch->n_mappings + 1, sizeof(uint32_t)),
		.location_of = calloc((size_t)batch->n_locations + 1, sizeof(uint32_t)),
		.stack_of = calloc((size_t)batch->n_stacks + 1, sizeof(uint32_t)),
	};
	if (!canon->mapping_of || !canon->location_of || !canon->stack_of)
		return -ENOMEM;
	return find_all(&c);
}

void otlp_canon_fini(struct otlp_canon *canon)
{
	free(canon->mapping_of);
	free(canon->location_of);
	free(canon->stack_of);
	free(canon->next_sample);
	free(canon->is_later);
	*canon = (struct otlp_canon){0};
}
