/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch as a pprof profile (perftools.profiles.Profile, github.com/google/pprof
 * proto/profile.proto), handed to a sink in pieces, so that the profile never is in memory as a
 * whole. Thread-safe: it only reads the batch.
 */
#ifndef PPROF_ENCODE_H
#define PPROF_ENCODE_H

#include "ebpf-profiler/batch.h"
#include "exporters/shared/sink.h"

#include <stddef.h>

/* `version` is the profiler's. 0, -E2BIG, -ENOMEM, or the first error of the sink. */
int pprof_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink);

/* "99.2 % complete, 0.5 % process not analysed yet, ...", of CPU time: at most len bytes with the
 * NUL. */
void pprof_quality(const struct ep_batch *batch, char *text, size_t len);
/* The same of names: "71.2 % fully named, 28.8 % toy: gone before it was named". */
void pprof_names(const struct ep_batch *batch, char *text, size_t len);

#endif
