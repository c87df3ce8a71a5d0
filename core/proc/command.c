/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: execvp(3), and glibc posix/execvpe.c: an empty element of PATH is the working directory, a
 * file the kernel takes for no program is a script of /bin/sh. `#!` lines: fs/binfmt_script.c looks
 * at the first 256 bytes (BINPRM_BUF_SIZE); behind the interpreter is one argument, spaces included.
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
#define MAX_HOPS     6 /* four interpreters, the env between them, and /bin/sh */
#define MAX_WORDS    32

/* What is to be run next. */
struct step {
	char path[PATH_MAX];
	char line[HEAD_BYTES + 1];	   /* of the script: `words` point into it */
	const char *words[MAX_WORDS + 1]; /* its arguments, as far as env could want them */
};

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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The program among env's arguments, behind its options and variables. */
static const char *find_env_program(const char *const *words)
{
	for (; *words; words++) {
		const char *word = *words;

		if (strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0) {
			if (!*++words)
				return NULL;
		} else if (strncmp(word, "-S", 2) == 0 && word[2]) {
			return word + 2;
		} else if (*word != '-' && !strchr(word, '=')) {
			return word;
		}
	}
	return NULL;
}

/* Splits text into words. */
static void split(char *text, const char **words)
{
	char *rest = text, *word;
	size_t n = 0;

	while (n < MAX_WORDS && (word = strtok_r(rest, " \t", &rest)) != NULL)
		words[n++] = word;
	words[n] = NULL;
}

/* 0, or -ENOEXEC when there is no interpreter in the line. */
static int follow_script(struct step *step)
{
	const char *words[MAX_WORDS + 1];

	step->line[strcspn(step->line, "\n")] = '\0';
	split(step->line + 2, words);
	if (!words[0] || strlen(words[0]) >= sizeof(step->path))
		return -ENOEXEC;
	snprintf(step->path, sizeof(step->path), "%s", words[0]);
	memcpy(step->words, words + 1, sizeof(words) - sizeof(words[0]));
	step->words[MAX_WORDS] = NULL;
	return is_program(step->path) ? 0 : -ENOEXEC;
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
	char *copy = strdup(path), **slot = copy ? ep_vec_push(paths) : NULL;

	if (!slot) {
		free(copy);
		return -ENOMEM;
	}
	*slot = copy;
	return 0;
}

/* 1: there is something more to run; 0: that was all; -ENOMEM. */
static int follow(struct step *step, char *const *envp, struct ep_vec *paths)
{
	const char *name = NULL;
	char head[HEAD_BYTES + 1] = "";
	int r;

	if (read_head(step->path, head) < 0)
		return 0;
	if (strncmp(head, "#!", 2) == 0) {
		memcpy(step->line, head, sizeof(head));
		return follow_script(step) == 0;
	}
	if (memcmp(head, ELFMAG, SELFMAG) != 0) {
		snprintf(step->path, sizeof(step->path), "/bin/sh");
		step->words[0] = NULL;
		return 1;
	}
	r = add(paths, step->path);
	if (r == 0 && strcmp(base_name(step->path), "env") == 0)
		name = find_env_program(step->words);
	if (r < 0 || !name || !find_program(name, envp, step->path))
		return r;
	step->words[0] = NULL;
	return 1;
}

int ep_command_find(char *const *argv, char *const *envp, struct ep_vec *paths)
{
	struct step step = {.words = {NULL}};
	int r = 1;

	if (!argv[0] || !find_program(argv[0], envp, step.path))
		return 0;
	for (size_t i = 0; i < MAX_WORDS && argv[i + 1]; i++)
		step.words[i] = argv[i + 1];
	for (int hop = 0; hop < MAX_HOPS && r > 0; hop++)
		r = follow(&step, envp, paths);
	return EP_MIN(r, 0);
}

void ep_command_free_paths(struct ep_vec *paths)
{
	char **path;

	ep_vec_each(paths, path)
		free(*path);
	ep_vec_fini(paths);
}
