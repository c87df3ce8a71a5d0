/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plugin that belong to a process and to an executable.
 *
 *	probe.c		an ELF file: is CoreCLR in it? which?
 *	helpers.c	what is found in the runtime's code by its bytes
 *	layout.c	where its structures have their fields	(fields.def, descriptor.c)
 *	attach.c	a process: does the layout hold? state and ranges for BPF
 *	symbolize/	the map of code, methods, metadata, PDBs: names of frames
 *	advise.c	what its users can do to see more
 *	dotnet.c	the descriptor
 */
#ifndef DOTNET_H
#define DOTNET_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/dotnet/dotnet_shared.h"
#include "plugins/dotnet/helpers.h"
#include "plugins/dotnet/layout.h"

/* Constant from probe on. ELF virtual addresses; 0: absent. */
struct dotnet_executable {
	const struct ep_unwinder_host *host;
	uint32_t major, minor; /* 0: not found */
	uint64_t table_va;	/* g_dacTable */
	uint64_t descriptor_va; /* DotNetRuntimeContractDescriptor */
	struct dotnet_helpers helpers;
	bool is_host;		/* a single-file program: images lie in the executable itself */
};

int dotnet_probe(const struct ep_unwinder_host *host, const struct ep_file *file,
		 void **ret_executable);
int dotnet_describe(void *executable, const struct ep_file *file,
		    struct ep_description *description);
void dotnet_unload(void *executable);

int dotnet_attach(void *executable, struct ep_target *target, void **ret_instance);
int dotnet_refresh(void *instance);
int dotnet_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names);
int dotnet_advise(void *instance, void (*say)(void *arg, const char *found, const char *fix),
		  void *arg);
void dotnet_detach(void *instance);

struct dotnet_lines;
struct dotnet_reader;
int dotnet_say_advice(const struct dotnet_reader *reader, const struct dotnet_lines *lines,
		      void (*say)(void *arg, const char *found, const char *fix), void *arg);

#endif
