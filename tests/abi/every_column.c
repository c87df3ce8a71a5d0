/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exporter that reads every column of a batch and uses every service and option type, and fails
 * its export at the first thing that is not what the headers promise. Built outside the tree.
 */
#include <ebpf-profiler/plugin.h>

#include <errno.h>
#include <string.h>

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			services->log(EP_HOST_ERROR, "every_column: not true: %s", #condition);    \
			return -EPROTO;                                                            \
		}                                                                                  \
	} while (0)

static const struct ep_host *services;
static struct {
	const struct ep_batch *batch;
	ep_export_done done;
	void *done_arg;
	int result;
	int flushed;
} work;

static int check_services(const struct ep_options *options)
{
	CHECK(services->size >= sizeof(struct ep_host));
	CHECK(EP_HAS(services, version) && services->version[0]);
	CHECK(EP_HAS(services, want_environment) && services->want_environment("NO=NAME") == -EINVAL);
	CHECK(services->want_environment("SERVICE") == 0);
	CHECK(EP_HAS(services, run) && EP_HAS(services, batch_unref) && EP_HAS(services, loop));
	CHECK(strcmp(services->option_string(options, "text"), "given") == 0);
	CHECK(strcmp(services->option_string(options, "other"), "fallback") == 0);
	CHECK(services->option_int(options, "number") == -3);
	CHECK(services->option_bool(options, "yes") == 1);
	CHECK(services->option_int(options, "timeout") == 1500000000);
	return 0;
}

static int open_it(const struct ep_host *host, const struct ep_options *options, void **ret)
{
	services = host;
	*ret = &work;
	return check_services(options);
}

static int check_strings(const struct ep_batch *b)
{
	CHECK(b->n_strings > 0 && b->string_text[0][0] == '\0');
	for (uint32_t i = 0; i < b->n_strings; i++)
		CHECK(strlen(b->string_text[i]) == b->string_bytes[i]);
	for (uint32_t i = 0; i < b->n_functions; i++) {
		CHECK(b->function_name[i] < b->n_strings);
		CHECK(b->function_system_name[i] < b->n_strings);
		CHECK(b->function_file[i] < b->n_strings);
		CHECK(b->function_line[i] < 1000000);
	}
	return 0;
}

static int check_mappings(const struct ep_batch *b)
{
	for (uint32_t i = 1; i < b->n_mappings; i++) {
		CHECK(b->mapping_start_va[i] < b->mapping_limit_va[i]);
		CHECK(b->mapping_start_va[i] % 4096 == 0 && b->mapping_file_off[i] % 4096 == 0);
		CHECK(b->mapping_path[i] > 0 && b->mapping_path[i] < b->n_strings);
		CHECK(b->mapping_build_id[i] < b->n_strings &&
		      b->mapping_file_id[i] < b->n_strings);
		CHECK(b->mapping_go_build_id[i] < b->n_strings);
		CHECK(b->mapping_flags[i] < 4);
	}
	return 0;
}

static int check_locations(const struct ep_batch *b)
{
	for (uint32_t i = 1; i < b->n_locations; i++) {
		CHECK(b->location_mapping[i] < b->n_mappings);
		CHECK(b->location_kind[i] > 0 && b->location_kind[i] < b->n_strings);
		CHECK(b->location_flags[i] < 8);
		CHECK(b->location_line_first[i] < b->location_line_first[i + 1]);
		CHECK(b->location_line_first[i + 1] <= b->n_lines);
		if (b->location_mapping[i])
			CHECK(b->location_address[i] >=
			      b->mapping_start_va[b->location_mapping[i]]);
	}
	for (uint32_t i = 0; i < b->n_lines; i++) {
		CHECK(b->line_function[i] > 0 && b->line_function[i] < b->n_functions);
		CHECK(b->line_line[i] < 1000000 && b->line_column[i] < 1000000);
	}
	return 0;
}

static int check_stacks(const struct ep_batch *b)
{
	static const uint8_t zero[16];

	for (uint32_t i = 1; i < b->n_stacks; i++) {
		CHECK(b->stack_location_first[i] < b->stack_location_first[i + 1]);
		CHECK(b->stack_location_first[i + 1] <= b->n_stack_locations);
		CHECK(memcmp(b->stack_hash[i], zero, sizeof(zero)) != 0);
		CHECK(b->stack_error[i] < 256 && b->stack_error_text[i] < b->n_strings);
		CHECK((b->stack_error[i] != 0) == (b->stack_error_text[i] != 0));
	}
	for (uint32_t i = 0; i < b->n_stack_locations; i++)
		CHECK(b->stack_location[i] > 0 && b->stack_location[i] < b->n_locations);
	return 0;
}

static int check_samples(const struct ep_batch *b)
{
	CHECK(b->n_samples > 0);
	for (uint32_t i = 0; i < b->n_samples; i++) {
		CHECK(b->sample_stack[i] > 0 && b->sample_stack[i] < b->n_stacks);
		CHECK(b->sample_process[i] > 0 && b->sample_process[i] < b->n_processes);
		CHECK(b->process_pid[b->sample_process[i]] > 0 && b->sample_tid[i] > 0);
		CHECK(b->sample_thread_name[i] < b->n_strings && b->sample_cpu[i] < 8192);
		CHECK(b->sample_count[i] > 0);
		CHECK(ep_batch_weight_ns(b, i) == b->sample_weight_ns[i] && b->sample_weight_ns[i] > 0);
		CHECK(b->sample_time_first[i + 1] - b->sample_time_first[i] == b->sample_count[i]);
		CHECK(b->sample_time_ns[b->sample_time_first[i]] >= b->start_ns);
	}
	for (uint32_t i = 1; i < b->n_processes; i++) {
		CHECK(b->process_comm[i] < b->n_strings && b->process_exe_path[i] < b->n_strings);
		CHECK(b->process_container_id[i] < b->n_strings && b->process_start_ns[i] > 0);
		CHECK(b->process_user[i] < b->n_strings);
		CHECK(b->process_cgroup[i] < b->n_strings && b->process_unit[i] < b->n_strings);
		CHECK(b->process_image[i] < 1000000);
		CHECK(b->process_env_first[i] <= b->process_env_first[i + 1]);
		CHECK(b->process_env_first[i + 1] <= b->n_process_env);
	}
	return 0;
}

static int check_batch(const struct ep_batch *b)
{
	int r;

	CHECK(b->size >= sizeof(struct ep_batch));
	CHECK(b->period_hz > 0 && b->period_ns > 0 && b->duration_ns > 0 && b->start_ns > 0);
	CHECK(b->host_name && strcmp(b->sample_type, "cpu") == 0);
	CHECK(b->lost_samples == 5);
	r = check_strings(b);
	r = r ? r : check_mappings(b);
	r = r ? r : check_locations(b);
	r = r ? r : check_stacks(b);
	return r ? r : check_samples(b);
}

static void check_on_worker(void *arg)
{
	(void)arg;
	work.result = check_batch(work.batch);
}

static void checked(void *arg)
{
	(void)arg;
	services->batch_unref(work.batch);
	work.done(work.done_arg, work.result);
}

static void export_it(void *exporter, const struct ep_batch *batch, ep_export_done done,
		      void *done_arg)
{
	(void)exporter;
	work.batch = batch;
	work.done = done;
	work.done_arg = done_arg;
	services->batch_ref(batch);
	if (services->run(check_on_worker, checked, NULL) < 0)
		done(done_arg, -EPROTO);
}

static void flush_it(void *exporter, ep_export_done done, void *done_arg)
{
	(void)exporter;
	work.flushed = 1;
	done(done_arg, 0);
}

static void close_it(void *exporter)
{
	(void)exporter;
	services->log(EP_HOST_INFO, "every_column: closed, %s",
		      work.flushed ? "flushed" : "not flushed");
}

static const struct ep_option_spec options[] = {
	{.name = "text", .type = EP_OPTION_STRING, .help = "required"},
	{.name = "other", .type = EP_OPTION_STRING, .fallback = "fallback"},
	{.name = "number", .type = EP_OPTION_INT, .fallback = "-3", .min = -5, .max = 5},
	{.name = "yes", .type = EP_OPTION_BOOL, .fallback = "true"},
	{.name = "timeout", .type = EP_OPTION_DURATION, .fallback = "1500ms"},
	{.name = NULL},
};

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = options,
	.open = open_it,
	.export_batch = export_it,
	.flush = flush_it,
	.close = close_it,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "every_column",
	.version = "1.0",
	.exporter = &ops,
};
