/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many frames in one run the loader tries of a plugin's program, as arguments of load.c:
 *
 *	frames PLUGIN.so
 *
 * prints what the plugin wants, what is tried where a verifier refuses that, and what is loaded
 * first, with the instructions that the verifier should walk of it at most.
 */
#include "core/bpf/unwinder_program.h"
#include "ebpf-profiler/plugin.h"

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const struct ep_plugin *plugin;
	uint32_t most, first;
	void *file;

	if (argc != 2) {
		fputs("usage: frames PLUGIN.so\n", stderr);
		return 2;
	}
	file = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	plugin = file ? dlsym(file, EP_PLUGIN_SYMBOL) : NULL;
	if (!plugin || plugin->kind != EP_PLUGIN_UNWINDER) {
		fprintf(stderr, "frames: %s: %s\n", argv[1], file ? "no language" : dlerror());
		return 1;
	}
	most = plugin->unwinder->bpf->max_frames_per_run;
	first = ep_unwinder_program_first_frames(most);
	printf("%u %u", most, most / 2);
	if (first < most)
		printf(" %u:%u", first, EP_QUICK_VERIFIED);
	putchar('\n');
	return 0;
}
