/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/moved_text.h"
#include "core/base/clock.h"
#include "core/plugin/job.h"
#include "core/proc/image.h"
#include "core/proc/maps.h"
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
/* At most so many mappings of a program are searched for an image of no file: a JIT has any number of mappings. */
#define MAX_IMAGES 16
/* One that is being laid out is looked at again after 10 ms, and after twice as long each time. */
#define WAIT_NS	  (10 * EP_NS_PER_MS)
#define MAX_WAITS 5
/* Text that is on its way after 80 ms at most, some 1.3 s in all: samples wait for 2 s. */
#define MAX_DOUBLED    3
#define MAX_TEXT_WAITS 18
/* From the first sample in code of no file to one look at such memory, and from each to the next.
 */
static const uint64_t looks_ns[] = {50 * EP_NS_PER_MS, EP_NS_PER_SEC, 10 * EP_NS_PER_SEC};
/* Code that was described is looked for in memory of no file: so much of it, of so many files. */
#define MIN_COPY_BYTES 65536
#define MAX_DESCRIBED  4

struct comparison {
	struct ep_processes *processes;
	struct ep_program program;
	uint64_t start, end, file_off;
	uint64_t from, bytes; /* from start on: what is compared, which may be a part */
	uint64_t time_ns; /* of the mapping */
	uint32_t executable;
	int fd; /* the file, of its own; -1: none is near */
	bool was_file;	   /* it is compared with that */
	bool was_text;	   /* whose text was at this very place */
	bool is_equal;
	bool may_be_image; /* if it is of no file that is mapped */
	struct ep_proc_file image; /* fd -1: it is none */
	struct ep_image_code code; /* of it, in the place */
	bool is_unfinished;	   /* it is being laid out */
	unsigned int n_waits;
	struct ep_timeout again;
	LIST_ENTRY(comparison) waiting;
};

enum likeness {
	PIECE_OTHER,
	PIECE_BLANK, /* it has zeros where the file has something else: it is not filled yet */
	PIECE_EQUAL,
};

static enum likeness compare_piece(const struct comparison *c, uint64_t off)
{
	uint8_t in_memory[PIECE_BYTES], in_file[PIECE_BYTES];
	enum likeness likeness = PIECE_EQUAL;

	if (ep_memory_read((pid_t)c->program.pid, c->start + off, in_memory, sizeof(in_memory)) < 0 ||
	    pread(c->fd, in_file, sizeof(in_file), (off_t)(c->file_off + off)) != sizeof(in_file))
		return PIECE_OTHER;
	for (size_t i = 0; i < PIECE_BYTES; i++) {
		if (in_memory[i] == in_file[i])
			continue;
		if (in_memory[i])
			return PIECE_OTHER;
		likeness = PIECE_BLANK;
	}
	return likeness;
}

static enum likeness compare_all(const struct comparison *c)
{
	uint64_t last_off = c->bytes - PIECE_BYTES;
	enum likeness likeness = compare_piece(c, c->from + last_off);

	for (uint64_t i = 0; i < N_PIECES && likeness != PIECE_OTHER; i++) {
		enum likeness one = compare_piece(c, c->from + last_off / (N_PIECES - 1) * i);

		likeness = EP_MIN(likeness, one);
	}
	return likeness;
}

static void run_comparison(void *arg)
{
	struct comparison *c = arg;
	enum likeness likeness = c->fd >= 0 ? compare_all(c) : PIECE_OTHER;

	c->is_equal = likeness == PIECE_EQUAL;
	c->is_unfinished = c->was_text && likeness == PIECE_BLANK && c->n_waits < MAX_TEXT_WAITS;
	if (!c->is_equal && !c->is_unfinished && c->may_be_image)
		c->is_unfinished =
			ep_proc_copy_image((pid_t)c->program.pid, c->start, c->end,
					   c->n_waits >= MAX_WAITS, &c->image, &c->code) == -EBUSY;
}

/* A file of memory alone (memfd), in which somebody has put something else than an ELF file. */
static bool is_memory(const struct ep_executable *executable)
{
	return executable->state == EP_EXECUTABLE_FAILED && !executable->unopened &&
	       ep_is_memfd_path(executable->path);
}

static bool is_anonymous(const struct ep_place_in_memory *place)
{
	return place->state == EP_PLACE_KNOWN &&
	       (!place->executable || is_memory(place->executable));
}

static void close_files(struct comparison *c)
{
	ep_closep(&c->fd);
	ep_proc_file_close(&c->image);
}

/* With a reference. NULL: it is of no file. */
static struct ep_executable *take_answer(struct comparison *c)
{
	static const struct ep_mapping mapping = {.kind = EP_MAPPING_FILE, .path = "[image]"};
	struct ep_executables *executables = c->processes->executables;

	if (c->is_equal)
		return ep_executable_ref(ep_executables_find(executables, c->executable));
	if (c->image.fd < 0)
		return NULL;
	return ep_executables_get(executables, (pid_t)c->program.pid, &mapping, &c->image, ep_clock_mono_ns());
}

/* The reference is taken. Where the code is a part of the place, what is beside it stays as it is.
 */
static void put_executable(struct ep_process *process, const struct ep_place_in_memory *place,
			   struct ep_executable *executable, const struct ep_image_code *code)
{
	struct ep_place_in_memory part = *place;

	part.start = code->start;
	part.end = code->end;
	part.file_off = code->file_off;
	part.executable = executable;
	(void)ep_places_insert(&process->places, part);
}

static void apply_comparison(struct comparison *c)
{
	struct ep_processes *processes = c->processes;
	struct ep_process *process = ep_table_find_live(&processes->table, (pid_t)c->program.pid);
	struct ep_executable *executable;
	struct ep_image_code code = {.start = c->start, .end = c->end, .file_off = c->file_off};
	struct ep_place_in_memory *place;

	processes->comparisons--;
	if (processes->stopped || !process || !ep_process_is(process, c->program))
		return;
	process->is_comparing = false;
	ep_vec_each (&process->places, place) /* it may be in parts by now */
		place->is_looked_at = place->is_on_its_way = false;
	place = ep_places_find(&process->places, c->start);
	if (!place || place->start != c->start || place->end != c->end || !is_anonymous(place))
		return;
	executable = take_answer(c);
	if (!c->is_equal)
		code = c->code;
	/* Where something was done to it meanwhile, it is looked at once more: it may have been filled. */
	if (executable || place->time_ns == c->time_ns) {
		place->is_compared |= c->is_equal || c->was_file;
		place->is_searched |= c->may_be_image;
	}
	if (executable) {
		put_executable(process, place, executable, &code);
		process->remapped = true;
		processes->stats.moved_texts += c->is_equal;
		processes->stats.images += !c->is_equal;
	}
	ep_processes_mark(processes, process); /* there may be more of them */
}

static void free_comparison(struct comparison *c)
{
	close_files(c);
	free(c);
}

static void finish_comparison(void *arg);

static void look_again(void *arg)
{
	struct comparison *c = arg;

	LIST_REMOVE(c, waiting);
	if (ep_job_run(c->processes->options.loop, run_comparison, finish_comparison, c) == 0)
		return;
	apply_comparison(c);
	free_comparison(c);
}

static void wait_for_image(struct comparison *c)
{
	struct ep_processes *processes = c->processes;
	unsigned int doubled = c->was_text ? EP_MIN(c->n_waits, (unsigned int)MAX_DOUBLED) : c->n_waits;

	c->again = (struct ep_timeout){.run = look_again, .arg = c};
	LIST_INSERT_HEAD(&processes->waiting_comparisons, c, waiting);
	ep_timer_set(processes->options.timer, &c->again, ep_clock_mono_ns() + (WAIT_NS << doubled));
	c->n_waits++;
}

static void finish_comparison(void *arg)
{
	struct comparison *c = arg;

	if (c->is_unfinished && !c->processes->stopped) {
		wait_for_image(c);
		return;
	}
	apply_comparison(c);
	free_comparison(c);
}

void ep_moved_text_stop(struct ep_processes *processes)
{
	struct comparison *c;

	while ((c = LIST_FIRST(&processes->waiting_comparisons)) != NULL) {
		LIST_REMOVE(c, waiting);
		ep_timer_unset(processes->options.timer, &c->again);
		processes->comparisons--;
		free_comparison(c);
	}
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

/* What a place may be: `bytes` of a file, from `from` in it on. */
struct text {
	const struct ep_executable *executable; /* NULL: of no file */
	uint64_t file_off; /* of the place's start */
	uint64_t from, bytes;
	bool was_here; /* before this memory was mapped */
};

static void start_comparison(struct ep_processes *processes, struct ep_process *process,
			     struct ep_place_in_memory *place, const struct text *text)
{
	const struct ep_executable *executable = text->executable;
	struct comparison *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	*c = (struct comparison){
		.processes = processes,
		.program = process->program,
		.start = place->start,
		.end = place->end,
		.time_ns = place->time_ns,
		.file_off = text->file_off,
		.from = text->from,
		.bytes = text->bytes,
		.executable = executable ? executable->id : 0,
		.fd = executable ? fcntl(executable->file.fd, F_DUPFD_CLOEXEC, 0) : -1,
		.was_file = executable != NULL,
		.was_text = text->was_here,
		.may_be_image = !place->is_searched && process->n_images < MAX_IMAGES,
		.image = {.fd = -1},
	};
	if ((executable && c->fd < 0) ||
	    ep_job_run(processes->options.loop, run_comparison, finish_comparison, c) < 0) {
		free_comparison(c);
		return;
	}
	process->n_images += c->may_be_image;
	place->is_looked_at = c->may_be_image;
	place->is_on_its_way = c->was_text;
	process->is_comparing = true;
	processes->comparisons++;
}

/* Code that was described, of a few files: what a copy of it would be, and the pages that it takes.
 */
struct described {
	struct {
		struct text text;
		uint64_t page_bytes;
	} codes[MAX_DESCRIBED];
	size_t n;
};

static bool is_noted(const struct described *described, const struct ep_executable *executable)
{
	for (size_t i = 0; i < described->n; i++) {
		if (described->codes[i].text.executable == executable)
			return true;
	}
	return false;
}

/* It lies in one segment, as any code that can be copied as a whole. */
static void note_described(struct described *described, const struct ep_executable *executable)
{
	uint64_t va = executable->described_va, end = executable->described_end;
	uint64_t page = EP_ALIGN_DOWN(va, EP_PAGE_BYTES);

	for (size_t i = 0; i < executable->n_segments; i++) {
		const struct ep_elf_segment *segment = &executable->segments[i];

		if (page < segment->va || end - segment->va > segment->file_bytes)
			continue;
		described->codes[described->n].page_bytes = EP_ALIGN_UP(end, EP_PAGE_BYTES) - page;
		described->codes[described->n++].text = (struct text){
			.executable = executable,
			.file_off = segment->file_off + (page - segment->va),
			.from = va - page,
			.bytes = end - va,
		};
		return;
	}
}

static void find_described(struct described *described, const struct ep_vec *places)
{
	const struct ep_place_in_memory *place;

	described->n = 0;
	ep_vec_each (places, place) {
		const struct ep_executable *executable = place->executable;

		if (executable &&
		    executable->described_end - executable->described_va >= MIN_COPY_BYTES &&
		    executable->state == EP_EXECUTABLE_READY && executable->file.fd >= 0 &&
		    described->n < MAX_DESCRIBED && !is_noted(described, executable))
			note_described(described, executable);
	}
}

/* True when it is being compared with a file's text. */
static bool compare_place(struct ep_processes *processes, struct ep_process *process, size_t i,
			  const struct described *described)
{
	const struct ep_vec *places = &process->places;
	struct ep_place_in_memory *place = ep_vec_at(places, struct ep_place_in_memory, i);
	const struct ep_place_in_memory *files[] = {find_file(places, i, -1), find_file(places, i, 1)};
	struct text text = {.bytes = place->end - place->start};

	for (size_t k = 0; k < EP_LEN(files); k++) {
		if (files[k] && find_text(files[k], place, &text.file_off) == 0) {
			text.executable = files[k]->executable;
			text.was_here = true;
			start_comparison(processes, process, place, &text);
			return process->is_comparing;
		}
	}
	for (size_t k = 0; k < described->n; k++) {
		if (described->codes[k].page_bytes == place->end - place->start) {
			start_comparison(processes, process, place, &described->codes[k].text);
			return process->is_comparing;
		}
	}
	return false;
}

static bool may_be_text(const struct ep_place_in_memory *place)
{
	return is_anonymous(place) && !(place->is_memfd && !place->executable) &&
	       place->end - place->start >= EP_PAGE_BYTES;
}

/* First what may be a file's: a JIT has many places that are nothing. */
void ep_moved_text_look(struct ep_processes *processes, struct ep_process *process)
{
	const struct ep_vec *places = &process->places;
	struct ep_place_in_memory *place, *unsearched = NULL;
	struct described described;

	if (process->is_comparing)
		return;
	find_described(&described, places);
	for (size_t i = 0; i < places->len; i++) {
		place = ep_vec_at(places, struct ep_place_in_memory, i);
		if (!may_be_text(place))
			continue;
		if (!place->is_compared && compare_place(processes, process, i, &described))
			return;
		if (!unsearched && !place->is_searched)
			unsearched = place;
	}
	if (unsearched && process->n_images < MAX_IMAGES)
		start_comparison(processes, process, unsearched, &(struct text){0});
}

bool ep_moved_text_may_have_changed(struct ep_place_in_memory *place)
{
	bool may = place && (place->is_compared || place->is_searched) && is_anonymous(place);

	if (may)
		place->is_compared = place->is_searched = false;
	return may;
}

void ep_moved_text_on_sample(struct ep_processes *processes, struct ep_process *process,
			     uint64_t time_ns)
{
	struct ep_place_in_memory *place;
	bool any = false;

	if (process->n_looks == EP_LEN(looks_ns) || process->is_comparing ||
	    time_ns < process->look_ns)
		return;
	if (!process->look_ns) {
		process->look_ns = time_ns + looks_ns[0];
		return;
	}
	if (++process->n_looks < EP_LEN(looks_ns))
		process->look_ns = time_ns + looks_ns[process->n_looks];
	process->n_images = 0;
	ep_vec_each (&process->places, place)
		any |= ep_moved_text_may_have_changed(place);
	if (any)
		ep_processes_mark(processes, process);
}

/* A part of a place is what it was. */
static void keep_part(struct ep_vec *places, const struct ep_place_in_memory *was)
{
	struct ep_place_in_memory *place = ep_places_find(places, was->start), part = *was;

	if (!place || !is_anonymous(place) || was->end > place->end ||
	    (was->start == place->start && was->end == place->end))
		return;
	place->is_searched = true;
	part.time_ns = place->time_ns;
	(void)ep_executable_ref(part.executable);
	(void)ep_places_insert(places, part);
}

void ep_moved_text_keep(struct ep_vec *places, const struct ep_vec *old)
{
	struct ep_place_in_memory *place;

	ep_vec_each (places, place) {
		const struct ep_place_in_memory *was = is_anonymous(place) ? ep_places_find(old, place->start) : NULL;

		if (was && was->start == place->start && was->end == place->end)
			place->is_on_its_way = was->is_on_its_way;
		if (!was || !(was->is_compared || was->is_searched) || was->start != place->start || was->end != place->end)
			continue;
		place->is_compared = was->is_compared;
		place->is_searched = was->is_searched;
		if (is_anonymous(was))
			continue;
		ep_executable_unref(place->executable);
		place->executable = ep_executable_ref(was->executable);
		place->file_off = was->file_off;
	}
	ep_vec_each (old, place) {
		if (place->executable && place->is_searched && !is_anonymous(place))
			keep_part(places, place);
	}
}
