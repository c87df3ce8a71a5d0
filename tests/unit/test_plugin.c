/* SPDX-License-Identifier: Apache-2.0 */
/* Usage: test_plugin DIR, where DIR holds the modules of tests/unit/plugins. */
#include "core/base/clock.h"
#include "core/plugin/exporter.h"
#include "ebpf-profiler/bpf/self.h"
#include "tests/unit/trace_store.h"

#include <elf.h>
#include <sys/stat.h>
#include <uv.h>

static const char *module_dir; /* where the build put the modules: from the command line */

/* --- the log of languages --- */

static int kept_stderr;

/* What is logged goes to a file until uncapture. */
static FILE *capture(void)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	kept_stderr = dup(STDERR_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	return file;
}

/* Copies the last line of the file that has `what` in it. How many have. */
static size_t uncapture(FILE *file, const char *what, char text[1024])
{
	char line[1024];
	size_t n = 0;

	dup2(kept_stderr, STDERR_FILENO);
	close(kept_stderr);
	rewind(file);
	text[0] = '\0';
	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, what))
			snprintf(text, 1024, "%s", line);
		n += strstr(line, what) != NULL;
	}
	fclose(file);
	return n;
}

EP_TEST(a_warning_of_a_language_is_written_once_a_minute)
{
	char text[1024];
	FILE *file;

	ep_host_init(uv_default_loop(), "test");
	file = capture();
	for (int i = 0; i < 4000; i++)
		ep_host_get_for_languages()->log(EP_HOST_WARN, "test: pid %d is not understood", i);
	ep_host_get_for_languages()->log(EP_HOST_WARN, "test: something else");
	for (int i = 0; i < 3; i++) /* exporters have limits of their own */
		ep_host_get()->log(EP_HOST_WARN, "test: batch %d", i);
	assert_int_equal(uncapture(file, "", text), 5);
}

/* What ep_host_tell_left_out writes of the sentence that has `what` in it; each time of one line at most. */
static const char *tell_left_out(uint64_t now_ns, const char *what)
{
	static char text[1024];
	FILE *file = capture();

	ep_host_tell_left_out(now_ns);
	assert_in_range(uncapture(file, what, text), 0, 1);
	return text;
}

EP_TEST(warnings_that_were_left_out_are_told_when_the_minute_is_over)
{
	const struct ep_host *languages = ep_host_get_for_languages();

	ep_host_init(uv_default_loop(), "test");
	for (int i = 0; i < 5; i++)
		languages->log(EP_HOST_WARN, "test: minute: pid %d", i);
	assert_string_equal(tell_left_out(ep_clock_mono_ns() - EP_NS_PER_SEC, "minute"), "");
	assert_string_equal(tell_left_out(ep_clock_mono_ns() + 60 * EP_NS_PER_SEC, "minute"),
			    "warn: test: minute: pid 4 (and 3 more like this since the last line)\n");
	assert_string_equal(tell_left_out(UINT64_MAX, "minute"), "");
}

EP_TEST(warnings_that_were_left_out_are_told_at_the_end)
{
	const struct ep_host *languages = ep_host_get_for_languages();

	ep_host_init(uv_default_loop(), "test");
	for (int i = 0; i < 2; i++)
		languages->log(EP_HOST_WARN, "test: end: pid %d", i);
	assert_string_equal(tell_left_out(UINT64_MAX, "end"), "warn: test: end: pid 1\n");
	assert_string_equal(tell_left_out(UINT64_MAX, "end"), "");
	languages->log(EP_HOST_WARN, "test: end: once");
	assert_string_equal(tell_left_out(UINT64_MAX, "end: once"), "");
}

/* --- options --- */

static const struct ep_option_spec specs[] = {
	{.name = "path", .type = EP_OPTION_STRING, .help = "where"},
	{.name = "level", .type = EP_OPTION_INT, .fallback = "1", .min = 1, .max = 9},
	{.name = "offset", .type = EP_OPTION_INT, .fallback = "-5"},
	{.name = "force", .type = EP_OPTION_BOOL, .fallback = "true"},
	{.name = "timeout",
	 .type = EP_OPTION_DURATION,
	 .fallback = "500ms",
	 .min = 1000000,
	 .max = 3600000000000},
	{0},
};
static const char *const common[] = {"type", "interval", NULL};

#define STRING(k, v)                                                                               \
	{                                                                                          \
		.key = k, .type = EP_VALUE_STRING, .string = v, .line = 7, .column = 3             \
	}
#define INT(k, v)                                                                                  \
	{                                                                                          \
		.key = k, .type = EP_VALUE_INT, .integer = v, .line = 7, .column = 3               \
	}
#define BOOL(k, v)                                                                                 \
	{                                                                                          \
		.key = k, .type = EP_VALUE_BOOL, .boolean = v, .line = 7, .column = 3              \
	}

EP_TEST(options_read_what_was_given_else_the_default)
{
	const struct ep_value values[] = {
		STRING("path", "/tmp/x"),
		INT("timeout", 10),
		STRING("type", "pprof"),
	};
	struct ep_option_error error = {0};
	struct ep_options *options;

	assert_int_equal(
		ep_options_new("x", specs, common, values, EP_LEN(values), &error, &options), 0);
	assert_string_equal(ep_options_string(options, "path"), "/tmp/x");
	assert_int_equal(ep_options_int(options, "level"), 1);
	assert_int_equal(ep_options_int(options, "offset"), -5);
	assert_int_equal(ep_options_bool(options, "force"), 1);
	assert_int_equal(ep_options_int(options, "timeout"), 10000000000);
	assert_string_equal(ep_options_string(options, "nonsense"), "");
	ep_options_free(options);
}

EP_TEST(bad_options_are_refused_with_the_reason)
{
	const struct {
		struct ep_value value;
		const char *text;
	} rows[] = {
		{STRING("pth", "x"), "`pth`: no such option of x; did you mean `path`?"},
		{STRING("intervall", "x"),
		 "`intervall`: no such option of x; did you mean `interval`?"},
		{STRING("zzz", "x"), "`zzz`: no such option of x"},
		{INT("path", 3), "`path`: must be a string"},
		{STRING("level", "3"), "`level`: must be a whole number"},
		{INT("level", 10), "`level`: must be at most 9"},
		{INT("level", 0), "`level`: must be at least 1"},
		{INT("force", 1), "`force`: must be true or false"},
		{BOOL("timeout", true),
		 "`timeout`: must be a duration like \"10s\", \"500ms\", \"5m\""},
		{STRING("timeout", "10 s"),
		 "`timeout`: must be a duration like \"10s\", \"500ms\", \"5m\""},
		{STRING("timeout", "2h"), "`timeout`: must be at most 3600s"},
		{STRING("timeout", "10us"), "`timeout`: must be at least 1ms"},
		{STRING("timeout", "99999999999999h"), "`timeout`: longer than can be counted"},
		{INT("interval", 1), "`path`: x needs this option (where)"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_option_error error = {0};
		struct ep_options *options = NULL;

		assert_int_equal(
			ep_options_new("x", specs, common, &rows[i].value, 1, &error, &options),
			-EINVAL);
		assert_string_equal(error.text, rows[i].text);
		assert_int_equal(error.line, i == EP_LEN(rows) - 1 ? 0 : 7);
	}
}

EP_TEST(option_given_twice_is_refused)
{
	const struct ep_value values[] = {STRING("path", "a"), STRING("path", "b")};
	struct ep_option_error error = {0};
	struct ep_options *options = NULL;

	assert_int_equal(ep_options_new("x", specs, NULL, values, 2, &error, &options), -EINVAL);
	assert_string_equal(error.text, "`path`: given twice");
}

/* --- modules --- */

EP_TEST(good_module_loads)
{
	char reason[EP_REASON_BYTES] = "";
	struct ep_module *module = NULL;

	if (ep_module_load(module_dir, "counter", &module, reason) < 0)
		fail_msg("%s", reason);
	assert_string_equal(ep_module_plugin(module)->name, "counter");
	assert_non_null(ep_module_exporter(module));
	ep_module_unload(module);
}

EP_TEST(bad_modules_are_refused)
{
	static const struct {
		const char *name;
		int result;
		const char *part; /* of the reason */
	} rows[] = {
		{"old_abi", -ENOTSUP, "built for ABI 99"},
		{"no_open", -EBADMSG, "lacks one of"},
		{"misnamed", -EBADMSG, "calls itself \"counter\""},
		{"absent", -ENOENT, "build or install"},
		{"../counter", -EINVAL, "no plugin name"},
		{"", -EINVAL, "no plugin name"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		char reason[EP_REASON_BYTES] = "";
		struct ep_module *module = NULL;

		assert_int_equal(ep_module_load(module_dir, rows[i].name, &module, reason),
				 rows[i].result);
		if (!strstr(reason, rows[i].part))
			fail_msg("%s: %s", rows[i].name, reason);
	}
}

/* --- BPF objects of unwinders --- */

/* An object of one section, which begins with a number. */
struct object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[32];
	uint32_t self[16];
};

static struct object object_of(const char *section, uint32_t number)
{
	struct object object = {
		.header = {
			.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_REL,
			.e_machine = EM_BPF,
			.e_version = EV_CURRENT,
			.e_shoff = offsetof(struct object, sections),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 1,
		},
		.sections = {
			[1] = {.sh_type = SHT_STRTAB,
			       .sh_offset = offsetof(struct object, names),
			       .sh_size = sizeof(object.names)},
			[2] = {.sh_name = 1,
			       .sh_type = SHT_PROGBITS,
			       .sh_offset = offsetof(struct object, self),
			       .sh_size = sizeof(object.self)},
		},
		.self = {number},
	};

	snprintf(object.names + 1, sizeof(object.names) - 1, "%s", section);
	return object;
}

static int no_probe(const struct ep_unwinder_host *host, const struct ep_file *file, void **ret)
{
	return EP_NOT_MINE;
}

static int no_attach(void *executable, struct ep_target *target, void **ret)
{
	return -ENOTSUP;
}

static int no_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names)
{
	return -ENOTSUP;
}

static void no_end(void *arg)
{
}

/* Without a snapshot program where that is NULL. */
static int check_objects(const struct object *object, const struct object *keeper,
			 char reason[EP_REASON_BYTES])
{
	const struct ep_bpf_image image = {
		.size = sizeof(image),
		.object = object,
		.object_bytes = sizeof(*object),
		.program = "toy_unwind",
	};
	const struct ep_bpf_image keeping = {
		.size = sizeof(keeping),
		.object = keeper,
		.object_bytes = sizeof(*keeper),
		.program = "toy_keep",
	};
	const struct ep_unwinder_ops ops = {
		.size = sizeof(ops),
		.bpf = &image,
		.probe = no_probe,
		.attach = no_attach,
		.symbolize = no_symbolize,
		.detach = no_end,
		.unload = no_end,
		.keeper = keeper ? &keeping : NULL,
	};
	const struct ep_plugin plugin = {
		.size = sizeof(plugin),
		.abi_major = EP_ABI_MAJOR,
		.kind = EP_PLUGIN_UNWINDER,
		.name = "toy",
		.unwinder = &ops,
	};

	return ep_plugin_check(&plugin, "toy", reason);
}

EP_TEST(programs_and_keepers_of_this_version_are_taken)
{
	struct object good = object_of(EP_SELF_SECTION, EP_BPF_ABI), none = {0}, cut = good;
	struct object old = object_of(EP_SELF_SECTION, EP_BPF_ABI - 1);
	struct object other = object_of(".rodata", EP_BPF_ABI);
	const struct {
		const char *label;
		const struct object *object, *keeper;
		int result;
		const char *part; /* of the reason */
	} rows[] = {
		{"of this version", &good, NULL, 0, ""},
		{"of another version", &old, NULL, -ENOTSUP, "build it again"},
		{"without its section", &other, NULL, -EBADMSG, "EP_UNWINDER"},
		{"with half a number", &cut, NULL, -EBADMSG, ""},
		{"nothing", &none, NULL, -EBADMSG, ""},
		{"with a keeper", &good, &good, 0, ""},
		{"with an old keeper", &good, &old, -ENOTSUP, ""},
		{"old with a keeper", &old, &good, -ENOTSUP, ""},
		{"with a keeper that is none", &good, &none, -EBADMSG, ""},
	};

	cut.sections[2].sh_size = 3;
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		char reason[EP_REASON_BYTES] = "";

		if (check_objects(rows[i].object, rows[i].keeper, reason) != rows[i].result ||
		    !strstr(reason, rows[i].part))
			fail_msg("%s: %s", rows[i].label, reason);
	}
}

EP_TEST(a_program_of_another_version_says_which)
{
	struct object object = object_of(EP_SELF_SECTION, EP_BPF_ABI + 6);
	char reason[EP_REASON_BYTES] = "", expected[EP_REASON_BYTES];

	snprintf(expected, sizeof(expected),
		 "toy: its BPF program was built for another version of ebpf-profiler (%d, this is %d): "
		 "build it again",
		 EP_BPF_ABI + 6, EP_BPF_ABI);
	assert_int_equal(check_objects(&object, NULL, reason), -ENOTSUP);
	assert_string_equal(reason, expected);
}

/* Copies counter.so into a directory of its own with these modes, and tries to load it. */
static int load_with_modes(mode_t dir_mode, mode_t file_mode, char reason[EP_REASON_BYTES])
{
	const char *dir = ep_test_directory();
	struct ep_module *module = NULL;
	int r;

	ep_test_copy(ep_test_path(module_dir, "counter.so"), ep_test_path(dir, "counter.so"), file_mode);
	assert_int_equal(chmod(dir, dir_mode), 0);
	r = ep_module_load(dir, "counter", &module, reason);
	ep_module_unload(module);
	return r;
}

EP_TEST(files_others_can_write_are_not_loaded)
{
	char reason[EP_REASON_BYTES] = "";

	assert_int_equal(load_with_modes(0700, 0600, reason), 0);
	assert_int_equal(load_with_modes(0755, 0646, reason), -EPERM);
	assert_non_null(strstr(reason, "counter.so can be written by everybody"));
	assert_non_null(strstr(reason, "chmod go-w"));
	assert_int_equal(load_with_modes(0757, 0644, reason), -EPERM);
	assert_non_null(strstr(reason, "can be written by everybody"));
}

EP_TEST(other_owner_is_refused)
{
	const char *dir = ep_test_directory();
	char reason[EP_REASON_BYTES] = "";
	struct ep_module *module = NULL;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(dir, 12345, 12345), 0);
	assert_int_equal(ep_module_load(dir, "counter", &module, reason), -EPERM);
	assert_non_null(strstr(reason, "chown root"));
}

struct listing {
	char text[1024];
};

static void note_entry(void *arg, const struct ep_plugin_entry *entry)
{
	struct listing *listing = arg;
	size_t used = strlen(listing->text);

	assert_true((entry->module != NULL) == (entry->reason[0] == '\0'));
	snprintf(listing->text + used, sizeof(listing->text) - used, "%s %s\n", entry->name,
		 entry->module ? ep_module_plugin(entry->module)->version : "refused");
}

EP_TEST(listing_names_each_with_its_state)
{
	struct listing listing = {0};

	assert_int_equal(ep_plugin_list(module_dir, note_entry, &listing), 0);
	assert_string_equal(listing.text,
			    "counter 0.1\nmisnamed refused\nno_open refused\nold_abi refused\n");
	assert_int_equal(ep_plugin_list("/nonexistent", note_entry, &listing), -ENOENT);
}

/* --- the exporter's queue, over a plugin that answers when the test says so --- */

struct fake {
	ep_export_done done;
	void *done_arg;
	uint32_t exported, flushed, closed;
	const struct ep_batch *last;
	bool at_once; /* call done from within export */
};
static struct fake fake; /* open gets no argument to pass it by */

static int fake_open(const struct ep_host *host, const struct ep_options *options,
		     void **ret_exporter)
{
	*ret_exporter = &fake;
	return 0;
}

static void fake_export(void *exporter, const struct ep_batch *batch, ep_export_done done,
			void *done_arg)
{
	struct fake *f = exporter;

	f->exported++;
	f->last = batch;
	f->done = done;
	f->done_arg = done_arg;
	if (f->at_once)
		done(done_arg, 0);
}

static void fake_flush(void *exporter, ep_export_done done, void *done_arg)
{
	struct fake *f = exporter;

	f->flushed++;
	f->done = done;
	f->done_arg = done_arg;
	if (f->at_once)
		done(done_arg, 0);
}

static void fake_close(void *exporter)
{
	((struct fake *)exporter)->closed++;
}

static const struct ep_option_spec no_options[] = {{0}};
static const struct ep_exporter_ops fake_ops = {
	.size = sizeof(fake_ops),
	.options = no_options,
	.open = fake_open,
	.export_batch = fake_export,
	.flush = fake_flush,
	.close = fake_close,
};
static const struct ep_plugin fake_plugin = {
	.size = sizeof(fake_plugin),
	.abi_major = EP_ABI_MAJOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "fake",
	.exporter = &fake_ops,
};

static struct ep_exporter *open_fake(bool at_once)
{
	struct ep_exporter *exporter = NULL;

	fake = (struct fake){.at_once = at_once};
	assert_int_equal(ep_exporter_open(&fake_plugin, NULL, NULL, 2, &exporter), 0);
	return exporter;
}

static void submit_new(struct ep_exporter *exporter)
{
	struct ep_batch_source source = {.period_hz = 20};

	ep_exporter_submit(exporter, build_batch(new_store(0, NULL), 1, &source));
}

static void count_call(void *arg)
{
	++*(int *)arg;
}

EP_TEST(slow_exporter_loses_its_oldest_batch)
{
	struct ep_exporter *exporter = open_fake(false);
	const struct ep_batch *first;

	submit_new(exporter);
	first = fake.last;
	for (int i = 0; i < 3; i++)
		submit_new(exporter);
	assert_int_equal(fake.exported, 1);
	assert_ptr_equal(fake.last, first);
	assert_int_equal(ep_exporter_stats(exporter)->dropped, 1);
	assert_int_equal(ep_exporter_stats(exporter)->waiting, 3);
	fake.done(fake.done_arg, 0);
	assert_int_equal(fake.exported, 2);
	fake.done(fake.done_arg, -EIO);
	fake.done(fake.done_arg, 0);
	fake.done(fake.done_arg, 0); /* once too often: logged, no harm */
	assert_int_equal(ep_exporter_stats(exporter)->exported, 2);
	assert_int_equal(ep_exporter_stats(exporter)->failed, 1);
	assert_int_equal(ep_exporter_stats(exporter)->waiting, 0);
	ep_exporter_close(exporter);
	assert_int_equal(fake.closed, 1);
}

EP_TEST(flush_waits_for_batches_and_plugin)
{
	struct ep_exporter *exporter = open_fake(false);
	int flushed = 0;

	submit_new(exporter);
	submit_new(exporter);
	ep_exporter_flush(exporter, count_call, &flushed);
	fake.done(fake.done_arg, 0);
	assert_int_equal(fake.flushed, 0);
	fake.done(fake.done_arg, 0);
	assert_int_equal(fake.flushed, 1);
	assert_int_equal(flushed, 0);
	fake.done(fake.done_arg, 0);
	assert_int_equal(flushed, 1);
	ep_exporter_close(exporter);
}

EP_TEST(close_waits_for_the_batch_under_way)
{
	struct ep_exporter *exporter = open_fake(false);

	submit_new(exporter);
	submit_new(exporter);
	ep_exporter_close(exporter);
	assert_int_equal(fake.closed, 0);
	fake.done(fake.done_arg, 0);
	assert_int_equal(fake.exported, 1);
	assert_int_equal(fake.closed, 1);
}

static void close_in_flushed(void *arg)
{
	ep_exporter_close(arg);
}

EP_TEST(everything_may_happen_at_once)
{
	struct ep_exporter *exporter = open_fake(true);

	for (int i = 0; i < 10; i++)
		submit_new(exporter);
	assert_int_equal(fake.exported, 10);
	assert_int_equal(ep_exporter_stats(exporter)->dropped, 0);
	ep_exporter_flush(exporter, close_in_flushed, exporter);
	assert_int_equal(fake.flushed, 1);
	assert_int_equal(fake.closed, 1);
}

/* --- host services --- */

struct work {
	int ran, after;
	uv_thread_t thread;
};

static void work_run(void *arg)
{
	struct work *work = arg;

	work->ran++;
	work->thread = uv_thread_self();
}

static void work_after(void *arg)
{
	struct work *work = arg;

	work->after += work->ran;
}

EP_TEST(run_works_on_another_thread)
{
	struct work work = {0};
	uv_thread_t self = uv_thread_self();

	assert_int_equal(ep_host_get()->run(work_run, work_after, &work), 0);
	uv_run(ep_host_get()->loop, UV_RUN_DEFAULT);
	assert_int_equal(work.after, 1);
	assert_false(uv_thread_equal(&work.thread, &self));
}

int main(int argc, char **argv)
{
	uv_loop_t loop;
	int r;

	if (argc < 2) {
		fprintf(stderr, "usage: test_plugin DIR\n");
		return 2;
	}
	module_dir = argv[1];
	uv_loop_init(&loop);
	ep_host_init(&loop, "test");
	r = ep_test_run(NULL, NULL);
	uv_loop_close(&loop);
	return r;
}
