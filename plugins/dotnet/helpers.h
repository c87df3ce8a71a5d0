/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is found in the code of the runtime by its bytes, since its file is stripped: helpers that
 * are written in assembly, and where a thread keeps its Thread.
 */
#ifndef DOTNET_HELPERS_H
#define DOTNET_HELPERS_H

#include "ebpf-profiler/unwinder.h"

#define DOTNET_MAX_TRIP_ROWS 48

/* ELF virtual addresses; 0: not found. */
struct dotnet_helpers {
	uint64_t trip;		/* OnHijackTripThread */
	uint64_t funclet;	/* after the call of a catch or finally funclet */
	struct ep_variable
		thread; /* t_CurrentThreadInfo: its first word is the thread's Thread * */
};

/* 0, -ENOMEM, or what reading the file gives. What is not found stays 0. */
int dotnet_helpers_find(const struct ep_unwinder_host *host, const struct ep_file *file,
			struct dotnet_helpers *ret);

/*
 * Rules for OnHijackTripThread, which is entered by `ret`: what is pushed first becomes the return
 * address. How many, of `max`; 0: its code is not understood.
 */
uint32_t dotnet_helpers_trip_rows(uint64_t va, const uint8_t *code, uint32_t bytes,
				  struct ep_code_row *rows, uint32_t max);

#endif
