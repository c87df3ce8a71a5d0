/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as `perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,dso --ns` prints it, in order of time,
 * after a header like perf's:
 *
 *	comm    pid/tid    [cpu] seconds.nanoseconds:     period cpu-clock: 
 *		          address symbol (file)
 *
 *	the next sample
 *
 * Seconds are of the wall clock. The period is the sample's CPU time in nanoseconds. Innermost frame first; an
 * inlined function has "inlined" for a file, as in perf; a frame of a language has its source file and line;
 * code without a name is [unknown].
 */
#ifndef PERF_ENCODE_H
#define PERF_ENCODE_H

#include "ebpf-profiler/batch.h"
#include "exporters/shared/sink.h"

/* Of struct ep_file_format. */
int perf_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink);

#endif
