/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request as a payload: 5 bytes in front for gRPC (compressed or not, length), then the message,
 * gzip-compressed or as it is. Compression is that of ISA-L, level 1: as dense as zlib's level 1 in
 * a sixth of the time (docs/otlp.md). A worker's.
 */
#ifndef OTLP_GZIP_H
#define OTLP_GZIP_H

#include "exporters/otlp/client.h"
#include "exporters/shared/otlp/encode.h"

/* 0, -ENOMEM, -EIO (the compressor failed). The caller frees payload->data. */
int otlp_payload_make(const struct otlp_request *request, bool gzip,
		      struct otlp_payload *ret_payload);

#endif
