/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch as one file: a ProfilesData message (the same fields as a request, encode.h) from which the whole
 * batch can be read again. What the messages have no field for is in attributes named ebpf_profiler.*; all of
 * them are listed in docs/profiles.md. The message may be as long as protobuf allows, 2 GiB, and is never in
 * memory: it is written in this order.
 *
 *	resource_profiles[]   pieces of a MiB or so, each of one process; a process may have several
 *	dictionary            its bytes are counted on the way; strings and stacks are written from the batch
 *
 *  1. Rows that say the same are one element, and nothing else is. Rows that no sample refers to are left out.
 *  2. Samples of a Profile have one shape:
 *     EXACT   timestamps only; each stands for the Profile's period            weight = count * period
 *     VALUED  a value beside each timestamp, in the weight's unit              weight = sum of the values
 *     COUNTED no timestamps (the input had none), one value: how many          weight = count * period
 *     SUMMED  no timestamps, one value in the weight's unit; how many is an attribute of the sample
 * 3. What is reported of the whole batch is an attribute of the first Profile. A batch without
 * samples has one
 *     Profile without samples for it.
 *  4. Each scope says which version of the file this is, and by which message definitions it was written.
 */
#ifndef OTLP_FILE_H
#define OTLP_FILE_H

#include "ebpf-profiler/batch.h"
#include "exporters/shared/otlp/file_names.h"
#include "exporters/shared/sink.h"

/* Any thread. 0, -ENOMEM, -E2BIG (and a sentence in sink->why), or the sink's error. */
int otlp_file_write(const struct ep_batch *batch, const char *version, struct ep_sink *sink);

#endif
