/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a symbol table: collect candidates from every source, sort them by address, keep one
 * per address, close the open ends, and find names a place to stay. Symbols as in the System V
 * gABI, "Symbol Table". What is kept:
 *
 * 1. STT_FUNC and STT_GNU_IFUNC; STT_NOTYPE (labels of assembly code) only where no function is.
 * 2. Of several at one address: a function before a label, GLOBAL before WEAK before LOCAL, fewer
 *    leading underscores, the shorter one, then the order of strcmp.
 * 3. Nothing reaches out of its section. Size 0 means up to the next symbol; but not more than
 *    SPARSE_BYTES where only .dynsym is known, since what follows may be anything.
 */
#include "core/symbol/symtab.h"

#include "core/base/log.h"
#include "core/symbol/symtab_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_SYMBOLS	  ((uint64_t)8 << 20) /* read, in one table */
#define MAX_CANDIDATES	  ((size_t)2 << 20)
#define MAX_RANGES	  1024
#define MAX_LOADED_BYTES  ((uint64_t)32 << 20) /* a longer string table is read name by name */
#define MAX_BLOCK_BYTES	  ((size_t)16 << 20)
#define SMALL_BLOCK_BYTES ((size_t)64 << 10)
#define SPARSE_BYTES	  256
#define STEP_SYMBOLS	  2048
#define SHORT_NAME	  256

enum candidate_flag {
	CANDIDATE_LABEL = 1 << 0,  /* STT_NOTYPE */
	CANDIDATE_LOCAL = 1 << 1,
	CANDIDATE_SPARSE = 1 << 2, /* from a table that does not know all functions */
	CANDIDATE_PLT = 1 << 3,
};

struct candidate {
	uint32_t start; /* from base_va */
	uint32_t size;
	uint32_t name_off;
	uint8_t source;
	uint8_t rank; /* lower is better */
	uint8_t flags;
	uint8_t pad;
};
_Static_assert(sizeof(struct candidate) == 16, "two of these per symbol while building");

struct range {
	uint64_t start, end;
};

struct source {
	const struct ep_elf *elf;
	struct ep_elf_section strings;
	struct ep_elf_bytes bytes; /* of strings; empty when they are too many */
};

struct builder {
	struct ep_symtab *symtab;
	struct range ranges[MAX_RANGES]; /* executable sections, sorted */
	size_t n_ranges;
	size_t last_range;
	struct source sources[SYMTAB_SOURCES];
	size_t n_sources;
	struct ep_elf *debugdata; /* owned */
	struct ep_vec candidates;
	char name[2][SHORT_NAME]; /* of names read one by one, while two are compared */
};

/* ---- executable ranges ---- */

static int range_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

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

static void ranges_read(struct builder *builder, const struct ep_elf *elf)
{
	struct ep_elf_section section;

	for (uint32_t i = 1; ep_elf_section_at(elf, i, &section) == 0; i++) {
		if (!section_is_code(&section) || builder->n_ranges == MAX_RANGES)
			continue;
		builder->ranges[builder->n_ranges++] =
			(struct range){ section.va, section.va + section.bytes };
	}
	qsort(builder->ranges, builder->n_ranges, sizeof(builder->ranges[0]), range_compare);
	if (builder->n_ranges)
		builder->symtab->base_va = builder->ranges[0].start;
}

/* The range that holds `va`, or NULL. Neighbours are asked for in a row, so the last is tried. */
static const struct range *range_of(struct builder *builder, uint64_t va)
{
	const struct range *range = &builder->ranges[builder->last_range];
	size_t low = 0, high = builder->n_ranges;

	if (builder->n_ranges && va >= range->start && va < range->end)
		return range;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (builder->ranges[mid].start <= va)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || va >= builder->ranges[low - 1].end)
		return NULL;
	builder->last_range = low - 1;
	return &builder->ranges[low - 1];
}

/* ---- names while building ---- */

/* Length of a candidate's name, which is not NUL-terminated; `spare` may hold it. */
static size_t name_get(struct builder *builder, const struct candidate *candidate, char *spare,
		       const char **ret_name)
{
	const struct source *source = &builder->sources[candidate->source];
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
		return strnlen(*ret_name, EP_MIN(bytes, source->bytes.bytes - off));
	}
	bytes = EP_MIN(bytes, (size_t)SHORT_NAME);
	if (ep_elf_read_at(source->elf, source->strings.file_off + off, spare, bytes) < 0)
		return 0;
	return strnlen(spare, bytes);
}

static size_t leading_underscores(const char *name, size_t len)
{
	size_t n = 0;

	while (n < len && name[n] == '_')
		n++;
	return n;
}

/* Length up to "@VERSION". */
static size_t base_length(const char *name, size_t len)
{
	const char *at = len ? memchr(name + 1, '@', len - 1) : NULL;

	return at ? (size_t)(at - name) : len;
}

/* Negative when `a` is the better name for their common address. */
static int candidate_compare(struct builder *builder, const struct candidate *a,
			     const struct candidate *b)
{
	const char *name_a, *name_b;
	size_t len_a, len_b, u_a, u_b;
	int r;

	if (a->rank != b->rank)
		return (int)a->rank - (int)b->rank;
	len_a = name_get(builder, a, builder->name[0], &name_a);
	len_b = name_get(builder, b, builder->name[1], &name_b);
	u_a = leading_underscores(name_a, len_a);
	u_b = leading_underscores(name_b, len_b);
	if (u_a != u_b)
		return u_a < u_b ? -1 : 1;
	len_a = base_length(name_a, len_a);
	len_b = base_length(name_b, len_b);
	if (len_a != len_b)
		return len_a < len_b ? -1 : 1;
	r = memcmp(name_a, name_b, len_a);
	return r ? r : (a->name_off < b->name_off ? -1 : a->name_off > b->name_off);
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
static bool name_is_wanted(struct builder *builder, const struct candidate *candidate)
{
	const char *name;
	size_t len = name_get(builder, candidate, builder->name[0], &name);

	if (!len)
		return false;
	return !(candidate->flags & CANDIDATE_LABEL) || (name[0] != '$' && name[0] != '.');
}

static uint8_t rank_of(unsigned int bind, bool label)
{
	uint8_t rank = bind == STB_LOCAL ? 2 : bind == STB_WEAK ? 1 : 0;

	return label ? rank + 4 : rank;
}

/* Where the stub of a PLT stands among functions, should there be one at its address. */
#define PLT_RANK 3

static bool symbol_is_function(const struct source *source, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
	    symbol->st_shndx == SHN_COMMON)
		return false;
	if (type == STT_NOTYPE)
		return label_is_code(source->elf, symbol);
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static int candidate_push(struct builder *builder, uint64_t va, struct candidate candidate)
{
	uint64_t base_va = builder->symtab->base_va;
	struct candidate *slot;

	if (va < base_va || va - base_va > UINT32_MAX || !range_of(builder, va))
		return 0;
	candidate.start = (uint32_t)(va - base_va);
	if (!name_is_wanted(builder, &candidate))
		return 0;
	slot = ep_vec_push(&builder->candidates);
	if (!slot)
		return builder->candidates.len == MAX_CANDIDATES ? -E2BIG : -ENOMEM;
	*slot = candidate;
	return 0;
}

static int symbol_add(struct builder *builder, uint8_t source, const Elf64_Sym *symbol, bool sparse)
{
	bool label = ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE;
	unsigned int bind = ELF64_ST_BIND(symbol->st_info);

	if (!symbol_is_function(&builder->sources[source], symbol))
		return 0;
	return candidate_push(builder, symbol->st_value,
			      (struct candidate){
				      .size = (uint32_t)EP_MIN(symbol->st_size,
							       (uint64_t)SYMTAB_MAX_SIZE),
				      .name_off = symbol->st_name,
				      .source = source,
				      .rank = rank_of(bind, label),
				      .flags = (uint8_t)((label ? CANDIDATE_LABEL : 0) |
							 (bind == STB_LOCAL ? CANDIDATE_LOCAL : 0) |
							 (sparse ? CANDIDATE_SPARSE : 0)),
			      });
}

static int symbols_read(struct builder *builder, uint8_t source,
			const struct ep_elf_section *section, bool sparse)
{
	const struct ep_elf *elf = builder->sources[source].elf;
	uint64_t n = section->bytes / sizeof(Elf64_Sym);
	ep_autofree Elf64_Sym *symbols = NULL;
	int r = 0;

	if (n > MAX_SYMBOLS)
		return -E2BIG;
	symbols = malloc(STEP_SYMBOLS * sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	for (uint64_t i = 0; i < n && r == 0; i += STEP_SYMBOLS) {
		size_t step = EP_MIN(n - i, (uint64_t)STEP_SYMBOLS);

		r = ep_elf_read_at(elf, section->file_off + i * sizeof(*symbols), symbols,
				   step * sizeof(*symbols));
		for (size_t k = 0; k < step && r == 0; k++)
			r = symbol_add(builder, source, &symbols[k], sparse);
	}
	return r;
}

/*
 * The string table of a symbol section as a source. Its number, or a negative errno. `load` when
 * most of its names will be looked at.
 */
static int source_add(struct builder *builder, const struct ep_elf *elf,
		      const struct ep_elf_section *symbols, bool load)
{
	struct source *source = &builder->sources[builder->n_sources];
	struct ep_elf_section strings;
	int r;

	if (builder->n_sources == SYMTAB_SOURCES)
		return -E2BIG;
	if (symbols->entry_bytes != sizeof(Elf64_Sym) || (symbols->flags & SHF_COMPRESSED) ||
	    ep_elf_section_at(elf, symbols->link, &strings) < 0 || strings.type != SHT_STRTAB)
		return -EBADMSG;
	if (!ep_in_bounds(strings.file_off, strings.bytes, ep_elf_file_bytes(elf)))
		return -EBADMSG;
	*source = (struct source){ .elf = elf, .strings = strings };
	if ((load && strings.bytes <= MAX_LOADED_BYTES) || (strings.flags & SHF_COMPRESSED)) {
		r = ep_elf_read_section(elf, &strings, &source->bytes);
		if (r < 0)
			return r;
		source->strings.bytes = source->bytes.bytes;
	}
	return (int)builder->n_sources++;
}

/* How many candidates a symbol section gave, or -ENOMEM; a bad section gave none. */
static ssize_t table_add(struct builder *builder, const struct ep_elf *elf, uint32_t type,
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
	return r == -ENOMEM ? r : (ssize_t)(builder->candidates.len - had);
}

/* 0 or -ENOMEM: a PLT that cannot be read costs only its own names. */
static int plt_add(struct builder *builder, const struct ep_elf *elf)
{
	ep_cleanup(ep_vec_fini) struct ep_vec stubs;
	struct ep_elf_section section;
	struct plt_stub *stub;
	int source, r;

	ep_vec_init(&stubs, sizeof(*stub), MAX_CANDIDATES);
	r = ep_plt_collect(elf, &stubs);
	if (r < 0 || !stubs.len)
		return r == -ENOMEM ? r : 0;
	if (ep_elf_find_section_type(elf, SHT_DYNSYM, &section) < 0)
		return 0;
	source = source_add(builder, elf, &section, false);
	if (source < 0)
		return source == -ENOMEM ? source : 0;
	r = 0;
	for (stub = stubs.data; r == 0 && stub < ep_vec_at(&stubs, struct plt_stub, stubs.len);
	     stub++)
		r = candidate_push(builder, stub->va,
				   (struct candidate){ .size = stub->bytes,
						       .name_off = stub->name_off,
						       .source = (uint8_t)source,
						       .rank = PLT_RANK,
						       .flags = CANDIDATE_PLT });
	return r == -ENOMEM ? r : 0;
}

/* .gnu_debugdata holds what .dynsym does not (gdb manual, "MiniDebugInfo"). */
static ssize_t partial_tables_add(struct builder *builder, const struct ep_elf *elf)
{
	ssize_t n = 0, m;
	int r;

	r = ep_elf_open_debugdata(elf, &builder->debugdata);
	if (r < 0 && r != -ENODATA)
		ep_log(EP_LOG_DEBUG, "symbol: .gnu_debugdata: %s", ep_strerror(r));
	if (r == 0)
		n = table_add(builder, builder->debugdata, SHT_SYMTAB, false);
	if (n < 0)
		return n;
	m = table_add(builder, elf, SHT_DYNSYM, n == 0);
	return m < 0 ? m : n + m;
}

static int candidates_collect(struct builder *builder, const struct ep_elf *elf,
			      const struct ep_elf *debug)
{
	ssize_t n = table_add(builder, elf, SHT_SYMTAB, false);

	if (n == 0 && debug)
		n = table_add(builder, debug, SHT_SYMTAB, false);
	if (n == 0)
		n = partial_tables_add(builder, elf);
	return n < 0 ? (int)n : plt_add(builder, elf);
}

/* ---- sorting: by address, four passes of a byte each, stable ---- */

static void sort_pass(const struct candidate *from, struct candidate *to, size_t n,
		      unsigned int shift)
{
	size_t first[257] = { 0 };

	for (size_t i = 0; i < n; i++)
		first[(from[i].start >> shift & 0xff) + 1]++;
	for (size_t i = 1; i < EP_LEN(first); i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < n; i++)
		to[first[from[i].start >> shift & 0xff]++] = from[i];
}

static int candidates_sort(struct ep_vec *candidates)
{
	size_t n = candidates->len;
	struct candidate *from = candidates->data, *to;

	to = malloc(n * sizeof(*to));
	if (!to)
		return -ENOMEM;
	for (unsigned int shift = 0; shift < 32; shift += 8) {
		struct candidate *sorted = to;

		sort_pass(from, to, n, shift);
		to = from;
		from = sorted;
	}
	free(to); /* an even number of passes: the result is where it began */
	return 0;
}

/* ---- choosing ---- */

/* What the entries so far say about the next one. */
struct chooser {
	struct builder *builder;
	size_t n;	       /* entries written */
	uint64_t covered_end;  /* end of the sized function that reaches farthest */
	uint8_t open_flags;    /* of the last entry, when its end is not known yet */
	bool open;
};

static uint64_t range_end(struct builder *builder, uint32_t start)
{
	const struct range *range = range_of(builder, builder->symtab->base_va + start);

	return range ? range->end - builder->symtab->base_va : start;
}

/* The last entry had no size: it ends at `next`, or where its section or surroundings do. */
static void close_open(struct chooser *chooser, uint64_t next)
{
	struct symtab_entry *last;
	uint64_t end;

	if (!chooser->open)
		return;
	last = &chooser->builder->symtab->entries[chooser->n - 1];
	end = EP_MIN(next, range_end(chooser->builder, last->start));
	if (last->start < chooser->covered_end)
		end = EP_MIN(end, chooser->covered_end);
	if (chooser->open_flags & CANDIDATE_SPARSE)
		end = EP_MIN(end, (uint64_t)last->start + SPARSE_BYTES);
	end = EP_MIN(end, (uint64_t)last->start + SYMTAB_MAX_SIZE);
	last->meta |= (uint32_t)(end - last->start);
	chooser->open = false;
}

/* A label counts only where no function is. One without a size ends at a global label only. */
static bool label_is_covered(struct chooser *chooser, const struct candidate *label)
{
	const struct symtab_entry *last;

	if (label->start < chooser->covered_end)
		return true;
	if (!chooser->open || !(label->flags & CANDIDATE_LOCAL) ||
	    (chooser->open_flags & CANDIDATE_LABEL))
		return false;
	last = &chooser->builder->symtab->entries[chooser->n - 1];
	return label->start < range_end(chooser->builder, last->start);
}

static void entry_write(struct chooser *chooser, const struct candidate *best, uint32_t size)
{
	struct ep_symtab *symtab = chooser->builder->symtab;
	uint64_t end;

	if ((best->flags & CANDIDATE_LABEL) && label_is_covered(chooser, best))
		return;
	close_open(chooser, best->start);
	end = EP_MIN((uint64_t)best->start + size, range_end(chooser->builder, best->start));
	symtab->entries[chooser->n++] = (struct symtab_entry){
		.start = best->start,
		.meta = SYMTAB_META((uint32_t)(end - best->start), best->source,
				    !!(best->flags & CANDIDATE_PLT)),
		.name_off = best->name_off,
	};
	chooser->open = !size;
	chooser->open_flags = best->flags;
	if (size)
		chooser->covered_end = EP_MAX(chooser->covered_end, end);
}

/* The best of the candidates [i, end), which share an address, with its size or else theirs. */
static void group_choose(struct chooser *chooser, size_t i, size_t end)
{
	const struct candidate *all = chooser->builder->candidates.data;
	const struct candidate *best = &all[i];
	uint32_t size = 0;

	for (size_t k = i; k < end; k++) {
		size = EP_MAX(size, all[k].size);
		if (k > i && candidate_compare(chooser->builder, &all[k], best) < 0)
			best = &all[k];
	}
	entry_write(chooser, best, best->size ? best->size : size);
}

static int entries_choose(struct builder *builder)
{
	struct chooser chooser = { .builder = builder };
	const struct candidate *all = builder->candidates.data;
	size_t n = builder->candidates.len, end;
	struct symtab_entry *entries = malloc(n * sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	builder->symtab->entries = entries;
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && all[end].start == all[i].start;)
			end++;
		group_choose(&chooser, i, end);
	}
	close_open(&chooser, UINT64_MAX);
	builder->symtab->n_entries = chooser.n;
	entries = realloc(entries, EP_MAX(chooser.n, (size_t)1) * sizeof(*entries));
	if (entries)
		builder->symtab->entries = entries;
	return 0;
}

/* ---- names: where they stay ---- */

static struct candidate entry_candidate(const struct symtab_entry *entry)
{
	return (struct candidate){ .name_off = entry->name_off,
				   .source = (uint8_t)SYMTAB_SOURCE(entry->meta) };
}

/* Counts up to `enough`: names in address order are scattered over the string table. */
static size_t names_bytes(struct builder *builder, size_t source, size_t enough)
{
	const struct ep_symtab *symtab = builder->symtab;
	size_t bytes = 0;

	for (size_t i = 0; i < symtab->n_entries && bytes <= enough; i++) {
		struct candidate candidate = entry_candidate(&symtab->entries[i]);
		const char *name;

		if (candidate.source == source)
			bytes += name_get(builder, &candidate, builder->name[0], &name) + 1;
	}
	return bytes;
}

/* Copies the names of one source into a block, and turns its entries' offsets to it. */
static int names_to_block(struct builder *builder, size_t source, size_t bytes)
{
	struct ep_symtab *symtab = builder->symtab;
	size_t used = 0;
	char *block;

	if (bytes > MAX_BLOCK_BYTES)
		return -E2BIG;
	block = malloc(EP_MAX(bytes, (size_t)1));
	if (!block)
		return -ENOMEM;
	symtab->names[source].block = block;
	symtab->names[source].bytes = bytes;
	for (size_t i = 0; i < symtab->n_entries; i++) {
		struct candidate candidate = entry_candidate(&symtab->entries[i]);
		const char *name;
		size_t len;

		if (candidate.source != source)
			continue;
		len = name_get(builder, &candidate, builder->name[0], &name);
		if (len >= bytes - used) /* the file changed between the two passes */
			return -EBADMSG;
		memcpy(block + used, name, len);
		block[used + len] = '\0';
		symtab->entries[i].name_off = (uint32_t)used;
		used += len + 1;
	}
	return 0;
}

static int names_to_file(struct builder *builder, size_t index)
{
	const struct source *source = &builder->sources[index];
	struct symtab_names *names = &builder->symtab->names[index];
	struct stat st;

	names->fd = fcntl(ep_elf_fd(source->elf), F_DUPFD_CLOEXEC, 0);
	if (names->fd < 0 || fstat(names->fd, &st) < 0)
		return -errno;
	names->file_off = source->strings.file_off;
	names->bytes = source->strings.bytes;
	names->file_bytes = (uint64_t)st.st_size;
	names->mtime = st.st_mtim;
	return 0;
}

static int names_place(struct builder *builder)
{
	int r = 0;

	for (size_t i = 0; i < builder->n_sources && r == 0; i++) {
		const struct source *source = &builder->sources[i];
		bool in_file = ep_elf_fd(source->elf) >= 0 &&
			       !(source->strings.flags & SHF_COMPRESSED);
		size_t bytes = names_bytes(builder, i, in_file ? SMALL_BLOCK_BYTES : MAX_BLOCK_BYTES);

		if (!bytes)
			continue;
		if (in_file && bytes > SMALL_BLOCK_BYTES)
			r = names_to_file(builder, i);
		else
			r = names_to_block(builder, i, bytes);
	}
	return r;
}

/* ---- all of it ---- */

static int builder_run(struct builder *builder, const struct ep_elf *elf,
		       const struct ep_elf *debug)
{
	int r;

	ranges_read(builder, elf);
	r = candidates_collect(builder, elf, debug);
	if (r < 0)
		return r;
	if (!builder->candidates.len)
		return -ENODATA;
	r = candidates_sort(&builder->candidates);
	if (r < 0)
		return r;
	r = entries_choose(builder);
	if (r < 0)
		return r;
	return names_place(builder);
}

static void builder_free(struct builder *builder)
{
	for (size_t i = 0; i < builder->n_sources; i++)
		ep_elf_bytes_fini(&builder->sources[i].bytes);
	ep_vec_fini(&builder->candidates);
	ep_elf_close(builder->debugdata);
	free(builder);
}

int ep_symtab_build(const struct ep_elf *elf, const struct ep_elf *debug,
		    struct ep_symtab **ret_symtab)
{
	ep_cleanup(ep_symtab_freep) struct ep_symtab *symtab = NULL;
	struct builder *builder;
	int r;

	if (ep_elf_type(elf) == ET_REL) /* its addresses are offsets in sections */
		return -ENODATA;
	symtab = calloc(1, sizeof(*symtab));
	builder = calloc(1, sizeof(*builder));
	if (!symtab || !builder) {
		free(builder);
		return -ENOMEM;
	}
	for (size_t i = 0; i < SYMTAB_SOURCES; i++)
		symtab->names[i].fd = -1;
	builder->symtab = symtab;
	ep_vec_init(&builder->candidates, sizeof(struct candidate), MAX_CANDIDATES);
	r = builder_run(builder, elf, debug);
	builder_free(builder);
	if (r < 0)
		return r;
	*ret_symtab = ep_take(symtab);
	return 0;
}

bool ep_symtab_is_complete(const struct ep_elf *elf)
{
	struct ep_elf_section section;

	return ep_elf_find_section_type(elf, SHT_SYMTAB, &section) == 0 &&
	       section.bytes > sizeof(Elf64_Sym);
}
