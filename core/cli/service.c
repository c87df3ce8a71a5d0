/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions are those of <systemd/sd-daemon.h>, libsystemd.so.0: sd_notify(3), sd_watchdog_enabled(3). The library
 * stays loaded until the end.
 */
#include "core/cli/service.h"
#include "core/base/clock.h"
#include "core/base/log.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>

#define LIBRARY "libsystemd.so.0"

void ep_service_open(struct ep_service *ret_service)
{
	int (*watchdog_enabled)(int unset_environment, uint64_t *usec) = NULL;
	uint64_t usec = 0;
	void *library;

	*ret_service = (struct ep_service){0};
	if (!secure_getenv("NOTIFY_SOCKET"))
		return;
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (library) {
		ret_service->notify = (int (*)(int, const char *))dlsym(library, "sd_notify");
		watchdog_enabled = (int (*)(int, uint64_t *))dlsym(library, "sd_watchdog_enabled");
	}
	if (!ret_service->notify || !watchdog_enabled) {
		ret_service->notify = NULL;
		ep_log(EP_LOG_WARN, "agent: there is a NOTIFY_SOCKET and no " LIBRARY ", so the service manager will not be "
				    "told that sampling has begun: apt install libsystemd0");
		return;
	}
	if (watchdog_enabled(0, &usec) > 0)
		ret_service->watchdog_ms = EP_MAX(usec / 2000, (uint64_t)1); /* twice in its time */
}

static void tell(const struct ep_service *service, const char *state)
{
	if (service->notify)
		(void)service->notify(0, state);
}

/* On the loop: one that hangs gives no sign. */
static void on_watchdog(uv_timer_t *timer)
{
	tell(timer->data, "WATCHDOG=1");
}

void ep_service_reloaded(const struct ep_service *service, const char *status)
{
	char state[256];

	snprintf(state, sizeof(state), "READY=1\nSTATUS=%s", status);
	tell(service, state);
}

void ep_service_ready(struct ep_service *service, uv_loop_t *loop, const char *status)
{
	ep_service_reloaded(service, status);
	if (!service->notify || !service->watchdog_ms)
		return;
	uv_timer_init(loop, &service->watchdog);
	service->watchdog.data = service;
	service->is_watched = true;
	uv_timer_start(&service->watchdog, on_watchdog, 0, service->watchdog_ms);
	uv_unref((uv_handle_t *)&service->watchdog);
}

void ep_service_reloading(const struct ep_service *service)
{
	char state[64];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 ep_clock_mono_ns() / 1000);
	tell(service, state);
}

void ep_service_stopping(const struct ep_service *service)
{
	tell(service, "STOPPING=1\nSTATUS=writing what was sampled");
}

void ep_service_close(struct ep_service *service)
{
	if (service->is_watched)
		uv_close((uv_handle_t *)&service->watchdog, NULL);
	service->is_watched = false;
}
