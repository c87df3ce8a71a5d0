/* SPDX-License-Identifier: Apache-2.0 */
#include "core/trace/interval.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/base/index.h"
#include "core/trace/quotas.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define FIRST_ROWS  64
#define INDEX_BYTES (2 * sizeof(uint64_t)) /* of an index for each element, at least */

/* What traces of a process take. */
struct spent {
	uint32_t bytes;
	bool refused; /* one did not fit into its share */
};

struct ep_interval {
	uint32_t refs;
	bool sealed;
	uint32_t last_frame;	  /* highest id when it was finished */
	struct ep_frames *frames; /* a reference */
	uint64_t start_ns, end_ns;
	uint64_t lost, due, complete;
	size_t bytes, max_bytes; /* of the tables below, as allocated */

	struct ep_vec traces;	 /* struct ep_trace; id - 1 is the position */
	struct ep_vec frame_ids; /* uint32_t */
	struct ep_vec rows;	 /* struct ep_sample_row */
	struct ep_vec processes; /* struct ep_program; id - 1 is the position */
	struct ep_vec spent;	 /* struct spent, of each process */
	struct ep_vec times;	 /* uint64_t, one per sample, in order of arrival */
	struct ep_vec time_rows; /* uint32_t, the same */
	struct ep_index trace_index, row_index, process_index; /* row_index: position + 1 */
};

static void init_tables(struct ep_interval *iv)
{
	ep_vec_init(&iv->traces, sizeof(struct ep_trace), iv->max_bytes / sizeof(struct ep_trace));
	ep_vec_init(&iv->frame_ids, sizeof(uint32_t), iv->max_bytes / sizeof(uint32_t));
	ep_vec_init(&iv->rows, sizeof(struct ep_sample_row),
		    iv->max_bytes / sizeof(struct ep_sample_row));
	ep_vec_init(&iv->processes, sizeof(struct ep_program),
		    iv->max_bytes / sizeof(struct ep_program));
	ep_vec_init(&iv->spent, sizeof(struct spent), iv->max_bytes / sizeof(struct spent));
	ep_vec_init(&iv->times, sizeof(uint64_t), iv->max_bytes / sizeof(uint64_t));
	ep_vec_init(&iv->time_rows, sizeof(uint32_t), iv->max_bytes / sizeof(uint32_t));
}

int ep_interval_new(struct ep_frames *frames, size_t max_bytes, uint64_t start_ns,
		    struct ep_interval **ret_interval)
{
	struct ep_interval *iv = calloc(1, sizeof(*iv));

	if (!iv)
		return -ENOMEM;
	iv->refs = 1;
	iv->frames = ep_frames_ref(frames);
	iv->start_ns = start_ns;
	iv->max_bytes = EP_MIN(max_bytes, (size_t)UINT32_MAX); /* ids are 32 bits */
	init_tables(iv);
	*ret_interval = iv;
	return 0;
}

struct ep_interval *ep_interval_ref(struct ep_interval *iv)
{
	iv->refs++;
	return iv;
}

#define EACH_VEC(iv, vec)                                                                          \
	for (struct ep_vec * vecs_[] = {&(iv)->traces, &(iv)->frame_ids, &(iv)->rows,              \
					&(iv)->processes, &(iv)->spent, &(iv)->times,              \
					&(iv)->time_rows, NULL},                                   \
			     **pos_ = vecs_, *vec;                                                 \
	     (vec = *pos_) != NULL; pos_++)
#define EACH_INDEX(iv, index)                                                                      \
	for (struct ep_index * indexes_[] = {&(iv)->trace_index, &(iv)->row_index,                 \
					     &(iv)->process_index, NULL},                          \
			       **pos_ = indexes_, *index;                                          \
	     (index = *pos_) != NULL; pos_++)

void ep_interval_unref(struct ep_interval *iv)
{
	if (!iv || --iv->refs > 0)
		return;
	EACH_VEC(iv, vec)
	ep_vec_fini(vec);
	EACH_INDEX(iv, index)
	ep_index_fini(index);
	ep_frames_unref(iv->frames);
	free(iv);
}

static size_t table_bytes(struct ep_interval *iv)
{
	size_t bytes = 0;

	EACH_VEC(iv, vec)
	bytes += vec->cap * vec->elem_bytes;
	EACH_INDEX(iv, index)
	bytes += ep_index_bytes(index);
	return bytes;
}

/* Memory that one busy interval needed is given back when the next one needs far less. */
int ep_interval_reset(struct ep_interval *iv, struct ep_frames *frames, uint64_t start_ns)
{
	struct ep_frames *old = iv->frames;

	if (iv->refs > 1)
		return -EBUSY;
	EACH_VEC(iv, vec)
	{
		if (vec->len < vec->cap / 4)
			ep_vec_shrink(vec);
		vec->len = 0;
	}
	EACH_INDEX(iv, index)
	{
		if (index->len < index->cap / 16)
			ep_index_fini(index);
		ep_index_clear(index);
	}
	iv->bytes = table_bytes(iv);
	iv->frames = ep_frames_ref(frames);
	ep_frames_unref(old);
	iv->start_ns = start_ns;
	iv->end_ns = iv->lost = iv->due = iv->complete = 0;
	iv->sealed = false;
	return 0;
}

/* Makes space for `more` elements within the budget. 0, -E2BIG, -ENOMEM. */
static int reserve(struct ep_interval *iv, struct ep_vec *vec, size_t more)
{
	size_t need = vec->len + more, cap, old = vec->cap;
	int r;

	if (need <= old)
		return 0;
	cap = EP_MAX(EP_MAX(old + old / 2, need), (size_t)FIRST_ROWS);
	if (iv->bytes + (cap - old) * vec->elem_bytes > iv->max_bytes)
		cap = need;
	if (iv->bytes + (cap - old) * vec->elem_bytes > iv->max_bytes)
		return -E2BIG;
	r = ep_vec_reserve(vec, cap);
	if (r == 0)
		iv->bytes += (vec->cap - old) * vec->elem_bytes;
	return r;
}

static int index_add(struct ep_interval *iv, struct ep_index *index, uint64_t hash, uint32_t id)
{
	size_t growth = ep_index_growth_bytes(index);
	int r;

	if (iv->bytes + growth > iv->max_bytes)
		return -E2BIG;
	r = ep_index_add(index, hash, id);
	if (r == 0)
		iv->bytes += growth;
	return r;
}

/* Appends an element of a table that has an index; on failure the table is as before. */
static int append(struct ep_interval *iv, struct ep_vec *vec, struct ep_index *index, uint64_t hash,
		  const void *element)
{
	int r = reserve(iv, vec, 1);

	if (r < 0)
		return r;
	r = index_add(iv, index, hash, (uint32_t)vec->len + 1);
	if (r < 0)
		return r;
	return ep_vec_append(vec, element, 1);
}

/* --- processes --- */

static uint32_t find_process(const struct ep_interval *iv, struct ep_program program, uint64_t hash)
{
	size_t pos;

	for (uint32_t id = ep_index_first(&iv->process_index, hash, &pos); id;
	     id = ep_index_next(&iv->process_index, hash, &pos)) {
		if (ep_program_is_same(*ep_interval_process(iv, id), program))
			return id;
	}
	return 0;
}

static int intern_process(struct ep_interval *iv, struct ep_program program, uint32_t *ret_id)
{
	uint64_t hash = ep_program_hash(program);
	uint32_t id = find_process(iv, program, hash);
	int r = 0;

	if (!id) {
		r = reserve(iv, &iv->spent, 1);
		if (r == 0)
			r = append(iv, &iv->processes, &iv->process_index, hash, &program);
		if (r == 0)
			r = ep_vec_append(&iv->spent, NULL, 1); /* cannot fail: reserved */
		id = (uint32_t)iv->processes.len;
	}
	if (r == 0)
		*ret_id = id;
	return r;
}

static struct spent *spent_of(const struct ep_interval *iv, uint32_t process)
{
	assert(process > 0 && process <= iv->spent.len);
	return ep_vec_at(&iv->spent, struct spent, process - 1);
}

bool ep_interval_is_over_share(const struct ep_interval *iv, struct ep_program program)
{
	uint32_t id = find_process(iv, program, ep_program_hash(program));

	return id && spent_of(iv, id)->refused;
}

/* --- traces --- */

static struct ep_trace *trace_at(const struct ep_interval *iv, uint32_t id)
{
	assert(id > 0 && id <= iv->traces.len);
	return ep_vec_at(&iv->traces, struct ep_trace, id - 1);
}

static uint64_t trace_hash(uint64_t hash, struct ep_program program)
{
	return ep_mix64(hash ^ ep_program_hash(program));
}

static bool is_of_program(const struct ep_interval *iv, const struct ep_trace *trace,
			  struct ep_program program)
{
	return ep_program_is_same(*ep_interval_process(iv, trace->process), program);
}

uint32_t ep_interval_find(const struct ep_interval *iv, uint64_t hash, struct ep_program program)
{
	uint64_t key = trace_hash(hash, program);
	size_t pos;

	for (uint32_t id = ep_index_first(&iv->trace_index, key, &pos); id;
	     id = ep_index_next(&iv->trace_index, key, &pos)) {
		const struct ep_trace *trace = trace_at(iv, id);

		if (trace->hash == hash && is_of_program(iv, trace, program))
			return id;
	}
	return 0;
}

static bool has_frames(const struct ep_interval *iv, const struct ep_trace *trace,
		       const uint32_t *frame_ids, size_t n_frames)
{
	return trace->n_frames == n_frames && memcmp(ep_interval_frame_ids(iv, trace), frame_ids,
						     n_frames * sizeof(*frame_ids)) == 0;
}

/* Says whether it met another stack under the same hash, unless the trace is there already. */
static uint32_t find_same(const struct ep_interval *iv, const struct ep_sample *sample,
			  const uint32_t *frame_ids, size_t n_frames, bool *ret_collision)
{
	struct ep_program program = ep_program_of(sample);
	uint64_t key = trace_hash(sample->hash, program);
	bool collision = false;
	size_t pos;

	for (uint32_t id = ep_index_first(&iv->trace_index, key, &pos); id;
	     id = ep_index_next(&iv->trace_index, key, &pos)) {
		const struct ep_trace *trace = trace_at(iv, id);

		if (trace->hash != sample->hash || !is_of_program(iv, trace, program))
			continue;
		if (has_frames(iv, trace, frame_ids, n_frames))
			return id;
		collision = true;
	}
	*ret_collision = collision;
	return 0;
}

/* 0, or -EDQUOT: the program has its share. */
static int spend(struct ep_interval *iv, uint64_t hash, uint32_t process, size_t n_frames)
{
	size_t bytes = sizeof(struct ep_trace) + n_frames * sizeof(uint32_t) + INDEX_BYTES;
	struct spent *spent = spent_of(iv, process);

	if (hash == 0)
		return 0;
	if (!ep_quota_allows(spent->bytes + bytes, iv->max_bytes - EP_MIN(iv->bytes, iv->max_bytes))) {
		spent->refused = true;
		return -EDQUOT;
	}
	spent->bytes += (uint32_t)bytes;
	return 0;
}

static int append_trace(struct ep_interval *iv, const struct ep_sample *sample,
			const uint32_t *frame_ids, size_t n_frames, uint8_t error, uint32_t *ret_id)
{
	struct ep_trace trace = {
		.hash = sample->hash,
		.frame_first = (uint32_t)iv->frame_ids.len,
		.n_frames = (uint16_t)n_frames,
		.error = error,
	};
	int r;

	r = intern_process(iv, ep_program_of(sample), &trace.process);
	if (r == 0)
		r = spend(iv, sample->hash, trace.process, n_frames);
	if (r == 0)
		r = reserve(iv, &iv->frame_ids, n_frames);
	if (r == 0)
		r = append(iv, &iv->traces, &iv->trace_index,
			   trace_hash(sample->hash, ep_program_of(sample)), &trace);
	if (r < 0)
		return r;
	*ret_id = (uint32_t)iv->traces.len;
	return ep_vec_append(&iv->frame_ids, frame_ids, n_frames); /* cannot fail: reserved */
}

/* --- rows and times --- */

static uint64_t row_hash(const struct ep_sample_row *row)
{
	uint64_t comm[2];

	memcpy(comm, row->comm, sizeof(comm));
	return ep_mix64(ep_mix64(comm[0] ^ (uint64_t)row->trace << 32 ^ row->tid) ^ comm[1] ^
			(uint64_t)row->cpu << 40);
}

static bool same_row(const struct ep_sample_row *a, const struct ep_sample_row *b)
{
	return a->trace == b->trace && a->tid == b->tid && a->cpu == b->cpu &&
	       memcmp(a->comm, b->comm, sizeof(a->comm)) == 0;
}

static int find_or_add_row(struct ep_interval *iv, const struct ep_sample_row *row,
			   uint32_t *ret_row)
{
	uint64_t hash = row_hash(row);
	size_t pos;
	int r;

	for (uint32_t id = ep_index_first(&iv->row_index, hash, &pos); id;
	     id = ep_index_next(&iv->row_index, hash, &pos)) {
		if (same_row(ep_interval_row(iv, id - 1), row)) {
			*ret_row = id - 1;
			return 0;
		}
	}
	r = append(iv, &iv->rows, &iv->row_index, hash, row);
	if (r == 0)
		*ret_row = (uint32_t)iv->rows.len - 1;
	return r;
}

/* Space for the time is made first, so that a row never counts a sample without one. */
static int count_sample(struct ep_interval *iv, uint32_t trace_id, const struct ep_sample *sample)
{
	struct ep_trace *trace = trace_at(iv, trace_id);
	struct ep_sample_row row = {
		.trace = trace_id,
		.tid = sample->tid,
		.cpu = sample->event.cpu,
	};
	uint32_t at = trace->last_row;
	int r;

	memcpy(row.comm, sample->comm, sizeof(row.comm));
	r = reserve(iv, &iv->times, 1);
	if (r == 0)
		r = reserve(iv, &iv->time_rows, 1);
	if (r == 0 && (at >= iv->rows.len || !same_row(ep_interval_row(iv, at), &row)))
		r = find_or_add_row(iv, &row, &at);
	if (r < 0)
		return r;
	trace->last_row = at;
	iv->complete += trace->error == EP_ERROR_NONE;
	ep_vec_at(&iv->rows, struct ep_sample_row, at)->count++;
	(void)ep_vec_append(&iv->times, &sample->event.time_ns, 1);
	(void)ep_vec_append(&iv->time_rows, &at, 1);
	return 0;
}

int ep_interval_add_known(struct ep_interval *iv, const struct ep_sample *sample)
{
	uint32_t id = ep_interval_find(iv, sample->hash, ep_program_of(sample));

	assert(!iv->sealed);
	return id ? count_sample(iv, id, sample) : EP_INTERVAL_UNKNOWN;
}

int ep_interval_add_trace(struct ep_interval *iv, const struct ep_sample *sample,
			  const uint32_t *frame_ids, size_t n_frames, uint8_t error,
			  bool *ret_collision)
{
	bool collision = false;
	uint32_t id;
	int r = 0;

	assert(!iv->sealed && n_frames > 0 && n_frames <= UINT16_MAX);
	id = find_same(iv, sample, frame_ids, n_frames, &collision);
	if (!id)
		r = append_trace(iv, sample, frame_ids, n_frames, error, &id);
	if (r == 0)
		r = count_sample(iv, id, sample);
	if (r == 0)
		*ret_collision = collision;
	return r;
}

void ep_interval_add_lost(struct ep_interval *iv, uint64_t samples)
{
	iv->lost += samples;
}

void ep_interval_add_due(struct ep_interval *iv, uint64_t samples)
{
	iv->due += samples;
}

void ep_interval_begin(struct ep_interval *iv, uint64_t start_ns)
{
	if (iv->times.len == 0)
		iv->start_ns = EP_MAX(iv->start_ns, start_ns);
}

void ep_interval_seal(struct ep_interval *iv, uint64_t end_ns)
{
	iv->sealed = true;
	iv->last_frame = ep_frames_count(iv->frames);
	iv->end_ns = EP_MAX(end_ns, iv->start_ns);
}

/* --- reading --- */

struct ep_frames *ep_interval_frames(const struct ep_interval *iv)
{
	return iv->frames;
}

void ep_interval_use_frames(const struct ep_interval *iv)
{
	ep_frames_use(iv->frames, iv->frame_ids.data, iv->frame_ids.len);
}

bool ep_interval_is_named(const struct ep_interval *iv)
{
	return ep_frames_first_unresolved(iv->frames) > iv->last_frame;
}

size_t ep_interval_bytes(const struct ep_interval *iv)
{
	return sizeof(*iv) + iv->bytes;
}

uint64_t ep_interval_start_ns(const struct ep_interval *iv)
{
	return iv->start_ns;
}

uint64_t ep_interval_end_ns(const struct ep_interval *iv)
{
	return iv->end_ns;
}

uint64_t ep_interval_lost(const struct ep_interval *iv)
{
	return iv->lost;
}

uint64_t ep_interval_due(const struct ep_interval *iv)
{
	return iv->due;
}

uint64_t ep_interval_complete(const struct ep_interval *iv)
{
	return iv->complete;
}

uint64_t ep_interval_samples(const struct ep_interval *iv)
{
	return iv->times.len;
}

size_t ep_interval_n_traces(const struct ep_interval *iv)
{
	return iv->traces.len;
}

size_t ep_interval_n_rows(const struct ep_interval *iv)
{
	return iv->rows.len;
}

size_t ep_interval_n_processes(const struct ep_interval *iv)
{
	return iv->processes.len;
}

size_t ep_interval_n_times(const struct ep_interval *iv)
{
	return iv->times.len;
}

const struct ep_trace *ep_interval_trace(const struct ep_interval *iv, uint32_t id)
{
	return trace_at(iv, id);
}

const struct ep_sample_row *ep_interval_row(const struct ep_interval *iv, uint32_t row)
{
	assert(row < iv->rows.len);
	return ep_vec_at(&iv->rows, struct ep_sample_row, row);
}

const struct ep_program *ep_interval_process(const struct ep_interval *iv, uint32_t id)
{
	assert(id > 0 && id <= iv->processes.len);
	return ep_vec_at(&iv->processes, struct ep_program, id - 1);
}

const uint32_t *ep_interval_frame_ids(const struct ep_interval *iv, const struct ep_trace *trace)
{
	return ep_vec_at(&iv->frame_ids, uint32_t, trace->frame_first);
}

void ep_interval_time(const struct ep_interval *iv, size_t n, uint64_t *ret_time_ns,
		      uint32_t *ret_row)
{
	assert(n < iv->times.len);
	*ret_time_ns = *ep_vec_at(&iv->times, uint64_t, n);
	*ret_row = *ep_vec_at(&iv->time_rows, uint32_t, n);
}
