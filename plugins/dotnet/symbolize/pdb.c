/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	MethodDebugInformation: row of the method ──► blob: [signature] [document] points
 *	point	IL offset - last one, lines, columns [first line and column, or differences to the
 *		last ones]
 *		lines and columns 0: hidden; IL difference 0 in a later point: another document
 *	Document ──► blob: separator, then blobs that it joins
 */
#include "plugins/dotnet/symbolize/pdb.h"

#include "core/base/util.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define INFLATE_PIECE	8192u
#define MAX_POINT_BYTES (1u << 20) /* of one method */
#define MAX_PARTS	64	   /* of a path */

/* --- opening it ----------------------------------------------------------------------------- */

static int inflate_pieces(const struct dotnet_reader *reader, const struct dotnet_pdb_place *place,
			  z_stream *stream)
{
	uint8_t piece[INFLATE_PIECE];
	int r = 0, done = Z_OK;

	for (uint64_t at = 0; r == 0 && done == Z_OK && at < place->embedded_bytes;
	     at += sizeof(piece)) {
		size_t n = EP_MIN(sizeof(piece), place->embedded_bytes - at);

		r = memory_read(&reader->memory, place->embedded + at, piece, n);
		stream->next_in = piece;
		stream->avail_in = (uInt)n;
		if (r == 0)
			done = inflate(stream, Z_NO_FLUSH);
	}
	if (r < 0)
		return r;
	return done == Z_STREAM_END && stream->avail_out == 0 ? 0 : -EBADMSG;
}

int dotnet_pdb_inflate(const struct dotnet_reader *reader, const struct dotnet_pdb_place *place,
		       uint8_t **ret)
{
	ep_autofree uint8_t *plain = NULL;
	z_stream stream = {0};
	int r;

	if (place->plain_bytes > DOTNET_PDB_MAX_PLAIN ||
	    place->embedded_bytes > DOTNET_PDB_MAX_PLAIN)
		return -E2BIG;
	plain = malloc(place->plain_bytes + 1);
	if (!plain || inflateInit2(&stream, -MAX_WBITS) != Z_OK)
		return -ENOMEM;
	stream.next_out = plain;
	stream.avail_out = place->plain_bytes;
	r = inflate_pieces(reader, place, &stream);
	(void)inflateEnd(&stream);
	if (r == 0)
		*ret = ep_take(plain);
	return r;
}

int dotnet_pdb_read(const struct dotnet_reader *reader, const uint8_t id[DOTNET_PDB_ID_BYTES],
		    struct dotnet_metadata *ret)
{
	uint8_t own[DOTNET_PDB_ID_BYTES];
	int r = dotnet_metadata_read(reader, 0, ret);

	if (r == 0 && !ret->pdb)
		r = -EBADMSG;
	if (r == 0)
		r = memory_read(&reader->memory, ret->pdb, own, sizeof(own));
	return r == 0 && memcmp(own, id, sizeof(own)) != 0 ? -EBADMSG : r;
}

/* --- points --------------------------------------------------------------------------------- */

struct points {
	uint32_t il, line, column, document;
	bool is_first, has_line, is_hidden;
};

/* The next one. False: it is another document's name. */
static bool read_point(struct dotnet_bytes *bytes, struct points *points)
{
	uint32_t il = dotnet_compressed(bytes), lines;
	int32_t columns;

	if (il == 0 && !points->is_first) {
		points->document = dotnet_compressed(bytes);
		return false;
	}
	points->is_first = false;
	points->il += il;
	lines = dotnet_compressed(bytes);
	columns = lines ? dotnet_compressed_signed(bytes) : (int32_t)dotnet_compressed(bytes);
	points->is_hidden = !lines && !columns;
	if (points->is_hidden)
		return true;
	if (points->has_line) {
		points->line += (uint32_t)dotnet_compressed_signed(bytes);
		points->column += (uint32_t)dotnet_compressed_signed(bytes);
	} else {
		points->line = dotnet_compressed(bytes);
		points->column = dotnet_compressed(bytes);
	}
	points->has_line = true;
	return true;
}

int dotnet_pdb_find(const struct dotnet_reader *reader, const struct dotnet_metadata *pdb,
		    uint32_t rid, uint32_t il, struct dotnet_point *ret)
{
	struct points points = {.is_first = true};
	struct dotnet_bytes bytes;
	struct dotnet_row row;
	int r = dotnet_metadata_row(reader, &pdb->points, rid, &row);

	if (r < 0 || !row.columns[1])
		return r < 0 ? r : -ENODATA;
	r = dotnet_metadata_blob(reader, pdb, row.columns[1], &bytes);
	if (r == 0 && dotnet_bytes_left(&bytes) > MAX_POINT_BYTES)
		r = -EBADMSG;
	if (r < 0)
		return r;
	(void)dotnet_compressed(&bytes); /* of local variables */
	points.document = row.columns[0] ? row.columns[0] : dotnet_compressed(&bytes);
	*ret = (struct dotnet_point){0};
	while (!dotnet_bytes_end(&bytes)) {
		if (!read_point(&bytes, &points))
			continue;
		if (bytes.result < 0 || points.il > il)
			break;
		if (points.is_hidden)
			continue;
		if (!ret->start_line)
			ret->start_line = points.line;
		ret->document = points.document;
		ret->line = points.line;
		ret->column = points.column;
	}
	if (bytes.result < 0)
		return bytes.result;
	return ret->line ? 0 : -ENODATA;
}

int dotnet_pdb_document(const struct dotnet_reader *reader, const struct dotnet_metadata *pdb,
			uint32_t rid, struct text_writer *writer)
{
	struct dotnet_bytes parts, part;
	struct dotnet_row row;
	uint8_t separator;
	int r = dotnet_metadata_row(reader, &pdb->documents, rid, &row);

	if (r == 0)
		r = dotnet_metadata_blob(reader, pdb, row.columns[0], &parts);
	if (r < 0)
		return r;
	separator = dotnet_byte(&parts);
	for (uint32_t i = 0; i < MAX_PARTS && !dotnet_bytes_end(&parts) && !writer->is_full; i++) {
		uint32_t index = dotnet_compressed(&parts);

		if (i && separator)
			text_put(writer, separator);
		if (!index)
			continue;
		r = dotnet_metadata_blob(reader, pdb, index, &part);
		while (r == 0 && !dotnet_bytes_end(&part) && !writer->is_full) {
			uint8_t text[512];
			size_t n = 0;

			while (n < sizeof(text) && !dotnet_bytes_end(&part))
				text[n++] = dotnet_byte(&part);
			text_put_utf8(writer, text, n);
		}
		if (r == 0)
			r = part.result;
		if (r < 0)
			return r;
	}
	return parts.result;
}
