/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/gzip.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <sys/mman.h>

#define FIRST_DIVISOR                                                                              \
	2	      /* of the message's length: what its compressed form has at most, mostly     \
		       */
#define MIN_ROOM 4096 /* to go on compressing into */

static int compress_piece(struct isal_zstream *stream, struct otlp_wire *to)
{
	do {
		uint8_t *room = otlp_wire_room(to, MIN_ROOM);

		if (!room)
			return to->error;
		stream->next_out = room;
		stream->avail_out = (uint32_t)EP_MIN(to->cap - to->len, (size_t)UINT32_MAX);
		if (isal_deflate(stream) != COMP_OK)
			return -EIO;
		to->len = (size_t)(stream->next_out - to->data);
	} while (stream->avail_in ||
		 (stream->end_of_stream && stream->internal_state.state != ZSTATE_END));
	return 0;
}

struct compressor {
	struct isal_zstream stream;
	uint8_t level_buffer[ISAL_DEF_LVL1_SMALL];
};

/*
 * 165 kB for less than a millisecond: of the kernel, because a worker's heap would keep what it
 * once grew to, and all at once, because all of it is used.
 */
static struct compressor *map_compressor(void)
{
	struct compressor *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return c == MAP_FAILED ? NULL : c;
}

static int compress_pieces(struct isal_zstream *stream, const struct otlp_request *request,
			   struct otlp_wire *to)
{
	int r = 0;

	for (size_t i = 0; i < request->n_pieces && r == 0; i++) {
		stream->next_in = (uint8_t *)request->pieces[i].data;
		stream->avail_in = (uint32_t)request->pieces[i].len;
		stream->end_of_stream = i + 1 == request->n_pieces;
		r = compress_piece(stream, to);
	}
	return r;
}

static int compress_request(const struct otlp_request *request, struct otlp_wire *to)
{
	struct compressor *c = map_compressor();
	int r;

	if (!c)
		return -ENOMEM;
	isal_deflate_init(&c->stream);
	c->stream.level = 1;
	c->stream.level_buf = c->level_buffer;
	c->stream.level_buf_size = sizeof(c->level_buffer);
	c->stream.gzip_flag = IGZIP_GZIP;
	c->stream.flush = NO_FLUSH;
	r = compress_pieces(&c->stream, request, to);
	(void)munmap(c, sizeof(*c));
	return r;
}

static void copy_request(const struct otlp_request *request, struct otlp_wire *to)
{
	for (size_t i = 0; i < request->n_pieces; i++)
		otlp_put_raw(to, request->pieces[i].data, request->pieces[i].len);
}

static void write_frame(uint8_t *frame, bool gzip, size_t len)
{
	frame[0] = gzip;
	for (int i = 0; i < 4; i++)
		frame[1 + i] = (uint8_t)(len >> (24 - 8 * i));
}

int otlp_payload_make(const struct otlp_request *request, bool gzip,
		      struct otlp_payload *ret_payload)
{
	size_t room = gzip ? request->bytes / FIRST_DIVISOR + 2 * MIN_ROOM
			   : request->bytes + OTLP_FRAME_BYTES;
	struct otlp_wire wire;
	uint8_t *exact;
	int r = 0;

	otlp_wire_init(&wire, 2 * request->bytes + 16 * MIN_ROOM);
	(void)otlp_wire_room(&wire, room);
	otlp_put_raw(&wire, "\0\0\0\0", OTLP_FRAME_BYTES);
	if (gzip)
		r = compress_request(request, &wire);
	else
		copy_request(request, &wire);
	if (r == 0)
		r = wire.error;
	if (r < 0) {
		otlp_wire_fini(&wire);
		return r;
	}
	write_frame(wire.data, gzip, wire.len - OTLP_FRAME_BYTES);
	exact = realloc(wire.data, wire.len); /* it may wait for long */
	*ret_payload = (struct otlp_payload){
		.data = exact ? exact : wire.data,
		.len = wire.len,
		.is_gzip = gzip,
		.events = request->samples,
		.profiles = request->profiles,
	};
	return 0;
}
