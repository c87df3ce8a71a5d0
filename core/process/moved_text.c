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
/* So many other areas of no file may lie between a file's and its text. */
#define MAX_BETWEEN 4
/*
 * At most so many mappings of a program are searched for an image of no file: a JIT has any number
 * of mappings.
 */
#define MAX_IMAGES 16
/* One that is being laid out is looked at again after 10 ms, and after twice as long each time. */
#define WAIT_NS	  (10 * EP_NS_PER_MS)
#define MAX_WAITS 5
/* Text that is on its way after 80 ms at most, some 1.3 s in all: samples wait for 2 s. */
#define MAX_DOUBLED    3
#define MAX_TEXT_WAITS 18
/*
 * From the first sample in code of no file to one look at such memory, and from each to the next.
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
	struct ep_image_code code; /* of it, in the area */
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

static bool is_anonymous(const struct ep_area *area)
{
	return !area->use || (area->use->executable && is_memory(area->use->executable));
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

/*
 * The reference is taken. Where the code is a part of the area, what is beside it stays as it is. A
 * child that shares the mappings may have put something else there.
 */
static void put_executable(struct ep_processes *processes, struct ep_process *process,
			   uint64_t start, struct ep_executable *executable,
			   const struct ep_image_code *code)
{
	struct ep_mappings *mappings = ep_mappings_own(&process->sharer, &processes->n_areas);
	struct ep_area part;

	if (!mappings) {
		ep_executable_unref(executable);
		return;
	}
	part = *ep_areas_find(&mappings->areas, start);
	part.start = code->start;
	part.end = code->end;
	part.file_off = code->file_off;
	part.use = ep_file_use_get(mappings, executable);
	if (part.use)
		(void)ep_mappings_insert(mappings, part);
}

static void apply_comparison(struct comparison *c)
{
	struct ep_processes *processes = c->processes;
	struct ep_process *process = ep_table_find_live(&processes->table, (pid_t)c->program.pid);
	struct ep_executable *executable;
	struct ep_image_code code = {.start = c->start, .end = c->end, .file_off = c->file_off};
	struct ep_area *area;

	processes->comparisons--;
	if (processes->stopped || !process || !ep_process_is(process, c->program))
		return;
	process->search.is_comparing = false;
	process->search.is_moving = false;
	process->search.start = process->search.end = 0;
	area = ep_areas_find(ep_process_areas(process), c->start);
	if (!area || area->start != c->start || area->end != c->end || !is_anonymous(area))
		return;
	executable = take_answer(c);
	if (!c->is_equal)
		code = c->code;
	/* Where something was done to it meanwhile, it is looked at once more: it may have been filled. */
	if (executable || area->time_ns == c->time_ns) {
		area->is_compared |= c->is_equal || c->was_file;
		area->is_searched |= c->may_be_image;
	}
	if (executable) {
		put_executable(processes, process, c->start, executable, &code);
		process->languages.remapped = true;
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

/*
 * Where the file has what was at this area; -ENODATA: `known` is of no file whose text was there.
 */
static int find_text(const struct ep_area *known, const struct ep_area *area,
		     uint64_t *ret_file_off)
{
	const struct ep_executable *executable = ep_area_executable(known);
	uint64_t va;

	if (executable->state != EP_EXECUTABLE_READY || executable->file.fd < 0 ||
	    ep_executable_find_va(executable, known->file_off, &va) < 0)
		return -ENODATA;
	for (size_t i = 0; i < executable->n_segments; i++) {
		const struct ep_elf_segment *segment = &executable->segments[i];
		uint64_t start = EP_ALIGN_DOWN(segment->va, EP_PAGE_BYTES);
		uint64_t end = EP_ALIGN_UP(segment->va + segment->file_bytes, EP_PAGE_BYTES);
		uint64_t at = area->start - (known->start - va), bytes = area->end - area->start;

		if (at < start || at >= end || bytes > end - at)
			continue;
		*ret_file_off = EP_ALIGN_DOWN(segment->file_off, EP_PAGE_BYTES) + (at - start);
		return 0;
	}
	return -ENODATA;
}

/* The next area of a file before or after one, in steps of -1 or 1. NULL: none is near. */
static const struct ep_area *find_file(const struct ep_vec *areas, size_t i, int step)
{
	for (size_t n = 0; n <= MAX_BETWEEN; n++) {
		const struct ep_area *area;

		i += (size_t)step;
		if (i >= areas->len)
			return NULL;
		area = ep_vec_at(areas, struct ep_area, i);
		if (ep_area_executable(area))
			return area;
	}
	return NULL;
}

/* What an area may be: `bytes` of a file, from `from` in it on. */
struct text {
	const struct ep_executable *executable; /* NULL: of no file */
	uint64_t file_off;			/* of the area's start */
	uint64_t from, bytes;
	bool was_here; /* before this memory was mapped */
};

static void start_comparison(struct ep_processes *processes, struct ep_process *process,
			     struct ep_area *area, const struct text *text)
{
	const struct ep_executable *executable = text->executable;
	struct comparison *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	*c = (struct comparison){
		.processes = processes,
		.program = process->program,
		.start = area->start,
		.end = area->end,
		.time_ns = area->time_ns,
		.file_off = text->file_off,
		.from = text->from,
		.bytes = text->bytes,
		.executable = executable ? executable->id : 0,
		.fd = executable ? fcntl(executable->file.fd, F_DUPFD_CLOEXEC, 0) : -1,
		.was_file = executable != NULL,
		.was_text = text->was_here,
		.may_be_image = !area->is_searched && process->search.n_images < MAX_IMAGES,
		.image = {.fd = -1},
	};
	if ((executable && c->fd < 0) ||
	    ep_job_run(processes->options.loop, run_comparison, finish_comparison, c) < 0) {
		free_comparison(c);
		return;
	}
	process->search.n_images += c->may_be_image;
	process->search.is_moving = c->was_text;
	if (c->may_be_image || c->was_text) {
		process->search.start = c->start;
		process->search.end = c->end;
	}
	process->search.is_comparing = true;
	processes->comparisons++;
}

/*
 * Code that was described, of a few files: what a copy of it would be, and the pages that it takes.
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

static void find_described(struct described *described, const struct ep_vec *areas)
{
	const struct ep_area *area;

	described->n = 0;
	ep_vec_each (areas, area) {
		const struct ep_executable *executable = ep_area_executable(area);

		if (executable &&
		    executable->described_end - executable->described_va >= MIN_COPY_BYTES &&
		    executable->state == EP_EXECUTABLE_READY && executable->file.fd >= 0 &&
		    described->n < MAX_DESCRIBED && !is_noted(described, executable))
			note_described(described, executable);
	}
}

/* True when it is being compared with a file's text. */
static bool compare_area(struct ep_processes *processes, struct ep_process *process, size_t i,
			 const struct described *described)
{
	const struct ep_vec *areas = ep_process_areas(process);
	struct ep_area *area = ep_vec_at(areas, struct ep_area, i);
	const struct ep_area *files[] = {find_file(areas, i, -1), find_file(areas, i, 1)};
	struct text text = {.bytes = area->end - area->start};

	for (size_t k = 0; k < EP_LEN(files); k++) {
		if (files[k] && find_text(files[k], area, &text.file_off) == 0) {
			text.executable = ep_area_executable(files[k]);
			text.was_here = true;
			start_comparison(processes, process, area, &text);
			return process->search.is_comparing;
		}
	}
	for (size_t k = 0; k < described->n; k++) {
		if (described->codes[k].page_bytes == area->end - area->start) {
			start_comparison(processes, process, area, &described->codes[k].text);
			return process->search.is_comparing;
		}
	}
	return false;
}

static bool may_be_text(const struct ep_area *area)
{
	return is_anonymous(area) && !(area->is_memfd && !area->use) &&
	       area->end - area->start >= EP_PAGE_BYTES;
}

/* First what may be a file's: a JIT has many areas that are nothing. */
void ep_moved_text_look(struct ep_processes *processes, struct ep_process *process)
{
	const struct ep_vec *areas = ep_process_areas(process);
	struct ep_area *area, *unsearched = NULL;
	struct described described;

	if (process->search.is_comparing)
		return;
	find_described(&described, areas);
	for (size_t i = 0; i < areas->len; i++) {
		area = ep_vec_at(areas, struct ep_area, i);
		if (!may_be_text(area))
			continue;
		if (!area->is_compared && compare_area(processes, process, i, &described))
			return;
		if (!unsearched && !area->is_searched)
			unsearched = area;
	}
	if (unsearched && process->search.n_images < MAX_IMAGES)
		start_comparison(processes, process, unsearched, &(struct text){0});
}

bool ep_moved_text_may_have_changed(struct ep_area *area)
{
	bool may = area && (area->is_compared || area->is_searched) && is_anonymous(area);

	if (may)
		area->is_compared = area->is_searched = false;
	return may;
}

void ep_moved_text_on_sample(struct ep_processes *processes, struct ep_process *process,
			     uint64_t time_ns)
{
	struct ep_area *area;
	bool any = false;

	if (process->search.n_looks == EP_LEN(looks_ns) || process->search.is_comparing ||
	    time_ns < process->search.look_ns)
		return;
	if (!process->search.look_ns) {
		process->search.look_ns = time_ns + looks_ns[0];
		return;
	}
	if (++process->search.n_looks < EP_LEN(looks_ns))
		process->search.look_ns = time_ns + looks_ns[process->search.n_looks];
	process->search.n_images = 0;
	ep_vec_each (ep_process_areas(process), area)
		any |= ep_moved_text_may_have_changed(area);
	if (any)
		ep_processes_mark(processes, process);
}

/* The same file in mappings that were read anew. */
static struct ep_file_use *use_again(struct ep_mappings *mappings, const struct ep_area *was)
{
	return ep_file_use_get(mappings, ep_executable_ref(was->use->executable));
}

/* A part of an area is what it was. */
static void keep_part(struct ep_mappings *mappings, const struct ep_area *was)
{
	struct ep_area *area = ep_areas_find(&mappings->areas, was->start), part = *was;

	if (!area || !is_anonymous(area) || was->end > area->end ||
	    (was->start == area->start && was->end == area->end))
		return;
	area->is_searched = true;
	part.time_ns = area->time_ns;
	part.use = use_again(mappings, was);
	if (part.use)
		(void)ep_mappings_insert(mappings, part);
}

static void keep_whole(struct ep_mappings *mappings, struct ep_area *area,
		       const struct ep_area *was)
{
	struct ep_file_use *use = is_anonymous(was) ? NULL : use_again(mappings, was);

	area->is_compared = was->is_compared;
	area->is_searched = was->is_searched;
	if (!use)
		return;
	ep_file_use_unref(area->use);
	area->use = use;
	area->file_off = was->file_off;
}

void ep_moved_text_keep(struct ep_mappings *mappings, const struct ep_vec *old)
{
	struct ep_area *area;

	ep_vec_each (&mappings->areas, area) {
		const struct ep_area *was =
			is_anonymous(area) ? ep_areas_find(old, area->start) : NULL;

		if (was && (was->is_compared || was->is_searched) && was->start == area->start &&
		    was->end == area->end && !ep_area_is_looked_for(was) && !ep_area_is_gone(was))
			keep_whole(mappings, area, was);
	}
	ep_vec_each (old, area) {
		if (ep_area_executable(area) && area->is_searched && !is_anonymous(area))
			keep_part(mappings, area);
	}
}
