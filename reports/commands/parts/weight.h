/* SPDX-License-Identifier: Apache-2.0 */
/* What the samples of a profile weigh, as people read it: CPU time, or what another program
 * counted. */
#ifndef EP_REPORTS_WEIGHT_H
#define EP_REPORTS_WEIGHT_H

#include "core/base/util.h"
#include "ebpf-profiler/batch.h"

#define EP_WEIGHT_BYTES 32

const char *ep_weight_unit(const struct ep_batch *batch);
bool ep_weight_is_time(const struct ep_batch *batch);
/*
 * What time of this sample type is: "CPU time", "time" where the file does not say what its samples
 * are of, else the type itself, such as "wall", for ep_text_fit.
 */
const char *ep_weight_of_type(const char *sample_type);
/* "1.23 s", "12.0 ms", or the number where it is no time. */
const char *ep_weight_text(const struct ep_batch *batch, uint64_t weight, char *buf, size_t size);

#endif
