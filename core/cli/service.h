/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent as a service: its manager is informed when it samples, that its loop turns, and that it
 * ends (sd_notify(3)). Where nobody asks for that, in NOTIFY_SOCKET, all of this does nothing, and
 * libsystemd is not loaded.
 */
#ifndef EP_CLI_SERVICE_H
#define EP_CLI_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct ep_service {
	int (*notify)(int unset_environment, const char *state); /* sd_notify(3); NULL: nobody asks */
	uint64_t watchdog_ms;					 /* between two signs of life; 0: nobody waits for them */
	uv_timer_t watchdog;
	bool is_watched;
};

/* Before system calls are limited: libraries do as they like when they are loaded. */
void ep_service_open(struct ep_service *ret_service);
/* From here on the loop gives signs of life. status: what people read in the manager's list. */
void ep_service_ready(struct ep_service *service, uv_loop_t *loop, const char *status);
/* Another configuration takes over, and when it has, or has not. */
void ep_service_reloading(const struct ep_service *service);
void ep_service_reloaded(const struct ep_service *service, const char *status);
void ep_service_stopping(const struct ep_service *service);
/* No more signs of life: the loop ends. Accepts what is zeroed. */
void ep_service_close(struct ep_service *service);

#endif
