/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An unwinder that uses every service of the host, and fails at the first thing that is not what
 * the headers promise. Built outside the tree, from an installed copy.
 */
#include "every_service_shared.h"

#include <ebpf-profiler/plugin.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "every_service_bpf.inc.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			services->host->log(EP_HOST_ERROR, "every_service: not true: %s",          \
					    #condition);                                           \
			return -EPROTO;                                                            \
		}                                                                                  \
	} while (0)

/* struct toy_about of plugins/template/tests/programs/toy.h; offsets are those of struct every_frame. */
struct about {
	uint32_t version, ready;
	uint32_t frame_previous, frame_function, frame_line, frame_entry;
	uint32_t function_name, function_file, function_line;
	uint32_t pad;
};

struct executable {
	struct ep_symbol run, about, top, leap;
};

struct instance {
	const struct executable *executable;
	struct ep_target *target;
	int changed;
};

static const struct ep_unwinder_host *services;

struct symbols_seen {
	const struct ep_file *file;
	int n, calls;
	char last[128];
};

static int check_services(void)
{
	CHECK(services->size >= sizeof(struct ep_unwinder_host));
	CHECK(services->host->version[0]);
	CHECK(EP_HAS(services, file_symbols) && EP_HAS(services, file_path) && EP_HAS(services, file_function));
	CHECK(EP_HAS(services, target_mappings) && EP_HAS(services, tls_key));
	CHECK(EP_HAS(services, file_parts) && EP_HAS(services, tls_path));
	CHECK(EP_HAS(services, file_named));
	CHECK(EP_HAS(services, file_variable) && EP_HAS(services, file_argument));
	CHECK(EP_HAS(services, add_name) && EP_HAS(services, count));
	CHECK(EP_HAS(services, add_rows) && EP_HAS(services, add_symbol) && EP_HAS(services, target_file));
	return 0;
}

/* Ascending; each is what file_symbol gives for its name. */
static int see_symbol(void *arg, const char *name, const struct ep_symbol *symbol)
{
	struct symbols_seen *seen = arg;
	struct ep_symbol found = {0};

	seen->n += services->file_symbol(seen->file, name, &found) == 0 && found.va == symbol->va &&
		   strncmp(name, "toy_", 4) == 0 && strcmp(seen->last, name) < 0;
	seen->calls++;
	strncpy(seen->last, name, sizeof(seen->last) - 1);
	return 0;
}

static int check_file(const struct ep_file *file, const struct executable *executable)
{
	struct symbols_seen seen = {.file = file};
	struct ep_symbol found, parts[4];
	struct ep_variable variable;
	struct about about;
	uint64_t va;
	uint8_t code[16];

	CHECK(services->file_path(file)[0] == '/');
	CHECK(services->file_symbol(file, "no_such_symbol", &found) == -ENODATA);
	CHECK(services->file_symbols(file, "toy_", see_symbol, &seen) == 0);
	CHECK(seen.n >= 3 && seen.n == seen.calls);
	CHECK(services->file_section(file, ".no_such_section", &found) == -ENODATA);
	CHECK(services->file_section(file, ".bss", &found) == 0 && found.va && found.bytes);
	CHECK(services->file_read(file, executable->about.va, &about, sizeof(about)) == 0);
	CHECK(about.version == 1 && about.frame_entry == offsetof(struct every_frame, entry));
	CHECK(services->file_read(file, executable->run.va, code, sizeof(code)) == 0);
	CHECK(services->file_read(file, UINT64_MAX - 100, code, sizeof(code)) < 0);
	CHECK(services->file_function(file, executable->run.va + 1, &found) == 0);
	CHECK(found.va == executable->run.va && found.bytes > 16);
	CHECK(services->file_named(file, "toy_run", &found) == -ENODATA);
	CHECK(services->file_parts(file, &found, parts, 4) >= 1);
	CHECK(parts[0].va == found.va && parts[0].bytes == found.bytes);
	CHECK(services->file_variable(file, UINT64_MAX - 100, &variable) < 0);
	CHECK(services->file_argument(file, UINT64_MAX - 100, &va) < 0);
	return 0;
}

static int probe(const struct ep_unwinder_host *host, const struct ep_file *file, void **ret)
{
	struct executable found = {0}, *executable;
	int r;

	services = host;
	if (host->file_symbol(file, "toy_run", &found.run) < 0 ||
	    host->file_symbol(file, "toy_about", &found.about) < 0 ||
	    host->file_symbol(file, "toy_top", &found.top) < 0)
		return EP_NOT_MINE;
	if (host->file_symbol(file, "leap_about", &found.leap) < 0)
		found.leap.va = 0;
	r = check_services();
	if (r == 0)
		r = check_file(file, &found);
	if (r < 0)
		return r;
	executable = malloc(sizeof(*executable));
	if (!executable)
		return -ENOMEM;
	*executable = found;
	*ret = executable;
	return 0;
}

/* Of toy_run, which has rules and a name: nothing changes by it. */
static int describe(void *arg, const struct ep_file *file, struct ep_description *description)
{
	const struct executable *executable = arg;
	struct ep_code_row row = {
		.va = executable->run.va,
		.bytes = 16,
		.cfa_reg = 7,
		.cfa_off = 8,
		.ra_place = EP_CODE_AT_CFA,
		.ra = -8,
	};
	struct ep_code_row wrong = row;
	struct ep_symbol symbol = {executable->run.va, 16}, nothing = {executable->run.va, 0};

	wrong.cfa_reg = 16;
	CHECK(services->file_path(file)[0] == '/');
	CHECK(services->add_rows(description, &wrong, 1) == -EINVAL);
	CHECK(services->add_symbol(description, &nothing, "nothing") == -EINVAL);
	CHECK(services->add_symbol(description, &symbol, "") == -EINVAL);
	CHECK(services->add_rows(description, &row, 1) == 0);
	return services->add_symbol(description, &symbol, "toy_run too");
}

struct search {
	uint64_t addr;
	int found, calls;
	char name[256]; /* of the file */
};

static int see_mapping(void *arg, const struct ep_target_mapping *mapping)
{
	struct search *search = arg;

	search->calls++;
	search->found = search->addr >= mapping->start && search->addr < mapping->end &&
			mapping->is_file && mapping->prot == (PROT_READ | PROT_EXEC) &&
			mapping->path[0] == '/';
	if (search->found)
		snprintf(search->name, sizeof(search->name), "%s", strrchr(mapping->path, '/') + 1);
	return search->found;
}

static int check_target(const struct executable *executable, struct ep_target *target)
{
	uint64_t run = services->target_bias(target) + executable->run.va;
	struct ep_variable variable = {.kind = EP_VARIABLE_POINTER, .value = (uint64_t)-8};
	struct ep_range wrong = {.start = 2, .end = 1};
	static char too_much[EP_STATE_BYTES + 1];
	struct search search = {.addr = run};
	struct ep_target_file file = {.name = search.name};
	struct ep_tls tls;
	char text[4];
	int r;

	CHECK(services->target_pid(target) > 0);
	CHECK(services->target_read(target, 8, text, 1) == -EFAULT);
	CHECK(services->target_string(target, run, text, sizeof(text)) == 0);
	CHECK(services->target_mappings(target, see_mapping, &search) == 0);
	CHECK(search.found && search.calls > 0);
	file.addr = run;
	CHECK(services->target_file(target, &file, 0, text, sizeof(text)) == 0);
	CHECK(memcmp(text, "\177ELF", 4) == 0 && file.content && file.bytes > 64);
	file.content++;
	CHECK(services->target_file(target, &file, 0, text, sizeof(text)) == -ESTALE);
	file.name = "../etc/passwd";
	CHECK(services->target_file(target, &file, 0, text, sizeof(text)) == -EINVAL);
	CHECK(services->tls_variable(target, UINT32_MAX, &tls) < 0);
	CHECK(services->tls_path(target, &variable, &tls) == 0);
	CHECK(tls.steps == 1 && tls.off[0] == -8);
	r = services->tls_key(target, 0, &tls);
	CHECK(r == 0 || r == -ENODATA || r == -ENOTSUP);
	CHECK(services->set_state(target, too_much, sizeof(too_much)) == -E2BIG);
	CHECK(services->set_ranges(target, &wrong, 1) == -EINVAL);
	return 0;
}

static int tell(const struct executable *executable, struct ep_target *target)
{
	uint64_t bias = services->target_bias(target), leap_about[6] = {0};
	struct every_state state = {.code_start = 0};
	struct ep_range ranges[2] = {
		{bias + executable->run.va, bias + executable->run.va + executable->run.bytes,
		 EP_RANGE_MARK, 0, 0},
	};
	int r;

	if (executable->leap.va)
		r = services->target_read(target, bias + executable->leap.va, leap_about,
					  sizeof(leap_about));
	else
		r = 0;
	if (r < 0)
		return r;
	memcpy(&state.code_start, leap_about, sizeof(leap_about));
	ranges[1] = (struct ep_range){state.code_start, state.code_end, EP_RANGE_ENTER, 0, 0};
	r = services->tls_variable(target, executable->top.va, &state.top);
	CHECK(r == 0 && state.top.steps >= 1 && state.top.steps <= EP_TLS_MAX_STEPS);
	r = services->set_state(target, &state, sizeof(state));
	return r < 0 ? r : services->set_ranges(target, ranges, state.code_start ? 2 : 1);
}

static int attach(void *arg, struct ep_target *target, void **ret)
{
	const struct executable *executable = arg;
	struct instance *instance;
	struct about about;
	int r;

	r = services->target_read(target, services->target_bias(target) + executable->about.va,
				  &about, sizeof(about));
	if (r < 0)
		return r;
	if (!about.ready)
		return EP_NOT_YET;
	r = check_target(executable, target);
	if (r == 0)
		r = tell(executable, target);
	if (r < 0)
		return r;
	instance = malloc(sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	*instance = (struct instance){executable, target, 0};
	*ret = instance;
	return 0;
}

static int refresh(void *arg)
{
	struct instance *instance = arg;

	instance->changed++;
	return tell(instance->executable, instance->target);
}

/* struct toy_function: name, file, line. */
static int symbolize(void *arg, const struct ep_raw_frame *frame, struct ep_names *names)
{
	struct instance *instance = arg;
	char function[64] = "", system_name[72], file[64];
	struct ep_name name = {.size = sizeof(name), .function = function,
			       .system_name = system_name, .file = file};
	struct {
		uint64_t name_addr, file_addr;
		uint32_t line;
	} known;

	services->count(instance->target, EVERY_COUNT_NAMES, 1);
	if (frame->n_words == 1 && frame->aux == EVERY_LEAP)
		return services->add_name(names, &(struct ep_name){.size = sizeof(struct ep_name),
								   .function = "leap"});
	CHECK(frame->n_words == 2 && frame->words[1] == 0x1122334455667788ull);
	CHECK((frame->flags & ~(uint32_t)EP_FRAME_ENTRY) == 0);
	if (services->target_read(instance->target, frame->words[0], &known, sizeof(known)) < 0 ||
	    services->target_string(instance->target, known.name_addr, function, 64) < 0 ||
	    services->target_string(instance->target, known.file_addr, file, sizeof(file)) < 0)
		return EP_FRAME_GONE;
	name.line = frame->aux >> 8;
	name.start_line = known.line;
	name.column = 7;
	(void)snprintf(system_name, sizeof(system_name), "%s()", function);
	return services->add_name(names, &name);
}

static int advise(void *arg, void (*say)(void *arg, const char *found, const char *fix),
		  void *say_arg)
{
	const struct instance *instance = arg;

	CHECK(instance->target != NULL);
	say(say_arg, "every service is used", "use fewer");
	say(say_arg, "it runs", NULL);
	return 0;
}

static void detach(void *arg)
{
	free(arg);
}

static void unload(void *arg)
{
	free(arg);
}

static const char *const errors[] = {"frame unreadable", "in the middle of a leap", NULL};
static const char *const counters[] = {"runs", "names", NULL};

static const struct ep_bpf_image bpf = {
	.size = sizeof(bpf),
	.max_frames_per_run = 16,
	.object = every_service_bpf_object,
	.object_bytes = sizeof(every_service_bpf_object),
	.program = "every_unwind",
};

static const struct ep_unwinder_ops ops = {
	.size = sizeof(ops),
	.errors = errors,
	.counters = counters,
	.bpf = &bpf,
	.probe = probe,
	.attach = attach,
	.refresh = refresh,
	.symbolize = symbolize,
	.detach = detach,
	.unload = unload,
	.advise = advise,
	.describe = describe,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_UNWINDER,
	.name = "every_service",
	.version = "1.0",
	.unwinder = &ops,
};
