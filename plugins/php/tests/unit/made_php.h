/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of PHP that is made up: strings, classes and functions in an array, as the release has them, and the
 * frames that BPF would push of them.
 */
#ifndef TEST_PHP_MADE_H
#define TEST_PHP_MADE_H

#include "plugins/php/php_shared.h"
#include "plugins/php/symbolize/names.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#define HEAP	   0x100000u
#define HEAP_BYTES 0x20000u
#define OPS	   40u	/* oplines of a function */
#define FIRST_LINE 100u /* of a function; opline i is in line FIRST_LINE + i / 2 */

static const uint32_t made_releases[] = {
	PHP_RELEASE(7, 4), PHP_RELEASE(8, 0), PHP_RELEASE(8, 2), PHP_RELEASE(8, 3), PHP_RELEASE(8, 4), PHP_RELEASE(8, 6),
};
#define MADE_RELEASES (sizeof(made_releases) / sizeof(made_releases[0]))

struct made {
	struct fake_host host;
	struct php_layout layout;
	struct php_namer namer;
	uint8_t bytes[HEAP_BYTES];
	uint64_t next; /* free memory */
};

static inline void put(struct made *made, uint64_t addr, const void *value, size_t bytes)
{
	fake_memory_put(&made->host.memory, addr, value, bytes);
}

static inline void put_word(struct made *made, uint64_t addr, uint64_t value)
{
	put(made, addr, &value, sizeof(value));
}

static inline void put_int(struct made *made, uint64_t addr, uint32_t value)
{
	put(made, addr, &value, sizeof(value));
}

static inline uint64_t make(struct made *made, uint64_t bytes)
{
	uint64_t addr = made->next;

	made->next += (bytes + 7) & ~7ull;
	assert_true(made->next <= HEAP + HEAP_BYTES);
	return addr;
}

/* --- strings, classes, functions ------------------------------------------------------------------------ */

static inline uint64_t make_bytes(struct made *made, const char *text, size_t len)
{
	uint64_t string = make(made, PHP_STRING_BYTES + len + 1), hash = 5381;

	for (size_t i = 0; i < len; i++)
		hash = hash * 33 + (uint64_t)(int64_t)(int8_t)text[i];
	put_word(made, string + PHP_STRING_HASH, hash | 1ull << 63);
	put_word(made, string + PHP_STRING_LEN, len);
	put(made, string + PHP_STRING_BYTES, text, len);
	return string;
}

static inline uint64_t make_string(struct made *made, const char *text)
{
	return make_bytes(made, text, strlen(text));
}

static inline uint64_t make_class(struct made *made, const char *name)
{
	uint64_t class = make(made, 64), string = make_string(made, name);

	put_word(made, class + PHP_CLASS_NAME, string);
	return class;
}

/* A function's copy has the same oplines. */
struct made_function {
	uint64_t addr, opcodes, name, class, file;
	uint32_t flags;
	uint8_t type;
};

static inline uint64_t make_ops(struct made *made)
{
	uint64_t ops = make(made, OPS * PHP_OP_BYTES);

	for (uint32_t i = 0; i < OPS; i++)
		put_int(made, ops + i * PHP_OP_BYTES + PHP_OP_LINENO, FIRST_LINE + i / 2);
	return ops;
}

static inline void put_function(struct made *made, const struct made_function *function)
{
	const struct php_function_layout *layout = &made->layout.function;
	uint64_t addr = function->addr;

	put(made, addr, &function->type, 1);
	put_int(made, addr + PHP_FUNCTION_FLAGS, function->flags);
	put_word(made, addr + PHP_FUNCTION_NAME, function->name);
	put_word(made, addr + PHP_FUNCTION_SCOPE, function->class);
	if (function->type == PHP_TYPE_INTERNAL)
		return;
	put_int(made, addr + layout->last, OPS);
	put_word(made, addr + layout->opcodes, function->opcodes);
	put_word(made, addr + layout->filename, function->file);
	put_int(made, addr + layout->line_start, FIRST_LINE);
}

/* Of PHP, where a file is given. NULL: none. */
static inline struct made_function make_function_of(struct made *made, const char *name, const char *class,
						    const char *file, uint32_t flags)
{
	struct made_function function = {.type = file ? PHP_TYPE_USER : PHP_TYPE_INTERNAL, .flags = flags};

	function.name = name ? make_string(made, name) : 0;
	function.class = class ? make_class(made, class) : 0;
	function.file = file ? make_string(made, file) : 0;
	function.opcodes = file ? make_ops(made) : 0;
	function.addr = make(made, PHP_FUNCTION_BYTES);
	put_function(made, &function);
	return function;
}

/* --- frames --------------------------------------------------------------------------------------------- */

static inline struct php_parts made_parts(struct made *made, const struct made_function *function)
{
	struct fake_host *host = &made->host;
	uint64_t class_name = fake_host_word(host, function->class + PHP_CLASS_NAME);
	uint64_t file_hash = fake_host_word(host, function->file + PHP_STRING_HASH);
	uint64_t file_len = fake_host_word(host, function->file + PHP_STRING_LEN);

	if (!file_hash && file_len >= PHP_FILE_TAIL)
		file_hash = fake_host_word(host, function->file + PHP_STRING_BYTES + file_len - PHP_FILE_TAIL);

	return (struct php_parts){
		.name = function->name,
		.class = function->class,
		.file = function->file,
		.opcodes = function->opcodes,
		.name_hash = fake_host_word(host, function->name + PHP_STRING_HASH),
		.name_len = fake_host_word(host, function->name + PHP_STRING_LEN),
		.class_name = class_name,
		.class_hash = fake_host_word(host, class_name + PHP_STRING_HASH),
		.class_len = fake_host_word(host, class_name + PHP_STRING_LEN),
		.file_hash = file_hash,
		.file_len = file_len,
	};
}

static inline struct ep_raw_frame make_frame(struct made *made, const struct made_function *function, uint32_t index)
{
	struct php_parts parts = made_parts(made, function);
	uint32_t kind = function->type == PHP_TYPE_INTERNAL ? PHP_KIND_INTERNAL :
			!function->name			    ? PHP_KIND_CODE :
							      PHP_KIND_FUNCTION;
	uint64_t check, second;

	if (kind == PHP_KIND_FUNCTION) {
		parts.last = OPS;
		parts.lines = FIRST_LINE;
		parts.fn_flags = function->flags;
	} else if (kind == PHP_KIND_CODE) {
		parts.class_hash = parts.class_len = 0;
	}
	check = php_check(&parts);
	second = kind == PHP_KIND_FUNCTION ? function->addr : kind == PHP_KIND_CODE ? parts.file : parts.class;
	return (struct ep_raw_frame){
		.aux = php_aux(kind, kind == PHP_KIND_INTERNAL ? PHP_NO_LINE : index),
		.n_words = 2,
		.words = {php_word(kind == PHP_KIND_INTERNAL ? parts.name : parts.opcodes, check),
			  php_word(second, check >> PHP_HALF_CHECK)},
	};
}

/* Of a closure: to 8.3 it has a line where its name is later. */
static inline struct ep_raw_frame make_closure_frame(struct made *made, const struct made_function *function,
						     uint32_t index)
{
	struct php_parts parts = made_parts(made, function);
	bool is_old = made->layout.release < PHP_RELEASE(8, 4);
	uint64_t word = is_old ? FIRST_LINE << 3 : parts.name;

	uint64_t check;

	if (is_old)
		parts.name_hash = parts.name_len = 0;
	check = php_check(&parts);
	return (struct ep_raw_frame){
		.aux = php_closure_aux(is_old ? PHP_KIND_OLD_CLOSURE : PHP_KIND_CLOSURE, index, check),
		.n_words = 3,
		.words = {php_closure_word0(parts.opcodes, parts.file, check),
			  php_closure_word1(word, parts.file), php_closure_word2(parts.class, parts.file)},
	};
}

static inline int name_frame(struct made *made, const struct ep_raw_frame *frame)
{
	made->host.function[0] = made->host.file_name[0] = '\0';
	made->host.line = made->host.start_line = made->host.unnamed = made->host.name_flags = 0;
	return php_names_add(&made->namer, frame, &made->host.names);
}

/* --- all of it --------------------------------------------------------------------------------------------- */

static void made_free(void *arg)
{
	struct made *made = arg;

	php_namer_fini(&made->namer);
	free(made);
}

static inline int made_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct made *made = arg;

	return made->namer.host->target_read(&made->host.target, addr, buf, bytes);
}

static inline struct made *made_new(uint32_t release)
{
	struct made *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	ep_test_owns(made, made_free);
	fake_host_init(&made->host, NULL, 0);
	fake_memory_add(&made->host.memory, HEAP, made->bytes, HEAP_BYTES);
	made->next = HEAP + 4096;
	assert_true(php_layout_find(release / 100, release % 100, &made->layout));
	made->namer = (struct php_namer){
		.host = fake_host_services(&made->host),
		.target = &made->host.target,
		.memory = {made_read, made},
		.layout = &made->layout,
	};
	assert_int_equal(php_namer_init(&made->namer), 0);
	return made;
}

#endif
