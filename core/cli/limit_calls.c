/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/limit_calls.h"
#include "core/base/log.h"
#include "core/config/config.h"

#include <errno.h>
#include <uv.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true /* their runtimes clone and trace us in the end */
#else
#define IS_SANITIZED false
#endif

/* Where a signal handler wakes the loop: there is one filter in a process, and so one of these. */
static uv_async_t refusals;

void ep_cmd_limit_calls(const struct ep_config_file *config, enum ep_callers callers)
{
	int r;

	if (!config->security.filter_system_calls || IS_SANITIZED)
		return;
	r = ep_system_calls_limit(callers);
	if (r < 0)
		ep_log(EP_LOG_WARN, "security: system calls are not filtered: %s; `ebpf-profiler doctor` says more",
		       r == -EINVAL ? "this kernel has no filters (CONFIG_SECCOMP_FILTER)" : ep_strerror(r));
}

void ep_cmd_limit_reader(void)
{
	if (!IS_SANITIZED)
		(void)ep_system_calls_limit(EP_CALLERS_READER);
}

void ep_cmd_say_refused_calls(void)
{
	struct ep_refused_call call;

	while (ep_system_calls_next_refused(&call))
		ep_log(EP_LOG_WARN,
		       "security: system call %s (%d) is not on the list and was refused: it is a fault of ours or of a "
		       "plugin, please report it; [security] filter_system_calls = false allows all",
		       call.name, call.number);
}

static void on_refusal(uv_async_t *async)
{
	(void)async;
	ep_cmd_say_refused_calls();
}

/* In a signal handler: uv_async_send is safe there (libuv, docs/src/async.rst). */
static void wake_loop(void *arg)
{
	(void)uv_async_send(arg);
}

void ep_cmd_watch_calls(struct uv_loop_s *loop)
{
	if (uv_async_init(loop, &refusals, on_refusal) < 0)
		return;
	uv_unref((uv_handle_t *)&refusals);
	ep_system_calls_watch(wake_loop, &refusals);
	ep_cmd_say_refused_calls(); /* those before */
}

void ep_cmd_unwatch_calls(void)
{
	ep_system_calls_watch(NULL, NULL);
	if (refusals.loop && !uv_is_closing((uv_handle_t *)&refusals))
		uv_close((uv_handle_t *)&refusals, NULL);
}
