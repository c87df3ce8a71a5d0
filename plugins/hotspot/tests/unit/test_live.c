/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All compiled methods of a running JVM are read, and each of their debug points is named as a return
 * address and as an interrupted one; so are all methods of all of them as interpreted frames. Nothing may
 * fail, names must be text, lines must be there where the class library has them. Started by live.py with
 * the process's id, and "dense" where it runs with DebugNonSafepoints, else "sparse". Prints what was seen.
 */
#include "plugins/hotspot/tests/unit/live_vm.h"

struct tally {
	uint64_t nmethods, natives, pcs, names, lines, inlined, gone, bad, dense, sparse, checks, far_checks;
	uint64_t interpreted, approximate, longest_ns, total_ns;
};

static struct tally tally;

struct seen {
	uint32_t n;
	bool has_line;
	char first[200];
};

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

static void name_frame(const struct ep_raw_frame *frame)
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

static void name_compiled(const struct hotspot_nmethod *nmethod)
{
	struct ep_raw_frame frame = {
		.n_words = 2,
		.flags = HOTSPOT_FRAME_COMPILED << HOTSPOT_FRAME_SHIFT,
		.words = {nmethod->item.key[0], nmethod->item.key[1]},
	};

	for (uint32_t i = 0; i < nmethod->scopes.n_pcs; i++) {
		frame.aux = nmethod->header.code_off + nmethod->scopes.pcs[i].off;
		frame.flags &= ~(uint32_t)EP_FRAME_INTERRUPTED;
		name_frame(&frame);
		frame.aux--;
		frame.flags |= EP_FRAME_INTERRUPTED;
		name_frame(&frame);
		tally.pcs++;
	}
	tally.approximate += hotspot_names_take_approximate(names);
}

static void name_interpreted(const struct hotspot_nmethod *nmethod)
{
	for (uint32_t i = 0; i < nmethod->scopes.n_methods; i++) {
		struct hotspot_identity id;
		struct ep_raw_frame frame = {
			.n_words = 2,
			.flags = HOTSPOT_FRAME_INTERPRETED << HOTSPOT_FRAME_SHIFT,
		};

		if (hotspot_identity_read(&methods, nmethod->scopes.methods[i], &id) < 0) {
			complain("no method", nmethod->scopes.methods[i], "");
			continue;
		}
		frame.words[0] = id.method;
		frame.words[1] = id.word;
		frame.aux = id.code_bytes ? id.code_bytes - 1 : HOTSPOT_BCI_NATIVE;
		name_frame(&frame);
		tally.interpreted++;
	}
}

/* No bci of a scope is behind its method's bytecodes. */
static void check_scopes(const struct hotspot_nmethod *nmethod)
{
	for (uint32_t i = 0; i < nmethod->scopes.n_scopes; i++) {
		const struct hotspot_scope *scope = &nmethod->scopes.scopes[i];
		struct hotspot_identity id;

		if (hotspot_identity_read(&methods, nmethod->scopes.methods[scope->method], &id) < 0)
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

static void look_at(uint64_t blob, bool is_native)
{
	uint64_t before = ep_clock_mono_ns(), method, took;
	struct hotspot_nmethod *nmethod;
	int r = read_nmethod(blob, &nmethod, &method);

	took = ep_clock_mono_ns() - before;
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
	tally.natives += is_native;
	tally.dense += !is_native && nmethod->is_dense;
	tally.sparse += !is_native && !nmethod->is_dense;
	check_scopes(nmethod);
	check_null_checks(nmethod);
	name_compiled(nmethod);
	name_interpreted(nmethod);
	names_item_unref(&nmethod->item);
}

static void print_tally(void)
{
	printf("nmethods %" PRIu64 " (native %" PRIu64 "), debug points %" PRIu64 ", names %" PRIu64
	       ", with lines %" PRIu64 ", inlined %" PRIu64 ", interpreted %" PRIu64 "\n",
	       tally.nmethods, tally.natives, tally.pcs, tally.names, tally.lines, tally.inlined,
	       tally.interpreted);
	printf("null checks %" PRIu64 " (%" PRIu64 " far), dense %" PRIu64 ", sparse %" PRIu64
	       ", approximate %" PRIu64 ", excluded %u, replaced %" PRIu64 ", bad %" PRIu64
	       ", read in %" PRIu64 " us, at most %" PRIu64 " us, %zu bytes\n",
	       tally.checks, tally.far_checks, tally.dense, tally.sparse, tally.approximate, *methods.excluded,
	       tally.gone, tally.bad,
	       tally.nmethods ? tally.total_ns / tally.nmethods / 1000 : 0, tally.longest_ns / 1000,
	       hotspot_names_bytes(names));
}

/*
 * Debug points between calls are there in all methods, or in none: the second argument says which. The
 * text form is that of the class library, so nearly all of its methods have lines.
 */
static bool is_well(const char *mode)
{
	uint64_t wrong = strcmp(mode, "dense") == 0 ? tally.sparse : tally.dense;

	return !tally.bad && tally.nmethods >= 100 && tally.inlined >= 500 &&
	       tally.gone * 20 <= tally.nmethods && wrong * 50 <= tally.nmethods &&
	       tally.far_checks * 20 <= tally.checks && tally.lines * 100 >= tally.names * 95 &&
	       hotspot_names_bytes(names) <= HOTSPOT_NAMES_MAX_HEAP;
}

/* The wrong one: it must find out by itself. */
static uint32_t guess(void)
{
	return !hotspot_has(&layout, HOTSPOT_F_names_class_fields);
}

int main(int argc, char **argv)
{
	bool well;

	LIVE_CHECK(argc == 3);
	look_at_all(argv[1], guess, look_at);
	print_tally();
	well = is_well(argv[2]);
	stop_looking();
	return !well;
}
