/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of each program: itself, its loader, and what its DT_NEEDED names, where glibc's loader looks for
 * it first (elf/dl-load.c _dl_map_object):
 *
 *	a name with a slash	that path
 *	DT_RPATH		of the program, unless it has a DT_RUNPATH
 *	LD_LIBRARY_PATH
 *	DT_RUNPATH		of the program
 *	/etc/ld.so.cache	all that it has of the name: variants for newer processors, too
 *	the usual directories
 *
 * What those need in their turn, what is preloaded and what musl does otherwise is not looked for:
 * such files are analysed when they are mapped, as those of any other process are.
 */
#include "core/proc/libraries.h"
#include "core/base/clock.h"
#include "core/elf/needed.h"
#include "core/proc/command.h"
#include "core/proc/ld_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MAX_TRIES 20000 /* looks in one call: a hostile RPATH names thousands of places */
#define LD_CACHE  "/etc/ld.so.cache"
/* glibc's are set when it is built: Debian's, then those of others. */
#define USUAL_DIRS                                                                                 \
	"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:"                  \
	"/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib"

struct search {
	char *const *envp;
	const struct ep_libraries_system *system;
	const struct ep_libraries_limits *limits; /* may be NULL */
	struct ep_ld_cache cache;
	struct ep_vec *files; /* the result */
	const char *program;  /* without links: the loader asks /proc/self/exe for $ORIGIN */
	uint16_t machine;     /* of the program; 0: not known yet */
	unsigned int tries;
	uint64_t bytes; /* of all files so far */
};

/* Each look costs one; true while there are some left. */
static bool may_look(struct search *search)
{
	const struct ep_libraries_limits *limits = search->limits;

	if (limits && ((limits->deadline_ns && ep_clock_mono_ns() >= limits->deadline_ns) ||
		       (limits->cancelled && __atomic_load_n(limits->cancelled, __ATOMIC_RELAXED))))
		search->tries = 0;
	if (search->tries == 0)
		return false;
	search->tries--;
	return true;
}

/* --- files ----------------------------------------------------------------------------------- */

static bool is_listed(const struct ep_vec *files, const struct ep_proc_file *file)
{
	const struct ep_library_file *listed;

	ep_vec_each(files, listed) {
		if (listed->file.dev == file->dev && listed->file.inode == file->inode)
			return true;
	}
	return false;
}

/* The path without links, as the kernel will print it. */
static char *path_of(const struct ep_proc_file *file, const char *fallback)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return strdup(fallback);
	path[n] = '\0';
	return strdup(path);
}

/* An ELF file of the program's machine, as its first bytes say; the first one is the program. */
static bool is_for_machine(struct search *search, const struct ep_proc_file *file)
{
	Elf64_Ehdr header;

	if (pread(file->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	if (search->machine == 0)
		search->machine = header.e_machine;
	return header.e_machine == search->machine;
}

/* 1: it is in the list now, or was; 0: there is none that the program could map; -ENOMEM. */
static int try_file(struct search *search, const char *path)
{
	struct ep_library_file *listed;
	struct ep_proc_file file;
	char *copy;

	if (!may_look(search) || ep_proc_open_path(path, &file) < 0)
		return 0;
	if (!is_for_machine(search, &file)) {
		ep_proc_file_close(&file);
		return 0;
	}
	if (is_listed(search->files, &file) ||
	    file.bytes > EP_LIBRARIES_MAX_BYTES - search->bytes) {
		ep_proc_file_close(&file);
		return 1;
	}
	copy = path_of(&file, path);
	listed = copy ? ep_vec_push(search->files) : NULL;
	if (!listed) {
		free(copy);
		ep_proc_file_close(&file);
		return copy ? 1 : -ENOMEM;
	}
	search->bytes += file.bytes;
	*listed = (struct ep_library_file){.path = copy, .file = file};
	return 1;
}

/* --- places ---------------------------------------------------------------------------------- */

/* Bytes of $ORIGIN or ${ORIGIN} at `text`; 0: it is something else. */
static size_t origin_bytes(const char *text, size_t len)
{
	static const char *const tokens[] = {"${ORIGIN}", "$ORIGIN"};

	for (size_t i = 0; i < EP_LEN(tokens); i++) {
		size_t n = strlen(tokens[i]);

		if (len >= n && memcmp(text, tokens[i], n) == 0)
			return n;
	}
	return 0;
}

/* DIR/NAME with what $ORIGIN stands for; without a name the first is a path. 1, 0, -ENOMEM. */
static int try_in(struct search *search, const char *dir, size_t len, const char *name)
{
	char path[PATH_MAX];
	size_t at = 0, n = origin_bytes(dir, len);

	if (n > 0)
		at = (size_t)snprintf(path, sizeof(path), "%.*s",
				      (int)(strrchr(search->program, '/') - search->program),
				      search->program);
	if (at >= sizeof(path) ||
	    (size_t)snprintf(path + at, sizeof(path) - at, "%.*s%s%s", (int)(len - n), dir + n,
			     name ? "/" : "", name ? name : "") >= sizeof(path) - at)
		return 0;
	return try_file(search, path);
}

/* The first directory of a list that has it; an empty one is the working directory. */
static int try_list(struct search *search, const char *dirs, const char *name)
{
	int r = 0;

	while (dirs && *dirs && r == 0 && search->tries > 0) {
		size_t len = strcspn(dirs, ":;");

		r = len > 0 ? try_in(search, dirs, len, name) : try_in(search, ".", 1, name);
		dirs += len;
		dirs += *dirs != '\0';
	}
	return r;
}

static int try_cache(struct search *search, const char *name)
{
	const char *path;
	uint64_t pos = 0;
	int found = 0;

	while (search->tries > 0 && (path = ep_ld_cache_next(&search->cache, search->machine, name,
							     &pos)) != NULL) {
		int r = try_file(search, path);

		if (r < 0)
			return r;
		found |= r;
	}
	return found;
}

static int find(struct search *search, const struct ep_elf_needed *needed, const char *name)
{
	const char *dirs = search->system->dirs ? search->system->dirs : USUAL_DIRS;
	int r;

	if (strchr(name, '/'))
		return try_in(search, name, strlen(name), NULL);
	r = try_list(search, needed->rpath, name);
	if (r == 0)
		r = try_list(search, ep_command_variable(search->envp, "LD_LIBRARY_PATH"), name);
	if (r == 0)
		r = try_list(search, needed->runpath, name);
	if (r == 0)
		r = try_cache(search, name);
	return r == 0 ? try_list(search, dirs, name) : r;
}

/* --- programs -------------------------------------------------------------------------------- */

static int read_needed(const char *path, struct ep_elf_needed *ret_needed)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	struct ep_proc_file file;
	int r = ep_proc_open_path(path, &file);

	if (r == 0)
		r = ep_elf_open_fd(file.fd, &elf); /* takes it */
	return r < 0 ? r : ep_elf_needed_read(elf, ret_needed);
}

static int find_needed(struct search *search)
{
	ep_cleanup(ep_elf_needed_fini) struct ep_elf_needed needed = {0};
	int r = read_needed(search->program, &needed);

	if (r < 0) /* what is no ELF file maps nothing that could be found here */
		return r == -ENOMEM ? r : 0;
	if (needed.interp)
		r = try_file(search, needed.interp);
	/* Without one the kernel is all that loads it. */
	for (size_t i = 0; needed.interp && r >= 0 && i < needed.n_names; i++)
		r = find(search, &needed, needed.names[i]);
	return EP_MIN(r, 0);
}

static int find_program(struct search *search, const char *program)
{
	ep_autofree char *path = realpath(program, NULL);
	int r;

	if (!path)
		return 0;
	search->program = path;
	search->machine = 0;
	r = try_file(search, path);
	return r > 0 ? find_needed(search) : r;
}

int ep_libraries_find(char *const *argv, char *const *envp,
		      const struct ep_libraries_system *system,
		      const struct ep_libraries_limits *limits, struct ep_vec *files)
{
	struct search search = {
		.envp = envp, .system = system, .limits = limits, .files = files, .tries = MAX_TRIES};
	struct ep_vec programs;
	char **program;
	int r;

	ep_vec_init(&programs, sizeof(char *), EP_COMMAND_MAX_PROGRAMS);
	r = ep_command_find(argv, envp, &programs);
	if (ep_ld_cache_read(system->ld_cache ? system->ld_cache : LD_CACHE, &search.cache) < 0)
		search.cache = (struct ep_ld_cache){0};
	ep_vec_each(&programs, program) {
		if (r == 0)
			r = find_program(&search, *program);
	}
	ep_ld_cache_fini(&search.cache);
	ep_command_free_paths(&programs);
	return r;
}

void ep_libraries_free(struct ep_vec *files)
{
	struct ep_library_file *file;

	ep_vec_each(files, file) {
		ep_proc_file_close(&file->file);
		free(file->path);
	}
	ep_vec_fini(files);
}
