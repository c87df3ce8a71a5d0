/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of a C library and of a library with thread storage: code of pthread_getspecific,
 * symbols by name, TLS relocations. The input is code, and an ELF file if it opens as one.
 */
#include "core/elf/lookup.h"
#include "core/proc/tls_code.h"
#include "core/proc/tls_slots.h"
#include "tests/kit/fuzz.h"

static void try_code(uint16_t machine, const uint8_t *code, size_t bytes, uint32_t key)
{
	struct ep_tls tls = {0};

	if (ep_tls_decode_getspecific(machine, code, bytes, key, &tls) < 0)
		return;
	assert(tls.steps == 2 && tls.off[0] >= -(1 << 17) && tls.off[0] <= 1 << 17);
	assert(tls.off[1] >= 0 && tls.off[1] <= 1 << 15);
}

static void try_symbols(const struct ep_elf *elf)
{
	static const char *const names[] = {"pthread_getspecific", "lib_first", "main", "", "x",
					    "_thread_db_pthread_specific"};
	ep_cleanup(ep_elf_lookup_fini) struct ep_elf_lookup lookup;

	ep_elf_lookup_init(&lookup, elf);
	for (size_t i = 0; i < 2 * EP_LEN(names); i++) {
		struct ep_elf_symbol symbol;
		uint8_t buf[64];
		const char *name = names[i % EP_LEN(names)];

		if (ep_elf_lookup_symbol(&lookup, name, &symbol) == 0)
			(void)ep_elf_read_va(elf, symbol.va, buf, sizeof(buf));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ep_tls_slots slots = {0};
	struct ep_elf *elf = NULL;

	try_code(EM_X86_64, data, size, size ? data[0] : 0);
	try_code(EM_AARCH64, data, size, 3000);
	if (ep_elf_open_memory(data, size, &elf) < 0)
		return 0;
	try_symbols(elf);
	if (ep_tls_slots_find(elf, 8, &slots) == 0)
		assert(slots.offset.rank <= 3 && slots.module.rank <= 2);
	ep_elf_close(elf);
	return 0;
}
