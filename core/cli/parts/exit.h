/* SPDX-License-Identifier: Apache-2.0 */
/* What the exit status of ebpf-profiler says; part of its interface. */
#ifndef EP_CLI_EXIT_H
#define EP_CLI_EXIT_H

enum ep_exit {
	EP_EXIT_OK = 0,
	EP_EXIT_FAILED = 1,
	EP_EXIT_USAGE = 2,	/* the command line or the configuration is wrong */
	EP_EXIT_PERMISSION = 3, /* privileges are missing */
	EP_EXIT_KERNEL = 4,	/* this kernel cannot do it */
	EP_EXIT_NO_SAMPLES = 5,
	EP_EXIT_QUALITY = 6, /* below --min-complete or --min-named */
	/* As shells have it, of a command that is to be run. */
	EP_EXIT_CANNOT_RUN = 126,
	EP_EXIT_NOT_FOUND = 127,
	/* No status: the reader of standard output has gone, SIGPIPE ends us (start_up.h). */
	EP_EXIT_PIPE = 0x100,
};

#endif
