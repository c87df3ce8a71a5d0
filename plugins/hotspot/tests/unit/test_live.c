/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin over a running JVM. Started by live.py with the process's id and
 *
 *	early		it has just been started, with -Xint. The plugin attaches as soon as it can,
 *			and then once more, as if the file were stripped
 *	dense, sparse	it has started, with DebugNonSafepoints or without. All compiled methods are
 *			read, and each of their debug points is named as a return address and as an
 *			interrupted one; so are all methods of all of them as interpreted frames.
 *			Nothing may fail, names must be text, lines must be there where the class
 *			library has them
 *
 * Prints what was seen.
 */
#include "plugins/hotspot/tests/unit/live_vm.h"
#include "tests/kit/process.h"

#include <glob.h>

#ifdef __SANITIZE_ADDRESS__
#define SLOWER 8
#else
#define SLOWER 1
#endif
#define PROBE_BAR_MS  (60.0 * SLOWER) /* once per file, its whole symbol tables among it */
#define ATTACH_BAR_MS (10.0 * SLOWER)
#define MAX_BYTES     (1u << 20) /* read of one process */

static struct live_vm vm;

struct tally {
	uint64_t nmethods, natives, pcs, names, lines, inlined, gone, bad, dense, sparse, checks,
		far_checks;
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
	int r = hotspot_names_of(vm.names, NULL, frame, add, (struct ep_names *)&seen);

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
	tally.approximate += hotspot_names_take_approximate(vm.names);
}

static void name_interpreted(const struct hotspot_nmethod *nmethod)
{
	for (uint32_t i = 0; i < nmethod->scopes.n_methods; i++) {
		struct hotspot_identity id;
		struct ep_raw_frame frame = {
			.n_words = 2,
			.flags = HOTSPOT_FRAME_INTERPRETED << HOTSPOT_FRAME_SHIFT,
		};

		if (hotspot_identity_read(&vm.methods, nmethod->scopes.methods[i], &id) < 0) {
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

/* No bci of a scope is after its method's bytecodes. */
static void check_scopes(const struct hotspot_nmethod *nmethod)
{
	for (uint32_t i = 0; i < nmethod->scopes.n_scopes; i++) {
		const struct hotspot_scope *scope = &nmethod->scopes.scopes[i];
		struct hotspot_identity id;

		if (hotspot_identity_read(&vm.methods, nmethod->scopes.methods[scope->method],
					  &id) < 0)
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
	int r = live_read_nmethod(&vm, blob, &nmethod, &method);

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
	       tally.checks, tally.far_checks, tally.dense, tally.sparse, tally.approximate,
	       vm.excluded, tally.gone, tally.bad,
	       tally.nmethods ? tally.total_ns / tally.nmethods / 1000 : 0, tally.longest_ns / 1000,
	       hotspot_names_bytes(vm.names));
}

/*
 * Debug points between calls are there in all methods, or in none: the second argument says which.
 * The text form is that of the class library, so nearly all of its methods have lines.
 */
static bool are_names_well(const char *mode)
{
	uint64_t wrong = strcmp(mode, "dense") == 0 ? tally.sparse : tally.dense;

	return !tally.bad && tally.nmethods >= 100 && tally.inlined >= 500 &&
	       tally.gone * 20 <= tally.nmethods && wrong * 50 <= tally.nmethods &&
	       tally.far_checks * 20 <= tally.checks && tally.lines * 100 >= tally.names * 95 &&
	       hotspot_names_bytes(vm.names) <= HOTSPOT_NAMES_MAX_HEAP;
}

static bool name_all(const char *mode)
{
	live_vm_read(&vm);
	/* The wrong one: it must find out by itself. */
	vm.excluded = !hotspot_has(&vm.layout, HOTSPOT_F_names_class_fields);
	live_begin_names(&vm);
	live_each_nmethod(&vm, look_at);
	print_tally();
	return expect(are_names_well(mode), "names");
}

/* ---- attach ---- */

static bool is_in_ranges(uint64_t addr)
{
	for (size_t i = 0; i < vm.host.n_ranges; i++) {
		if (addr >= vm.host.ranges[i].start && addr < vm.host.ranges[i].end)
			return true;
	}
	return false;
}

/* As soon as the VM has what the plugin needs. What it tells of the process is in vm.state and
 * vm.host. */
static bool attach(void *executable)
{
	void *instance = NULL;
	unsigned int n = 0;
	double before;
	int r;

	do {
		if (n++)
			usleep(2000);
		before = cpu_ms();
		vm.host.memory.n_bytes = 0;
		fake_host_end_job(&vm.host);
		r = hotspot_attach(executable, &vm.host.target, &instance);
	} while (r == EP_NOT_YET && n < LIVE_WAIT_MS / 2);
	printf("    attached (%d) at attempt %u, %" PRIu64 " bytes, %.2f ms\n", r, n,
	       vm.host.memory.n_bytes, cpu_ms() - before);
	if (instance)
		hotspot_detach(instance);
	return expect(r == 0, "attach") &&
	       expect(cpu_ms() - before < ATTACH_BAR_MS, "attach's CPU time") &&
	       expect(vm.host.memory.n_bytes < MAX_BYTES, "what attach read");
}

static bool check_state(void)
{
	const struct hotspot_state *state = &vm.state;

	return expect(is_in_ranges(state->call_stub_return), "the call stub's return address") &&
	       expect(state->thread.steps > 0, "the thread variable") &&
	       expect(!state->return_barrier || is_in_ranges(state->return_barrier),
		      "the return barrier") &&
	       expect(!state->return_barrier ||
			      (state->thread_continuation && state->continuation_return_at),
		      "continuations") &&
	       /* Both by symbols of .symtab. */
	       expect(!state->return_barrier || state->safepoints_at, "the counter of safepoints");
}

/* A file whose local symbols are stripped: C++ names are all that is not in .dynsym. */
static int stripped_symbol(void *arg, const char *name, struct ep_symbol *ret)
{
	return strncmp(name, "_Z", 2) == 0 ? -ENODATA : vm.file.file.ops->symbol(arg, name, ret);
}

static int no_symbols(void *arg, const char *prefix,
		      int (*visit)(void *arg, const char *name, const struct ep_symbol *symbol),
		      void *visit_arg)
{
	return 0;
}

/* The paths to a thread by symbols and by code lead to the same one. */
static bool check_stripped(void)
{
	struct ep_file_ops ops = *vm.file.file.ops;
	const struct ep_tls by_symbols = vm.state.thread;
	struct ep_file stripped = vm.file.file;
	void *executable = NULL;
	unsigned int n = 0;
	char pattern[64];
	glob_t found = {0};
	bool well;

	ops.symbol = stripped_symbol;
	ops.symbols = no_symbols;
	stripped.ops = &ops;
	well = expect(hotspot_probe(fake_host_services(&vm.host), &stripped, &executable) == 0,
		      "probe") &&
	       attach(executable);
	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*", (int)vm.host.target.pid);
	(void)glob(pattern, 0, NULL, &found);
	for (size_t i = 0; well && i < found.gl_pathc; i++) {
		pid_t tid = (pid_t)strtol(strrchr(found.gl_pathv[i], '/') + 1, NULL, 10);
		struct user_regs_struct regs;
		uint64_t thread;

		if (!process_registers(tid, &regs))
			continue;
		thread = fake_host_read_tls(&vm.host, &by_symbols, regs.fs_base);
		n += thread != 0;
		well = expect(fake_host_read_tls(&vm.host, &vm.state.thread, regs.fs_base) ==
				      thread,
			      "a thread of a stripped file");
	}
	globfree(&found);
	if (executable)
		hotspot_unload(executable);
	return well && expect(n >= 2, "threads");
}

int main(int argc, char **argv)
{
	double before = cpu_ms();
	bool well;

	LIVE_CHECK(argc == 3);
	live_vm_open(&vm, atoi(argv[1]));
	if (strcmp(argv[2], "early") == 0) {
		printf("    probed in %.2f ms\n", cpu_ms() - before);
		well = expect(cpu_ms() - before < PROBE_BAR_MS, "probe's CPU time") &&
		       attach(vm.executable) && check_state();
		usleep(1500000); /* until its threads are there */
		well = well && check_stripped();
	} else {
		well = name_all(argv[2]);
	}
	live_vm_close(&vm);
	return !well;
}
