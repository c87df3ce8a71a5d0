/* SPDX-License-Identifier: Apache-2.0 */
/* A stub, which NAMES replaces. */
#include "plugins/php/symbolize/names.h"

#include "plugins/php/php_shared.h"

#include <stdio.h>

int php_namer_init(struct php_namer *namer)
{
	(void)namer;
	return 0;
}

void php_namer_fini(struct php_namer *namer)
{
	(void)namer;
}

static void read_text(struct php_namer *namer, uint64_t string, char *text, size_t size)
{
	text[0] = 0;
	if (string)
		(void)memory_read_string(&namer->memory, string + PHP_STRING_BYTES, text, size, 64);
}

int php_names_add(struct php_namer *namer, const struct ep_raw_frame *frame, struct ep_names *names)
{
	char name[200], class[100] = "", full[400], file[300] = "";
	uint32_t kind = php_kind(frame->aux), index = php_index(frame->aux), line = 0;
	uint64_t func = 0, words[3] = {0}, opcodes = 0, filename = 0;

	if (kind == PHP_KIND_FUNCTION) {
		func = php_address(frame->words[1]);
		if (memory_read(&namer->memory, func, words, 24) < 0 ||
		    memory_read(&namer->memory, func + namer->layout->function.filename, &filename, 8) < 0)
			return EP_FRAME_GONE;
		opcodes = php_address(frame->words[0]);
	} else if (kind == PHP_KIND_CLOSURE) {
		words[1] = php_address(frame->words[1]);
		words[2] = php_address(frame->words[2]);
		opcodes = php_address(frame->words[0]);
		filename = php_closure_file(frame->words[0], frame->words[1], frame->words[2]);
	} else if (kind == PHP_KIND_INTERNAL) {
		words[1] = php_address(frame->words[0]);
		words[2] = php_address(frame->words[1]);
	} else if (kind == PHP_KIND_CODE) {
		opcodes = php_address(frame->words[0]);
		filename = php_address(frame->words[1]);
	} else {
		return EP_FRAME_GONE;
	}
	read_text(namer, filename, file, sizeof(file));
	read_text(namer, words[1], name, sizeof(name));
	if (words[2] && memory_read(&namer->memory, words[2] + 8, &words[0], 8) == 0)
		read_text(namer, words[0], class, sizeof(class));
	if (kind == PHP_KIND_CODE) {
		static const char *const came[] = {"{main}", "eval", "include", "include_once", "require", "require_once", "otherwise"};
		snprintf(name, sizeof(name), "%s", came[php_came(frame->flags)]);
	}
	snprintf(full, sizeof(full), "%s%s%s", class, class[0] ? "::" : "", name);
	if (opcodes && index != PHP_NO_LINE)
		(void)memory_read(&namer->memory, opcodes + 32ull * index + 24, &line, 4);
	return namer->host->add_name(names, &(struct ep_name){.size = sizeof(struct ep_name), .function = full, .file = file, .line = line});
}
