/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of naming a Ruby frame (tests/kit/name_times.h): the methods of a live process that has loaded some
 * thousand (programs/methods.rb), read with process_vm_readv.
 *
 *	bench_ruby_names [RUBY [SCRIPT]]
 */
#include "core/base/util.h"
#include "plugins/ruby/ruby_shared.h"
#include "plugins/ruby/symbolize/names.h"
#include "tests/kit/host.h"
#include "tests/kit/name_times.h"
#include "tests/kit/process.h"

#include <inttypes.h>
#include <string.h>

#define MAX_METHODS 8192
#define FEWEST	    1000

/* Where rb_cObject and rb_cString would be: the pages of these addresses are never mapped. */
#define OBJECT_ADDR 0x10
#define STRING_ADDR 0x18

static struct fake_host host;
static uint64_t classes[2]; /* Object, String */
static uint64_t n_named;
static struct ruby_layout layout;
static struct ep_raw_frame frames[MAX_METHODS];
static size_t n_frames;

static int read_target(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	if ((addr == OBJECT_ADDR || addr == STRING_ADDR) && bytes == sizeof(classes[0])) {
		memcpy(buf, &classes[addr == STRING_ADDR], bytes);
		return 0;
	}
	return host.ops.read(&host, addr, buf, bytes);
}

/* --- methods ------------------------------------------------------------------------------------- */

static FILE *start(const char *ruby, const char *script)
{
	int from[2];

	if (pipe2(from, O_CLOEXEC) < 0)
		return NULL;
	fake_host_init(&host, NULL, 0);
	fake_host_be_live(&host, process_start((const char *const[]){ruby, script, NULL}, from[1]));
	(void)close(from[1]);
	return fdopen(from[0], "r");
}

/* As BPF pushes it, at its first instruction; of a method that is written in Ruby. */
static void add_method(uint64_t addr)
{
	uint64_t entry[5], def[6], object[3], body[RUBY_BODY_BYTES / 8], check;
	__u64 words[RUBY_BODY_BYTES / 8];

	if (n_frames == MAX_METHODS || read_target(NULL, addr, entry, sizeof(entry)) < 0 ||
	    read_target(NULL, entry[2], def, sizeof(def)) < 0 || (def[0] & 15) != 0 ||
	    read_target(NULL, def[1], object, sizeof(object)) < 0 ||
	    read_target(NULL, object[2], body, sizeof(body)) < 0)
		return;
	for (size_t i = 0; i < RUBY_BODY_BYTES / 8; i++)
		words[i] = body[i];
	check = ruby_check_frame(ruby_check_body(words, layout.body.info / 8),
				 ruby_check_entry(entry[3], def[4], def[5]));
	frames[n_frames++] = (struct ep_raw_frame){
		.aux = ruby_aux(RUBY_KIND_ISEQ, 1),
		.n_words = 2,
		.words = {ruby_word0(object[2], check), ruby_word1(addr, check)},
	};
}

static void read_methods(FILE *out)
{
	unsigned int major, minor;
	char line[128];
	uint64_t addr;

	while (fgets(line, sizeof(line), out) && strcmp(line, "ready\n") != 0) {
		if (sscanf(line, "release %u %u", &major, &minor) == 2)
			(void)ruby_layout_find(major, minor, &layout);
		else if (sscanf(line, "object %" SCNx64, &addr) == 1)
			classes[0] = addr;
		else if (sscanf(line, "string %" SCNx64, &addr) == 1)
			classes[1] = addr;
		else if (sscanf(line, "entry %" SCNx64, &addr) == 1)
			add_method(addr);
	}
}

/* --- measuring ----------------------------------------------------------------------------------- */

static struct ruby_ids ids;
static struct ruby_namer namer = {
	.ids = &ids,
	.memory = {.read = read_target},
	.layout = &layout,
	.object_addr = OBJECT_ADDR,
	.string_addr = STRING_ADDR,
};

static struct names_cache *begin(void)
{
	if (ruby_namer_init(&namer) < 0)
		abort();
	return namer.cache;
}

static void end(void)
{
	ruby_namer_fini(&namer);
}

static void name_method(size_t i, uint64_t random)
{
	if (ruby_names_add(&namer, &frames[i], &host.names) != 0)
		abort();
	n_named += host.line > 0 && *host.file_name && strpbrk(host.function, "#.");
}

int main(int argc, char **argv)
{
	struct name_times times = {"method", 0, FEWEST, 15000, 200, begin, end, name_method, NULL};
	const char *root = getenv("EBPF_PROFILER_ROOT");
	char script[4096];
	FILE *out;
	int r = 77;

	snprintf(script, sizeof(script), "%s/plugins/ruby/tests/bench/programs/methods.rb", root ? root : ".");
	out = start(argc > 1 ? argv[1] : "ruby", argc > 2 ? argv[2] : script);
	if (!out)
		return 1;
	namer.host = fake_host_services(&host);
	read_methods(out);
	times.n = n_frames;
	if (n_frames < FEWEST)
		printf("no ruby that runs %s, install the package ruby: %zu methods\n", script, n_frames);
	else
		r = name_times_print(&times);
	if (r == 0 && n_named < n_frames) {
		printf("only %" PRIu64 " had a name with a class and a line\n", n_named);
		r = 1;
	}
	process_stop(host.target.pid);
	(void)fclose(out);
	return r;
}
