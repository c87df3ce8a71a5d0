/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/text.h"

#include <string.h>

#define MAX_NAME_BYTES 16384 /* longer ones are shown as they are */
#define MAX_COLUMNS 250 /* of four bytes each, so that a buffer of EP_TEXT_BYTES is enough */

/* Bytes of the code point at `text`: 1 for what is no UTF-8. */
static size_t code_point_bytes(const char *text)
{
	unsigned char c = (unsigned char)text[0];
	size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;

	for (size_t i = 1; i < n; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 1;
	return n;
}

/*
 * Marks that turn the direction of text or end a line: U+061C, U+200E, U+200F, U+2028 to U+202E,
 * U+2066 to U+2069. What follows them on a terminal would not be read as it is.
 */
static bool turns_text(const unsigned char *text, size_t n)
{
	if (n == 2)
		return text[0] == 0xd8 && text[1] == 0x9c;
	if (n != 3 || text[0] != 0xe2)
		return false;
	if (text[1] == 0x80)
		return text[2] == 0x8e || text[2] == 0x8f || (text[2] >= 0xa8 && text[2] <= 0xae);
	return text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9;
}

/* C0, DEL, C1 and stray bytes could drive the terminal. */
static bool is_printable(const char *text, size_t n)
{
	unsigned char c = (unsigned char)text[0];

	if (n == 1)
		return c >= 0x20 && c < 0x7f;
	return (c != 0xc2 || (unsigned char)text[1] >= 0xa0) &&
	       !turns_text((const unsigned char *)text, n);
}

static size_t count_columns(const char *text)
{
	size_t columns = 0;

	for (; *text; text += code_point_bytes(text))
		columns++;
	return columns;
}

static const char *skip_columns(const char *text, size_t columns)
{
	for (; columns && *text; columns--)
		text += code_point_bytes(text);
	return text;
}

/* Copies code points; returns the end of what was written. */
static char *copy_columns(char *to, const char *text, size_t columns)
{
	for (; columns && *text; columns--) {
		size_t n = code_point_bytes(text);

		if (is_printable(text, n))
			to = mempcpy(to, text, n);
		else
			*to++ = '?';
		text += n;
	}
	*to = '\0';
	return to;
}

const char *ep_text_fit(const char *text, unsigned int columns, char *buf)
{
	size_t all = count_columns(text), room = EP_MIN(columns, (unsigned int)MAX_COLUMNS);
	size_t head, tail;

	if (all <= room) {
		copy_columns(buf, text, all);
		return buf;
	}
	room = room > 2 ? room - 2 : 0;
	head = (room + 1) / 2;
	tail = room - head;
	copy_columns(mempcpy(copy_columns(buf, text, head), "..", 2),
		     skip_columns(text, all - tail), tail);
	return buf;
}

/* As libiberty prints them; the longest first, of those that begin alike. */
static const struct {
	const char *whole, *brief;
} library_types[] = {
	{"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
	 "std::string"},
	{"std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, std::allocator<wchar_t> >",
	 "std::wstring"},
	{"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"},
	{"std::basic_string_view<char, std::char_traits<char> >", "std::string_view"},
	{"std::basic_ostream<char, std::char_traits<char> >", "std::ostream"},
	{"std::basic_istream<char, std::char_traits<char> >", "std::istream"},
	{"std::__cxx11::basic_stringstream<char, std::char_traits<char>, std::allocator<char> >",
	 "std::stringstream"},
	{"std::__cxx11::", "std::"},
};

/* How much of `text` is such a type; *ret_brief is what stands for it. */
static size_t find_library_type(const char *text, const char **ret_brief)
{
	for (size_t i = 0; i < EP_LEN(library_types); i++) {
		size_t bytes = strlen(library_types[i].whole);

		if (strncmp(text, library_types[i].whole, bytes) != 0)
			continue;
		*ret_brief = library_types[i].brief;
		return bytes;
	}
	return 0;
}

const char *ep_text_fit_name(const char *name, unsigned int columns, char *buf)
{
	char brief[MAX_NAME_BYTES], *to = brief;

	if (!strstr(name, "std::") ||
	    strlen(name) >= sizeof(brief)) /* what stands for it is never longer */
		return ep_text_fit(name, columns, buf);
	while (*name) {
		const char *type = NULL;
		size_t bytes = strncmp(name, "std::", 5) == 0 ? find_library_type(name, &type) : 0;

		if (bytes)
			to = stpcpy(to, type);
		else
			*to++ = *name;
		name += bytes ? bytes : 1;
	}
	*to = '\0';
	return ep_text_fit(brief, columns, buf);
}

const char *ep_text_shell(const char *text, char *buf, size_t size)
{
	size_t len = 0;

	if (text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			      "_-./:=+,@%")] == '\0')
		return text;
	buf[len++] = '\'';
	for (; *text && len + 8 < size; text++) {
		if (*text == '\'')
			len = (size_t)((char *)mempcpy(buf + len, "'\\''", 4) - buf);
		else
			buf[len++] = *text;
	}
	buf[len++] = '\'';
	buf[len] = '\0';
	return buf;
}

void ep_text_print(FILE *out, const char *text, size_t width, size_t used, size_t indent)
{
	for (;; used = indent) {
		size_t line = strcspn(text, "\n"), bytes = line;

		while (used + bytes > width) {
			const char *space = memrchr(text, ' ', bytes);

			if (!space) { /* a word that is wider stands whole */
				bytes = EP_MIN(strcspn(text, " "), line);
				break;
			}
			bytes = (size_t)(space - text);
		}
		fprintf(out, "%.*s\n", (int)bytes, text);
		text += bytes + (text[bytes] != '\0');
		if (!*text)
			return;
		fprintf(out, "%*s", *text == '\n' ? 0 : (int)indent, "");
	}
}
