/* SPDX-License-Identifier: Apache-2.0 */
/* The first half of building: executable sections, and candidates from every symbol table. */
#include "core/base/bisect.h"
#include "core/base/log.h"
#include "core/symbol/aliases.h"
#include "core/symbol/symtab_builder.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAX_SYMBOLS	 ((uint64_t)8 << 20)  /* read, in one table */
#define MAX_LOADED_BYTES ((uint64_t)32 << 20) /* a longer string table is read name by name */
#define STEP_SYMBOLS	 2048
#define SYMBOL_STEPS	 16 /* for one that is looked at; its name is charged beside */
#define NAME_STEPS	 8  /* and so many bytes of it are a step */

/* ---- executable ranges ---- */

static int range_compare(const void *a, const void *b)
{
	const struct symtab_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static bool section_is_code(const struct ep_elf_section *section)
{
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
	uint64_t end;

	return (section->flags & wanted) == wanted && section->bytes &&
	       !__builtin_add_overflow(section->va, section->bytes, &end);
}

static void ranges_read(struct symtab_builder *builder, const struct ep_elf *elf)
{
	struct ep_elf_section section;

	for (uint32_t i = 1; ep_elf_section_at(elf, i, &section) == 0; i++) {
		if (!section_is_code(&section) || builder->n_ranges == BUILDER_MAX_RANGES)
			continue;
		builder->ranges[builder->n_ranges++] =
			(struct symtab_range){section.va, section.va + section.bytes};
	}
	qsort(builder->ranges, builder->n_ranges, sizeof(builder->ranges[0]), range_compare);
	if (builder->n_ranges)
		builder->symtab->base_va = builder->ranges[0].start;
}

/* Neighbours are asked for in a row, so the last one is tried first. */
const struct symtab_range *ep_symtab_range_of(struct symtab_builder *builder, uint64_t va)
{
	const struct symtab_range *range = &builder->ranges[builder->last_range];
	size_t n;

	if (builder->n_ranges && va >= range->start && va < range->end)
		return range;
	n = ep_bisect(builder->n_ranges, i, builder->ranges[i].start <= va);
	if (!n || va >= builder->ranges[n - 1].end)
		return NULL;
	builder->last_range = n - 1;
	return &builder->ranges[n - 1];
}

/* ---- names while building ---- */

size_t ep_symtab_candidate_name(struct symtab_builder *builder,
				const struct symtab_candidate *candidate,
				char spare[BUILDER_SHORT_NAME], const char **ret_name)
{
	const struct symtab_source *source = &builder->sources[candidate->source];
	uint64_t off = candidate->name_off;
	size_t bytes;

	*ret_name = spare;
	if (off >= source->strings.bytes)
		return 0;
	bytes = EP_MIN(source->strings.bytes - off, (uint64_t)EP_SYMTAB_NAME_MAX - 1);
	if (source->bytes.data) {
		if (off >= source->bytes.bytes)
			return 0;
		*ret_name = (const char *)source->bytes.data + off;
		bytes = strnlen(*ret_name, EP_MIN(bytes, source->bytes.bytes - off));
		return ep_work_take(ep_elf_work(source->elf), bytes / NAME_STEPS) < 0 ? 0 : bytes;
	}
	bytes = EP_MIN(bytes, (size_t)BUILDER_SHORT_NAME);
	if (ep_elf_read_at(source->elf, source->strings.file_off + off, spare, bytes) < 0)
		return 0;
	return strnlen(spare, bytes);
}

/* ---- collecting ---- */

static bool label_is_code(const struct ep_elf *elf, const Elf64_Sym *symbol)
{
	struct ep_elf_section section;

	/* in its own section: keeps _etext, which stands where the next one begins, out */
	return ep_elf_section_at(elf, symbol->st_shndx, &section) == 0 &&
	       section_is_code(&section) && symbol->st_value >= section.va &&
	       symbol->st_value - section.va < section.bytes;
}

/* Mapping symbols ($x, $d: AArch64 ELF ABI, "Mapping symbols") and local labels are no names. */
static bool name_is_wanted(struct symtab_builder *builder, const struct symtab_candidate *candidate)
{
	const char *name;
	size_t len = ep_symtab_candidate_name(builder, candidate, builder->name[0], &name);

	if (!len)
		return false;
	return !(candidate->flags & CANDIDATE_LABEL) || (name[0] != '$' && name[0] != '.');
}

static uint8_t rank_of(unsigned int type, unsigned int bind)
{
	enum ep_symbol_kind kind = type == STT_NOTYPE	   ? EP_SYMBOL_LABEL
				   : type == STT_GNU_IFUNC ? EP_SYMBOL_IFUNC
							   : EP_SYMBOL_FUNCTION;

	return ep_symbol_rank(kind, bind == STB_LOCAL  ? EP_SYMBOL_LOCAL
				    : bind == STB_WEAK ? EP_SYMBOL_WEAK
						       : EP_SYMBOL_GLOBAL);
}

static bool symbol_is_function(const struct symtab_source *source, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
	    symbol->st_shndx == SHN_COMMON)
		return false;
	if (type == STT_NOTYPE)
		return label_is_code(source->elf, symbol);
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static int candidate_push(struct symtab_builder *builder, uint64_t va,
			  struct symtab_candidate candidate)
{
	uint64_t base_va = builder->symtab->base_va;
	struct symtab_candidate *slot;

	if (va < base_va || va - base_va > UINT32_MAX || !ep_symtab_range_of(builder, va))
		return 0;
	candidate.start = (uint32_t)(va - base_va);
	if (!name_is_wanted(builder, &candidate))
		return 0;
	slot = ep_vec_push(&builder->candidates);
	if (!slot)
		return builder->candidates.len == BUILDER_MAX_CANDIDATES ? -E2BIG : -ENOMEM;
	*slot = candidate;
	return 0;
}

static int symbol_add(struct symtab_builder *builder, uint8_t source, const Elf64_Sym *symbol,
		      bool sparse)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);
	bool label = type == STT_NOTYPE;
	unsigned int bind = ELF64_ST_BIND(symbol->st_info);

	if (!symbol_is_function(&builder->sources[source], symbol))
		return 0;
	return candidate_push(
		builder, symbol->st_value,
		(struct symtab_candidate){
			.size = (uint32_t)EP_MIN(symbol->st_size, (uint64_t)SYMTAB_MAX_SIZE),
			.name_off = symbol->st_name,
			.source = source,
			.rank = rank_of(type, bind),
			.flags = (uint8_t)((label ? CANDIDATE_LABEL : 0) |
					   (bind == STB_LOCAL ? CANDIDATE_LOCAL : 0) |
					   (sparse ? CANDIDATE_SPARSE : 0)),
		});
}

/*
 * Each symbol may become a candidate, of which there are two while they are sorted. What will not fit before others
 * are done is to be tried again.
 */
static int candidates_pay(struct symtab_builder *builder, const struct ep_elf *elf, uint64_t n)
{
	struct ep_work *work = ep_elf_work(elf);
	size_t bytes = 2 * (size_t)EP_MIN(n, (uint64_t)BUILDER_MAX_CANDIDATES) *
		       sizeof(struct symtab_candidate);
	int r;

	if (n > MAX_SYMBOLS)
		return -E2BIG;
	r = work ? ep_memory_budget_take(work->memory, bytes) : 0;
	if (r == 0 && work) {
		builder->budget = work->memory;
		builder->held += bytes;
	}
	return r;
}

static int symbols_read(struct symtab_builder *builder, uint8_t source,
			const struct ep_elf_section *section, bool sparse)
{
	const struct ep_elf *elf = builder->sources[source].elf;
	uint64_t n = section->bytes / sizeof(Elf64_Sym);
	ep_autofree Elf64_Sym *symbols = NULL;
	int r = candidates_pay(builder, elf, n);

	if (r < 0)
		return r;
	symbols = malloc(STEP_SYMBOLS * sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	for (uint64_t i = 0; i < n && r == 0; i += STEP_SYMBOLS) {
		size_t step = EP_MIN(n - i, (uint64_t)STEP_SYMBOLS);

		r = ep_elf_read_at(elf, section->file_off + i * sizeof(*symbols), symbols,
				   step * sizeof(*symbols));
		if (r == 0)
			r = ep_work_take(ep_elf_work(elf), step * SYMBOL_STEPS);
		for (size_t k = 0; k < step && r == 0; k++)
			r = symbol_add(builder, source, &symbols[k], sparse);
	}
	return r;
}

/*
 * The string table of a symbol section as a source. Its number, or a negative errno. `load` when
 * most of its names will be looked at.
 */
static int source_add(struct symtab_builder *builder, const struct ep_elf *elf,
		      const struct ep_elf_section *symbols, bool load)
{
	struct symtab_source *source = &builder->sources[builder->n_sources];
	struct ep_elf_section strings;
	int r;

	if (builder->n_sources == SYMTAB_SOURCES)
		return -E2BIG;
	if (symbols->entry_bytes != sizeof(Elf64_Sym) || (symbols->flags & SHF_COMPRESSED) ||
	    ep_elf_section_at(elf, symbols->link, &strings) < 0 || strings.type != SHT_STRTAB)
		return -EBADMSG;
	if (!ep_in_bounds(strings.file_off, strings.bytes, ep_elf_file_bytes(elf)))
		return -EBADMSG;
	*source = (struct symtab_source){.elf = elf, .strings = strings};
	if ((load && strings.bytes <= MAX_LOADED_BYTES) || (strings.flags & SHF_COMPRESSED)) {
		r = ep_elf_read_section(elf, &strings, &source->bytes);
		/* There is no space for them: they are read one by one. */
		if (r < 0 && ((r != -E2BIG && r != -EAGAIN) || (strings.flags & SHF_COMPRESSED)))
			return r;
		if (r == 0)
			source->strings.bytes = source->bytes.bytes;
	}
	return (int)builder->n_sources++;
}

/* What ends all of it, and not only the reading of one table. */
static bool is_final(int r)
{
	return ep_is_transient(r) || r == -ETIME || r == -ECANCELED;
}

/* How many candidates a symbol section gave, or why there will be none at all; a bad section gave none. */
static ssize_t table_add(struct symtab_builder *builder, const struct ep_elf *elf, uint32_t type,
			 bool sparse)
{
	size_t had = builder->candidates.len;
	struct ep_elf_section section;
	int r;

	if (ep_elf_find_section_type(elf, type, &section) < 0)
		return 0;
	r = source_add(builder, elf, &section, true);
	if (r >= 0)
		r = symbols_read(builder, (uint8_t)r, &section, sparse);
	if (r < 0)
		ep_log(EP_LOG_DEBUG, "symbol: section %" PRIu32 " of type %" PRIu32 ": %s",
		       section.index, section.type, ep_strerror(r));
	return is_final(r) ? r : (ssize_t)(builder->candidates.len - had);
}

/* 0, or what is final: a PLT that cannot be read costs only its own names. */
static int plt_add(struct symtab_builder *builder, const struct ep_elf *elf)
{
	ep_cleanup(ep_vec_fini) struct ep_vec stubs;
	struct ep_elf_section section;
	struct plt_stub *stub;
	int source, r;

	ep_vec_init(&stubs, sizeof(*stub), BUILDER_MAX_CANDIDATES);
	r = ep_plt_collect(elf, &stubs);
	if (r < 0 || !stubs.len)
		return is_final(r) ? r : 0;
	if (ep_elf_find_section_type(elf, SHT_DYNSYM, &section) < 0)
		return 0;
	source = source_add(builder, elf, &section, false);
	if (source < 0)
		return is_final(source) ? source : 0;
	r = 0;
	for (stub = stubs.data; r == 0 && stub < ep_vec_at(&stubs, struct plt_stub, stubs.len);
	     stub++)
		r = candidate_push(builder, stub->va,
				   (struct symtab_candidate){.size = stub->bytes,
							     .name_off = stub->name_off,
							     .source = (uint8_t)source,
							     .rank = ep_symbol_rank(EP_SYMBOL_STUB,
										    EP_SYMBOL_GLOBAL),
							     .flags = CANDIDATE_PLT});
	return is_final(r) ? r : 0;
}

/* .gnu_debugdata holds what .dynsym does not (gdb manual, "MiniDebugInfo"). */
static ssize_t partial_tables_add(struct symtab_builder *builder, const struct ep_elf *elf)
{
	ssize_t n = 0, m;
	int r;

	r = ep_elf_open_debugdata(elf, &builder->debugdata);
	if (is_final(r))
		return r;
	if (r < 0 && r != -ENODATA)
		ep_log(EP_LOG_DEBUG, "symbol: .gnu_debugdata: %s", ep_strerror(r));
	if (r == 0)
		n = table_add(builder, builder->debugdata, SHT_SYMTAB, false);
	if (n < 0)
		return n;
	m = table_add(builder, elf, SHT_DYNSYM, n == 0);
	return m < 0 ? m : n + m;
}

int ep_symtab_collect(struct symtab_builder *builder, const struct ep_elf *elf,
		      const struct ep_elf *debug)
{
	ssize_t n;

	ranges_read(builder, elf);
	n = table_add(builder, elf, SHT_SYMTAB, false);
	if (n == 0 && debug)
		n = table_add(builder, debug, SHT_SYMTAB, false);
	if (n == 0)
		n = partial_tables_add(builder, elf);
	return n < 0 ? (int)n : plt_add(builder, elf);
}
