/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: execvp(3), and glibc posix/execvpe.c: an empty element of PATH is the working directory, a
 * file the kernel takes for no program is a script of /bin/sh. `#!` lines: fs/binfmt_script.c looks
 * at the first 256 bytes (BINPRM_BUF_SIZE); after the interpreter is one argument, spaces included.
 * fs/exec.c exec_binprm allows four interpreters one after the other.
 */
#include "core/proc/command.h"
#include "core/proc/open.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_PATH "/bin:/usr/bin" /* confstr(_CS_PATH) of glibc */
#define HEAD_BYTES   256
#define MAX_HOPS     6	  /* four interpreters, the env between them, and /bin/sh */
#define MAX_WORDS    64	  /* of a command, that are looked for in PATH */
#define MAX_TEXT     4096 /* bytes of an argument that is looked into */
#define SEPARATORS   ";|&(){}`\n" /* of a shell: after them a program may be named */
#define SPACES	     " \t'\""

const char *ep_command_variable(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++) {
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	}
	return NULL;
}

/* --- finding it ------------------------------------------------------------------------------ */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH));
}

static bool try_dir(const char *dir, size_t len, const char *name, char ret_path[PATH_MAX])
{
	int n = len ? snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)len, dir, name)
		    : snprintf(ret_path, PATH_MAX, "%s", name);

	return len < PATH_MAX && n > 0 && n < PATH_MAX && is_program(ret_path);
}

static bool find_program(const char *name, char *const *envp, char ret_path[PATH_MAX])
{
	const char *dirs = ep_command_variable(envp, "PATH");

	if (!*name)
		return false;
	if (strchr(name, '/'))
		return try_dir("", 0, name, ret_path);
	for (dirs = dirs ? dirs : DEFAULT_PATH;; dirs++) {
		size_t len = strcspn(dirs, ":");

		if (try_dir(dirs, len, name, ret_path))
			return true;
		dirs += len;
		if (!*dirs)
			return false;
	}
}

/* --- what it runs ---------------------------------------------------------------------------- */

/* True: it runs a program that its arguments name. */
static bool runs_others(const char *path)
{
	static const char *const names[] = {
		"env",	   "nice",   "ionice", "timeout", "time", "nohup", "setsid", "taskset",
		"chrt",	   "stdbuf", "sudo",   "doas",	  "su",	  "xargs", "chroot", "setpriv",
		"unshare", "sh",     "bash",   "dash",	  "ash",  "ksh",   "zsh",    "busybox",
	};
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < EP_LEN(names); i++) {
		if (strcmp(slash ? slash + 1 : path, names[i]) == 0)
			return true;
	}
	return false;
}

/* No option, and no variable that is set. */
static bool may_be_program(const char *word)
{
	return *word && *word != '-' && !strchr(word, '=');
}

static int read_head(const char *path, char head[HEAD_BYTES + 1])
{
	struct ep_proc_file file;
	int r = ep_proc_open_path(path, &file);
	ssize_t n;

	if (r < 0)
		return r;
	n = pread(file.fd, head, HEAD_BYTES, 0);
	r = n < 0 ? -errno : 0;
	ep_proc_file_close(&file);
	head[n > 0 ? n : 0] = '\0';
	return r;
}

static int add(struct ep_vec *paths, const char *path)
{
	char *copy, **slot;

	if (paths->len == EP_COMMAND_MAX_PROGRAMS)
		return 0;
	copy = strdup(path);
	slot = copy ? ep_vec_push(paths) : NULL;
	if (!slot) {
		free(copy);
		return -ENOMEM;
	}
	*slot = copy;
	return 0;
}

/*
 * The interpreter of a `#!` line, into `path`; where that is env, it is listed, and `path` is what it
 * runs. 1, 0: the kernel would not run it, or -ENOMEM.
 */
static int follow_line(char *line, char *const *envp, struct ep_vec *paths, char path[PATH_MAX])
{
	char *rest = line, *word = strtok_r(rest, " \t", &rest);
	int r = 0;

	if (!word || !try_dir("", 0, word, path))
		return 0;
	if (!runs_others(path))
		return 1;
	while (r == 0 && (word = strtok_r(rest, " \t", &rest)) != NULL) {
		char other[PATH_MAX];

		if (!may_be_program(word) || !find_program(word, envp, other))
			continue;
		r = add(paths, path);
		snprintf(path, PATH_MAX, "%s", other);
		return r < 0 ? r : 1;
	}
	return 1;
}

/* Adds the program, or those that run the script. `path` is changed. 0, -ENOMEM. */
static int follow(char path[PATH_MAX], char *const *envp, struct ep_vec *paths)
{
	for (int hop = 0; hop < MAX_HOPS; hop++) {
		char head[HEAD_BYTES + 1] = "";
		int r;

		if (read_head(path, head) < 0)
			return 0;
		if (memcmp(head, ELFMAG, SELFMAG) == 0)
			return add(paths, path);
		if (strncmp(head, "#!", 2) != 0) {
			snprintf(path, PATH_MAX, "/bin/sh");
			continue;
		}
		head[strcspn(head, "\n")] = '\0';
		r = follow_line(head + 2, envp, paths, path);
		if (r <= 0)
			return r;
	}
	return 0;
}

/* A command line as it is read from its first word to the last. */
struct reading {
	char *const *envp;
	struct ep_vec *paths;
	bool expects; /* the next word may name a program */
	unsigned int n_words;
};

static int read_word(struct reading *reading, const char *word)
{
	char path[PATH_MAX];

	if (!reading->expects || !may_be_program(word) || reading->n_words == MAX_WORDS ||
	    reading->paths->len == EP_COMMAND_MAX_PROGRAMS)
		return 0;
	reading->n_words++;
	if (!find_program(word, reading->envp, path))
		return 0;
	reading->expects = runs_others(path);
	return follow(path, reading->envp, reading->paths);
}

/* The text after a shell's -c, or env's -S: a program's name may follow each separator. */
static int read_text(struct reading *reading, const char *argument)
{
	char text[MAX_TEXT], *rest = text, *command, *word;
	int r = 0;

	snprintf(text, sizeof(text), "%s", argument);
	while (r == 0 && (command = strtok_r(rest, SEPARATORS, &rest)) != NULL) {
		reading->expects = true;
		while (r == 0 && (word = strtok_r(command, SPACES, &command)) != NULL)
			r = read_word(reading, word);
	}
	return r;
}

int ep_command_find(char *const *argv, char *const *envp, struct ep_vec *paths)
{
	struct reading reading = {.envp = envp, .paths = paths, .expects = true};
	int r = argv[0] ? read_word(&reading, argv[0]) : 0;

	for (size_t i = 1; argv[0] && r == 0 && argv[i] && reading.expects; i++) {
		if (argv[i][strcspn(argv[i], SEPARATORS SPACES)])
			r = read_text(&reading, argv[i]);
		else
			r = read_word(&reading, argv[i]);
	}
	return r;
}

void ep_command_free_paths(struct ep_vec *paths)
{
	char **path;

	ep_vec_each(paths, path)
		free(*path);
	ep_vec_fini(paths);
}
