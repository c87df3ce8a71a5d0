/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/moved_text.h"
#include "core/plugin/job.h"
#include "core/proc/memory.h"
#include "core/process/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Of text of any size so much is compared: pieces over all of it, the first and the last bytes among them. */
#define N_PIECES    64
#define PIECE_BYTES 256
/* So many other places of no file may lie between a file's and its text. */
#define MAX_BETWEEN 4

struct comparison {
	struct ep_processes *processes;
	struct ep_program program;
	uint64_t start, end, file_off;
	uint64_t time_ns; /* of the mapping */
	uint32_t executable;
	int fd; /* the file, of its own */
	bool is_equal;
};

static bool has_piece(const struct comparison *c, uint64_t off)
{
	uint8_t in_memory[PIECE_BYTES], in_file[PIECE_BYTES];

	return ep_memory_read((pid_t)c->program.pid, c->start + off, in_memory, sizeof(in_memory)) == 0 &&
	       pread(c->fd, in_file, sizeof(in_file), (off_t)(c->file_off + off)) == sizeof(in_file) &&
	       memcmp(in_memory, in_file, sizeof(in_file)) == 0;
}

static void run_comparison(void *arg)
{
	struct comparison *c = arg;
	uint64_t last_off = c->end - c->start - PIECE_BYTES;

	c->is_equal = true;
	for (uint64_t i = 0; i < N_PIECES && c->is_equal; i++)
		c->is_equal = has_piece(c, last_off / (N_PIECES - 1) * i);
	c->is_equal = c->is_equal && has_piece(c, last_off);
}

static bool is_anonymous(const struct ep_place_in_memory *place)
{
	return !place->executable && place->state == EP_PLACE_KNOWN;
}

static void finish_comparison(void *arg)
{
	ep_autofree struct comparison *c = arg;
	struct ep_processes *processes = c->processes;
	struct ep_process *process = ep_table_find_live(&processes->table, (pid_t)c->program.pid);
	struct ep_executable *executable = ep_executables_find(processes->executables, c->executable);
	struct ep_place_in_memory *place;

	close(c->fd);
	processes->comparisons--;
	if (processes->stopped || !process || !ep_process_is(process, c->program))
		return;
	process->is_comparing = false;
	place = ep_places_find(&process->places, c->start);
	if (!place || place->start != c->start || place->end != c->end || !is_anonymous(place))
		return;
	/* Where something was done to it meanwhile, it is compared once more: it may have been filled. */
	place->is_compared = c->is_equal || place->time_ns == c->time_ns;
	if (c->is_equal && executable) {
		place->executable = ep_executable_ref(executable);
		place->file_off = c->file_off;
		process->remapped = true;
		processes->stats.moved_texts++;
	}
	ep_processes_mark(processes, process); /* there may be more of them */
}

/* Where the file has what was at this place; -ENODATA: `known` is of no file whose text was there. */
static int find_text(const struct ep_place_in_memory *known, const struct ep_place_in_memory *place,
		     uint64_t *ret_file_off)
{
	const struct ep_executable *executable = known->executable;
	uint64_t va;

	if (executable->state != EP_EXECUTABLE_READY || executable->file.fd < 0 ||
	    ep_executable_find_va(executable, known->file_off, &va) < 0)
		return -ENODATA;
	for (size_t i = 0; i < executable->n_segments; i++) {
		const struct ep_elf_segment *segment = &executable->segments[i];
		uint64_t start = EP_ALIGN_DOWN(segment->va, EP_PAGE_BYTES);
		uint64_t end = EP_ALIGN_UP(segment->va + segment->file_bytes, EP_PAGE_BYTES);
		uint64_t at = place->start - (known->start - va), bytes = place->end - place->start;

		if (at < start || at >= end || bytes > end - at)
			continue;
		*ret_file_off = EP_ALIGN_DOWN(segment->file_off, EP_PAGE_BYTES) + (at - start);
		return 0;
	}
	return -ENODATA;
}

/* The next place of a file before or after one, in steps of -1 or 1. NULL: none is near. */
static const struct ep_place_in_memory *find_file(const struct ep_vec *places, size_t i, int step)
{
	for (size_t n = 0; n <= MAX_BETWEEN; n++) {
		const struct ep_place_in_memory *place;

		i += (size_t)step;
		if (i >= places->len)
			return NULL;
		place = ep_vec_at(places, struct ep_place_in_memory, i);
		if (place->executable)
			return place;
	}
	return NULL;
}

static void start_comparison(struct ep_processes *processes, struct ep_process *process,
			     const struct ep_place_in_memory *place, const struct ep_executable *executable,
			     uint64_t file_off)
{
	struct comparison *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	*c = (struct comparison){
		.processes = processes,
		.program = process->program,
		.start = place->start,
		.end = place->end,
		.time_ns = place->time_ns,
		.file_off = file_off,
		.executable = executable->id,
		.fd = fcntl(executable->file.fd, F_DUPFD_CLOEXEC, 0),
	};
	if (c->fd < 0 || ep_job_run(processes->options.loop, run_comparison, finish_comparison, c) < 0) {
		ep_closep(&c->fd);
		free(c);
		return;
	}
	process->is_comparing = true;
	processes->comparisons++;
}

void ep_moved_text_look(struct ep_processes *processes, struct ep_process *process)
{
	const struct ep_vec *places = &process->places;

	for (size_t i = 0; i < places->len && !process->is_comparing; i++) {
		const struct ep_place_in_memory *place = ep_vec_at(places, struct ep_place_in_memory, i);
		const struct ep_place_in_memory *files[2];
		uint64_t file_off;

		if (!is_anonymous(place) || place->is_compared || place->is_memfd ||
		    place->end - place->start < EP_PAGE_BYTES)
			continue;
		files[0] = find_file(places, i, -1);
		files[1] = find_file(places, i, 1);
		for (size_t k = 0; k < EP_LEN(files) && !process->is_comparing; k++) {
			if (files[k] && find_text(files[k], place, &file_off) == 0)
				start_comparison(processes, process, place, files[k]->executable, file_off);
		}
	}
}

bool ep_moved_text_may_have_changed(struct ep_place_in_memory *place)
{
	bool may = place && place->is_compared && is_anonymous(place);

	if (may)
		place->is_compared = false;
	return may;
}

void ep_moved_text_keep(struct ep_vec *places, const struct ep_vec *old)
{
	struct ep_place_in_memory *place;

	ep_vec_each (places, place) {
		const struct ep_place_in_memory *was = is_anonymous(place) ? ep_places_find(old, place->start) : NULL;

		if (!was || !was->is_compared || was->start != place->start || was->end != place->end)
			continue;
		place->is_compared = true;
		place->executable = ep_executable_ref(was->executable);
		place->file_off = was->file_off;
	}
}
