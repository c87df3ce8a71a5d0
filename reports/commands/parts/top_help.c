/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/help.h"

const char ep_top_help[] =
	"usage: ebpf-profiler top [option].. [--] [CMD ARG..]\n"
	"\n"
	"Shows where the CPU time of the last five seconds went, once a second, until q,\n"
	"Ctrl-C, or -d is over. What is looked at is chosen as for record (record\n"
	"--help): the whole machine, -p, --comm, CMD.. On a terminal, what CMD writes is\n"
	"not shown. Without one, each second one table is printed. CMD's exit status is\n"
	"passed on, unless it is 0.\n"
	"\n"
	"  s          sort by self or by total time\n"
	"  g          group by function, process, thread, container, language\n"
	"  f or /     only stacks with a function whose name matches a regular expression\n"
	"  space      freeze what is shown; once more goes on\n"
	"  w          write the last minute into profile-top-TIME.html, or what -o or -f\n"
	"             say\n"
	"  h or ?     the keys\n"
	"  q          quit\n"
	"\n"
	"  ebpf-profiler top                   the machine\n"
	"  ebpf-profiler top -p 1234           a process and its children\n"
	"  ebpf-profiler top -d 10 > log       ten tables\n";
