/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins: what is in the plugin directory. plugins --check FILE: whether one plugin would be
 * loaded and would work here, step by step until one fails. plugins --new NAME: one to begin with.
 * These two are for who writes one.
 */
#include "core/base/clock.h"
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/bpf/language_maps.h"
#include "core/bpf/programs.h"
#include "core/bpf/unwinder_program.h"
#include "core/cli/commands.h"
#include "core/cli/parts/new_plugin.h"
#include "core/config/config.h"
#include "core/elf/file.h"
#include "core/plugin/elf_file.h"
#include "core/plugin/host.h"
#include "core/trace/kinds.h"
#include "ebpf-profiler/bpf/self.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define RING_BYTES    ((size_t)1 << 20)
#define MAX_PROCESSES 64
#define MAX_COUNTERS  16   /* struct ep_unwinder_ops */
#define MAX_TEXTS     4096 /* a list without its end mark */
#define SLOW_PROBE_US 1000

/* --- the list -------------------------------------------------------------------------------- */

static const char *type_name(enum ep_option_type type)
{
	static const char *const names[] = {
		[EP_OPTION_STRING] = "string",
		[EP_OPTION_INT] = "number",
		[EP_OPTION_BOOL] = "true or false",
		[EP_OPTION_DURATION] = "time",
	};

	return (size_t)type < EP_LEN(names) && names[type] ? names[type] : "?";
}

static void print_options(const struct ep_exporter_ops *ops)
{
	for (const struct ep_option_spec *o = ops ? ops->options : NULL; o && o->name; o++)
		printf("    %-16s %-13s %-12s %s\n", o->name, type_name(o->type),
		       o->fallback ? o->fallback : "required", o->help ? o->help : "");
}

static void print_plugin(void *arg, const struct ep_plugin_entry *entry)
{
	const struct ep_plugin *plugin = entry->module ? ep_module_plugin(entry->module) : NULL;

	(void)arg;
	if (!plugin) {
		printf("%-16s %-10s %-9s %2u.%-3u %-8s %s: %s\n", entry->name, "-", "-", 0, 0,
		       "refused", entry->path, entry->reason);
		return;
	}
	printf("%-16s %-10s %-9s %2u.%-3u %-8s %s\n", entry->name,
	       plugin->version && *plugin->version ? plugin->version : "-",
	       plugin->kind == EP_PLUGIN_UNWINDER ? "unwinder" : "exporter", plugin->abi_major,
	       plugin->abi_minor, "ok", entry->path);
	print_options(ep_module_exporter(entry->module));
}

static int list(const struct ep_args *args)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config =
		ep_cmd_load_config(args->config_path);
	int r;

	if (!config)
		return EP_EXIT_USAGE;
	printf("%-16s %-10s %-9s %-6s %-8s %s\n", "NAME", "VERSION", "KIND", "ABI", "STATE",
	       "FILE");
	r = ep_plugin_list(config->plugins.dir, print_plugin, NULL);
	if (r < 0) {
		fprintf(stderr,
			"ebpf-profiler: cannot list %s: %s; set plugins.dir or "
			"EBPF_PROFILER_PLUGINS_DIR\n",
			config->plugins.dir, ep_strerror(r));
		return EP_EXIT_FAILED;
	}
	return EP_EXIT_OK;
}

/* --- the check: each step prints one line, and gives an exit status -------------------------- */

static void say(const char *status, const char *step, const char *fmt, ...) EP_PRINTF(3, 4);

static void say(const char *status, const char *step, const char *fmt, ...)
{
	va_list list;

	printf("%-5s %-11s ", status, step);
	va_start(list, fmt);
	vprintf(fmt, list);
	va_end(list);
	printf("\n");
}

/* Splits the path, as the plugin's name is its file's. */
static enum ep_exit check_file(const char *path, struct ep_module **ret_module)
{
	char dir[PATH_MAX], reason[EP_REASON_BYTES] = "";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(name);
	char bare[NAME_MAX + 1];

	if (len <= 3 || len > NAME_MAX || strcmp(name + len - 3, ".so") != 0 ||
	    (size_t)(name - path) >= sizeof(dir)) {
		say("fail", "file", "%s: a plugin is a file NAME.so", path);
		return EP_EXIT_FAILED;
	}
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(name - path) : 1, slash ? path : ".");
	snprintf(bare, sizeof(bare), "%.*s", (int)len - 3, name);
	if (ep_module_load(dir, bare, ret_module, reason) < 0) {
		say("fail", "file", "%s", reason);
		return EP_EXIT_FAILED;
	}
	say("ok", "file", "%s", path);
	return EP_EXIT_OK;
}

static void check_descriptor(const struct ep_plugin *plugin)
{
	bool newer = plugin->abi_minor > EP_ABI_MINOR;

	say("ok", "descriptor", "%s %s: %s, ABI %u.%u%s", plugin->name,
	    plugin->version ? plugin->version : "-",
	    plugin->kind == EP_PLUGIN_UNWINDER ? "unwinder" : "exporter", plugin->abi_major,
	    plugin->abi_minor, newer ? ", newer than this: what is new in it is not used" : "");
}

static enum ep_exit check_texts(const char *step, const char *const *texts, size_t max)
{
	size_t n = 0;

	while (texts && n < MAX_TEXTS && texts[n]) {
		if (strlen(texts[n]) >= EP_KIND_MAX_TEXT) {
			say("fail", step, "\"%.40s...\" is longer than %d bytes", texts[n],
			    EP_KIND_MAX_TEXT - 1);
			return EP_EXIT_FAILED;
		}
		n++;
	}
	if (n > max) {
		say("fail", step, "%zu texts, or no NULL at the end: at most %zu", n, max);
		return EP_EXIT_FAILED;
	}
	say("ok", step, "%zu", n);
	return EP_EXIT_OK;
}

static bool is_refused(int r)
{
	return r != 0 && r != EP_CODE_ONLY && r != EP_LAUNCHER;
}

/* This program is no runtime: a probe that claims it would claim anything. */
static enum ep_exit check_probe(const struct ep_unwinder_ops *ops)
{
	struct ep_elf *elf = NULL;
	struct ep_elf_file file;
	void *executable = NULL;
	uint64_t start_ns, us = UINT64_MAX;
	int r = ep_elf_open("/proc/self/exe", &elf);

	if (r < 0) {
		say("fail", "probe", "/proc/self/exe: %s", ep_strerror(r));
		return EP_EXIT_FAILED;
	}
	ep_elf_file_init(&file, elf, "", "/usr/bin/ebpf-profiler");
	/* The first time includes one pass over the names of .symtab, and for pages that are read:
	 * not the plugin's doing. */
	for (int i = 0; i < 2 && (i == 0 || is_refused(r)); i++) {
		start_ns = ep_clock_thread_cpu_ns();
		r = ops->probe(ep_unwinder_host_get(), &file.file, &executable);
		us = EP_MIN(us, (ep_clock_thread_cpu_ns() - start_ns) / 1000);
	}
	ep_elf_file_fini(&file);
	ep_elf_close(elf);
	if (!is_refused(r)) {
		say("fail", "probe", "says that the profiler itself is its runtime, or launches it");
		if (r != EP_LAUNCHER)
			ops->unload(executable);
		return EP_EXIT_FAILED;
	}
	say(us > SLOW_PROBE_US ? "warn" : "ok", "probe", "not this program (%s), in %" PRIu64 " us",
	    r == EP_NOT_MINE ? "EP_NOT_MINE" : ep_strerror(r), us);
	return EP_EXIT_OK;
}

/* A short program is loaded first, while samples wait for it: it must be quick. */
static void say_program(const struct ep_bpf_image *image, const struct ep_unwinder_program *program,
			uint64_t start_ns)
{
	uint32_t verified = ep_unwinder_program_verified(program);
	bool is_slow = ep_unwinder_program_is_short(program) && verified > EP_QUICK_VERIFIED;

	say(is_slow ? "warn" : "ok", "BPF",
	    "%s: %zu bytes, loaded in %" PRIu64
	    " ms, %u instructions, %u walked by the verifier, %u frames per run",
	    image->program, image->object_bytes,
	    (uint64_t)((ep_clock_mono_ns() - start_ns) / EP_NS_PER_MS),
	    ep_unwinder_program_instructions(program), verified,
	    ep_unwinder_program_frames_per_run(program));
}

/* Without its snapshot program a language works, but for names of short programs: a plugin is not
 * to be made so. */
static enum ep_exit check_keeper(struct ep_unwinder_program *program, const struct ep_bpf *bpf,
				 const struct ep_language_maps *maps,
				 const struct ep_unwinder_program_options *options)
{
	uint64_t start_ns = ep_clock_mono_ns();
	char reason[512] = "";
	int r = ep_unwinder_program_load_keeper(program, bpf, maps, options, reason);

	if (!options->keeper)
		return EP_EXIT_OK;
	if (r < 0) {
		say("fail", "keeper", "%s: %s", options->keeper->program, *reason ? reason : ep_strerror(r));
		return EP_EXIT_FAILED;
	}
	say("ok", "keeper", "%s: %zu bytes, loaded in %" PRIu64 " ms, %u walked by the verifier",
	    options->keeper->program, options->keeper->object_bytes,
	    (uint64_t)((ep_clock_mono_ns() - start_ns) / EP_NS_PER_MS),
	    ep_unwinder_program_verified_keeper(program));
	return EP_EXIT_OK;
}

static enum ep_exit load_program(const struct ep_bpf *bpf, const struct ep_language_maps *maps,
				 const struct ep_plugin *plugin)
{
	const struct ep_bpf_image *image = plugin->unwinder->bpf;
	struct ep_unwinder_program_options options = {
		.name = plugin->name,
		.image = image,
		.keeper = EP_HAS(plugin->unwinder, keeper) ? plugin->unwinder->keeper : NULL,
		.slot = EP_SLOT_FIRST_DYNAMIC,
		.first_error = EP_ERROR_FIRST_DYNAMIC,
	};
	struct ep_unwinder_program *program = NULL;
	enum ep_exit status;
	uint64_t start_ns = ep_clock_mono_ns();
	char reason[512] = "";
	int r = ep_unwinder_program_load(bpf, maps, &options, &program, reason);

	if (r < 0) {
		say("fail", "BPF", "%s: %s", image->program, *reason ? reason : ep_strerror(r));
		return EP_EXIT_FAILED;
	}
	say_program(image, program, start_ns);
	if (ep_unwinder_program_is_short(program)) {
		start_ns = ep_clock_mono_ns();
		r = ep_unwinder_program_lengthen(program, bpf, maps, &options, reason);
		if (r < 0)
			say("warn", "BPF", "%s: no longer one: %s", image->program, reason);
		else
			say_program(image, program, start_ns);
	}
	status = check_keeper(program, bpf, maps, &options);
	ep_unwinder_program_free(program);
	return status;
}

static enum ep_exit check_bpf(const struct ep_plugin *plugin)
{
	struct ep_bpf_options options = {.ring_bytes = RING_BYTES, .max_processes = MAX_PROCESSES};
	struct ep_language_maps *maps = NULL;
	struct ep_bpf *bpf = NULL;
	enum ep_exit status;
	int r = ep_bpf_load(&options, &bpf);

	if (r == 0)
		r = ep_language_maps_new(&maps);
	if (r == 0) {
		status = load_program(bpf, maps, plugin);
	} else {
		status = r == -EPERM || r == -EACCES ? EP_EXIT_PERMISSION : EP_EXIT_KERNEL;
		say("fail", "BPF",
		    "not tried: the profiler's own programs cannot be loaded: %s; "
		    "run: ebpf-profiler doctor",
		    ep_strerror(r));
	}
	ep_language_maps_free(maps);
	ep_bpf_free(bpf);
	return status;
}

static enum ep_exit check_unwinder(const struct ep_plugin *plugin)
{
	const struct ep_unwinder_ops *ops = plugin->unwinder;
	enum ep_exit status;

	status = check_texts("errors", EP_HAS(ops, errors) ? ops->errors : NULL,
			     EP_ERROR_LAST_DYNAMIC + 1 - EP_ERROR_FIRST_DYNAMIC);
	if (status == EP_EXIT_OK)
		status = check_texts("counters", EP_HAS(ops, counters) ? ops->counters : NULL,
				     MAX_COUNTERS);
	if (status == EP_EXIT_OK)
		status = check_probe(ops);
	return status == EP_EXIT_OK ? check_bpf(plugin) : status;
}

static int check(const char *path)
{
	struct ep_module *module = NULL;
	enum ep_exit status;

	ep_host_init(uv_default_loop(), EP_VERSION);
	status = check_file(path, &module);
	if (status == EP_EXIT_OK) {
		const struct ep_plugin *plugin = ep_module_plugin(module);

		check_descriptor(plugin);
		if (plugin->kind == EP_PLUGIN_UNWINDER)
			status = check_unwinder(plugin);
	}
	ep_module_unload(module);
	return status;
}

/* --- a new one ------------------------------------------------------------------------------- */

/*
 * Where the templates are installed: from this program's own place, so that a copy below another
 * directory (DESTDIR) has its own; else where the build was given.
 */
static void find_templates(char path[PATH_MAX])
{
	static const char place[] = "/" EP_BIN_DIR "/ebpf-profiler";
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
	size_t prefix = len > 0 ? (size_t)len : 0;

	path[prefix] = '\0';
	if (prefix >= sizeof(place) - 1 && EP_TEMPLATE_DIR[0] != '/' &&
	    strcmp(path + prefix - (sizeof(place) - 1), place) == 0)
		snprintf(path + prefix - (sizeof(place) - 1), PATH_MAX - prefix, "/%s",
			 EP_TEMPLATE_DIR);
	else
		snprintf(path, PATH_MAX, "%s", EP_TEMPLATES);
}

/* Its `make install` would take the place of that one. */
static bool is_installed(const struct ep_config_file *config, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s.so", config->plugins.dir, name) < PATH_MAX &&
	       access(path, F_OK) == 0;
}

static int create(const struct ep_args *args)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config =
		ep_cmd_load_config(args->config_path);
	char templates[PATH_MAX], path[PATH_MAX + 16], error[EP_NEW_PLUGIN_ERROR] = "";
	int r;

	if (ep_is_elevated()) {
		fprintf(stderr, "ebpf-profiler: this program file has privileges, and writes no "
				"files for others: run a copy of it, which has none\n");
		return EP_EXIT_PERMISSION;
	}
	if (!config)
		return EP_EXIT_USAGE;
	if (is_installed(config, args->new_plugin)) {
		fprintf(stderr, "ebpf-profiler: a plugin %s is installed: choose another name\n",
			args->new_plugin);
		return EP_EXIT_FAILED;
	}
	find_templates(templates);
	snprintf(path, sizeof(path), "%s/%s", templates,
		 args->new_jit ? "template-jit" : "template");
	r = ep_new_plugin_write(path, args->new_jit ? "jit" : "toy", args->new_plugin, error);
	if (r < 0) {
		fprintf(stderr, "ebpf-profiler: %s\n", error);
		return r == -EINVAL ? EP_EXIT_USAGE : EP_EXIT_FAILED;
	}
	printf("%s: an unwinder for the toy %s in its tests/programs; next: cd %s && make check\n",
	       args->new_plugin, args->new_jit ? "JIT" : "interpreter", args->new_plugin);
	return EP_EXIT_OK;
}

int ep_cmd_plugins(const struct ep_args *args)
{
	if (args->new_plugin)
		return create(args);
	return args->plugin_path ? check(args->plugin_path) : list(args);
}
