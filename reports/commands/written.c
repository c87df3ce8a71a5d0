/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/written.h"
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "reports/commands/view_files.h"

#include <errno.h>
#include <string.h>
#include <uv.h>

void ep_written_init(struct ep_written *written)
{
	*written = (struct ep_written){0};
	for (size_t i = 0; i < EP_LEN(written->held); i++)
		written->held[i] = -1;
}

/* --- who was root ---------------------------------------------------------------------------- */

static enum ep_exit hold(struct ep_written *written, const struct ep_output_choices *choices,
			 bool force)
{
	int r = 0;

	for (size_t i = 0; i < choices->n && r == 0; i++) {
		const char *path = choices->list[i].path;

		if (strcmp(path, "-") == 0)
			continue;
		written->held[i] = ep_output_files_hold(path, force, &written->made[i]);
		r = EP_MIN(written->held[i], 0);
	}
	if (ep_remover_start((const char *const *)written->made, choices->n, &written->remover) <
		    0 &&
	    r == 0)
		fprintf(stderr,
			"ebpf-profiler: warning: if this fails, empty files stay: no process "
			"could be started\n");
	return r < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

enum ep_exit ep_written_give_up_root(struct ep_written *written,
				     const struct ep_output_choices *choices, bool force)
{
	struct ep_sudo_caller caller;
	enum ep_exit status = EP_EXIT_OK;

	written->is_nobody = geteuid() == 0 && ep_sudo_caller(&caller) != 0;
	if (written->is_nobody && choices->n)
		status = hold(written, choices, force);
	return status == EP_EXIT_OK ? ep_view_files_drop_root() : status;
}

/* In place of the files that root opened: where nobody can write. */
static enum ep_exit stage(struct ep_written *written)
{
	for (size_t i = 0; i < written->files.n; i++) {
		if (written->held[i] < 0)
			continue;
		free(written->files.paths[i]);
		written->files.paths[i] = ep_output_files_temporary();
		if (!written->files.paths[i]) {
			fprintf(stderr, "ebpf-profiler: no temporary file: %m\n");
			return EP_EXIT_FAILED;
		}
	}
	return EP_EXIT_OK;
}

static int fill(struct ep_written *written, size_t i)
{
	int r = ftruncate(written->held[i], 0) < 0 ? -errno : 0;

	if (r == 0)
		r = ep_output_files_copy(written->files.paths[i], written->held[i]);
	if (r < 0)
		fprintf(stderr, "ebpf-profiler: %s: %s\n", written->files.shown[i], ep_strerror(r));
	return r;
}

static int fill_all(struct ep_written *written)
{
	int result = 0;

	for (size_t i = 0; i < EP_LEN(written->held); i++) {
		int r = 0;

		if (written->held[i] < 0)
			continue;
		if (written->filled >> i & 1)
			r = fill(written, i);
		else if (i < written->files.n && written->files.paths[i])
			ep_output_files_discard(written->files.paths[i]);
		if (r < 0)
			written->filled &= ~(1ull << i);
		close(ep_take_fd(written->held[i]));
		result = result ? result : r;
	}
	ep_remover_finish(&written->remover, written->filled);
	for (size_t i = 0; i < EP_LEN(written->made); i++)
		free(ep_take(written->made[i]));
	return result;
}

/* --- writing --------------------------------------------------------------------------------- */

enum ep_exit ep_written_open(struct ep_written *written, const struct ep_output_choices *choices,
			     const char *plugin_dir, bool force, const char *base)
{
	enum ep_exit status;

	force |= written->is_nobody; /* then it was looked at before */
	ep_outputs_init(&written->outputs, plugin_dir);
	status = ep_output_files_name(&written->files, choices, "", plugin_dir, force);
	if (status == EP_EXIT_OK)
		status = stage(written);
	if (status == EP_EXIT_OK &&
	    ep_output_files_open(&written->files, &written->outputs, force, base) < 0)
		status = EP_EXIT_FAILED;
	return status;
}

static void on_flushed(void *arg)
{
	(void)arg;
}

enum ep_exit ep_written_write(struct ep_written *written, const struct ep_batch *batch)
{
	size_t n = written->files.n;

	for (size_t i = 0; i < n; i++)
		ep_outputs_submit(&written->outputs, i, batch);
	ep_outputs_flush(&written->outputs, on_flushed, NULL);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	for (size_t i = 0; i < n; i++)
		written->filled |= (uint64_t)(ep_outputs_result_of(&written->outputs, i) == 0) << i;
	return ep_outputs_result(&written->outputs) < 0 ? EP_EXIT_FAILED : EP_EXIT_OK;
}

static void say_written(const struct ep_written *written)
{
	const char *separator = "wrote: ";

	for (size_t i = 0; i < written->files.n; i++) {
		if (strcmp(written->files.shown[i], "-") == 0 || !(written->filled >> i & 1))
			continue;
		fprintf(stderr, "%s%s", separator, written->files.shown[i]);
		separator = ", ";
	}
	if (separator[0] == ',')
		fprintf(stderr, "\n");
}

enum ep_exit ep_written_finish(struct ep_written *written, bool is_quiet, enum ep_exit status)
{
	int r;

	ep_outputs_fini(&written->outputs);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	if (fill_all(written) < 0 && status == EP_EXIT_OK)
		status = EP_EXIT_FAILED;
	if (!is_quiet)
		say_written(written);
	r = ep_output_files_finish(&written->files);
	if (r < 0 && status == EP_EXIT_OK)
		status = r == -EPIPE ? EP_EXIT_PIPE : EP_EXIT_FAILED;
	return status;
}
