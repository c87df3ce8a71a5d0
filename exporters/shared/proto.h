/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers, written append-only. A field is a tag, (number << 3 | wire type), and a value:
 * a varint (wire type 0) or a length and that many bytes (2). Numbers are little-endian base 128,
 * bit 7 set on all bytes but the last. https://protobuf.dev/programming-guides/encoding
 *
 * Errors stick: the first one is kept, everything after it is ignored.
 */
#ifndef EP_EXPORTERS_PROTO_H
#define EP_EXPORTERS_PROTO_H

#include "core/base/vec.h"

struct pb {
	struct ep_vec bytes;
	int error; /* 0, -E2BIG, -ENOMEM */
};

void pb_init(struct pb *pb, size_t max_bytes);
void pb_fini(struct pb *pb);
void pb_clear(struct pb *pb);

void pb_varint(struct pb *pb, uint64_t value);
/* A field with a number; 0 is the default and is not written. */
void pb_uint(struct pb *pb, uint32_t field, uint64_t value);
/* A field with a string, bytes, a message or packed numbers; written even when it is empty. */
void pb_bytes(struct pb *pb, uint32_t field, const void *data, size_t len);
void pb_message(struct pb *pb, uint32_t field, const struct pb *message);

#endif
