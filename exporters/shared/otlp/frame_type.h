/* SPDX-License-Identifier: Apache-2.0 */
/* profile.frame.type: from the kinds of frames a batch has to what a receiver knows. */
#ifndef OTLP_FRAME_TYPE_H
#define OTLP_FRAME_TYPE_H

#include "exporters/shared/otlp/encode.h"

/* Never "" or NULL. Borrowed from the batch or the options, or constant. */
const char *otlp_frame_type_of(const struct ep_batch *batch, uint32_t location,
			       const struct otlp_encode_options *options);

#endif
