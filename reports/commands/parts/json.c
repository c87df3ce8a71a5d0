/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/json.h"

/* Strings of a batch are UTF-8; of file names and arguments, what is none is replaced. */
static size_t utf8_bytes(const unsigned char *text)
{
	size_t n = text[0] < 0x80		       ? 1
		   : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
		   : text[0] >= 0xe0		       ? 3
		   : text[0] >= 0xc2		       ? 2
						       : 0;

	for (size_t i = 1; i < n; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return text[0] >= 0xf5 ? 0 : n;
}

void ep_json_put_string(FILE *out, const char *text)
{
	const unsigned char *pos = (const unsigned char *)text;

	fputc('"', out);
	while (*pos) {
		size_t n = utf8_bytes(pos);

		if (*pos == '"' || *pos == '\\')
			fprintf(out, "\\%c", *pos);
		else if (*pos < 0x20 || *pos == 0x7f)
			fprintf(out, "\\u%04x", *pos);
		else if (n == 0)
			fputs("\\ufffd", out);
		else
			fwrite(pos, 1, n, out);
		pos += n ? n : 1;
	}
	fputc('"', out);
}
