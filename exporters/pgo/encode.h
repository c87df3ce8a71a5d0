/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of one Go program as a pprof profile, of what `go build -pgo` reads (Go's cmd/internal/pgo):
 *
 *	sample type samples/count first; functions by the names of Go's linker, with their first lines, since a
 *	call site is (caller, line less the caller's first line); inlined calls as lines of one location.
 *
 * As in a profile of runtime/pprof there are frames of Go only: time in the kernel and in C is its caller's.
 * Nothing else of the recording is in it: such files are kept beside sources.
 */
#ifndef PGO_ENCODE_H
#define PGO_ENCODE_H

#include "ebpf-profiler/batch.h"
#include "exporters/shared/sink.h"

/* Of struct ep_file_format. -ENODATA, -EINVAL: no Go program, or several; sink->why says so. */
int pgo_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink);

#endif
