/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/ruby/code.h"
#include "plugins/ruby/ruby.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_JUMPS 16

/* ruby_version (version.c), "3.3.8": a symbol of all releases. */
static int find_layout(struct ruby_executable *exe, const struct ep_file *file)
{
	uint64_t va = file_va(exe->host, file, "ruby_version");
	char text[8] = "";
	unsigned major, minor;

	/* The shortest has five bytes and its NUL. */
	if (!va || exe->host->file_read(file, va, text, 6) < 0 ||
	    sscanf(text, "%2u.%2u", &major, &minor) != 2)
		return -ENODATA;
	return ruby_layout_find(major, minor, &exe->layout) ? 0 : -ENOTSUP;
}

/* --- what runs Ruby --------------------------------------------------------------------------- */

/* Hidden from 3.3 on: where rb_iseq_eval and rb_iseq_eval_main both jump to, and nowhere else
 * do. */
static uint64_t find_hidden_exec(const struct ruby_executable *exe, const struct ep_file *file)
{
	uint64_t main[MAX_JUMPS], eval[MAX_JUMPS];
	size_t n_main, n_eval;
	struct x86_code code;

	if (x86_code_named(exe->host, file, "rb_iseq_eval_main", &code) < 0)
		return 0;
	n_main = x86_code_leaves(&code, X86_JUMP, main, MAX_JUMPS);
	if (x86_code_named(exe->host, file, "rb_iseq_eval", &code) < 0)
		return 0;
	n_eval = x86_code_leaves(&code, X86_JUMP, eval, MAX_JUMPS);
	for (size_t i = 0; i < n_main * n_eval; i++) {
		if (main[i / n_eval] == eval[i % n_eval])
			return eval[i % n_eval];
	}
	return 0;
}

static int find_exec(struct ruby_executable *exe, const struct ep_file *file)
{
	const struct ep_unwinder_host *host = exe->host;
	struct x86_code code;
	uint64_t va;

	exe->exec_has_symbol = host->file_symbol(file, "rb_vm_exec", &exe->exec) == 0;
	va = exe->exec_has_symbol ? exe->exec.va : find_hidden_exec(exe, file);
	if (!va)
		return -ENODATA;
	if (!exe->exec_has_symbol || !exe->exec.bytes) {
		if (host->file_function(file, va, &exe->exec) < 0 || exe->exec.va != va)
			return -ENODATA;
	}
	if (x86_code_read(exe->host, file, va, &code) == 0)
		(void)x86_code_prologue(&code, &exe->prologue);
	exe->n_code = host->file_parts(file, &exe->exec, exe->code, RUBY_MAX_CODE);
	return 0;
}

/* --- where its globals are -------------------------------------------------------------------- */

/* The ec: a global to 2.7, a thread variable from 3.0 on, which rb_errinfo reads first. */
static int find_context(struct ruby_executable *exe, const struct ep_file *file)
{
	uint64_t errinfo = file_va(exe->host, file, "rb_errinfo");
	struct x86_code code;

	if (x86_code_named(exe->host, file, "rb_thread_current", &code) < 0 ||
	    ruby_code_thread(&code, &exe->thread_off) < 0)
		exe->thread_off = 0;
	exe->ec_va = file_va(exe->host, file, "ruby_current_execution_context_ptr");
	if (exe->ec_va)
		return exe->thread_off ? 0 : -ENOTSUP; /* whose it is must be asked */
	if (errinfo && exe->host->file_variable(file, errinfo, &exe->ec) == 0)
		return 0;
	file_thread_variable(exe->host, file, "ruby_current_ec", &exe->ec);
	return exe->ec.kind ? 0 : -ENODATA;
}

/* The main thread, whose frames attach looks at. */
static void find_main_thread(struct ruby_executable *exe, const struct ep_file *file)
{
	struct x86_code code;

	if (!exe->ec_va && exe->thread_off &&
	    x86_code_named(exe->host, file, "rb_thread_main", &code) == 0)
		(void)ruby_code_main_thread(&code, &exe->main);
}

/* Where code is another than is known its frame is missing. */
static void find_collector(struct ruby_executable *exe, const struct ep_file *file)
{
	struct x86_code code;

	if (!exe->thread_off ||
	    x86_code_named(exe->host, file, "ruby_thread_has_gvl_p", &code) < 0 ||
	    ruby_code_blocking(&code, &exe->blocking_off) < 0 ||
	    x86_code_named(exe->host, file, "rb_during_gc", &code) < 0)
		return;
	(void)ruby_code_collector(&code, &exe->collector);
}

static void find_symbols(struct ruby_executable *exe, const struct ep_file *file)
{
	struct ruby_symbols symbols = {0};
	struct x86_code code;

	if (x86_code_named(exe->host, file, "rb_id2str", &code) < 0)
		return;
	if (ruby_code_symbols(&code, &symbols) < 0 &&
	    (x86_code_read(exe->host, file, symbols.jump_va, &code) < 0 ||
	     ruby_code_symbols(&code, &symbols) < 0))
		return;
	exe->last_op_id = symbols.last_op_id;
	exe->symbols_va = symbols.last_op_id ? symbols.va : 0;
}

#define MAX_LAUNCHER_NAMES 4096 /* bytes of .dynstr: ruby's are 400 */

/*
 * The program `ruby`, whose runtime is libruby: it calls ruby_run_node (main.c of 2.5 to 4.0). Only
 * small files are looked into.
 */
static bool is_launcher(const struct ruby_executable *exe, const struct ep_file *file)
{
	static const char name[] = "ruby_run_node";
	char names[MAX_LAUNCHER_NAMES];
	struct ep_symbol section;

	return exe->host->file_section(file, ".dynstr", &section) == 0 &&
	       section.bytes <= sizeof(names) &&
	       exe->host->file_read(file, section.va, names, section.bytes) == 0 &&
	       memmem(names, section.bytes, name, sizeof(name));
}

static int probe(void *executable, const struct ep_file *file)
{
	struct ruby_executable *exe = executable;
	const struct ep_unwinder_host *host = exe->host;
	int r;

	if (!file_va(host, file, "rb_iseq_eval_main"))
		return is_launcher(exe, file) ? EP_LAUNCHER : EP_NOT_MINE;
	exe->object_va = file_va(host, file, "rb_cObject");
	exe->string_va = file_va(host, file, "rb_cString");
	r = find_layout(exe, file);
	if (r == 0)
		r = exe->object_va ? find_exec(exe, file) : -ENODATA;
	if (r == 0)
		r = find_context(exe, file);
	if (r < 0)
		return r;
	find_main_thread(exe, file);
	find_collector(exe, file);
	find_symbols(exe, file);
	(void)host->file_section(file, ".text", &exe->text);
	return 0;
}

int ruby_probe(const struct ep_unwinder_host *host, const struct ep_file *file,
	       void **ret_executable)
{
	return file_probe(host, file, sizeof(struct ruby_executable), probe, ret_executable);
}

/* The marked functions of a stripped file, so that no other name stands for them. */
int ruby_describe(void *executable, const struct ep_file *file, struct ep_description *description)
{
	const struct ruby_executable *exe = executable;
	int r = 0;

	(void)file;
	for (uint32_t i = 0; i < exe->n_code && r == 0 && !exe->exec_has_symbol; i++)
		r = exe->host->add_symbol(description, &exe->code[i],
					  i ? "rb_vm_exec.cold" : "rb_vm_exec");
	return r;
}

void ruby_unload(void *executable)
{
	free(executable);
}
