/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/thread_storage.h"

#include "core/elf/lookup.h"
#include "core/proc/memory.h"
#include "core/proc/open.h"
#include "core/proc/tls_code.h"
#include "core/proc/tls_slots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#define CODE_BYTES	 192   /* of pthread_getspecific: glibc's has 150 */
#define MAX_STRUCT_BYTES 65536 /* of struct pthread */
#define MAX_MODULES	 65536 /* module ids count up from 1 */
#define MAX_STATIC_TLS	 (1ll << 30)
#define MAX_LIBRARIES	 8 /* files opened in search of the C library */

enum c_library {
	C_LIBRARY_UNKNOWN,
	C_LIBRARY_GLIBC,
	C_LIBRARY_MUSL,
};

/* --- which C library --- */

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * By file name: glibc's are "libc.so.6" and, before 2.34, "libc-2.31.so" and the same of
 * libpthread, which has the thread functions then. musl's one file is its own loader; Debian calls
 * it libc.so.
 */
static enum c_library library_of(const struct ep_mapping *mapping)
{
	const char *slash = strrchr(mapping->path, '/');
	const char *name = slash ? slash + 1 : mapping->path;

	if (mapping->kind != EP_MAPPING_FILE)
		return C_LIBRARY_UNKNOWN;
	if (strcmp(name, "libc.so.6") == 0 || strcmp(name, "libpthread.so.0") == 0 ||
	    has_prefix(name, "libc-2.") || has_prefix(name, "libpthread-2."))
		return C_LIBRARY_GLIBC;
	if (strcmp(name, "libc.so") == 0 || has_prefix(name, "ld-musl-") ||
	    has_prefix(name, "libc.musl-"))
		return C_LIBRARY_MUSL;
	return C_LIBRARY_UNKNOWN;
}

static enum c_library library_kind(const struct ep_maps *maps)
{
	const struct ep_mapping *mapping;

	ep_vec_each (&maps->mappings, mapping) {
		enum c_library kind = library_of(mapping);

		if (kind)
			return kind;
	}
	return C_LIBRARY_UNKNOWN;
}

/* Each entry is a pair of words; the values are those of <elf.h>. 0, -ENODATA, -ESRCH, -errno. */
static int auxv_read(pid_t pid, uint64_t type, uint64_t *ret_value)
{
	ep_autoclose int fd = -1;
	uint64_t words[128];
	char path[64];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	got = read(fd, words, sizeof(words));
	if (got < 0)
		return -errno;
	for (size_t i = 0; i + 1 < (size_t)got / sizeof(*words); i += 2) {
		if (words[i] != type)
			continue;
		*ret_value = words[i + 1];
		return 0;
	}
	return -ENODATA;
}

static int mapping_open(pid_t pid, const struct ep_mapping *mapping, struct ep_elf **ret_elf)
{
	struct ep_proc_file file = {.fd = -1};
	int r;

	r = ep_proc_open_mapping(pid, mapping, &file);
	return r < 0 ? r : ep_elf_open_fd(file.fd, ret_elf);
}

/* --- keys --- */

/*
 * glibc, nptl_db/db-symbols.awk and thread_dbP.h: a descriptor is the size of the field in bits,
 * the number of its elements (1 for an array taken as a whole), and its offset in the struct.
 */
static int descriptor_read(struct ep_elf_lookup *lookup, const char *name, uint32_t fields[3])
{
	struct ep_elf_symbol symbol;
	int r;

	r = ep_elf_lookup_symbol(lookup, name, &symbol);
	if (r < 0)
		return r;
	return ep_elf_read_va(lookup->elf, symbol.va, fields, 3 * sizeof(*fields));
}

/*
 * struct pthread is at the thread pointer, or ends there: TLS_TCB_AT_TP and TLS_DTV_AT_TP, glibc
 * sysdeps/x86_64/nptl/tls.h and sysdeps/aarch64/nptl/tls.h.
 */
static int thread_struct_off(struct ep_elf_lookup *lookup, int64_t *ret_off)
{
	struct ep_elf_symbol symbol;
	uint32_t bytes;
	int r;

	if (ep_elf_machine(lookup->elf) == EM_X86_64) {
		*ret_off = 0;
		return 0;
	}
	if (ep_elf_machine(lookup->elf) != EM_AARCH64)
		return -ENOTSUP;
	r = ep_elf_lookup_symbol(lookup, "_thread_db_sizeof_pthread", &symbol);
	if (r == 0)
		r = ep_elf_read_va(lookup->elf, symbol.va, &bytes, sizeof(bytes));
	if (r < 0)
		return r;
	*ret_off = -(int64_t)bytes;
	return bytes <= MAX_STRUCT_BYTES ? 0 : -ENOTSUP;
}

/* 32 pointers to blocks of 32 keys: the only layout there has been (nptl/descr.h, since 2.3). */
static int key_by_symbols(struct ep_elf_lookup *lookup, uint32_t key, struct ep_tls *ret)
{
	uint32_t specific[3], block[3], data[3];
	int64_t base = 0;
	int r;

	r = descriptor_read(lookup, "_thread_db_pthread_specific", specific);
	if (r == 0)
		r = descriptor_read(lookup, "_thread_db_pthread_key_data_level2_data", block);
	if (r == 0)
		r = descriptor_read(lookup, "_thread_db_pthread_key_data_data", data);
	if (r == 0)
		r = thread_struct_off(lookup, &base);
	if (r < 0)
		return r;
	if (specific[0] * specific[1] != 32 * 64 || specific[2] > MAX_STRUCT_BYTES ||
	    block[0] != 128 || block[1] != 32 || block[2] != 0 || data[0] != 64 || data[2] != 8)
		return -ENOTSUP;
	return ep_tls_glibc_key(base + specific[2], key, ret);
}

static int key_by_code(struct ep_elf_lookup *lookup, uint32_t key, struct ep_tls *ret)
{
	static const char *const names[] = {"pthread_getspecific", "__pthread_getspecific"};
	uint8_t code[CODE_BYTES];
	struct ep_elf_symbol symbol;
	size_t bytes;
	int r = -ENODATA;

	for (size_t i = 0; i < EP_LEN(names) && r == -ENODATA; i++)
		r = ep_elf_lookup_symbol(lookup, names[i], &symbol);
	if (r < 0)
		return r;
	bytes = symbol.bytes ? EP_MIN(symbol.bytes, sizeof(code)) : sizeof(code);
	r = ep_elf_read_va(lookup->elf, symbol.va, code, bytes);
	if (r < 0)
		return r;
	return ep_tls_decode_getspecific(ep_elf_machine(lookup->elf), code, bytes, key, ret);
}

static int key_in_file(pid_t pid, const struct ep_mapping *mapping, uint32_t key,
		       struct ep_tls *ret)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_cleanup(ep_elf_lookup_fini) struct ep_elf_lookup lookup = {0};
	int r;

	r = mapping_open(pid, mapping, &elf);
	if (r < 0)
		return r;
	ep_elf_lookup_init(&lookup, elf);
	r = key_by_symbols(&lookup, key, ret);
	if (r == -ENODATA)
		r = key_by_code(&lookup, key, ret);
	return r;
}

/* A static program is its own C library. */
static int key_in_program(pid_t pid, const struct ep_maps *maps, uint32_t key, struct ep_tls *ret)
{
	const struct ep_mapping *mapping;
	uint64_t entry_addr;
	int r;

	r = auxv_read(pid, AT_ENTRY, &entry_addr);
	if (r < 0)
		return r;
	mapping = ep_maps_find(maps, entry_addr);
	return mapping ? key_in_file(pid, mapping, key, ret) : -ENODATA;
}

int ep_tls_find_key(pid_t pid, const struct ep_maps *maps, uint32_t key, struct ep_tls *ret)
{
	const struct ep_mapping *mapping;
	int tried = 0, result = -ENODATA;

	ep_vec_each (&maps->mappings, mapping) {
		int r;

		if (!(mapping->prot & EP_PROT_EXEC) || !library_of(mapping))
			continue;
		if (++tried > MAX_LIBRARIES)
			return -E2BIG;
		r = key_in_file(pid, mapping, key, ret);
		if (r == 0 || r == -ESRCH)
			return r;
		if (r != -ENODATA)
			result = r;
	}
	return tried ? result : key_in_program(pid, maps, key, ret);
}

/* --- variables --- */

/* Thread-local storage of a file, as its PT_TLS says. */
struct tls_block {
	uint64_t va, bytes, align;
};

static int block_read(const struct ep_elf *elf, uint64_t tls_off, struct tls_block *ret)
{
	struct ep_elf_segment segment;
	int r;

	r = ep_elf_find_segment(elf, PT_TLS, &segment);
	if (r < 0)
		return r;
	*ret = (struct tls_block){
		.va = segment.va,
		.bytes = segment.mem_bytes,
		.align = segment.align ? segment.align : 1,
	};
	if (ret->align & (ret->align - 1) || ret->bytes > MAX_STATIC_TLS ||
	    ret->align > MAX_STATIC_TLS || !ep_in_bounds(tls_off, 1, ret->bytes))
		return -EBADMSG;
	return 0;
}

static int path_of_one(int64_t off, struct ep_tls *ret)
{
	if (off < INT32_MIN || off > INT32_MAX)
		return -ENOTSUP;
	*ret = (struct ep_tls){.steps = 1, .off = {(int32_t)off}};
	return 0;
}

/*
 * The first block of the program, where linkers and loaders agree without a word between them:
 * Ulrich Drepper, "ELF Handling For Thread-Local Storage", 3.4. Below the thread pointer on x86-64
 * (variant II), after two words above it on aarch64 (variant I); congruent to p_vaddr modulo the
 * alignment: glibc elf/dl-tls.c _dl_determine_tlsoffset (2.36), musl src/env/__init_tls.c (1.2.3),
 * lld ELF/InputSection.cpp getTlsTpOffset.
 */
static int program_variable(const struct ep_elf *elf, const struct tls_block *block,
			    uint64_t tls_off, struct ep_tls *ret)
{
	uint64_t mask = block->align - 1;
	int64_t start;

	if (ep_elf_machine(elf) == EM_X86_64)
		start = -(int64_t)(block->bytes + ((-block->va - block->bytes) & mask));
	else if (ep_elf_machine(elf) == EM_AARCH64)
		start = (int64_t)(16 + ((block->va - 16) & mask));
	else
		return -ENOTSUP;
	return path_of_one(start + (int64_t)tls_off, ret);
}

/* DT_FLAGS_1 has DF_1_PIE: ld since 2.26, lld, mold. */
static bool is_pie(const struct ep_elf *elf)
{
	struct ep_elf_segment dynamic;
	Elf64_Dyn entries[64];
	size_t n;

	if (ep_elf_find_segment(elf, PT_DYNAMIC, &dynamic) < 0)
		return false;
	n = EP_MIN(dynamic.file_bytes / sizeof(*entries), EP_LEN(entries));
	if (ep_elf_read_at(elf, dynamic.file_off, entries, n * sizeof(*entries)) < 0)
		return false;
	for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++) {
		if (entries[i].d_tag == DT_FLAGS_1)
			return entries[i].d_un.d_val & DF_1_PIE;
	}
	return false;
}

/* Where the kernel was asked to start, unless the loader was run by name: then by its flags. */
static bool is_program(pid_t pid, const struct ep_elf *elf, uint64_t bias)
{
	uint64_t entry_addr;

	if (ep_elf_type(elf) == ET_EXEC || is_pie(elf))
		return true;
	return auxv_read(pid, AT_ENTRY, &entry_addr) == 0 &&
	       entry_addr == bias + ep_elf_entry_va(elf);
}

/*
 * The dynamic thread vector: where the thread keeps its address, and the size of an entry, whose
 * first word is the address of a module's block. glibc: tcbhead_t in sysdeps/x86_64/nptl/tls.h and
 * sysdeps/aarch64/nptl/tls.h, dtv_t in sysdeps/generic/dl-dtv.h. musl: struct pthread in
 * src/internal/pthread_impl.h, DTP_OFFSET in arch/x86_64 and arch/aarch64 pthread_arch.h is 0.
 */
static const struct vector {
	enum c_library library;
	uint16_t machine;
	int16_t off;
	uint16_t entry_bytes;
} vectors[] = {
	{C_LIBRARY_GLIBC, EM_X86_64, 8, 16},
	{C_LIBRARY_MUSL, EM_X86_64, 8, 8},
	{C_LIBRARY_GLIBC, EM_AARCH64, 0, 16},
	{C_LIBRARY_MUSL, EM_AARCH64, -8, 8},
};

static int path_of_vector(const struct ep_maps *maps, uint16_t machine, uint64_t module,
			  uint64_t tls_off, struct ep_tls *ret)
{
	enum c_library library = library_kind(maps);

	if (!module)
		return -ENODATA; /* not relocated yet */
	if (module > MAX_MODULES || tls_off > INT32_MAX)
		return -ENOTSUP;
	for (size_t i = 0; i < EP_LEN(vectors); i++) {
		if (vectors[i].library != library || vectors[i].machine != machine)
			continue;
		*ret = (struct ep_tls){
			.steps = 3,
			.off = {vectors[i].off, (int32_t)module * vectors[i].entry_bytes,
				(int32_t)tls_off},
		};
		return 0;
	}
	return -ENOTSUP;
}

/* A word that is surely no offset in static TLS: not relocated yet, or something else. */
static bool is_static_off(uint16_t machine, int64_t off)
{
	if (machine == EM_X86_64)
		return off < 0 && off > -MAX_STATIC_TLS;
	return off >= 16 && off < MAX_STATIC_TLS;
}

static int by_offset(pid_t pid, uint16_t machine, uint64_t slot_addr,
		     const struct ep_tls_slot *slot, uint64_t tls_off, struct ep_tls *ret)
{
	uint64_t word;
	int r;

	r = ep_memory_read_u64(pid, slot_addr, &word);
	if (r < 0)
		return r;
	if (!is_static_off(machine, (int64_t)word))
		return -ENODATA;
	return path_of_one((int64_t)(word - slot->tls_off + tls_off), ret);
}

/*
 * A TLS descriptor's argument is the offset from the thread pointer, or the address of a module id
 * and an offset in its block: glibc elf/tlsdeschtab.h and sysdeps/x86_64/dl-tlsdesc.h struct
 * tlsdesc_dynamic_arg (2.36), musl ldso/dynlink.c struct td_index (1.2.3).
 */
static int by_descriptor(pid_t pid, const struct ep_maps *maps, uint16_t machine,
			 uint64_t slot_addr, const struct ep_tls_slot *slot, uint64_t tls_off,
			 struct ep_tls *ret)
{
	uint64_t words[2], index[2];
	int r;

	r = ep_memory_read(pid, slot_addr, words, sizeof(words));
	if (r < 0)
		return r;
	if (!words[0])
		return -ENODATA;
	if (is_static_off(machine, (int64_t)words[1]) && !ep_maps_find(maps, words[1]))
		return path_of_one((int64_t)(words[1] - slot->tls_off + tls_off), ret);
	r = ep_memory_read(pid, words[1], index, sizeof(index));
	if (r < 0)
		return r == -EFAULT ? -ENODATA : r;
	if (index[1] != slot->tls_off)
		return -ENODATA;
	return path_of_vector(maps, machine, index[0], tls_off, ret);
}

static int library_variable(pid_t pid, const struct ep_maps *maps, const struct ep_elf *elf,
			    uint64_t bias, uint64_t tls_off, struct ep_tls *ret)
{
	uint16_t machine = ep_elf_machine(elf);
	struct ep_tls_slots slots;
	uint64_t module = 0;
	int r;

	r = ep_tls_slots_find(elf, tls_off, &slots);
	if (r < 0)
		return r;
	r = -ENODATA;
	if (slots.offset.rank)
		r = by_offset(pid, machine, bias + slots.offset.va, &slots.offset, tls_off, ret);
	if (r == -ENODATA && slots.descriptor.rank)
		r = by_descriptor(pid, maps, machine, bias + slots.descriptor.va, &slots.descriptor,
				  tls_off, ret);
	if (r != -ENODATA || !slots.module.rank)
		return r;
	r = ep_memory_read_u64(pid, bias + slots.module.va, &module);
	return r < 0 ? r : path_of_vector(maps, machine, module, tls_off, ret);
}

int ep_tls_find_variable(pid_t pid, const struct ep_maps *maps, const struct ep_elf *elf,
			 uint64_t bias, uint64_t tls_off, struct ep_tls *ret)
{
	struct tls_block block;
	int r;

	r = block_read(elf, tls_off, &block);
	if (r < 0)
		return r;
	if (is_program(pid, elf, bias))
		return program_variable(elf, &block, tls_off, ret);
	return library_variable(pid, maps, elf, bias, tls_off, ret);
}
