/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/shared/otlp/text.h"

#include <errno.h>
#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

size_t otlp_percent_decode(char *text, size_t len)
{
	size_t to = 0;

	for (size_t i = 0; i < len; i++) {
		int high = text[i] == '%' && len - i > 2 ? hex_digit(text[i + 1]) : -1;
		int low = high >= 0 ? hex_digit(text[i + 2]) : -1;

		if (low < 0) {
			text[to++] = text[i];
			continue;
		}
		text[to++] = (char)(high << 4 | low);
		i += 2;
	}
	return to;
}

static void trim(const char **text, size_t *len)
{
	while (*len && (**text == ' ' || **text == '\t')) {
		(*text)++;
		(*len)--;
	}
	while (*len && ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t'))
		(*len)--;
}

static int copy_pair(const char *item, size_t len, struct otlp_pair *pair)
{
	const char *equals = memchr(item, '=', len), *value;
	size_t key_len, value_len;

	if (!equals)
		return -EBADMSG;
	key_len = (size_t)(equals - item);
	value = equals + 1;
	value_len = len - key_len - 1;
	trim(&item, &key_len);
	trim(&value, &value_len);
	if (key_len == 0 || key_len >= sizeof(pair->key) || value_len >= sizeof(pair->value))
		return -EBADMSG;
	memcpy(pair->key, item, key_len);
	pair->key[key_len] = '\0';
	memcpy(pair->value, value, value_len);
	value_len = otlp_percent_decode(pair->value, value_len);
	pair->value[value_len] = '\0';
	return 1;
}

int otlp_next_pair(const char **pos, struct otlp_pair *ret_pair)
{
	const char *item;
	size_t len;

	*pos += strspn(*pos, ", \t");
	if (!**pos)
		return 0;
	item = *pos;
	len = strcspn(item, ",");
	*pos += len;
	return copy_pair(item, len, ret_pair);
}

static size_t sequence_len(const unsigned char *text, size_t len)
{
	unsigned char lead = text[0];
	unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
	unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
	size_t need = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4 || len < need || text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return need;
}

bool otlp_is_utf8(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint64_t eight;

		if (len - i >= sizeof(eight)) {
			memcpy(&eight, text + i, sizeof(eight));
			if (!(eight & 0x8080808080808080ull)) { /* all of them ASCII */
				i += sizeof(eight);
				continue;
			}
		}
		size_t n = sequence_len((const unsigned char *)text + i, len - i);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

void otlp_printable(const char *text, size_t len, char *to, size_t to_len)
{
	size_t n = EP_MIN(len, to_len - 1);

	for (size_t i = 0; i < n; i++)
		to[i] = text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';
	to[n] = '\0';
}
