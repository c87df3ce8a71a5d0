/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph as SVG, from the top down, so that deep stacks do not push the programs out of sight:
 * programs, and below them their functions, as wide as their CPU time. The picture has what it needs in itself: in a browser a click shows one function in full width, and
 * names are searched for by regular expression; where no script runs, it is read as it is, with the
 * numbers of each function in its title.
 */
#ifndef SVG_ENCODE_H
#define SVG_ENCODE_H

#include "ebpf-profiler/batch.h"
#include "exporters/shared/sink.h"

/* Of struct ep_file_format. */
int svg_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink);

#endif
