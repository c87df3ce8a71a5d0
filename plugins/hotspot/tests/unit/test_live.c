/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All compiled methods of a running JVM are read, and each of their debug points is named as a return
 * address and as an interrupted one; so are all methods of all of them as interpreted frames. Nothing may
 * fail, names must be text, lines must be there where the class library has them. Started by live.py with
 * the process's id, and "dense" where it runs with DebugNonSafepoints, else "sparse". Prints what was seen.
 */
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/symbolize/names.h"
#include "plugins/hotspot/symbolize/nmethods.h"
#include "plugins/hotspot/tests/unit/live_vm.h"

#include <time.h>

/* No stubs here. */
const char *hotspot_stubs_name(const struct hotspot_stubs *stubs, uint64_t addr)
{
	return stubs && addr ? "" : NULL;
}

struct tally {
	uint64_t nmethods, natives, pcs, names, lines, inlined, gone, bad, dense, sparse, checks, far_checks;
	uint64_t interpreted, approximate, longest_ns, total_ns;
};

static struct tally tally;
static struct live_vm vm;
static struct hotspot_layout layout;

struct seen {
	uint32_t n;
	bool has_line;
	char first[200];
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void complain(const char *what, uint64_t addr, const char *name)
{
	if (tally.bad++ < 10)
		fprintf(stderr, "%s: %#" PRIx64 " %s\n", what, addr, name);
}

/* A class, a dot, a method: printable. */
static bool is_name(const char *text)
{
	const char *dot = strrchr(text, '.');

	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == '/' || *c == 0x7f)
			return false;
	}
	return dot && dot > text && dot[1];
}

static int add(struct ep_names *to, const struct ep_name *name)
{
	struct seen *seen = (struct seen *)to;

	if (!is_name(name->function) || !name->system_name || !strchr(name->system_name, '('))
		complain("no name", 0, name->function);
	if (strncmp(name->system_name, name->function, strlen(name->function)) != 0)
		complain("another system name", 0, name->system_name);
	if (name->line > 100000)
		complain("line", name->line, name->function);
	if (strncmp(name->function, "java.lang.String.", 17) == 0 &&
	    (!name->file || strcmp(name->file, "String.java") != 0))
		complain("file", 0, name->file ? name->file : "none");
	if (!seen->n)
		snprintf(seen->first, sizeof(seen->first), "%s", name->function);
	seen->n++;
	tally.names++;
	tally.lines += name->line != 0;
	return 0;
}

static void name_frame(struct hotspot_names *names, const struct ep_raw_frame *frame)
{
	struct seen seen = {0};
	int r = hotspot_names_of(names, NULL, frame, add, (struct ep_names *)&seen);

	if (r == EP_FRAME_GONE)
		complain("gone", frame->words[0], "");
	else if (r != 0 || !seen.n)
		complain("not named", frame->words[0], strerror(-r));
	if (seen.n > 1)
		tally.inlined++;
}

static void name_compiled(struct hotspot_names *names, const struct hotspot_nmethod *nmethod)
{
	struct ep_raw_frame frame = {
		.n_words = 2,
		.flags = HOTSPOT_FRAME_COMPILED << HOTSPOT_FRAME_SHIFT,
		.words = {nmethod->item.key[0], nmethod->item.key[1]},
	};

	for (uint32_t i = 0; i < nmethod->scopes.n_pcs; i++) {
		frame.aux = nmethod->header.code_off + nmethod->scopes.pcs[i].off;
		frame.flags &= ~(uint32_t)EP_FRAME_INTERRUPTED;
		name_frame(names, &frame);
		frame.aux--;
		frame.flags |= EP_FRAME_INTERRUPTED;
		name_frame(names, &frame);
		tally.pcs++;
	}
	tally.approximate += hotspot_names_take_approximate(names);
}

static void name_interpreted(struct hotspot_names *names, const struct hotspot_methods *methods,
			     const struct hotspot_nmethod *nmethod)
{
	for (uint32_t i = 0; i < nmethod->scopes.n_methods; i++) {
		struct hotspot_identity id;
		struct ep_raw_frame frame = {
			.n_words = 2,
			.flags = HOTSPOT_FRAME_INTERPRETED << HOTSPOT_FRAME_SHIFT,
		};

		if (hotspot_identity_read(methods, nmethod->scopes.methods[i], &id) < 0) {
			complain("no method", nmethod->scopes.methods[i], "");
			continue;
		}
		frame.words[0] = id.method;
		frame.words[1] = id.word;
		frame.aux = id.code_bytes ? id.code_bytes - 1 : HOTSPOT_BCI_NATIVE;
		name_frame(names, &frame);
		tally.interpreted++;
	}
}

/* No bci of a scope is behind its method's bytecodes. */
static void check_scopes(const struct hotspot_methods *methods,
			 const struct hotspot_nmethod *nmethod)
{
	for (uint32_t i = 0; i < nmethod->scopes.n_scopes; i++) {
		const struct hotspot_scope *scope = &nmethod->scopes.scopes[i];
		struct hotspot_identity id;

		if (hotspot_identity_read(methods, nmethod->scopes.methods[scope->method], &id) < 0)
			complain("no method", nmethod->scopes.methods[scope->method], "");
		else if (scope->bci != HOTSPOT_NO_BCI && scope->bci >= id.code_bytes)
			complain("bci", scope->bci, "");
	}
}

/* Nearly all null checks go on at a call into the VM, which has a debug point. */
static void check_null_checks(const struct hotspot_nmethod *nmethod)
{
	const struct hotspot_scopes *scopes = &nmethod->scopes;

	for (uint32_t i = 0; i < nmethod->n_null_checks; i++) {
		uint32_t to = nmethod->null_checks[i].to;
		uint32_t pc = hotspot_pcs_find(scopes->pcs, scopes->n_pcs, (int64_t)to + 1);

		tally.checks++;
		if (pc >= scopes->n_pcs || scopes->pcs[pc].off - to > 128)
			tally.far_checks++;
	}
}

static void check_density(const struct hotspot_nmethod *nmethod)
{
	if (nmethod->is_dense)
		tally.dense++;
	else
		tally.sparse++;
}

static void look_at(struct hotspot_names *names, const struct hotspot_methods *methods,
		    uint64_t blob, bool is_native)
{
	uint64_t method = live_word(&vm, blob + layout.fields[HOTSPOT_F_nmethod_method].off);
	uint64_t id = (uint32_t)live_word(&vm, blob +
					  layout.fields[HOTSPOT_F_nmethod_compile_id].off);
	uint64_t word = HOTSPOT_COMPILED_WORD(id, method), before = now_ns();
	struct hotspot_nmethod *nmethod;
	int r = hotspot_nmethod_get(methods, blob, word, &nmethod);
	uint64_t took = now_ns() - before;

	if (r == EP_FRAME_GONE) {
		tally.gone += method != 0; /* 0: dead, not swept yet */
		return;
	}
	if (r != 0) {
		complain("nmethod", blob, strerror(-r));
		return;
	}
	tally.total_ns += took;
	tally.longest_ns = EP_MAX(tally.longest_ns, took);
	tally.nmethods++;
	if (is_native) {
		tally.natives++;
	} else {
		check_density(nmethod);
	}
	check_scopes(methods, nmethod);
	check_null_checks(nmethod);
	name_compiled(names, nmethod);
	name_interpreted(names, methods, nmethod);
	names_item_unref(&nmethod->item);
}

static bool is_nmethod(uint64_t blob, bool *is_native)
{
	char name[64];

	live_string(&vm, live_word(&vm, blob + layout.fields[HOTSPOT_F_blob_name].off), name,
		    sizeof(name));
	*is_native = strcmp(name, "native nmethod") == 0;
	return *is_native || strcmp(name, "nmethod") == 0;
}

static void look_through(struct hotspot_names *names, const struct hotspot_methods *methods,
			 uint64_t heap)
{
	uint32_t memory = layout.fields[HOTSPOT_F_heap_memory].off;
	uint32_t shift = (uint32_t)live_word(
		&vm, heap + layout.fields[HOTSPOT_F_heap_log2_segment].off);
	uint64_t at = live_word(&vm, heap + memory + layout.fields[HOTSPOT_F_space_low].off);
	uint64_t end = live_word(&vm, heap + memory + layout.fields[HOTSPOT_F_space_high].off);
	uint32_t block = layout.sizes[HOTSPOT_Z_block_bytes];

	LIVE_CHECK(shift < 16 && block);
	while (at < end) {
		uint64_t length = live_word(&vm, at + layout.fields[HOTSPOT_F_block_length].off);
		uint8_t used;
		bool is_native;

		LIVE_CHECK(live_read(&vm, at + layout.fields[HOTSPOT_F_block_used].off, &used, 1) ==
			   0);
		length &= layout.fields[HOTSPOT_F_block_length].bytes == 4 ? 0xffffffffull : ~0ull;
		if (!length)
			return;
		if (used && is_nmethod(at + block, &is_native))
			look_at(names, methods, at + block, is_native);
		at += length << shift;
	}
}

static void print_tally(const struct hotspot_names *names, uint32_t excluded)
{
	printf("nmethods %" PRIu64 " (native %" PRIu64 "), debug points %" PRIu64 ", names %" PRIu64
	       ", with lines %" PRIu64 ", inlined %" PRIu64 ", interpreted %" PRIu64 "\n",
	       tally.nmethods, tally.natives, tally.pcs, tally.names, tally.lines, tally.inlined,
	       tally.interpreted);
	printf("null checks %" PRIu64 " (%" PRIu64 " far), dense %" PRIu64 ", sparse %" PRIu64
	       ", approximate %" PRIu64 ", excluded %u, replaced %" PRIu64 ", bad %" PRIu64
	       ", read in %" PRIu64 " us, at most %" PRIu64 " us, %zu bytes\n",
	       tally.checks, tally.far_checks, tally.dense, tally.sparse, tally.approximate, excluded,
	       tally.gone, tally.bad,
	       tally.nmethods ? tally.total_ns / tally.nmethods / 1000 : 0, tally.longest_ns / 1000,
	       hotspot_names_bytes(names));
}

/*
 * Debug points between calls are there in all methods, or in none: the second argument says which. The
 * text form is that of the class library, so nearly all of its methods have lines.
 */
static bool is_well(const struct hotspot_names *names, const char *mode)
{
	uint64_t wrong = strcmp(mode, "dense") == 0 ? tally.sparse : tally.dense;

	return !tally.bad && tally.nmethods >= 100 && tally.inlined >= 500 &&
	       tally.gone * 20 <= tally.nmethods && wrong * 50 <= tally.nmethods &&
	       tally.far_checks * 20 <= tally.checks && tally.lines * 100 >= tally.names * 95 &&
	       hotspot_names_bytes(names) <= HOTSPOT_NAMES_MAX_HEAP;
}

int main(int argc, char **argv)
{
	struct memory memory = {.read = live_read, .arg = &vm};
	struct hotspot_methods methods = {.memory = &memory, .layout = &layout};
	struct hotspot_names *names = NULL;
	struct names_cache *cache = NULL;
	uint64_t heaps[8];
	uint32_t excluded;
	size_t n;
	bool well;

	LIVE_CHECK(argc == 3);
	live_vm_init(&vm, atoi(argv[1]), &layout);
	LIVE_CHECK(hotspot_names_new(&memory, &layout, &names) == 0);
	LIVE_CHECK(names_cache_new(&(struct names_budget){.classes = {64u << 20}}, &cache) == 0);
	/* The wrong guess: it must find out by itself. */
	excluded = !hotspot_has(&layout, HOTSPOT_F_names_class_fields);
	methods.excluded = &excluded;
	methods.cache = cache;
	n = live_heaps(&vm, &layout, heaps);
	for (size_t i = 0; i < n; i++)
		look_through(names, &methods, heaps[i]);
	print_tally(names, excluded);
	well = is_well(names, argv[2]);
	names_cache_free(cache);
	hotspot_names_free(names);
	live_vm_fini(&vm);
	return !well;
}
