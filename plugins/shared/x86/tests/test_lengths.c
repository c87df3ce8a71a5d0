/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lengths of instructions, as objdump (binutils) has them: of libc and libm (vector code), of this
 * program, and of a VM where one is installed.
 */
#include "plugins/shared/x86/decode.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SKIP	  77
#define MAX_LINES 400000

static const char *const files[] = {
	"/proc/self/exe",
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/usr/lib/jvm/*/lib/server/libjvm.so",
};

/* " 401000:\t55 48 89 e5 \tpush ...": how many bytes; 0: not such a line, or one objdump does not
 * know. */
static size_t parse_line(const char *line, uint8_t bytes[32])
{
	const char *at = strchr(line, '\t'), *text = at ? strchr(at + 1, '\t') : NULL;
	size_t n = 0;

	/* Data between functions: a prefix alone is no instruction. */
	if (!text || strstr(text, "(bad)") || strstr(text, ".byte") || strstr(text, "\trex"))
		return 0;
	for (at++; at < text && n < 32 && isxdigit((unsigned char)*at); at += 3) {
		char hex[3] = { at[0], at[1], 0 };

		bytes[n++] = (uint8_t)strtoul(hex, NULL, 16);
	}
	if (n > 1 && bytes[0] == 0x8f &&
	    (bytes[1] & 0x1f) >= 8) /* XOP: of some AMD processors; no runtime's code has it */
		return 0;
	/* objdump takes fwait as a prefix of what is after it. */
	return n > 1 && bytes[0] == 0x9b ? 0 : n;
}

/* How many are wrong; *ret_lines: were looked at. */
static unsigned long check_file(const char *path, unsigned long *ret_lines)
{
	char line[1024], command[600];
	unsigned long wrong = 0;
	FILE *out;

	snprintf(command, sizeof(command), "objdump -d --insn-width=16 '%s' 2>/dev/null", path);
	out = popen(command, "r");
	if (!out)
		return 0;
	*ret_lines = 0;
	while (*ret_lines < MAX_LINES && fgets(line, sizeof(line), out)) {
		struct x86_insn insn;
		uint8_t bytes[32];
		size_t n = parse_line(line, bytes);
		int r;

		if (!n)
			continue;
		(*ret_lines)++;
		r = x86_decode(bytes, n, &insn);
		if ((r || insn.bytes != n) && wrong++ < 10)
			printf("%s: %d, %d bytes: %s", path, r, r ? 0 : insn.bytes, line);
	}
	(void)pclose(out); /* it may still have been writing */
	printf("%s: %lu instructions, %lu wrong\n", path, *ret_lines, wrong);
	return wrong;
}

int main(void)
{
	unsigned long wrong = 0, lines = 0, all = 0;
	char self[512] = { 0 };

	if (system("objdump --version >/dev/null 2>&1")) {
		printf("SKIPPED: no objdump (binutils)\n");
		return SKIP;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		glob_t found;

		if (glob(i ? files[i] : self, 0, NULL, &found)) {
			printf("SKIPPED: no %s\n", files[i]);
			continue;
		}
		wrong += check_file(found.gl_pathv[0], &lines);
		all += lines;
		globfree(&found);
	}
	return wrong || all < 1000;
}
