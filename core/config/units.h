/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with a unit, as users write them: durations and sizes. */
#ifndef EP_CONFIG_UNITS_H
#define EP_CONFIG_UNITS_H

#include "core/base/util.h"

/* "10", "10s", "1.5s", "500ms", "5m", "1h", in ns. 0, -EBADMSG, -ERANGE beyond 2^63 ns. */
int ep_parse_duration(const char *text, uint64_t *ret_ns);
/* "4096", "64KiB", "64MiB", "1GiB", also "64K", "64M", "64MB" (all powers of two). Same errors. */
int ep_parse_bytes(const char *text, uint64_t *ret_bytes);

/* The shortest exact form with a unit: "1m", "500ms", "64MiB". Needs 32 bytes. */
void ep_format_duration(uint64_t ns, char *buf, size_t size);
void ep_format_bytes(uint64_t bytes, char *buf, size_t size);

#endif
