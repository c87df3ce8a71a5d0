/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of PHP that is made up: strings, classes and functions in an array, as the release has
 * them, and the frames that BPF would push of them.
 */
#ifndef TEST_PHP_MADE_H
#define TEST_PHP_MADE_H

#include "plugins/php/php_shared.h"
#include "plugins/php/symbolize/names.h"
#include "plugins/php/tests/frames.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#define HEAP	   0x100000u
#define HEAP_BYTES 0x20000u
#define OPS	   40u	/* oplines of a function */
#define FIRST_LINE 100u /* of a function; opline i is in line FIRST_LINE + i / 2 */

static const uint32_t made_releases[] = {
	PHP_RELEASE(7, 4), PHP_RELEASE(8, 0), PHP_RELEASE(8, 2),
	PHP_RELEASE(8, 3), PHP_RELEASE(8, 4), PHP_RELEASE(8, 6),
};
#define MADE_RELEASES (sizeof(made_releases) / sizeof(made_releases[0]))

struct made {
	struct fake_host host;
	struct php_layout layout;
	struct php_namer namer;
	struct memory memory; /* reads are not counted */
	uint8_t bytes[HEAP_BYTES];
	uint64_t next; /* free memory */
};

#define MADE_END (HEAP + HEAP_BYTES)
#include "tests/kit/made.h"

/* --- strings, classes, functions -------------------------------------------------------------- */

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
static inline struct made_function make_function_of(struct made *made, const char *name,
						    const char *class, const char *file,
						    uint32_t flags)
{
	struct made_function function = {.type = file ? PHP_TYPE_USER : PHP_TYPE_INTERNAL,
					 .flags = flags};

	function.name = name ? make_string(made, name) : 0;
	function.class = class ? make_class(made, class) : 0;
	function.file = file ? make_string(made, file) : 0;
	function.opcodes = file ? make_ops(made) : 0;
	function.addr = make(made, PHP_FUNCTION_BYTES);
	put_function(made, &function);
	return function;
}

/* --- frames ----------------------------------------------------------------------------------- */

static inline struct ep_raw_frame make_frame(struct made *made,
					     const struct made_function *function, uint32_t index)
{
	struct php_parts parts = {
		.name = function->name, .file = function->file, .opcodes = function->opcodes};
	uint32_t kind = PHP_KIND_FUNCTION;

	if (function->type == PHP_TYPE_INTERNAL) {
		kind = PHP_KIND_INTERNAL;
		index = PHP_NO_LINE;
	} else if (!function->name) {
		kind = PHP_KIND_CODE;
	} else {
		parts.last = OPS;
		parts.lines = FIRST_LINE;
		parts.fn_flags = function->flags;
	}
	parts.class = kind == PHP_KIND_CODE ? 0 : function->class;
	take_strings(&made->memory, &parts);
	return frame_of(&parts, function->addr, kind, index);
}

/* Of a closure: to 8.3 it has a line where its name is later. */
static inline struct ep_raw_frame
make_closure_frame(struct made *made, const struct made_function *function, uint32_t index)
{
	bool is_old = made->layout.release < PHP_RELEASE(8, 4);
	struct php_parts parts = {
		.name = is_old ? 0 : function->name,
		.class = function->class,
		.file = function->file,
		.opcodes = function->opcodes,
	};

	take_strings(&made->memory, &parts);
	if (is_old)
		parts.name = FIRST_LINE << 3;
	return frame_of(&parts, function->addr, is_old ? PHP_KIND_OLD_CLOSURE : PHP_KIND_CLOSURE,
			index);
}

static inline int name_frame(struct made *made, const struct ep_raw_frame *frame)
{
	made->host.function[0] = made->host.file_name[0] = '\0';
	made->host.line = made->host.start_line = made->host.unnamed = made->host.name_flags = 0;
	return php_names_add(&made->namer, frame, &made->host.names);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void made_free(void *arg)
{
	struct made *made = arg;

	php_namer_fini(&made->namer);
	free(made);
}

static inline int made_peek(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct made *made = (const struct made *)arg;
	const void *at = fake_memory_find(&made->host.memory, addr, bytes);

	if (at)
		memcpy(buf, at, bytes);
	return at ? 0 : -EFAULT;
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
		.memory = {fake_memory_read, &made->host.memory},
		.layout = &made->layout,
	};
	made->memory = (struct memory){made_peek, made};
	assert_int_equal(php_namer_init(&made->namer), 0);
	return made;
}

/* Frames of each kind, and what they are called. */
#define MADE_CASES 7

struct made_case {
	struct ep_raw_frame frame;
	const char *name, *file;
	uint32_t line, start_line;
};

static inline struct made_case made_case(struct made *made, uint32_t i)
{
	static const struct {
		const char *name, *class, *file, *full;
		uint32_t index, line;
	} rows[] = {
		{"m", "A\\B", "/srv/b.php", "A\\B::m", 5, FIRST_LINE + 2},
		{"f", NULL, "/srv/b.php", "f", OPS - 1, FIRST_LINE + (OPS - 1) / 2},
		{"$prop::get", "A", "/srv/b.php", "A::$prop::get", 0, FIRST_LINE},
		{"count", "ArrayObject", NULL, "ArrayObject::count", 0, 0},
		{"array_map", NULL, NULL, "array_map", 0, 0},
		{NULL, "C", "/srv/c.php", "require /srv/c.php", 5, 5},
		{"{closure:A::b():100}", "A", "/srv/b.php", "{closure:A::b():100}", 4,
		 FIRST_LINE + 2},
	};
	bool is_closure = i == 6, is_old = is_closure && made->layout.release < PHP_RELEASE(8, 4);
	struct made_function function = make_function_of(
		made, is_old ? "A\\{closure}" : rows[i].name, rows[i].class, rows[i].file, 1 << 7);
	struct made_case found = {
		.name = is_old ? "{closure:/srv/b.php:100}" : rows[i].full,
		.file = rows[i].file ? rows[i].file : "",
		.line = rows[i].line,
		.start_line = rows[i].file && rows[i].name ? FIRST_LINE : 0,
	};

	found.frame = is_closure ? make_closure_frame(made, &function, rows[i].index) :
				   make_frame(made, &function, rows[i].index);
	if (!rows[i].name)
		found.frame.flags = PHP_CAME_REQUIRE << PHP_CAME_SHIFT;
	return found;
}

#endif
