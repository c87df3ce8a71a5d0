/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command takes, as one table: the arrays of getopt, where a value is stored, the sentence
 * when it is wrong, and --help are all made of it. A test compares the manual page with it.
 *
 *	static const struct ep_cli_option options[] = {
 *		{"freq", 'F', EP_CLI_NUMBER, offsetof(struct args, freq_hz), 1, 10000,
 *		 .value = "HZ", .help = "samples per second", .takes = "samples per second from 1 to "
 *				"10000"},
 *		{.kind = EP_CLI_INCLUDE, .include = options_of_all},
 *		{0},
 *	};
 */
#ifndef EP_CLI_OPTIONS_H
#define EP_CLI_OPTIONS_H

#include "core/base/util.h"

#include <stdio.h>

#define EP_CLI_ERROR_BYTES 512

enum ep_cli_option_kind {
	EP_CLI_END,
	EP_CLI_INCLUDE, /* another table stands here; its offsets are from the same struct */
	EP_CLI_NOTE,	/* no option: help that stands below those before it; "" is an empty line */
	EP_CLI_FLAG,	/* bool: true when it is given */
	EP_CLI_COUNT,	/* unsigned int: how often it is given */
	EP_CLI_TEXT,	/* const char *: borrowed, the last one counts */
	EP_CLI_NUMBER,	/* uint32_t from min to max */
	EP_CLI_PERCENT, /* uint32_t in 1/10000: "98", "99.5", "99.95%" */
	EP_CLI_DURATION, /* uint64_t of ns, not 0 */
	EP_CLI_SET,	 /* set() takes the value */
	EP_CLI_SWITCH,	 /* set() is called, there is no value */
};

struct ep_cli_option {
	const char *name; /* NULL: it has a letter alone */
	char letter;	  /* 0: likewise */
	enum ep_cli_option_kind kind;
	size_t offset; /* in the struct that is filled */
	uint32_t min, max;
	const char *value; /* what --help calls its value: "HZ" */
	const char *help;  /* NULL: not listed, another name of one that is */
	const char *takes; /* "-F takes <..>, not 'x'" */
	int which;	   /* of several that one set() is for */
	/* 0; -EINVAL with one sentence in `error`, of EP_CLI_ERROR_BYTES; -ENOMEM. */
	int (*set)(void *args, const struct ep_cli_option *option, const char *value, char *error);
	const struct ep_cli_option *include;
};

/* What of a command line is no option. */
enum ep_words {
	EP_WORDS_NONE,
	EP_WORDS_COMMAND, /* from the first of them on all belongs to a command that is run */
	EP_WORDS_FILES,	  /* they stand before, between and after options */
};

/* A command, as the user sees it. Texts are wrapped where they are printed. */
struct ep_syntax {
	const char *name;  /* "record"; "" of the agent, which has none */
	const char *usage; /* what stands after the name; of several lines each has the name */
	const char *about; /* a line in the list of commands; NULL: it is not listed */
	const char *text;  /* above the options */
	const struct ep_cli_option *options;
	const char *end; /* below them; NULL: nothing */
	enum ep_words words;
	bool lists_no_options; /* "text" says whose they are */
};

struct ep_word_list {
	int n;
	char **list;
	bool has_dashes; /* "--" stands right before them */
};

/*
 * Options of argv, of which [0] is the command, into `args`; words into *ret_words, which is a part
 * of argv (those of EP_WORDS_FILES are moved there). 0, -EINVAL and one sentence with the fix in
 * `error`, -ENOMEM.
 */
int ep_cli_parse(const struct ep_syntax *syntax, int argc, char **argv, void *args,
		     struct ep_word_list *ret_words, char *error);

/* "-F", "--force": how an error names it. To a buffer of EP_CLI_LABEL_BYTES; returns it. */
#define EP_CLI_LABEL_BYTES 48
const char *ep_cli_option_label(const struct ep_cli_option *option, char *buf);
/* Fills `error`; -EINVAL. */
int ep_cli_fail(char *error, const char *fmt, ...) EP_PRINTF(2, 3);

/* --help of a command, and the parts of it, for that of the program. At most 80 columns wide. */
void ep_syntax_print(FILE *out, const struct ep_syntax *syntax);
void ep_syntax_print_usage(FILE *out, const struct ep_syntax *syntax, const char *before);
void ep_syntax_print_text(FILE *out, const char *text);
void ep_syntax_print_options(FILE *out, const struct ep_cli_option *options);
void ep_syntax_print_row(FILE *out, const char *label, const char *text, size_t column);

#endif
