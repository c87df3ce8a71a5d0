/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file that has PHP: php, php-fpm, libphp.so. All is found by symbols that it exports for
 * its extensions, so also in stripped files. Offsets are what the code of accessors says (code.h),
 * else the release's.
 */
#include "plugins/php/php.h"
#include "plugins/php/static.h"
#include "plugins/php/natives.h"
#include "plugins/php/natives.h"
#include "core/base/util.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_BYTES    5 /* a call of a register, and what is after it */
#define GLOBALS_BYTES 0x900 /* executor_globals has 1664 to 2200 */

/* --- its release ------------------------------------------------------------------------------ */

/* php_version_id, from 8.3 on; else a text. */
static int find_layout(struct php_executable *exe, const struct ep_file *file)
{
	uint32_t id, major, minor;
	struct x86_code code;
	int r = 0;

	if (x86_code_named(exe->host, file, "php_version_id", &code) == 0 &&
	    php_code_number(&code, &id) == 0) {
		major = id / 10000;
		minor = id / 100 % 100;
	} else {
		r = php_static_release(exe->host, file, &major, &minor);
	}
	if (r < 0)
		return r;
	return php_layout_find(major, minor, &exe->layout) ? 0 : -ENOTSUP;
}

/* --- what runs PHP ---------------------------------------------------------------------------- */

/* Who calls it: by the variable that extensions may set. */
static void find_returns(struct php_executable *exe, const struct ep_file *file)
{
	static const char *const callers[] = {"zend_execute", "zend_call_function",
					      "zend_generator_resume"};
	struct x86_code code;
	size_t n = 0;

	for (size_t i = 0; i < EP_LEN(callers); i++) {
		if (x86_code_named(exe->host, file, callers[i], &code) == 0)
			n += php_code_returns(&code, exe->returns + n, PHP_RETURNS - n);
	}
}

/* What makes the frame of a function that C calls, before it runs. */
static void find_makers(struct php_executable *exe, const struct ep_file *file)
{
	static const char *const makers[] = {"zend_call_function", "zend_init_func_execute_data"};

	for (size_t i = 0; i < EP_LEN(makers); i++) {
		if (exe->host->file_symbol(file, makers[i], &exe->makers[i]) < 0)
			exe->makers[i] = (struct ep_symbol){0};
	}
}

static int find_loop(struct php_executable *exe, const struct ep_file *file)
{
	const struct ep_unwinder_host *host = exe->host;
	struct x86_code code;
	int r = host->file_symbol(file, "execute_ex", &exe->loop);

	if (r < 0)
		return r;
	if (!exe->loop.bytes && host->file_function(file, exe->loop.va, &exe->loop) < 0)
		return -ENODATA;
	if (x86_code_named(host, file, "zend_vm_kind", &code) == 0)
		(void)php_code_number(&code, &exe->vm_kind);
	if (x86_code_read(host, file, exe->loop.va, &code) == 0)
		(void)x86_code_prologue(&code, &exe->prologue);
	exe->n_code = host->file_parts(file, &exe->loop, exe->code, PHP_MAX_CODE);
	find_returns(exe, file);
	find_makers(exe, file);
	return 0;
}

/* --- where its globals are -------------------------------------------------------------------- */

static int find_globals(struct php_executable *exe, const struct ep_file *file)
{
	const struct ep_unwinder_host *host = exe->host;
	uint64_t cache = file_va(host, file, "tsrm_get_ls_cache");
	struct ep_symbol globals;

	exe->globals_bytes = GLOBALS_BYTES;
	if (host->file_symbol(file, "executor_globals", &globals) == 0) {
		exe->globals_va = globals.va;
		if (globals.bytes)
			exe->globals_bytes = (uint32_t)globals.bytes;
		return 0;
	}
	/* With threads. */
	exe->offset_va = file_va(host, file, "executor_globals_offset");
	if (!exe->offset_va || !cache)
		return -ENODATA;
	if (host->file_argument(file, cache, &exe->key_va) < 0 &&
	    host->file_variable(file, cache, &exe->cache) < 0)
		return -ENODATA;
	return 0;
}

static int find_members(struct php_executable *exe, const struct ep_file *file)
{
	const struct ep_unwinder_host *host = exe->host;
	struct php_function_layout *function = &exe->layout.function;
	uint32_t filename = 0, opcodes = 0;
	struct x86_code code;

	if (x86_code_named(host, file, "zend_get_executed_scope", &code) < 0 ||
	    php_code_current(&code, &exe->current) < 0)
		return -ENOTSUP;
	if (x86_code_named(host, file, "zend_get_executed_filename_ex", &code) == 0 &&
	    php_code_filename(&code, &filename) == 0) {
		function->filename = filename;
		function->line_start = filename + 8;
	}
	if (x86_code_named(host, file, "zend_get_executed_lineno", &code) == 0 &&
	    php_code_lineno(&code, &exe->before_exception, &opcodes) == 0 && opcodes) {
		function->last += opcodes - function->opcodes;
		function->opcodes = opcodes;
	}
	if (x86_code_named(host, file, "zend_generator_check_placeholder_frame", &code) == 0)
		(void)php_code_generator(&code, &exe->layout.generator.execute_data,
					 &exe->layout.generator.parent);
	if (exe->layout.fiber_caller &&
	    x86_code_named(host, file, "zend_fiber_switch_context", &code) == 0 &&
	    php_code_fiber(&code, &exe->fiber) == 0)
		php_fiber_find(host, file, &exe->fibers);
	return function->line_start + 8 <= PHP_FUNCTION_BYTES &&
			       function->opcodes + 8 <= PHP_FUNCTION_BYTES
		       ? 0
		       : -ENOTSUP;
}

/* --- is it PHP? ------------------------------------------------------------------------------- */

/* A static build has no symbols of any kind. */
static int probe_static(struct php_executable *exe, const struct ep_file *file)
{
	const struct ep_unwinder_host *host = exe->host;
	struct php_static_code code;
	struct x86_code beginning;
	int r;

	if (!php_static_may_be(host, file) || find_layout(exe, file) < 0)
		return EP_NOT_MINE;
	r = php_static_code(host, file, &code);
	if (r == 0)
		r = host->file_section(file, ".bss", &exe->bss);
	if (r < 0) {
		host->host->log(
			EP_HOST_INFO,
			"php: %s: PHP without symbols, whose loop is not found: "
			"native frames alone",
			host->file_path(file));
		return EP_NOT_MINE;
	}
	exe->loop = code.loop;
	exe->vm_kind = PHP_VM_HYBRID;
	if (x86_code_read(host, file, exe->loop.va, &beginning) == 0)
		(void)x86_code_prologue(&beginning, &exe->prologue);
	exe->n_code = host->file_parts(file, &exe->loop, exe->code, PHP_MAX_CODE);
	if (code.root_va)
		php_fiber_root(&exe->fibers, code.root_va, ROOT_BYTES);
	exe->fiber = exe->layout.fiber;
	if (exe->fiber)
		php_fiber_take(host, file, code.make_va, code.jump_va, &exe->fibers);
	exe->globals_bytes = GLOBALS_BYTES;
	exe->current = exe->layout.current;
	exe->before_exception = exe->layout.before_exception;
	(void)host->file_section(file, ".text", &exe->text);
	return 0;
}

static int probe(void *executable, const struct ep_file *file)
{
	struct php_executable *exe = executable;
	const struct ep_unwinder_host *host = exe->host;
	int r;

	if (!file_va(host, file, "zend_get_executed_scope")) {
		if (EP_HAS(host, add_symbol) && php_tables_is_extension(host, file))
			return EP_CODE_ONLY;
		return probe_static(exe, file);
	}
	r = find_layout(exe, file);
	if (r == 0)
		r = find_loop(exe, file);
	if (r == 0)
		r = find_globals(exe, file);
	if (r == 0)
		r = find_members(exe, file);
	if (r != 0)
		return r;
	exe->frameless_va = file_va(host, file, "zend_flf_functions");
	exe->sapi_va = file_va(host, file, "sapi_module");
	(void)host->file_section(file, ".text", &exe->text);
	return 0;
}

int php_probe(const struct ep_unwinder_host *host, const struct ep_file *file,
	      void **ret_executable)
{
	return file_probe(host, file, sizeof(struct php_executable), probe, ret_executable);
}

/* The assembly of fibers has rules; functions in C have names in stripped files, too. */
int php_describe(void *executable, const struct ep_file *file, struct ep_description *description)
{
	const struct php_executable *exe = executable;
	struct file_description names = {exe->host, description};
	int r = exe->fibers.n_rows
			? exe->host->add_rows(description, exe->fibers.rows, exe->fibers.n_rows)
			: 0;

	return r < 0 ? r : php_tables_names(exe->host, file, file_add_symbol, &names);
}

void php_unload(void *executable)
{
	free(executable);
}
