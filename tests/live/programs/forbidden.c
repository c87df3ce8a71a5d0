/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exporter that makes system calls which no exporter needs, on the loop and on a worker thread: test_security.py.
 * Built with HANGS it keeps the loop for good, with its first batch: test_service.py.
 */
#include <ebpf-profiler/plugin.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

struct forbidden {
	const struct ep_host *host;
	ep_export_done done;
	void *done_arg;
};

static void say(const struct ep_host *host, const char *what, int result)
{
	host->log(EP_HOST_WARN, "forbidden: %s %s", what, result >= 0 ? "worked" : errno == ENOSYS ? "is not there" : "failed");
}

static int forbidden_open(const struct ep_host *host, const struct ep_options *options, void **ret)
{
	struct forbidden *f = calloc(1, sizeof(*f));

	(void)options;
	if (!f)
		return -ENOMEM;
	f->host = host;
	say(host, "personality", personality(0xffffffff));
	*ret = f;
	return 0;
}

/* On a worker thread. */
static void forbidden_work(void *arg)
{
	struct forbidden *f = arg;
	pid_t pid;

	say(f->host, "umount", umount2("/nonexistent", 0));
	pid = fork();
	if (pid == 0)
		_exit(0);
	say(f->host, "fork", pid);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
}

static void forbidden_worked(void *arg)
{
	struct forbidden *f = arg;

	f->done(f->done_arg, 0);
}

static void forbidden_export(void *arg, const struct ep_batch *batch, ep_export_done done, void *done_arg)
{
	struct forbidden *f = arg;
	int r;

	(void)batch;
#ifdef HANGS
	f->host->log(EP_HOST_WARN, "forbidden: hangs");
	for (;;)
		pause();
#endif
	f->done = done;
	f->done_arg = done_arg;
	r = f->host->run(forbidden_work, forbidden_worked, f);
	if (r < 0)
		done(done_arg, r);
}

static void forbidden_close(void *arg)
{
	free(arg);
}

static const struct ep_option_spec options[] = {{.name = NULL}};

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = options,
	.open = forbidden_open,
	.export_batch = forbidden_export,
	.close = forbidden_close,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "forbidden",
	.version = "1.0",
	.exporter = &ops,
};
