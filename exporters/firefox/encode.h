/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Firefox Profiler's processed profile format, version FIREFOX_VERSION, as JSON
 * (firefox-devtools/profiler: docs-developer/CHANGELOG-formats.md, src/types/profile.ts at that version):
 *
 *	{ meta, libs, shared: { stackTable, frameTable, funcTable, resourceTable, nativeSymbols, sources,
 *	  stringArray }, threads: [ { name, pid, tid, samples: { stack, time, weight, .. } } ] }
 *
 * Tables are columns; a thread is one (process, tid); a frame is a line of a location, the inlined ones with
 * their depth; a function is one function of one library; a category is a kind of frame. Times and weights are
 * milliseconds, exact to the nanosecond. The profiler reads all older versions, so this one stays.
 */
#ifndef FIREFOX_ENCODE_H
#define FIREFOX_ENCODE_H

#include "ebpf-profiler/batch.h"
#include "exporters/shared/sink.h"

#define FIREFOX_VERSION 61

/* Of struct ep_file_format. */
int firefox_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink);

#endif
