/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/perl.h"
#include "plugins/perl/natives.h"
#include "plugins/shared/read/file.h"

#include <errno.h>
#include <stdlib.h>

/* PL_revision, PL_version: a byte each (perlvars.h, PERLVARIC), exported from 5.8 on. */
static int find_version(const struct ep_unwinder_host *host, const struct ep_file *file,
			uint32_t *ret_minor)
{
	uint64_t revision_va = file_va(host, file, "PL_revision");
	uint64_t version_va = file_va(host, file, "PL_version");
	uint8_t revision, version;

	if (!revision_va || !version_va || host->file_read(file, revision_va, &revision, 1) < 0 ||
	    host->file_read(file, version_va, &version, 1) < 0)
		return -ENODATA;
	if (revision != 5)
		return -ENOTSUP;
	*ret_minor = version;
	return 0;
}

/* With threads each has its interpreter: in a thread variable from 5.36 on, and by pthread key. */
static void find_thread_variables(struct pl_executable *exe, const struct ep_file *file)
{
	struct ep_symbol context;

	exe->key_va = file_va(exe->host, file, "PL_thr_key");
	if (exe->host->file_symbol(file, "PL_current_context", &context) == 0) {
		exe->has_context = true;
		exe->context_off = context.va;
	}
}

static void find_op_names(struct pl_executable *exe, const struct ep_file *file)
{
	struct ep_symbol names;

	if (exe->host->file_symbol(file, "PL_op_name", &names) < 0)
		return;
	exe->op_name_va = names.va;
	exe->n_op_names = names.bytes / 8 < 2048 ? (uint32_t)(names.bytes / 8) : 2048;
}

/* 0, or -ENODATA: neither an interpreter nor its variables. */
static int find_globals(struct pl_executable *exe, const struct ep_file *file)
{
	const struct ep_unwinder_host *host = exe->host;

	find_op_names(exe, file);
	exe->curinterp_va = file_va(host, file, "PL_curinterp");
	find_thread_variables(exe, file);
	exe->layout.threads = exe->key_va != 0;
	exe->variables = (struct pl_members){
		.op = file_va(host, file, "PL_op"),
		.cop = file_va(host, file, "PL_curcop"),
		.stack = file_va(host, file, "PL_curstackinfo"),
		.defstash = file_va(host, file, "PL_defstash"),
		.dbsub = file_va(host, file, "PL_DBsub"),
		.compiling = file_va(host, file, "PL_compiling"),
		.incgv = file_va(host, file, "PL_incgv"),
		.origfile = file_va(host, file, "PL_origfilename"),
	};
	if (exe->variables.op && exe->variables.cop && exe->variables.stack &&
	    exe->variables.defstash)
		return 0;
	exe->variables.op = 0;
	return exe->curinterp_va ? 0 : -ENODATA;
}

static int add_code(struct pl_executable *exe, const struct ep_file *file, const char *name)
{
	struct ep_symbol function;

	if (exe->host->file_symbol(file, name, &function) < 0)
		return -ENODATA;
	if (!function.bytes && exe->host->file_function(file, function.va, &function) < 0)
		return -ENODATA;
	exe->n_code += exe->host->file_parts(file, &function, exe->code + exe->n_code,
					     PL_MAX_CODE - exe->n_code);
	return 0;
}

static int probe(void *executable, const struct ep_file *file)
{
	struct pl_executable *exe = executable;
	uint32_t minor;
	int r;

	if (!file_va(exe->host, file, "Perl_runops_standard")) {
		exe->is_xs = EP_HAS(exe->host, add_symbol) &&
			     pl_xs_find_boot(exe->host, file, &exe->boot);
		return exe->is_xs ? EP_CODE_ONLY : EP_NOT_MINE;
	}
	r = find_version(exe->host, file, &minor);
	if (r < 0)
		return r;
	if (!pl_layout_find(minor, &exe->layout))
		return -ENOTSUP;
	r = find_globals(exe, file);
	if (r < 0)
		return r;
	r = add_code(exe, file, "Perl_runops_standard");
	if (r < 0)
		return r;
	/* -D and some modules. */
	(void)add_code(exe, file, "Perl_runops_debug");
	return 0;
}

int pl_probe(const struct ep_unwinder_host *host, const struct ep_file *file, void **ret_executable)
{
	return file_probe(host, file, sizeof(struct pl_executable), probe, ret_executable);
}

int pl_describe(void *executable, const struct ep_file *file, struct ep_description *description)
{
	const struct pl_executable *exe = executable;
	struct file_description names = {exe->host, description};

	return exe->is_xs ? pl_xs_names(exe->host, file, &exe->boot, file_add_symbol, &names) : 0;
}

void pl_unload(void *executable)
{
	free(executable);
}
