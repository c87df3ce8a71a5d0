/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host of one language unwinder, for tests of its user-space half: an ELF file and a process
 * that are made up, or a live process. What the plugin sets, names, counts and logs is kept.
 *
 *	struct toy_state state;
 *	struct fake_host host;
 *
 *	fake_host_init(&host, &state, sizeof(state));
 *	fake_memory_add(&host.contents, 0x1000, bytes, sizeof(bytes));	the file, by virtual address
 *	fake_memory_add(&host.memory, BIAS + 0x1000, bytes, sizeof(bytes));	the process
 *	host.target.bias = BIAS;
 *	host.symbols = symbols, host.n_symbols = ...;
 *	toy_probe(fake_host_services(&host), &host.file, &executable);
 *	host.memory.fail_at = 3, host.memory.fail_with = -EFAULT;
 *	toy_attach(executable, &host.target, &instance);
 *	assert_int_equal(host.n_ranges, 1);
 *
 * Answers that are not in these members: put a function of your own into host.file_ops or host.ops;
 * its `arg` is the host.
 *
 * Needs core/plugin/unwinder.h, what is after struct ep_file and its like, and its library: here
 * plugin_dep, outside the tree the test kit that is installed, which has no live process
 * (host_live.c). No cmocka: fuzz targets use it as well.
 */
#ifndef EP_TESTS_KIT_HOST_H
#define EP_TESTS_KIT_HOST_H

#include "core/plugin/unwinder.h"
#include "tests/kit/fakes.h"
#include "tests/kit/memory.h"

struct ep_elf;
struct ep_process_target;

struct fake_symbol {
	const char *name;
	struct ep_symbol symbol;
};

struct fake_host {
	/* --- a file --- */
	struct ep_file file; /* "/usr/bin/made", of x86-64 */
	struct ep_file_ops file_ops;
	struct fake_memory contents;
	const struct fake_symbol *symbols, *sections; /* sorted, borrowed */
	size_t n_symbols, n_sections;
	const struct ep_symbol *functions; /* without unwind rules: none */
	size_t n_functions;

	/* --- a process --- */
	struct ep_target target; /* pid 42 */
	struct ep_target_ops ops;
	struct fake_memory memory; /* counts reads, and lets one fail, of a live process as well */
	const struct ep_target_mapping *mappings;
	size_t n_mappings;
	/* The file beside any mapping: its name (NULL: there is none), and its bytes from address 0 on. */
	const char *beside_name;
	uint64_t beside_content;
	struct fake_memory beside;
	/* Thread storage: 0: off for a variable; 1296 and then the key for a key. Or a negative
	 * errno. */
	int no_variable, no_key;
	/* A live one. */
	struct ep_process_target *live; /* while a job of it runs */
	const struct ep_elf *elf; /* the probed file, mapped at `module_addr` */
	uint64_t module_addr;

	/* --- what was set --- */
	void *state;
	size_t state_bytes;
	size_t n_ranges;
	uint32_t n_states, n_ranges_set; /* how often */
	uint64_t counts[16];

	/* --- what was named: the last one --- */
	struct ep_names names; /* for symbolize */
	uint32_t n_names, line, start_line, unnamed, name_flags;
	char function[2048], file_name[2048];

	/* --- what was logged --- */
	uint32_t n_warnings;
	char logged[512]; /* the last line */
	bool prints;

	struct ep_range ranges[EP_MAX_RANGES]; /* that were set; the last member: it is large */
};

/* The state is the plugin's own struct, where what it sets is copied to; another size is refused.
 */
void fake_host_init(struct fake_host *host, void *state, size_t state_bytes);
/* The process is a live one from now on; until fake_host_end_job its mappings are read once. */
void fake_host_be_live(struct fake_host *host, pid_t pid);
/* Before each call of the plugin that is to see mappings anew, and at the end; for what is not
 * live: nothing. */
void fake_host_end_job(struct fake_host *host);
/* The table for a plugin, which logs to this host from now on. */
const struct ep_unwinder_host *fake_host_services(struct fake_host *host);
/* A word of the process, 0 where it cannot be read. */
uint64_t fake_host_word(struct fake_host *host, uint64_t addr);
/* The BPF side's ep_read_tls: 0 when there is no path or it cannot be read. */
uint64_t fake_host_read_tls(struct fake_host *host, const struct ep_tls *tls,
			    uint64_t thread_pointer);

#endif
