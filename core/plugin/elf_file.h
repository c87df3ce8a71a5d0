/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file on disk as unwinder plugins see it during probe: struct ep_file over struct ep_elf.
 * Everything is read when it is first asked for and kept until fini, so that several plugins can
 * look at one file and say "not mine" for the price of a few small reads.
 *
 * With its separate debug file (core/elf/debug_file.h) a stripped file answers as the whole one
 * would: symbols that it has not, and function bounds where it has no .eh_frame, are the debug
 * file's. Sections that are loaded, and their bytes, are always the file's own. Who probes a live
 * process and who records one both give a root, so a fixture holds the answers of a live probe.
 *
 * Embedded by the caller, never moved, one thread at a time. Give &file->file to plugins.
 */
#ifndef EP_PLUGIN_ELF_FILE_H
#define EP_PLUGIN_ELF_FILE_H

#include "core/elf/lookup.h"
#include "core/plugin/unwinder.h"
#include "core/unwind/source.h"

struct ep_pclntab;

struct ep_elf_file {
	struct ep_file file;
	const struct ep_elf *elf; /* borrowed */
	const char *root; /* borrowed */
	struct ep_elf_lookup lookup;
	int debug_result; /* 1: not looked for yet */
	struct ep_elf *debug;
	struct ep_elf_lookup debug_lookup;
	int functions_result; /* 1: not read yet */
	struct ep_fde_list *functions; /* of one of these */
	struct ep_eh_source eh;
	struct ep_debug_source debug_frame;
	int table_result; /* 1: not looked for yet */
	struct ep_pclntab *table; /* of functions, the file's own */
};

/*
 * `root` is where the path begins, "" or "/proc/PID/root"; NULL: no debug file is looked for. All are
 * borrowed until fini.
 */
void ep_elf_file_init(struct ep_elf_file *file, const struct ep_elf *elf, const char *root,
		      const char *path);
void ep_elf_file_fini(struct ep_elf_file *file); /* accepts a zeroed struct */

#endif
