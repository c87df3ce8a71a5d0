/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/doctor.h"
#include "core/cli/parts/text.h"

#include <bpf/libbpf.h>
#include <string.h>

struct report {
	const struct ep_doctor_options *options;
	FILE *out;
	char last_fix[sizeof(((struct ep_check_result *)0)->fix)];
	unsigned int printed, warnings, failures;
	bool permission, kernel; /* some failure is to blame on it */
};

static const struct {
	const char *name, *color;
} statuses[] = {
	[EP_CHECK_OK] = {"ok", "\033[32m"},
	[EP_CHECK_INFO] = {"info", ""},
	[EP_CHECK_WARN] = {"warn", "\033[33m"},
	[EP_CHECK_FAIL] = {"fail", "\033[31m"},
};

static void print_json_string(FILE *out, const char *text)
{
	char safe[EP_TEXT_BYTES];

	fputc('"', out);
	for (const char *c = ep_text_fit(text, EP_TEXT_BYTES, safe); *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', out);
		fputc(*c, out);
	}
	fputc('"', out);
}

static void print_json(const struct report *report, const char *name,
		       const struct ep_check_result *result)
{
	fprintf(report->out, "%s{\"check\": ", report->printed ? ",\n " : "[");
	print_json_string(report->out, name);
	fprintf(report->out, ", \"status\": \"%s\", \"detail\": ", statuses[result->status].name);
	print_json_string(report->out, result->detail);
	fprintf(report->out, ", \"fix\": ");
	print_json_string(report->out, result->fix);
	fprintf(report->out, "}");
}

static void print_line(struct report *report, const char *name,
		       const struct ep_check_result *result)
{
	bool color = report->options->color && statuses[result->status].color[0];

	fprintf(report->out, "%s%-4s%s  %-22s  %s\n", color ? statuses[result->status].color : "",
		statuses[result->status].name, color ? "\033[0m" : "", name, result->detail);
	if (!result->fix[0])
		return;
	fprintf(report->out, "      %-22s  fix: %s\n", "",
		strcmp(result->fix, report->last_fix) == 0 ? "the same" : result->fix);
	snprintf(report->last_fix, sizeof(report->last_fix), "%s", result->fix);
}

static void count(struct report *report, const struct ep_check_result *result)
{
	report->warnings += result->status == EP_CHECK_WARN;
	if (result->status != EP_CHECK_FAIL)
		return;
	report->failures++;
	report->permission |= result->blame == EP_EXIT_PERMISSION;
	report->kernel |= result->blame == EP_EXIT_KERNEL;
}

static void print_result(struct report *report, const char *name,
			 const struct ep_check_result *result)
{
	if (report->options->json)
		print_json(report, name, result);
	else
		print_line(report, name, result);
	report->printed++;
	count(report, result);
}

static void run_checks(struct report *report, const struct ep_check_env *env,
		       const struct ep_check *checks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ep_check_result result = {0};

		checks[i].run(env, &result);
		print_result(report, checks[i].name, &result);
	}
}

static void say_row(const struct ep_doctor_rows *rows, const char *name,
		    const struct ep_check_result *result)
{
	print_result(rows->arg, name, result);
}

static void ask_for_advice(struct report *report)
{
	const struct ep_doctor_rows rows = {.say = say_row, .arg = report};

	if (report->options->advise)
		report->options->advise(report->options->advise_arg, &rows);
}

static void print_verdict(const struct report *report)
{
	const char *s = report->warnings == 1 ? "" : "s";

	if (report->options->json)
		fprintf(report->out, "]\n");
	else if (report->failures)
		fprintf(report->out, "\nprofiling cannot work: %u failed, %u warning%s\n",
			report->failures, report->warnings, s);
	else
		fprintf(report->out, "\nprofiling can work: %u warning%s\n", report->warnings, s);
}

static int print_nothing(enum libbpf_print_level level, const char *fmt, va_list args)
{
	(void)level;
	(void)fmt;
	(void)args;
	return 0;
}

/* What the kernel can never do counts more than what a privilege would change. */
enum ep_exit ep_doctor_run(const struct ep_doctor_options *options, FILE *out)
{
	struct report report = {.options = options, .out = out};
	libbpf_print_fn_t before = libbpf_set_print(print_nothing);
	struct ep_check_env env;

	ep_check_env_read(options->root, &env);
	env.plugin_dir = options->plugin_dir;
	env.memory_bytes = options->memory_bytes;
	run_checks(&report, &env, ep_kernel_checks, ep_n_kernel_checks);
	run_checks(&report, &env, ep_privilege_checks, ep_n_privilege_checks);
	run_checks(&report, &env, ep_machine_checks, ep_n_machine_checks);
	ask_for_advice(&report);
	print_verdict(&report);
	libbpf_set_print(before);
	if (report.kernel)
		return EP_EXIT_KERNEL;
	if (report.permission)
		return EP_EXIT_PERMISSION;
	return report.failures ? EP_EXIT_FAILED : EP_EXIT_OK;
}
