/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that say what is recorded, for each command that records:
 *
 *	static const struct option options[] = {EP_FILTER_OPTIONS {"own", ...}, {0}};
 *	letters: "+:" EP_FILTER_LETTERS "own"
 *
 *	r = ep_filter_args_apply(&filter, option, optarg, error, sizeof(error));
 */
#ifndef EP_CLI_FILTER_ARGS_H
#define EP_CLI_FILTER_ARGS_H

#include "core/config/filter.h"

#include <getopt.h>

#define EP_FILTER_OPTIONS_FIRST 2048 /* and the key, for those without a letter */
#define EP_FILTER_NO_INHERIT	(EP_FILTER_OPTIONS_FIRST + EP_FILTER_KEYS)

#define EP_FILTER_LETTERS "p:t:G:u:C:"
#define EP_FILTER_OPTIONS                                                                          \
	{"pid", required_argument, NULL, 'p'}, {"tid", required_argument, NULL, 't'},              \
		{"cgroup", required_argument, NULL, 'G'},                                          \
		{"container", required_argument, NULL,                                             \
		 EP_FILTER_OPTIONS_FIRST + EP_FILTER_CONTAINER},                                   \
		{"unit", required_argument, NULL, EP_FILTER_OPTIONS_FIRST + EP_FILTER_UNIT},       \
		{"comm", required_argument, NULL, EP_FILTER_OPTIONS_FIRST + EP_FILTER_COMM},       \
		{"exe", required_argument, NULL, EP_FILTER_OPTIONS_FIRST + EP_FILTER_EXE},         \
		{"user", required_argument, NULL, 'u'}, {"cpu", required_argument, NULL, 'C'},     \
		{"no-inherit", no_argument, NULL, EP_FILTER_NO_INHERIT},

/* A block of lines for a command's help. */
#define EP_FILTER_HELP                                                                             \
	"  -p, --pid PID,..    these processes and their children\n"                               \
	"      --no-inherit    without their children\n"                                           \
	"  -t, --tid TID,..    these threads\n"                                                    \
	"  -G, --cgroup CGROUP this cgroup (v2, as systemd-cgls shows them) and those\n"           \
	"                      below it\n"                                                         \
	"      --container ID  this container; the beginning of its id is enough\n"                \
	"      --unit NAME     this unit of systemd, nginx.service or nginx\n"                     \
	"      --comm GLOB     processes with this name, as ps shows it: 'java*'\n"                \
	"      --exe GLOB      processes that run this file: '/opt/*', or python3\n"               \
	"                      wherever it is\n"                                                   \
	"  -u, --user USER,..  what runs with the rights of this user, by name or number\n"        \
	"  -C, --cpu CPU,..    only these CPUs: 0-3,5\n"                                           \
	"                      Each can be repeated: values of one option add up,\n"               \
	"                      different options must all hold. One that begins with !\n"          \
	"                      excludes: --comm '!bash'\n"

/* 0; 1: it is none of these options; -EINVAL and one sentence in `error`. The value is borrowed. */
int ep_filter_args_apply(struct ep_filter *filter, int option, const char *value, char *error,
			 size_t error_bytes);

#endif
