/* SPDX-License-Identifier: Apache-2.0 */
/* Frames as BPF pushes them, with their checks: for unit tests and fuzz targets. */
#ifndef TEST_PHP_FRAMES_H
#define TEST_PHP_FRAMES_H

#include "plugins/php/layout.h"
#include "plugins/php/php_shared.h"
#include "plugins/shared/read/memory.h"

static inline uint64_t word_in(const struct memory *memory, uint64_t addr)
{
	uint64_t word = 0;

	(void)memory_read(memory, addr, &word, sizeof(word));
	return word;
}

/* Of a function of PHP; its strings are yet to be read. */
static inline struct php_parts parts_of(const struct memory *memory,
					const struct php_layout *layout, uint64_t addr)
{
	const struct php_function_layout *function = &layout->function;

	return (struct php_parts){
		.name = word_in(memory, addr + PHP_FUNCTION_NAME),
		.class = word_in(memory, addr + PHP_FUNCTION_SCOPE),
		.file = word_in(memory, addr + function->filename),
		.opcodes = word_in(memory, addr + function->opcodes),
		.last = (uint32_t)word_in(memory, addr + function->last),
		.lines = word_in(memory, addr + function->line_start),
		.fn_flags = word_in(memory, addr) >> 32,
	};
}

static inline void take_strings(const struct memory *memory, struct php_parts *parts)
{
	parts->class_name = parts->class ? word_in(memory, parts->class + PHP_CLASS_NAME) : 0;
	if (parts->name) {
		parts->name_hash = word_in(memory, parts->name + PHP_STRING_HASH);
		parts->name_len = word_in(memory, parts->name + PHP_STRING_LEN);
	}
	if (parts->class_name) {
		parts->class_hash = word_in(memory, parts->class_name + PHP_STRING_HASH);
		parts->class_len = word_in(memory, parts->class_name + PHP_STRING_LEN);
	}
	if (!parts->file)
		return;
	parts->file_hash = word_in(memory, parts->file + PHP_STRING_HASH);
	parts->file_len = word_in(memory, parts->file + PHP_STRING_LEN);
	if (!parts->file_hash && parts->file_len >= PHP_FILE_TAIL)
		parts->file_hash = word_in(memory, parts->file + PHP_STRING_BYTES +
							   parts->file_len - PHP_FILE_TAIL);
}

/* Of an old closure `name` is its first line << 3. */
static inline struct ep_raw_frame frame_of(const struct php_parts *parts, uint64_t function,
					   uint32_t kind, uint32_t index)
{
	uint64_t check = php_check(parts), first = parts->opcodes, second = function;
	struct ep_raw_frame frame = {.aux = php_aux(kind, index), .n_words = 2};

	if (kind == PHP_KIND_CLOSURE || kind == PHP_KIND_OLD_CLOSURE) {
		frame.aux = php_closure_aux(kind, index, check);
		frame.n_words = 3;
		frame.words[0] = php_closure_word0(parts->opcodes, parts->file, check);
		frame.words[1] = php_closure_word1(parts->name, parts->file);
		frame.words[2] = php_closure_word2(parts->class, parts->file);
		return frame;
	}
	if (kind == PHP_KIND_INTERNAL) {
		first = parts->name;
		second = parts->class;
	} else if (kind == PHP_KIND_CODE) {
		second = parts->file;
	}
	frame.words[0] = php_word(first, check);
	frame.words[1] = php_word(second, check >> PHP_HALF_CHECK);
	return frame;
}

#endif
