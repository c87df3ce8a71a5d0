/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/config/config.h"
#include "core/config/units.h"
#include "tests/kit/test.h"

#define VAR(text) ((char[]){text}) /* environ is not const */

/* Every problem of a text, as it would be printed; "" when there is none. Freed by the caller. */
static char *problems_of(const char *text, char *const *env)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = NULL;
	struct ep_config_problems problems;
	char *printed = NULL;
	size_t printed_bytes;
	FILE *out = open_memstream(&printed, &printed_bytes);
	int r;

	ep_config_problems_init(&problems);
	r = ep_config_parse("f", text, strlen(text), env, &problems, &config);
	ep_config_problems_print(&problems, out);
	fclose(out);
	assert_int_equal(r, printed[0] ? -EINVAL : 0);
	assert_true((config == NULL) == (r < 0));
	ep_config_problems_fini(&problems);
	return printed;
}

static const struct {
	const char *text, *problems;
} errors[] = {
	{"x = 1x", "f:1:6: Error while parsing decimal integer: expected digit, saw 'x'\n"},
	{"[!]", "f:1:2: Error while parsing key: expected bare key starting character or "
		"string delimiter, saw '!'\n"},
	{"a=1\na=2", "f:2:3: Error while parsing key-value pair: cannot redefine existing integer "
		     "'a'\n"},
	{"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = 1", "f:1:1: too many dots in one line\n"},
	{"[samplng]\nfreq = 20", "f:1:2: unknown section 'samplng' (did you mean 'sampling'?)\n"},
	{"freq = 20", "f:1:1: unknown key 'freq' (it belongs to [sampling])\n"},
	{"\u00e9 = 1",
	 "f:1:1: Error while parsing root table: expected keys, tables, whitespace or "
	 "comments, saw '\u00e9'\n"},
	{"[weather]", "f:1:2: unknown section 'weather'\n"},
	{"sampling = 3", "f:1:1: sampling is a section: write [sampling]\n"},
	{"[sampling]\n  frq = 20",
	 "f:2:3: unknown key 'frq' in [sampling] (did you mean 'freq'?)\n"},
	{"[sampling]\nlevel = 1",
	 "f:2:1: unknown key 'level' in [sampling] (it belongs to [log])\n"},
	{"[sampling]\nfreq = \"20\"", "f:2:8: freq must be an integer, not a string\n"},
	{"[sampling]\nfreq = 0", "f:2:8: freq must be a number from 1 to 10000, not '0'\n"},
	{"[sampling]\nfreq = -1", "f:2:8: freq must be a number from 1 to 10000, not '-1'\n"},
	{"[sampling]\nfreq = 10001", "f:2:8: freq must be a number from 1 to 10000, not '10001'\n"},
	{"[limits]\nmemory = \"31MiB\"",
	 "f:2:10: memory must be from 32MiB to 1024GiB, not '31MiB'\n"},
	{"[limits]\nmemory = \"64 apples\"",
	 "f:2:10: memory must be a size like \"64MiB\", not '64 apples'\n"},
	{"[limits]\nmemory = true",
	 "f:2:10: memory must be a size like \"64MiB\", not true or false\n"},
	{"[limits]\nring = \"40MiB\"", "f:2:8: ring (40MiB) is more than half of memory (64MiB), "
				       "of which it is a part\n"},
	{"[symbols]\nnative = 1", "f:2:10: native must be true or false, not an integer\n"},
	{"[plugins]\ndir = \"here\"", "f:2:7: dir must be an absolute path, not 'here'\n"},
	{"[plugins]\ndir = \"/a\\u0000b\"", "f:2:7: dir contains a NUL character\n"},
	{"[plugins]\nenable = \"pprof\"",
	 "f:2:10: enable must be an array of strings, not a string\n"},
	{"[plugins]\nenable = [\"pprof\",\n\t3]",
	 "f:3:2: enable must be an array of strings, not an integer\n"},
	{"[plugins]\nenable = [\"../x\"]",
	 "f:2:11: enable: '../x' is no plugin's name: a-z, 0-9 and _, at most 31\n"},
	{"[plugins]\nenable = [\"a\", \"a\"]", "f:2:16: enable: 'a' is there twice\n"},
	{"[log]\nlevel = \"wran\"", "f:2:9: level must be error, warn, info or debug, not 'wran' "
				    "(did you mean 'warn'?)\n"},
	{"[exporter]\ntype = \"pprof\"",
	 "f:1:2: there can be several exporters: write [[exporter]]\n"},
	{"exporter = [1]", "f:1:13: exporter must be a table\n"},
	{"[[exporter]]\nkeep = 3",
	 "f:1:1: this exporter has no type: add type = \"pprof\" for example\n"},
	{"[[exporter]]\ntype = \"PPROF\"",
	 "f:2:8: type must be a string with the name of a plugin, like \"pprof\"\n"},
	{"[[exporter]]\ntype = \"pporf\"", "f:2:8: plugin 'pporf' is not enabled: add it to "
					   "[plugins] enable (did you mean 'pprof'?)\n"},
	{"[[exporter]]\ntype = \"pprof\"\ninterval = \"1y\"",
	 "f:3:12: interval must be a duration like \"60s\" or \"5m\"\n"},
	{"[[exporter]]\ntype = \"pprof\"\ninterval = 0",
	 "f:3:12: interval must be from 100ms to 24h, not '0'\n"},
	{"[[exporter]]\ntype = \"pprof\"\nx = 1.5",
	 "f:3:5: x must be a string, an integer, true or false, not a float\n"},
	{"[filter]\ncom = \"x\"", "f:2:1: unknown key 'com' in [filter] (did you mean 'comm'?)\n"},
	{"[filter]\npid = \"x\"", "f:2:7: pid takes process ids with commas between them, like pid "
				 "1234,1235\n"},
	{"[filter]\ncpu = [1, true]", "f:2:11: cpu must be an array of strings, not true or false\n"},
	{"[filter]\ncomm = 1.5", "f:2:8: comm must be an array of strings, not a float\n"},
	{"[filter]\ncomm = [\"a\\u0000b\"]", "f:2:9: comm contains a NUL character\n"},
	{"[log]\nlevel = \"x\"\n[sampling]\nfrequency = 3\nfreq = 0\n",
	 "f:2:9: level must be error, warn, info or debug, not 'x'\n"
	 "f:4:1: unknown key 'frequency' in [sampling] (did you mean 'freq'?)\n"
	 "f:5:8: freq must be a number from 1 to 10000, not '0'\n"},
};

EP_TEST(each_mistake_is_named_with_its_place)
{
	for (size_t i = 0; i < EP_LEN(errors); i++) {
		ep_autofree char *found = problems_of(errors[i].text, NULL);

		if (strcmp(found, errors[i].problems) != 0)
			print_error("row %zu: %s\n", i, errors[i].text);
		assert_string_equal(found, errors[i].problems);
	}
}

static struct ep_config_file *parse_ok(const char *text, char *const *env)
{
	struct ep_config_file *config = NULL;
	struct ep_config_problems problems;

	ep_config_problems_init(&problems);
	if (ep_config_parse("f", text, strlen(text), env, &problems, &config) < 0)
		ep_config_problems_print(&problems, stderr);
	ep_config_problems_fini(&problems);
	assert_non_null(config);
	return config;
}

EP_TEST(an_empty_file_means_the_defaults)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = parse_ok("", NULL);

	assert_int_equal(config->sampling.freq_hz, 20);
	assert_int_equal(config->limits.memory_bytes, 64 << 20);
	assert_int_equal(config->limits.ring_bytes, 1 << 20);
	assert_true(config->symbols.native && config->symbols.kernel);
	assert_int_equal(config->log.level, EP_LOG_INFO);
	assert_true(config->security.filter_system_calls);
	assert_int_equal(config->plugins.enable.len, 2);
	assert_string_equal(config->plugins.enable.items[0], "otlp_file");
	assert_string_equal(config->plugins.enable.items[1], "pprof");
	assert_int_equal(config->plugins.dir[0], '/');
	assert_int_equal(config->exporters.len, 0);
}

EP_TEST(a_file_sets_every_key)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config =
		parse_ok("[sampling]\nfreq = 997\n[limits]\nmemory = 134217728\nring = \"2M\"\n"
			 "[symbols]\nnative = false\nkernel = false\n[plugins]\ndir = \"/p\"\n"
			 "enable = [\"a\", \"pprof\"]\n[security]\nfilter_system_calls = false\n[log]\nlevel = \"debug\"\n",
			 NULL);

	assert_int_equal(config->sampling.freq_hz, 997);
	assert_int_equal(config->limits.memory_bytes, 128 << 20);
	assert_int_equal(config->limits.ring_bytes, 2 << 20);
	assert_false(config->symbols.native || config->symbols.kernel);
	assert_string_equal(config->plugins.dir, "/p");
	assert_int_equal(config->plugins.enable.len, 2);
	assert_false(config->security.filter_system_calls);
	assert_int_equal(config->log.level, EP_LOG_DEBUG);
}

EP_TEST(a_filter_is_that_of_the_recorder)
{
	static char variable[] = "EBPF_PROFILER_FILTER_COMM=!bash";
	char *env[] = {variable, NULL};
	ep_cleanup(ep_config_freep) struct ep_config_file *config =
		parse_ok("[filter]\ncpu = \"0-1,3\"\npid = [12, \"34,56\"]\ncomm = \"x\"\ninherit = false\n", env);
	const struct ep_filter *filter = &config->filter.all;
	uint32_t pids[4];

	assert_true(filter->no_inherit);
	assert_int_equal(ep_filter_numbers(filter, EP_FILTER_PID, pids, 4), 3);
	assert_int_equal(pids[0] + pids[1] + pids[2], 12 + 34 + 56);
	assert_true(ep_filter_takes_number(filter, EP_FILTER_CPU, 1));
	assert_false(ep_filter_takes_number(filter, EP_FILTER_CPU, 2));
	assert_false(ep_filter_asks(filter, EP_FILTER_COMM)); /* the environment wins */
	assert_true(ep_filter_never(filter) & EP_FILTER_OUT(EP_FILTER_COMM));
}

EP_TEST(what_two_files_say_is_compared)
{
	static const char text[] = "[sampling]\nfreq = 99\n[filter]\nuser = [\"0\"]\n"
				   "[[exporter]]\ntype = \"pprof\"\nkeep = 7\n";
	ep_cleanup(ep_config_freep) struct ep_config_file *first = parse_ok(text, NULL);
	ep_cleanup(ep_config_freep) struct ep_config_file *same = parse_ok(text, NULL);
	ep_cleanup(ep_config_freep) struct ep_config_file *other =
		parse_ok("[sampling]\nfreq = 98\n[filter]\nuser = [\"0\", \"1\"]\n[log]\nlevel = \"warn\"\n"
			 "[[exporter]]\ntype = \"pprof\"\nkeep = 8\n",
			 NULL);

	assert_true(ep_config_is_same(first, same, "sampling", NULL));
	assert_true(ep_config_is_same(first, same, "filter", NULL));
	assert_true(ep_config_has_same_exporters(first, same));
	assert_false(ep_config_is_same(first, other, "sampling", "freq"));
	assert_false(ep_config_is_same(first, other, "filter", NULL));
	assert_true(ep_config_is_same(first, other, "filter", "comm"));
	assert_true(ep_config_is_same(first, other, "limits", NULL));
	assert_false(ep_config_is_same(first, other, "log", "level"));
	assert_false(ep_config_has_same_exporters(first, other));
	ep_vec_at(&same->exporters, struct ep_config_exporter, 0)->interval_ns++;
	assert_false(ep_config_has_same_exporters(first, same));
}

EP_TEST(exporters_keep_the_keys_of_their_plugin)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = parse_ok(
		"[[exporter]]\ntype = \"pprof\"\ninterval = \"5m\"\ndirectory = \"/d\"\nkeep = 7\n"
		"force = true\n[[exporter]]\ntype = \"pprof\"\n",
		NULL);
	const struct ep_config_exporter *first =
		ep_vec_at(&config->exporters, struct ep_config_exporter, 0);
	const struct ep_config_option *options = first->options.data;

	assert_int_equal(config->exporters.len, 2);
	assert_int_equal(first->interval_ns, 300 * EP_NS_PER_SEC);
	assert_int_equal(first[1].interval_ns, 60 * EP_NS_PER_SEC);
	assert_int_equal(first->options.len, 3);
	assert_string_equal(options[0].key, "directory");
	assert_int_equal(options[0].type, EP_CONFIG_STRING);
	assert_string_equal(options[0].string, "/d");
	assert_int_equal(options[0].line, 4);
	assert_int_equal(options[0].column, 13);
	assert_int_equal(options[1].type, EP_CONFIG_BOOL);
	assert_int_equal(options[1].integer, 1);
	assert_string_equal(options[2].key, "keep");
	assert_int_equal(options[2].type, EP_CONFIG_INT);
	assert_int_equal(options[2].integer, 7);
}

EP_TEST(flag_wins_over_environment_wins_over_file)
{
	char *env[] = {VAR("EBPF_PROFILER_SAMPLING_FREQ=50"),
		       VAR("EBPF_PROFILER_LOG_LEVEL=warn"),
		       VAR("EBPF_PROFILER_PLUGINS_ENABLE=a,b"),
		       VAR("EBPF_PROFILER_PORT=tcp://192.0.2.1"),
		       VAR("HOME=/"),
		       NULL};
	ep_cleanup(ep_config_freep) struct ep_config_file *config =
		parse_ok("[sampling]\nfreq = 10\n[log]\nlevel = \"debug\"\n", env);
	ep_cleanup(ep_config_problems_fini) struct ep_config_problems problems;

	ep_config_problems_init(&problems);
	assert_int_equal(config->sampling.freq_hz, 50);
	assert_int_equal(config->log.level, EP_LOG_WARN);
	assert_int_equal(config->plugins.enable.len, 2);
	assert_int_equal(ep_config_set(config, "sampling.freq", "99", "-F", &problems), 0);
	assert_int_equal(config->sampling.freq_hz, 99);
	assert_string_equal(config->sources[EP_CONFIG_SAMPLING_FREQ].origin, "-F");
	assert_int_equal(ep_config_set(config, "sampling.freq", "x", "-F", &problems), -EINVAL);
	assert_int_equal(ep_config_set(config, "sampling.x", "x", "-F", &problems), -EINVAL);
	assert_int_equal(config->sampling.freq_hz, 99);
	assert_int_equal(ep_config_problems_count(&problems), 2);
}

EP_TEST(mistakes_in_the_environment_are_named)
{
	char *env[] = {VAR("EBPF_PROFILER_SAMPLING_FREK=50"), VAR("EBPF_PROFILER_LIMITS_RING=x"),
		       VAR("EBPF_PROFILER_SYMBOLS_NATIVE=yes"), NULL};
	ep_autofree char *found = problems_of("", env);

	assert_string_equal(found, "EBPF_PROFILER_LIMITS_RING: ring must be a size like \"64MiB\", "
				   "not 'x'\n"
				   "EBPF_PROFILER_SAMPLING_FREK: unknown variable (did you mean "
				   "'EBPF_PROFILER_SAMPLING_FREQ'?)\n"
				   "EBPF_PROFILER_SYMBOLS_NATIVE: native must be true or false, "
				   "not 'yes'\n");
}

static char *print(const struct ep_config_file *config)
{
	char *printed = NULL;
	size_t printed_bytes;
	FILE *out = open_memstream(&printed, &printed_bytes);

	assert_int_equal(ep_config_print(config, out), 0);
	fclose(out);
	return printed;
}

EP_TEST(what_is_printed_parses_back)
{
	char *env[] = {VAR("EBPF_PROFILER_LIMITS_MEMORY=100MiB"), NULL};
	ep_cleanup(ep_config_freep) struct ep_config_file *config = parse_ok(
		"[sampling]\nfreq = 33\n[plugins]\nenable = []\ndir = \"/a \\\"b\\\\\\t\"", env);
	ep_autofree char *printed = print(config);
	ep_cleanup(ep_config_freep) struct ep_config_file *again = parse_ok(printed, NULL);

	assert_non_null(strstr(printed, "\nfreq = 33\t# from line 2\n"));
	assert_non_null(
		strstr(printed, "\nmemory = \"100MiB\"\t# from EBPF_PROFILER_LIMITS_MEMORY"));
	assert_non_null(strstr(printed, "\n#ring = \"1MiB\"\n"));
	assert_int_equal(again->sampling.freq_hz, 33);
	assert_int_equal(again->limits.memory_bytes, 100 << 20);
	assert_int_equal(again->plugins.enable.len, 0);
	assert_string_equal(again->plugins.dir, "/a \"b\\\t");
}

/* It goes into tickets. */
EP_TEST(values_of_headers_are_not_printed)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = parse_ok(
		"[[exporter]]\ntype = \"pprof\"\nheaders = \"authorization=Bearer%20s3cret,x=s3cret=b,bare\"\n",
		NULL);
	ep_autofree char *printed = print(config);
	ep_cleanup(ep_config_freep) struct ep_config_file *again = parse_ok(printed, NULL);

	assert_null(strstr(printed, "s3cret"));
	assert_non_null(strstr(printed, "\nheaders = \"authorization=***,x=***,bare\"\t# values are not shown\n"));
	assert_int_equal(again->exporters.len, 1);
}

EP_TEST(exporters_are_printed_with_their_keys)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = parse_ok(
		"[[exporter]]\ntype = \"pprof\"\ninterval = 90\nx = \"\\n\"\n\"a b\" = -1\n", NULL);
	ep_autofree char *printed = print(config);

	assert_non_null(strstr(printed, "\n[[exporter]]\ntype = \"pprof\"\ninterval = \"90s\"\n"
					"\"a b\" = -1\nx = \"\\u000A\"\n"));
}

EP_TEST(load_asks_for_an_exporter)
{
	struct ep_config_file *config = NULL;
	struct ep_config_problems problems;

	ep_config_problems_init(&problems);
	assert_int_equal(ep_config_load("/dev/null", NULL, &problems, &config), -EINVAL);
	assert_int_equal(ep_config_load("/nonexistent/f", NULL, &problems, &config), -EINVAL);
	assert_int_equal(ep_config_problems_count(&problems), 2);
	assert_int_equal(ep_config_load(NULL, NULL, &problems, &config), 0);
	ep_config_free(config);
	ep_config_problems_fini(&problems);
}

EP_TEST(the_sample_is_accepted)
{
	ep_cleanup(ep_config_freep) struct ep_config_file *config = NULL;
	struct ep_config_problems problems;
	int r;

	ep_config_problems_init(&problems);
	r = ep_config_load(EP_SAMPLE_CONFIG, NULL, &problems, &config);
	ep_config_problems_print(&problems, stderr);
	ep_config_problems_fini(&problems);
	assert_int_equal(r, 0);
	assert_int_equal(config->exporters.len, 1);
}

EP_TEST(distances_count_edits_and_swaps)
{
	assert_int_equal(ep_edit_distance("", ""), 0);
	assert_int_equal(ep_edit_distance("", "abc"), 3);
	assert_int_equal(ep_edit_distance("abc", ""), 3);
	assert_int_equal(ep_edit_distance("freq", "freq"), 0);
	assert_int_equal(ep_edit_distance("freq", "frq"), 1);
	assert_int_equal(ep_edit_distance("freq", "ferq"), 1);
	assert_int_equal(ep_edit_distance("kitten", "sitting"), 3);
}

EP_TEST(suggestions_are_near_or_absent)
{
	static const char *const words[] = {"memory", "ring", "native"};

	assert_string_equal(ep_suggest("memroy", words, 3), "memory");
	assert_string_equal(ep_suggest("rng", words, 3), "ring");
	assert_string_equal(ep_suggest("nativ", words, 3), "native");
	assert_null(ep_suggest("freq", words, 3));
	assert_string_equal(ep_suggest("mem", words, 3), "memory");
	assert_string_equal(ep_suggest("ring_bytes", words, 3), "ring");
	assert_null(ep_suggest("ri", words, 3));
	assert_null(ep_suggest("", words, 3));
	assert_null(ep_suggest("x", words, 0));
}

static const struct {
	const char *text;
	int r;
	uint64_t value;
} durations[] =
	{
		{"10", 0, 10 * EP_NS_PER_SEC},
		{"10s", 0, 10 * EP_NS_PER_SEC},
		{"500ms", 0, 500 * EP_NS_PER_MS},
		{"5m", 0, 300 * EP_NS_PER_SEC},
		{"1.5s", 0, 1500 * EP_NS_PER_MS},
		{"0.25", 0, 250 * EP_NS_PER_MS},
		{"1h", 0, 3600 * EP_NS_PER_SEC},
		{"1m30s", 0, 90 * EP_NS_PER_SEC},
		{"1h2m3.5s", 0, 3723500 * EP_NS_PER_MS},
		{"30s1m", -EBADMSG, 0},
		{"1m1m", -EBADMSG, 0},
		{"1m30", -EBADMSG, 0},
		{"", -EBADMSG, 0},
		{"s", -EBADMSG, 0},
		{"1x", -EBADMSG, 0},
		{"-1", -EBADMSG, 0},
		{"1.", -EBADMSG, 0},
		{"1.s", -EBADMSG, 0},
		{" 1", -EBADMSG, 0},
		{"99999999999999h", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"1 s", -EBADMSG, 0},
		{"1.2.3", -EBADMSG, 0},
},
  sizes[] = {
	  {"0", 0, 0},
	  {"4096", 0, 4096},
	  {"64KiB", 0, 65536},
	  {"64k", 0, 65536},
	  {"1.5MiB", 0, 3 << 19},
	  {"2GB", 0, 2ULL << 30},
	  {"64 MiB", -EBADMSG, 0},
	  {"MiB", -EBADMSG, 0},
	  {"64Mi", -EBADMSG, 0},
	  {"-4", -EBADMSG, 0},
	  {"99999999999G", -ERANGE, 0},
};

EP_TEST(numbers_with_units_are_read)
{
	uint64_t value;

	for (size_t i = 0; i < EP_LEN(durations); i++) {
		value = 0;
		assert_int_equal(ep_parse_duration(durations[i].text, &value), durations[i].r);
		assert_int_equal(value, durations[i].value);
	}
	for (size_t i = 0; i < EP_LEN(sizes); i++) {
		value = 0;
		assert_int_equal(ep_parse_bytes(sizes[i].text, &value), sizes[i].r);
		assert_int_equal(value, sizes[i].value);
	}
}
