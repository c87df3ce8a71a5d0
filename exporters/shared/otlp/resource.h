/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Resource of a process: who was sampled (semantic conventions 1.44.0: process, container,
 * host, service). What the process says about itself wins over what is configured; no key is there
 * twice.
 */
#ifndef OTLP_RESOURCE_H
#define OTLP_RESOURCE_H

#include "exporters/shared/otlp/encode.h"
#include "exporters/shared/otlp/view.h"

/* Replaces what is in `message`. Row 0 of processes: one that is not known. */
void otlp_resource_write(const struct ep_batch *batch, const struct otlp_view *view,
			 const struct otlp_encode_options *options, uint32_t process,
			 struct otlp_wire *message);

#endif
