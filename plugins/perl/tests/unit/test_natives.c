/* SPDX-License-Identifier: Apache-2.0 */
/* Names of XS functions, by what a made-up boot function calls newXS() with; live_perl_natives has
 * real ones. */
#include "plugins/perl/natives.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#define BOOT_VA	    0x1000u
#define FUNCTION_VA 0x2000u /* one at each multiple of 16, 12 bytes long */
#define TEXT_VA	    0x3000u
#define END_VA	    0x3200u

enum reg { RDX = 2, RSI = 6, RDI = 7, R12 = 12 };

struct made {
	uint8_t bytes[END_VA - BOOT_VA];
	uint32_t code, text; /* bytes so far */
	char said[1024];
};

static int made_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	if (va < FUNCTION_VA || va >= TEXT_VA || va % 16 >= 12)
		return -ENODATA;
	*ret = (struct ep_symbol){.va = va & ~15ull, .bytes = 12};
	return 0;
}

/* Its host, until the next one's. */
static const struct ep_file *file_of(struct made *made, const char *path)
{
	static struct fake_host host;
	static struct fake_symbol boot;

	boot = (struct fake_symbol){"boot_My__Module", {.va = BOOT_VA, .bytes = made->code}};
	fake_host_init(&host, NULL, 0);
	fake_memory_add(&host.contents, BOOT_VA, made->bytes, sizeof(made->bytes));
	host.file.path = path;
	host.file_ops.function = made_function;
	host.symbols = &boot;
	host.n_symbols = 1;
	return &host.file;
}

static int say(void *arg, const struct ep_symbol *symbol, const char *name)
{
	struct made *made = arg;
	size_t used = strlen(made->said);

	assert_int_equal(symbol->bytes, 12);
	snprintf(made->said + used, sizeof(made->said) - used, "%x %s\n",
		 (unsigned int)(symbol->va - FUNCTION_VA), name);
	return 0;
}

static void check(struct made *made, const char *said)
{
	const struct ep_file *file = file_of(made, "/usr/lib/perl5/auto/My/Module/Module.so");
	struct ep_symbol boot;

	assert_true(pl_xs_find_boot(ep_unwinder_host_get(), file, &boot));
	assert_int_equal(pl_xs_names(ep_unwinder_host_get(), file, &boot, say, made), 0);
	assert_string_equal(made->said, said);
}

/* --- instructions ----------------------------------------------------------------------------- */

static void emit(struct made *made, const void *code, size_t bytes)
{
	memcpy(made->bytes + made->code, code, bytes);
	made->code += (uint32_t)bytes;
}

static void load_address(struct made *made, enum reg reg, uint32_t va)
{
	int32_t distance = (int32_t)(va - BOOT_VA - made->code - 7);
	uint8_t code[7] = {0x48 | (reg >> 3) << 2, 0x8d, 5 | (reg & 7) << 3};

	memcpy(code + 3, &distance, sizeof(distance));
	emit(made, code, sizeof(code));
}

static uint32_t put_text(struct made *made, const char *text)
{
	uint32_t va = TEXT_VA + made->text;

	memcpy(made->bytes + (va - BOOT_VA), text, strlen(text) + 1);
	made->text += (uint32_t)strlen(text) + 1;
	return va;
}

static void call(struct made *made)
{
	emit(made, "\xe8\x00\x10\x00\x00", 5);
}

static void name_function(struct made *made, const char *name, uint32_t function)
{
	load_address(made, RSI, put_text(made, name));
	load_address(made, RDX, FUNCTION_VA + function);
	call(made);
}

/* --- tests ------------------------------------------------------------------------------------ */

EP_TEST(without_threads_there_is_no_interpreter)
{
	struct made made = {0};

	load_address(&made, RDI, put_text(&made, "My::Module::first"));
	load_address(&made, RSI, FUNCTION_VA);
	call(&made);
	check(&made, "0 My::Module::first\n");
}

EP_TEST(registers_that_stay_are_known_behind_calls)
{
	struct made made = {0};

	load_address(&made, R12, FUNCTION_VA);
	for (int i = 0; i < 2; i++) {
		emit(&made, "\x4c\x89\xe2", 3); /* mov %r12, %rdx */
		load_address(&made, RSI, put_text(&made, i ? "A::d" : "A::c"));
		call(&made);
	}
	load_address(&made, RSI, put_text(&made, "A::e"));
	call(&made); /* of rdx nothing is known */
	emit(&made, "\x45\x31\xe4\x4c\x89\xe2", 6); /* xor %r12d, %r12d; mov %r12, %rdx */
	load_address(&made, RSI, put_text(&made, "A::f"));
	call(&made);
	check(&made, "0 A::c|d\n");
}

EP_TEST(where_ways_meet_nothing_is_known)
{
	struct made made = {0};

	load_address(&made, RDX, FUNCTION_VA);
	emit(&made, "\x74\x07", 2); /* je after the next one */
	load_address(&made, RDX, FUNCTION_VA + 0x10);
	load_address(&made, RSI, put_text(&made, "A::b"));
	call(&made);
	name_function(&made, "A::c", 0x20);
	check(&made, "20 A::c\n");
}

EP_TEST(what_is_no_name_or_function_is_left_out)
{
	struct made made = {0};

	name_function(&made, "file.c", 0);
	name_function(&made, "A::", 0);
	name_function(&made, "::b", 0);
	name_function(&made, "A::b c", 0);
	name_function(&made, "A::inside", 4);
	name_function(&made, "A::nowhere", 14);
	/* Up to the last byte, and without an end. */
	made.text = END_VA - TEXT_VA - 5;
	name_function(&made, "A::z", 0x30);
	memcpy(made.bytes + sizeof(made.bytes) - 16, "A::bbbbbbb", 10);
	check(&made, "30 A::z\n");
}

EP_TEST(only_objects_of_modules_are_looked_into)
{
	static const struct {
		const char *path;
		bool is_one;
	} rows[] = {
		{"/usr/lib/perl/5.36/auto/My/Module/Module.so", true},
		{"/auto/src/lib/auto/My/Module/Module.so", true},
		{"/usr/lib/perl/5.36/auto/My/Other/Other.so", false},
		{"/usr/lib/perl/5.36/My/Module/Module.so", false},
		{"/usr/lib/perl/5.36/auto/My/Module/Module", false},
		{"/auto/Module.so", false},
		{"/auto/", false},
		{"Module.so", false},
		{"", false},
	};
	struct made made = {.code = 1};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		const struct ep_file *file = file_of(&made, rows[i].path);
		struct ep_symbol boot;

		assert_int_equal(pl_xs_find_boot(ep_unwinder_host_get(), file, &boot),
				 rows[i].is_one);
	}
}
