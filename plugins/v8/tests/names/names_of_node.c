/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_of_node PID NODE FILE: names the functions of a running Node that come from a file, whose heap is
 * searched for them by maps alone, and what its code says that runs at each of its positions. Prints
 *
 *	FUNCTION NAME LINE COLUMN FILE			of each SharedFunctionInfo that has bytecodes
 *	BYTECODE NAME LINE NAME LINE			of each position in them: the function again
 *	STACK KIND NAME LINE ...			of each position in code, innermost first
 *	TIME new NANOSECONDS known NANOSECONDS
 *
 * With "wasm" as the file: stops the process now and then, and prints
 *
 *	WASM NAME	where it runs in WebAssembly
 */
#include "core/base/clock.h"
#include "plugins/v8/symbolize/codes.h"
#include "plugins/v8/symbolize/functions.h"
#include "plugins/v8/symbolize/names.h"
#include "plugins/v8/tests/names/versions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#define MAX_MAPS    256
#define MAX_OBJECTS 200000
#define MAX_REGION  (512u << 20)

struct region {
	uint64_t start, bytes;
	uint8_t *copy;
};

struct found {
	uint64_t *at;
	size_t n;
};

static struct region regions[8192];
static size_t n_regions;
static struct v8_layout layout;
static struct v8_state state;
static int pid;
static const char *wanted;

static int read_process(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct iovec local = {buf, bytes}, remote = {(void *)(uintptr_t)addr, bytes};
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	(void)arg;
	if (n < 0 && errno == ESRCH)
		return -ESRCH;
	return n == (ssize_t)bytes ? 0 : -EFAULT;
}

/* What may hold objects: readable, and of no file. */
static void copy_regions(void)
{
	char path[64], line[4096];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file) && n_regions < EP_LEN(regions)) {
		unsigned long start, end;
		char prot[8];

		if (sscanf(line, "%lx-%lx %7s", &start, &end, prot) != 3 || prot[0] != 'r' ||
		    strchr(line, '/') || strchr(line, '[') || end - start > MAX_REGION)
			continue;
		regions[n_regions].copy = malloc(end - start);
		if (regions[n_regions].copy &&
		    read_process(NULL, start, regions[n_regions].copy, end - start) == 0) {
			regions[n_regions].start = start;
			regions[n_regions++].bytes = end - start;
		} else {
			free(regions[n_regions].copy);
		}
	}
	if (file)
		fclose(file);
}

static uint32_t type_at(const struct region *region, uint64_t off)
{
	uint16_t type = 0;

	if (off + 16 > region->bytes)
		return 0;
	memcpy(&type, region->copy + off + layout.map_type, layout.map_type_bytes == 1 ? 1 : 2);
	return type;
}

static bool is_in(const struct found *set, uint64_t word)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->at[i] == word)
			return true;
	}
	return false;
}

/* Objects whose first word is one of the maps; NULL: is their own address. Of a type: as maps are. */
static struct found search(const struct found *maps, int32_t type, size_t max)
{
	struct found found = {.at = calloc(max, sizeof(uint64_t))};

	for (size_t r = 0; found.at && r < n_regions; r++) {
		for (uint64_t off = 0; off + 8 <= regions[r].bytes && found.n < max; off += 8) {
			uint64_t word, self = regions[r].start + off + V8_TAG;

			memcpy(&word, regions[r].copy + off, sizeof(word));
			if ((word & 3) != 1 || (maps ? !is_in(maps, word) : word != self))
				continue;
			if (type < 0 || type_at(&regions[r], off) == (uint32_t)type)
				found.at[found.n++] = self;
		}
	}
	return found;
}

/* ---- names ---- */

struct printed {
	char text[8192];
	size_t used;
	bool is_wanted, with_place;
	char first_file[1024];
	uint32_t column, n;
};

static int print_name(struct ep_names *to, const struct ep_name *name)
{
	struct printed *printed = (struct printed *)to;

	if (printed->n++ == 0) {
		snprintf(printed->first_file, sizeof(printed->first_file), "%s",
			 name->file ? name->file : "-");
		printed->column = name->column;
	}
	printed->is_wanted |= name->file && strcmp(name->file, wanted) == 0;
	printed->used += (size_t)snprintf(printed->text + printed->used,
					  sizeof(printed->text) - printed->used, "\t%s\t%u%s",
					  name->function, name->line,
					  name->system_name ? "?" : "");
	return printed->used < sizeof(printed->text) - 1024 ? 0 : -E2BIG;
}

static int name_frame(struct v8_names *names, const struct ep_raw_frame *frame,
		      struct printed *printed)
{
	*printed = (struct printed){0};
	return v8_names_of(names, frame, print_name, (struct ep_names *)printed);
}

/* ---- functions ---- */

static struct v8_context context;

static uint64_t bytecodes_of(uint64_t function)
{
	uint64_t data;
	uint16_t type;

	for (int i = 0; i < 3; i++) {
		if (v8_field(&context.heap, function, i ? i == 1 ? 8 : 16 : layout.sfi_data, &data))
			return 0;
		if (v8_object_type(&context.heap, &data, &type))
			return 0;
		if (type == layout.type_bytecode_array)
			return data - V8_TAG;
	}
	return 0;
}

static void print_bytecodes(struct v8_names *names, struct ep_raw_frame *frame)
{
	uint64_t table;
	uint8_t *bytes;
	uint32_t n;
	struct v8_positions positions;
	struct v8_position position;
	struct printed printed;

	if (v8_field(&context.heap, frame->words[2] + V8_TAG, layout.bytecode_positions, &table) ||
	    v8_bytes_read(&context.heap, table, 1u << 20, &bytes, &n))
		return;
	v8_positions_init(&positions, &layout, bytes, n);
	while (v8_positions_next(&positions, &position)) {
		frame->aux = (uint32_t)position.code_off;
		if (name_frame(names, frame, &printed) == 0)
			printf("BYTECODE%s\n", printed.text);
	}
	free(bytes);
}

static uint64_t spent_new, spent_known, n_new;

static void print_function(struct v8_names *names, uint64_t function)
{
	struct ep_raw_frame frame = {.n_words = 3, .aux = V8_OFFSET_UNKNOWN,
				     .flags = V8_FRAME_INTERPRETED << V8_FRAME_SHIFT};
	struct printed printed;
	uint64_t begin, middle, end;
	int r;

	frame.words[0] = function - V8_TAG;
	v8_heap_forget(&context.heap);
	if (v8_cookie_read(&context, frame.words[0], (uint64_t *)&frame.words[1]) < 0)
		return;
	frame.words[2] = bytecodes_of(function);
	begin = ep_clock_mono_ns();
	r = name_frame(names, &frame, &printed);
	middle = ep_clock_mono_ns();
	if (r != 0) {
		printf("FAILED %d %#llx\n", r, (unsigned long long)function);
		return;
	}
	(void)name_frame(names, &frame, &printed);
	end = ep_clock_mono_ns();
	spent_new += middle - begin;
	spent_known += end - middle;
	n_new++;
	if (!printed.is_wanted)
		return;
	printf("FUNCTION%s\t%s\t%s\n", printed.text, printed.first_file,
	       frame.words[2] ? "bytecodes" : "none");
	if (frame.words[2])
		print_bytecodes(names, &frame);
}

/* ---- code ---- */

static uint64_t function_of(const struct v8_code_object *code)
{
	uint64_t array, object;

	if (v8_field(&context.heap, code->object, layout.code_deopt, &array) ||
	    v8_field(&context.heap, array, layout.array_data + 8 * layout.deopt_sfi, &object))
		return 0;
	if (layout.deopt_sfi_is_wrapped &&
	    v8_field(&context.heap, object, layout.sfi_wrapper_sfi, &object))
		return 0;
	return v8_object_check(&context.heap, &object, layout.type_sfi) ? 0 : object;
}

/* Sparkplug's code has no function; the functions that have it do. */
struct owner {
	uint64_t code, function;
};

static struct owner *owners;
static size_t n_owners;

static int compare_owners(const void *a, const void *b)
{
	const struct owner *one = a, *other = b;

	return one->code < other->code ? -1 : one->code > other->code;
}

static void find_owners(const struct found *functions)
{
	owners = calloc(functions->n + 1, sizeof(*owners));
	v8_heap_forget(&context.heap);
	for (size_t i = 0; owners && i < functions->n; i++) {
		uint64_t data, of;

		if (v8_field(&context.heap, functions->at[i], layout.sfi_data, &data))
			continue;
		if (v8_has(layout.type_baseline_data) &&
		    v8_object_check(&context.heap, &data, layout.type_baseline_data) == 0 &&
		    v8_field(&context.heap, data, layout.baseline_data_code, &of) == 0)
			data = of;
		owners[n_owners++] = (struct owner){data, functions->at[i]};
	}
	if (n_owners)
		qsort(owners, n_owners, sizeof(*owners), compare_owners);
}

static uint64_t function_of_baseline(uint64_t code)
{
	const struct owner key = {.code = code};
	const struct owner *owner =
		n_owners ? bsearch(&key, owners, n_owners, sizeof(*owners), compare_owners) : NULL;

	return owner ? owner->function : 0;
}

static void print_stacks(struct v8_names *names, const struct v8_code_object *code,
			 uint64_t function)
{
	struct ep_raw_frame frame = {.n_words = 3,
				     .flags = V8_FRAME_COMPILED << V8_FRAME_SHIFT};
	struct printed printed;
	char last[8192] = "";

	frame.words[0] = function - V8_TAG;
	if (v8_cookie_read(&context, frame.words[0], (uint64_t *)&frame.words[1]) < 0)
		return;
	for (int is_leaf = 0; is_leaf < 2; is_leaf++) {
		for (uint32_t off = 1; off < code->bytes; off += code->is_maglev ? 1 : 3) {
			struct v8_stack stack = {.n = 0};

			frame.words[2] = code->start + off;
			frame.flags = V8_FRAME_COMPILED << V8_FRAME_SHIFT |
				      (is_leaf ? EP_FRAME_INTERRUPTED : 0);
			if (name_frame(names, &frame, &printed) != 0 || !printed.is_wanted ||
			    strcmp(last, printed.text) == 0)
				continue;
			(void)v8_code_stack(&context.heap, code, frame.words[2], !is_leaf,
					    frame.words[0], &stack);
			printf("STACK %s%s%s\n", is_leaf ? "leaf-" : "",
			       code->kind == V8_CODE_BASELINE ? "baseline" :
			       stack.is_translated		      ? "translated" :
			       code->is_maglev		      ? "maglev" : "optimized",
			       printed.text);
			snprintf(last, sizeof(last), "%s", printed.text);
		}
	}
}

static void print_code(struct v8_names *names, uint64_t object)
{
	uint64_t start = object - V8_TAG + (uint32_t)layout.code_first, function;
	struct v8_code_object code;

	v8_heap_forget(&context.heap);
	if (v8_has(layout.code_start) && v8_field(&context.heap, object, layout.code_start, &start))
		return;
	if (v8_code_find(&context.heap, start + 1, &code) || code.object != object ||
	    (code.kind != V8_CODE_OPTIMIZED && code.kind != V8_CODE_BASELINE))
		return;
	function = code.kind == V8_CODE_BASELINE ? function_of_baseline(object) :
						   function_of(&code);
	if (function)
		print_stacks(names, &code, function);
}

/* ---- WebAssembly ---- */

static void print_wasm(struct v8_names *names, const struct user_regs_struct *regs)
{
	struct ep_raw_frame frame = {.flags = V8_FRAME_WASM << V8_FRAME_SHIFT |
					      EP_FRAME_INTERRUPTED,
				     .n_words = 2};
	uint64_t words[2]; /* instance, type */
	struct printed printed;
	int r;

	if (read_process(NULL, regs->rbp - 16, words, sizeof(words)) < 0 ||
	    words[1] != (uint64_t)layout.frame_wasm << 1)
		return;
	frame.words[0] = words[0] - V8_TAG;
	frame.words[1] = regs->rip;
	r = name_frame(names, &frame, &printed);
	printf("WASM%s\n", r ? "\tfailed" : printed.text);
}

static int sample_wasm(struct v8_names *names)
{
	for (int i = 0; i < 100; i++) {
		const struct timespec pause = {.tv_nsec = 5000000};
		struct user_regs_struct regs;

		if (i == 0 && ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
			return 1;
		if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 || waitpid(pid, NULL, 0) < 0)
			return 1;
		if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) == 0)
			print_wasm(names, &regs);
		(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
		nanosleep(&pause, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct memory memory = {.read = read_process};
	struct v8_names *names;
	struct found meta, maps, code_maps, functions, codes;
	int version = argc == 4 ? find_version(argv[2]) : -1;

	if (version < 0)
		return 2;
	pid = (int)strtol(argv[1], NULL, 10);
	wanted = argv[3];
	layout = layout_of((size_t)version);
	state = state_of(&layout);
	if (v8_names_new(&memory, &layout, &state, &names) ||
	    v8_heap_init(&context.heap, &memory, &layout))
		return 2;
	memcpy(context.cookie_masks, state.cookie_masks, sizeof(context.cookie_masks));
	context.cookie_at = state.cookie_at;
	context.is_unique = state.flags & V8_STATE_UNIQUE_ID;
	if (strcmp(wanted, "wasm") == 0) {
		int r = sample_wasm(names);

		v8_names_free(names);
		v8_heap_fini(&context.heap);
		return r;
	}
	copy_regions();
	meta = search(NULL, layout.type_map, MAX_MAPS);
	maps = search(&meta, layout.type_sfi, MAX_MAPS);
	code_maps = search(&meta, layout.type_code, MAX_MAPS);
	functions = search(&maps, -1, MAX_OBJECTS);
	codes = search(&code_maps, -1, MAX_OBJECTS);
	printf("FOUND %zu maps of maps, %zu and %zu maps, %zu functions, %zu codes\n", meta.n,
	       maps.n, code_maps.n, functions.n, codes.n);
	for (size_t i = 0; i < functions.n; i++)
		print_function(names, functions.at[i]);
	find_owners(&functions);
	for (size_t i = 0; i < codes.n; i++)
		print_code(names, codes.at[i]);
	printf("TIME new %llu known %llu of %llu; %zu bytes\n",
	       (unsigned long long)(n_new ? spent_new / n_new : 0),
	       (unsigned long long)(n_new ? spent_known / n_new : 0), (unsigned long long)n_new,
	       v8_names_bytes(names));
	v8_names_free(names);
	v8_heap_fini(&context.heap);
	for (size_t i = 0; i < n_regions; i++)
		free(regions[i].copy);
	free(owners);
	free(meta.at);
	free(maps.at);
	free(code_maps.at);
	free(functions.at);
	free(codes.at);
	return 0;
}
