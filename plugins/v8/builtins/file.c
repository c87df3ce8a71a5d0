/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/builtins/file.h"

#include "core/base/util.h"

#include <errno.h>
#include <stdlib.h>

int v8_scan(const struct v8_reader *reader, const char *section, size_t overlap, v8_visit *visit, void *arg)
{
	ep_autofree uint8_t *piece = NULL;
	struct ep_symbol found;
	uint64_t done = 0;
	int r = reader->host->file_section(reader->file, section, &found);

	if (r)
		return r == -ENODATA ? 0 : r;
	piece = malloc(EP_MAX_FILE_READ);
	if (!piece)
		return -ENOMEM;
	found.bytes = EP_MIN(found.bytes, (uint64_t)V8_MAX_SCAN);
	while (done < found.bytes) {
		uint64_t left = found.bytes - done;
		size_t len = left < EP_MAX_FILE_READ ? (size_t)left : EP_MAX_FILE_READ;

		r = reader->host->file_read(reader->file, found.va + done, piece, len);
		if (!r)
			r = visit(arg, found.va + done, piece, len);
		if (r || len == left)
			return r;
		done += len - overlap;
	}
	return 0;
}

int v8_read_long(const struct v8_reader *reader, uint64_t va, void *buf, size_t bytes)
{
	uint8_t *to = buf;

	while (bytes) {
		size_t len = bytes < EP_MAX_FILE_READ ? bytes : EP_MAX_FILE_READ;
		int r = reader->host->file_read(reader->file, va, to, len);

		if (r)
			return r;
		va += len;
		to += len;
		bytes -= len;
	}
	return 0;
}
