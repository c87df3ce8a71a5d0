/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file and a process in which everything may be anything, for fuzz targets of probe, attach and
 * symbolize:
 *
 *	input	16 symbols, each with its va (2 bytes) and size (2 bytes), 0: absent, 0xffff:
 * endless | bytes
 *
 * The bytes are the file's from FUZZ_VA on, and over and over again the process's memory. A name "a
 * function" is the function at every address. Needs what host.h needs.
 */
#ifndef EP_TESTS_KIT_FUZZ_PROCESS_H
#define EP_TESTS_KIT_FUZZ_PROCESS_H

#include "tests/kit/host.h"

#include <errno.h>
#include <string.h>

#define FUZZ_VA	     0x1000u
#define FUZZ_SYMBOLS 16
#define FUZZ_HEAD    (4 * FUZZ_SYMBOLS)

struct fuzz_process {
	struct fake_host host; /* the first: functions get its address */
	struct fake_symbol symbols[FUZZ_SYMBOLS];
	const uint8_t *bytes;
	size_t size;
	uint64_t origin; /* the address of byte 0 */
};

static inline int fuzz_process_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct fuzz_process *process = arg;
	uint8_t *out = buf;

	if (addr < FUZZ_VA)
		return -EFAULT;
	for (size_t i = 0; i < bytes; i++)
		out[i] = process->bytes[(addr - process->origin + i) % process->size];
	return 0;
}

static inline int fuzz_process_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	const struct fuzz_process *process = arg;

	return process->host.file_ops.symbol(arg, "a function", ret);
}

/* False: the input is too short. */
static inline bool fuzz_process_init(struct fuzz_process *process,
				     const char *const names[FUZZ_SYMBOLS], const uint8_t *data,
				     size_t size, void *state, size_t state_bytes)
{
	struct fake_host *host = &process->host;

	if (size <= FUZZ_HEAD)
		return false;
	fake_host_init(host, state, state_bytes);
	for (size_t i = 0; i < FUZZ_SYMBOLS; i++) {
		uint16_t fields[2];

		memcpy(fields, data + 4 * i, sizeof(fields));
		if (fields[0])
			process->symbols[host->n_symbols++] = (struct fake_symbol){
				names[i],
				{fields[0], fields[1] == 0xffff ? UINT64_MAX : fields[1]}};
	}
	host->symbols = host->sections = process->symbols;
	host->n_sections = host->n_symbols;
	host->file_ops.function = fuzz_process_function;
	host->ops.read = fuzz_process_read;
	process->bytes = data + FUZZ_HEAD;
	process->size = size - FUZZ_HEAD;
	fake_memory_add(&host->contents, FUZZ_VA, (uint8_t *)process->bytes, process->size);
	return true;
}

#endif
