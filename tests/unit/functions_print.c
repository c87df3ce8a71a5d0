/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of addresses of an executable, as a frame has them: the truth's other side in
 * test_functions.py.
 *
 *	functions_print FILE [DELTA] <addresses
 *
 * Reads hexadecimal numbers, takes DELTA from each, and prints for each a line with the address as
 * read and how many lines it has, then these: flags, function, system name, file, line, start line,
 * with tabs between.
 */
#include "core/base/log.h"
#include "core/elf/file.h"
#include "core/symbol/functions.h"
#include "core/trace/lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *text_of(const char *str)
{
	return str ? str : "";
}

static void print_frame(const struct ep_lines *lines, uint64_t address)
{
	struct ep_frame_line line[EP_FRAME_MAX_LINES];
	size_t n = ep_lines_get(lines, 0, line);

	printf("%" PRIx64 " %zu\n", address, n);
	for (size_t i = 0; i < n; i++)
		printf("%u\t%s\t%s\t%s\t%u\t%u\n", line[i].flags, text_of(line[i].function),
		       text_of(line[i].system_name), text_of(line[i].file), line[i].line,
		       line[i].start_line);
}

static int print_all(struct ep_functions *functions, uint64_t delta)
{
	static struct ep_function_memo memo;
	uint64_t address;
	int r = 0;

	ep_function_memo_init(&memo);
	while (r >= 0 && scanf("%" SCNx64, &address) == 1) {
		ep_cleanup(ep_lines_fini) struct ep_lines lines;

		r = ep_lines_init(&lines, 1);
		if (r == 0)
			r = ep_functions_add(functions, address - delta, &memo, &lines);
		if (r == EP_FUNCTIONS_EXTERNAL)
			r = ep_functions_add_external(functions, &memo, &lines);
		ep_lines_end(&lines);
		print_frame(&lines, address);
	}
	ep_function_memo_fini(&memo);
	return r;
}

int main(int argc, char **argv)
{
	struct ep_functions *functions = NULL;
	struct ep_elf *elf = NULL;
	int r;

	if (argc < 2)
		return 2;
	r = ep_elf_open(argv[1], &elf);
	if (r == 0)
		r = ep_functions_open(elf, &functions);
	if (r < 0) {
		ep_elf_close(elf);
		fprintf(stderr, "%s: %s\n", argv[1], ep_strerror(r));
		return 1;
	}
	r = print_all(functions, argc > 2 ? strtoull(argv[2], NULL, 16) : 0);
	ep_functions_close(functions);
	return r < 0;
}
