/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay [OPTION].. NAME.fixture.zst..: the stacks of recorded processes (docs/testing.md).
 *
 *	-p DIR	    language plugins; can be repeated
 *	--check	    compare with NAME.txt beside the fixture; --update: write it anew
 *	--faults    every read of the process's memory fails once, then every page (faults.c); with =N only each
 *		    N-th, unless EBPF_PROFILER_TEST_FULL is set
 *	--late	    each stack once more, walked from a copy of it (late.c)
 *	--kept=N   at least N frames are named by what the languages' snapshot programs sent, the
 *		   process having exited (kept.c)
 *	--names	    what a name of each function costs (names.c)
 *	--page ADDR one page cannot be read; --read N: the N-th read fails
 *	--bytecode  the BPF programs as a kernel gets them, interpreted
 *	--frames N  so many frames in one run, as on a kernel that takes no more
 *	--shrink    write the fixture anew, without what its stacks do not need (shrink.c)
 *	--plain	    the file without its compression, for tests of the reader
 *	-v	    what the plugins say
 *
 * Status: 0 equal, 1 not, 77 a language of the fixture is not there.
 */
#include "tests/replay/replay.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/replay/shim/helpers.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#define ENDING	       ".fixture.zst"
#define MAX_TEXT_BYTES (16u << 20)
#define STATUS_SKIP    77

struct options {
	struct ep_replay_plugins plugins;
	struct replay_way way;
	bool check, update, faults, late, kept, names, plain, shrink;
	unsigned int every; /* of the faults */
	size_t wanted;	    /* frames with a name, of what was kept */
	uint64_t page; /* address */
	uint64_t read; /* number */
};

static int complain(const char *path, const char *why)
{
	fprintf(stderr, "replay: %s: %s\n", path, why);
	return 1;
}

int replay_open(const char *path, const struct ep_replay_plugins *plugins, struct replay_way way,
		struct replay *ret)
{
	ep_cleanup(ep_vec_fini) struct ep_vec file = {0};
	struct replay replay = {0};
	int r;

	ep_vec_init(&file, 1, EP_FIXTURE_MAX_BYTES);
	r = ep_read_file(path, &file);
	if (r == 0)
		r = ep_fixture_decode(file.data, file.len, &replay.fixture);
	if (r == 0)
		r = ep_replay_new(replay.fixture, NULL, way.bytecode ? NULL : ep_shim_objects,
				  &replay.replay);
	if (r == 0 && way.frames)
		r = ep_replay_limit_frames(replay.replay, way.frames);
	for (size_t i = 0; r == 0 && i < plugins->n; i++)
		r = ep_replay_add_language(replay.replay, plugins->plugins[i]);
	if (r == 0)
		r = ep_replay_attach(replay.replay);
	if (r < 0) {
		replay_close(&replay);
		return r;
	}
	*ret = replay;
	return 0;
}

void replay_close(struct replay *replay)
{
	ep_replay_free(replay->replay);
	ep_fixture_free(replay->fixture);
}

/* --- golden files ---------------------------------------------------------------------------- */

static int golden_path(const char *path, char *golden, size_t bytes)
{
	size_t n = strlen(path), end = strlen(ENDING);

	if (n <= end || strcmp(path + n - end, ENDING) != 0)
		return complain(path, "its name does not end in " ENDING);
	snprintf(golden, bytes, "%.*s.txt", (int)(n - end), path);
	return 0;
}

static int write_golden(const char *golden, const struct ep_vec *text)
{
	FILE *out = fopen(golden, "we");

	if (!out)
		return complain(golden, strerror(errno));
	fwrite(text->data, 1, text->len, out);
	return fclose(out) == 0 ? 0 : complain(golden, strerror(errno));
}

static int compare(const char *path, const char *golden, const struct ep_vec *text)
{
	ep_cleanup(ep_vec_fini) struct ep_vec wanted = {0};
	int r;

	ep_vec_init(&wanted, 1, MAX_TEXT_BYTES);
	r = ep_read_file(golden, &wanted);
	if (r < 0)
		return complain(golden, ep_strerror(r));
	if (wanted.len == text->len && memcmp(wanted.data, text->data, text->len) == 0)
		return 0;
	printf("%.*s", (int)text->len, (const char *)text->data);
	fflush(stdout);
	return complain(path, "other stacks than in the .txt beside it; these are above");
}

/* --- one fixture ----------------------------------------------------------------------------- */

/* A fixture says which languages it was recorded with. */
static bool is_missing_language(const struct replay *replay,
				const struct ep_replay_plugins *plugins)
{
	const char *at = replay->fixture->languages;

	while (*at) {
		size_t n = strcspn(at, " "), i = 0;

		while (i < plugins->n && (strlen(plugins->plugins[i]->name) != n ||
					  strncmp(plugins->plugins[i]->name, at, n) != 0))
			i++;
		if (i == plugins->n)
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

static int show(const char *path, const struct options *options, const struct replay *replay)
{
	ep_cleanup(ep_vec_fini) struct ep_vec text = {0};
	char golden[4096];
	int r = 0;

	ep_vec_init(&text, 1, MAX_TEXT_BYTES);
	if (options->page || options->read)
		r = ep_replay_attach(replay->replay);
	if (r == 0)
		r = ep_replay_print(replay->replay, &text);
	if (r < 0)
		return complain(path, ep_strerror(r));
	if (ep_replay_faults(replay->replay)->unanswered > 0) /* the stacks may be the same */
		(void)complain(path, "a plugin asks what the fixture has no answer to: if stacks "
				     "differ, record it anew");
	if (!options->check && !options->update) {
		printf("%.*s", (int)text.len, (const char *)text.data);
		return 0;
	}
	if (golden_path(path, golden, sizeof(golden)) != 0)
		return 1;
	return options->update ? write_golden(golden, &text) : compare(path, golden, &text);
}

static int print_plain(const char *path)
{
	ep_cleanup(ep_vec_fini) struct ep_vec file = {0}, plain = {0};
	int r;

	ep_vec_init(&file, 1, EP_FIXTURE_MAX_BYTES);
	ep_vec_init(&plain, 1, EP_FIXTURE_MAX_BYTES);
	r = ep_read_file(path, &file);
	if (r == 0)
		r = ep_fixture_decompress(file.data, file.len, &plain);
	if (r < 0)
		return complain(path, ep_strerror(r));
	return fwrite(plain.data, 1, plain.len, stdout) == plain.len ? 0 : 1;
}

static int run(const char *path, const struct options *options)
{
	struct replay replay;
	int r = replay_open(path, &options->plugins, options->way, &replay);

	if (r < 0)
		return complain(path, ep_strerror(r));
	if (is_missing_language(&replay, &options->plugins)) {
		printf("skip: %s needs plugins: %s\n", path, replay.fixture->languages);
		r = STATUS_SKIP;
	} else if (options->faults) {
		r = replay_faults(path, &replay, options->every);
	} else if (options->shrink) {
		r = replay_shrink(path, &options->plugins);
		r = r < 0 ? complain(path, ep_strerror(r)) : 0;
	} else if (options->kept) {
		r = replay_kept(path, &options->plugins, options->way, options->wanted);
		r = r == -ENOENT ? STATUS_SKIP : r < 0 ? complain(path, ep_strerror(r)) : 0;
	} else if (options->late) {
		r = replay_late(path, &replay);
	} else if (options->names) {
		r = replay_names(&replay);
		r = r < 0 ? complain(path, ep_strerror(r)) : 0;
	} else {
		struct ep_replay_faults *faults = ep_replay_faults(replay.replay);

		faults->fail_read = options->read;
		faults->fail_start = options->page;
		faults->fail_end = options->page + (options->page ? 4096 : 0);
		r = show(path, options, &replay);
	}
	replay_close(&replay);
	return r;
}

/* Nothing, zero and a full run are all of them. */
static unsigned int parse_every(const char *text)
{
	unsigned long every = text && !getenv("EBPF_PROFILER_TEST_FULL") ? strtoul(text, NULL, 10) : 1;

	return every > 0 && every < 1000 ? (unsigned int)every : 1;
}

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option names[] = {{"check", no_argument, NULL, 'c'},
					      {"update", no_argument, NULL, 'u'},
					      {"faults", optional_argument, NULL, 'f'},
					      {"late", no_argument, NULL, 'l'},
					      {"kept", required_argument, NULL, 'k'},
					      {"names", no_argument, NULL, 'N'},
					      {"bytecode", no_argument, NULL, 'b'},
					      {"frames", required_argument, NULL, 'F'},
					      {"shrink", no_argument, NULL, 's'},
					      {"plain", no_argument, NULL, 'n'},
					      {"read", required_argument, NULL, 'R'},
					      {"page", required_argument, NULL, 'P'},
					      {0}};
	int option;

	while ((option = getopt_long(argc, argv, "p:v", names, NULL)) != -1) {
		if (option == 'p')
			(void)ep_replay_plugins_load(&options->plugins, optarg);
		else if (option == 'v')
			ep_log_set_level(EP_LOG_DEBUG);
		else if (option == 'P')
			options->page = strtoull(optarg, NULL, 0);
		else if (option == 'F')
			options->way.frames = (uint32_t)strtoul(optarg, NULL, 0);
		else if (option == 'f')
			options->every = parse_every(optarg);
		else if (option == 'k')
			options->wanted = strtoul(optarg, NULL, 10);
		else if (option == 'R')
			options->read = strtoull(optarg, NULL, 0);
		else if (option == '?')
			return -1;
		options->check |= option == 'c';
		options->update |= option == 'u';
		options->faults |= option == 'f';
		options->late |= option == 'l';
		options->kept |= option == 'k';
		options->names |= option == 'N';
		options->way.bytecode |= option == 'b';
		options->plain |= option == 'n';
		options->shrink |= option == 's';
	}
	return optind < argc ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct options options;
	int status = 0;

	ep_log_set_level(EP_LOG_ERROR);
	ep_host_init(uv_default_loop(), "replay");
	if (parse(argc, argv, &options) < 0) {
		fprintf(stderr,
			"usage: replay [-p DIR].. [--check | --update | --faults | --late | --kept=N | --names | --shrink | --plain] "
			"[--bytecode] [--frames N] [--page ADDR] [--read N] [-v] NAME" ENDING
			"..\n");
		return 2;
	}
	for (int i = optind; i < argc; i++) {
		int r = options.plain ? print_plain(argv[i]) : run(argv[i], &options);

		status = r == 1 || status == 0 ? r : status;
	}
	ep_replay_plugins_fini(&options.plugins);
	return status;
}
