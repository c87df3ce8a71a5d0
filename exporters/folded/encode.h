/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, a line for each stack of each program, as flamegraph.pl takes them:
 *
 *	comm;outermost;..;innermost 30303030
 *
 * The number is CPU time in nanoseconds (the weight, where a profile of others counts something else): the
 * samples of two CPUs stand for different times, so counts would not be shares. Suffixes are flamegraph.pl's:
 * _[k] code of the kernel, _[i] inlined, _[j] a frame of a language that is not machine code in a file.
 *
 * What would break a line is made safe: ';' is ':', control characters are '?', and the space before a
 * number at the end of a name is '_', since flamegraph.pl would take "f 2 100" for two numbers.
 */
#ifndef FOLDED_ENCODE_H
#define FOLDED_ENCODE_H

#include "ebpf-profiler/batch.h"
#include "exporters/shared/sink.h"

/* Of struct ep_file_format. */
int folded_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink);

#endif
