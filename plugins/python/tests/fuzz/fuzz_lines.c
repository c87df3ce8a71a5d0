/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's line tables. Whatever the bytes are: the runs ascend, and are no more than the bytes.
 */
#include "plugins/python/symbolize/names.h"
#include "plugins/python/symbolize/lines.h"
#include "tests/kit/fuzz.h"

#define HEAD_BYTES 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum py_line_format format;
	struct py_lines lines = {0};
	int32_t first_line;

	if (size < HEAD_BYTES)
		return 0;
	format = (enum py_line_format)(data[0] % 4); /* one that does not exist, too */
	memcpy(&first_line, data + 1, sizeof(first_line));
	data += HEAD_BYTES;
	size -= HEAD_BYTES;
	if (size > PY_LINES_MAX_BYTES)
		size = PY_LINES_MAX_BYTES;
	if (py_lines_parse(format, data, size, first_line, &lines) < 0)
		abort();
	if (lines.len < 1 || lines.len > size + 1)
		abort();
	for (size_t i = 1; i < lines.len; i++) {
		if (lines.runs[i].start <= lines.runs[i - 1].start)
			abort();
	}
	py_lines_fini(&lines);
	return 0;
}
