/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read in the sources of 7.4.33, 8.2.32 and 8.4.24 (Zend/zend_compile.h, zend_generators.h,
 * zend_fibers.h), and seen in stripped builds of 7.4.33, 8.2.36, 8.3.8, 8.4.24, 8.5.7 and 8.6.0rc3.
 * Each row holds from its release on.
 */
#include "plugins/php/layout.h"

#include "core/base/util.h"
#include "plugins/shared/release.h"

/*
 * zend_compile.h, zend_op_array: last, opcodes, filename, line_start; ZEND_ACC_CLOSURE,
 * _FAKE_CLOSURE, _CALL_VIA_TRAMPOLINE. Members that all functions have came and went before them:
 * attributes in 8.0, T and run_time_cache in 8.2, doc_comment and prop_info in 8.4.
 */
static const struct {
	uint32_t release;
	struct php_function_layout function;
} functions[] = {
	{PHP_RELEASE(7, 3), {60, 64, 128, 136, 1u << 20, 1u << 6, 1u << 21}},
	{PHP_RELEASE(7, 4), {60, 64, 136, 144, 1u << 20, 1u << 21, 1u << 18}},
	{PHP_RELEASE(8, 0), {68, 72, 144, 152, 1u << 22, 1u << 23, 1u << 18}},
	{PHP_RELEASE(8, 2), {80, 88, 152, 160, 1u << 22, 1u << 23, 1u << 18}},
	{PHP_RELEASE(8, 3), {76, 80, 144, 152, 1u << 22, 1u << 23, 1u << 18}},
	{PHP_RELEASE(8, 4), {96, 104, 168, 176, 1u << 22, 1u << 23, 1u << 18}},
};

/* zend_generators.h, zend_generator: execute_data, node.parent. Its iterator was before all to
 * 7.4. */
static const struct {
	uint32_t release;
	struct php_generator_layout generator;
} generators[] = {
	{PHP_RELEASE(7, 3), {64, 160}},
	{PHP_RELEASE(8, 0), {56, 152}},
};

/* zend_globals.h, as the code of Debian's builds says it (code.h): current_execute_data,
 * opline_before_exception, current_fiber_context. */
static const struct {
	uint32_t release, current, before_exception, fiber;
} globals[] = {
	{PHP_RELEASE(7, 3), 0x1e8, 0x370, 0},	  {PHP_RELEASE(8, 2), 0x1e8, 0x370, 0x688},
	{PHP_RELEASE(8, 3), 0x1e8, 0x370, 0x678}, {PHP_RELEASE(8, 4), 0x1e8, 0x3b8, 0x6d0},
	{PHP_RELEASE(8, 5), 0x200, 0x3d0, 0x6e8}, {PHP_RELEASE(8, 6), 0x200, 0x3f8, 0x710},
};

bool php_layout_find(uint32_t major, uint32_t minor, struct php_layout *ret)
{
	uint32_t release = PHP_RELEASE(major, minor);

	if (major > 99 || minor > 99 || release < PHP_OLDEST)
		return false;
	*ret = (struct php_layout){
		.release = release,
		/* zend_fibers.h: zend_fiber.caller, after its context */
		.fiber_caller = release < PHP_RELEASE(8, 1) ? 0 : 104,
	};
	ret->function = release_row(functions, release)->function;
	ret->generator = release_row(generators, release)->generator;
	ret->current = release_row(globals, release)->current;
	ret->before_exception = release_row(globals, release)->before_exception;
	ret->fiber = release_row(globals, release)->fiber;
	return true;
}
