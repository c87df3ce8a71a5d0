/* SPDX-License-Identifier: Apache-2.0 */
/* What `doctor` tells who runs .NET: what costs lines, and inlined methods. */
#include "plugins/dotnet/dotnet.h"

#include "core/base/util.h"
#include "plugins/dotnet/symbolize/debug_info.h"
#include "plugins/dotnet/symbolize/lines.h"
#include "plugins/dotnet/symbolize/methods.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAX_METHODS    4096	    /* that are looked at */
#define MAX_HEAP_BYTES (512u << 10) /* of each heap */
#define MAX_MODULES    64
#define MAX_SAID       4 /* assemblies without a PDB */
#define NAME_BYTES     64

struct looking {
	const struct dotnet_reader *reader;
	uint64_t modules[MAX_MODULES];
	uint32_t n_modules, n_methods, n_rich;
};

static void see_module(struct looking *looking, uint64_t module)
{
	for (uint32_t i = 0; i < looking->n_modules; i++) {
		if (looking->modules[i] == module)
			return;
	}
	if (looking->n_modules < MAX_MODULES)
		looking->modules[looking->n_modules++] = module;
}

static int see_method(void *arg, uint64_t start)
{
	struct looking *looking = arg;
	struct dotnet_debug_info debug;
	struct dotnet_method method;
	uint64_t header, addr;

	if (++looking->n_methods > MAX_METHODS)
		return 1;
	if (dotnet_header_of_start(looking->reader, start, &header) == 0 &&
	    dotnet_debug_of_header(looking->reader, header, &debug) == 0)
		looking->n_rich += dotnet_debug_is_rich(looking->reader, &debug) == 1;
	if (dotnet_method_of_start(looking->reader, start, &addr) == 0 &&
	    dotnet_method_read(looking->reader, addr, &method) == 0 &&
	    method.kind != DOTNET_METHOD_DYNAMIC)
		see_module(looking, method.module);
	return 0;
}

static int see_range(void *arg, const struct dotnet_range *range)
{
	const struct looking *looking = arg;

	if ((range->flags & 7) != DOTNET_RANGE_HEAP)
		return 0;
	return dotnet_heap_visit(looking->reader, range, MAX_HEAP_BYTES, see_method, arg);
}

/* What comes with the runtime has none, and nobody can do anything about it. */
static bool is_of_runtime(const char *name)
{
	return strncmp(name, "System", 6) == 0 || strncmp(name, "Microsoft.", 10) == 0 ||
	       strcmp(name, "netstandard") == 0 || strcmp(name, "mscorlib") == 0;
}

static bool lacks_lines(const struct looking *looking, const struct dotnet_lines *lines,
			uint64_t module, char name[NAME_BYTES])
{
	uint64_t addr;
	int r = dotnet_read_word(looking->reader, module + looking->reader->layout->module_name,
				 &addr);

	if (r == 0)
		r = memory_read_string(&looking->reader->memory, addr, name, NAME_BYTES, 64);
	if (r < 0 || !*name || is_of_runtime(name))
		return false;
	r = dotnet_lines_has_pdb(lines, module);
	return r == -ENOENT || r == -ENODATA;
}

int dotnet_say_advice(const struct dotnet_reader *reader, const struct dotnet_lines *lines,
		      void (*say)(void *arg, const char *found, const char *fix), void *arg)
{
	struct looking looking = {.reader = reader};
	char name[NAME_BYTES], text[160];
	uint32_t n_said = 0;
	int r = dotnet_ranges_visit(reader, see_range, &looking);

	if (r == -ESRCH)
		return r;
	for (uint32_t i = 0; i < looking.n_modules && n_said < MAX_SAID; i++) {
		if (!lacks_lines(&looking, lines, looking.modules[i], name))
			continue;
		n_said++;
		snprintf(text, sizeof(text), "the assembly %s has no PDB: its frames have no lines",
			 name);
		say(arg, text, "put its .pdb beside it, or compile it with DebugType=embedded");
	}
	if (looking.n_methods && !looking.n_rich)
		say(arg, "methods that the JIT has inlined are part of their callers",
		    "start the program with DOTNET_RichDebugInfo=1, which costs some 100 bytes for "
		    "each method");
	return 0;
}
