/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from the servers that DEBUGINFOD_URLS names, by elfutils' own client, which also
 * keeps what it got in the user's cache. The library is loaded when it is asked for, so that
 * nothing else here needs it, and nothing here ever opens a connection without --debuginfod. It
 * parses what a network sends: never as root.
 */
#ifndef EP_REPORTS_DEBUGINFOD_H
#define EP_REPORTS_DEBUGINFOD_H

#include <stdbool.h>

struct ep_debuginfod;

/* 0, or a negative errno after one sentence on stderr with the fix. -EPERM: this is root still. */
int ep_debuginfod_open(struct ep_debuginfod **ret_client);
void ep_debuginfod_close(struct ep_debuginfod *client); /* accepts NULL */
static inline void ep_debuginfod_closep(struct ep_debuginfod **client)
{
	ep_debuginfod_close(*client);
}

/* struct ep_symbols_sources.fetch, with the client as its argument. */
int ep_debuginfod_fetch(void *client, const char *build_id, bool executable);

#endif
