/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk for each program: an object for each file, in the order in which the loader loads them
 * (breadth first), each with the object that needs it. A name with a slash is a path; others are
 * looked for in this order:
 *
 *	glibc (elf/dl-load.c _dl_map_object)	musl (ldso/dynlink.c load_library)
 *	DT_RPATH of who needs it and of those	LD_LIBRARY_PATH
 *	  that need that, unless it has RUNPATH	DT_RUNPATH, else DT_RPATH, of who needs it
 *	LD_LIBRARY_PATH				  and of those that need that
 *	DT_RUNPATH of who needs it		PREFIX/etc/ld-musl-ARCH.path, or else
 *	/etc/ld.so.cache			  /lib:/usr/local/lib:/usr/lib
 *	the system's directories		libc, libm, libpthread, ... are the loader itself
 *
 * A file for another architecture is passed over. A library that has variants for newer processors
 * (glibc-hwcaps) is listed with all that ld.so.cache has.
 */
#include "core/proc/libraries.h"
#include "core/base/clock.h"
#include "core/base/map.h"
#include "core/base/parse.h"
#include "core/elf/needed.h"
#include "core/proc/command.h"
#include "core/proc/ld_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#define MAX_TRIES	20000 /* looks in one call: a hostile RPATH names thousands of places */
#define MAX_REJECTED	4096
#define LD_CACHE	"/etc/ld.so.cache"
#define LD_PRELOAD_FILE "/etc/ld.so.preload"
/* glibc's are set when it is built: Debian's, then those of others. */
#define GLIBC_DIRS                                                                                 \
	"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:"                  \
	"/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib"
#define MUSL_DIRS      "/lib:/usr/local/lib:/usr/lib"
#define MUSL_PREFIX    "ld-musl-"
#define MAX_PATH_FILE  65536
#define NOBODY	       SIZE_MAX

struct object {
	char *path;	  /* as it was found: $ORIGIN is its directory */
	size_t needed_by; /* index of another object, or NOBODY */
	uint64_t dev, inode;
	struct ep_elf_needed needed;
};

struct walk {
	char *const *envp;
	const struct ep_libraries_system *system;
	const struct ep_libraries_limits *limits; /* may be NULL */
	struct ep_ld_cache cache;
	struct ep_vec *files;	/* the result, of all walks */
	struct ep_vec objects;	/* struct object, of this one */
	struct ep_vec musl_dirs; /* bytes, with a NUL: what musl's path file says */
	struct ep_map rejected; /* by rejected_key: files that are none of this program's */
	uint16_t machine;	/* of the program */
	bool musl;
	unsigned int tries;
	uint64_t bytes; /* of all files so far */
};

static struct object *object_at(const struct walk *walk, size_t i)
{
	return ep_vec_at(&walk->objects, struct object, i);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_over(const struct walk *walk)
{
	const struct ep_libraries_limits *limits = walk->limits;

	if (!limits)
		return false;
	return (limits->deadline_ns && ep_clock_mono_ns() >= limits->deadline_ns) ||
	       (limits->cancelled && __atomic_load_n(limits->cancelled, __ATOMIC_RELAXED));
}

/* Each look costs one; true while there are some left. */
static bool may_look(struct walk *walk)
{
	if (is_over(walk))
		walk->tries = 0;
	if (walk->tries == 0)
		return false;
	walk->tries--;
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

/* Takes the file's descriptor in every case. */
static int list(struct walk *walk, const char *path, struct ep_proc_file *file)
{
	struct ep_library_file *listed;
	char *copy;

	if (is_listed(walk->files, file) || file->bytes > EP_LIBRARIES_MAX_BYTES - walk->bytes) {
		ep_proc_file_close(file);
		return 0;
	}
	copy = path_of(file, path);
	listed = copy ? ep_vec_push(walk->files) : NULL;
	if (!listed) {
		free(copy);
		ep_proc_file_close(file);
		return copy ? 0 : -ENOMEM;
	}
	walk->bytes += file->bytes;
	listed->path = copy;
	listed->file = *file;
	return 0;
}

/* A file of another machine is known by its first bytes. 0, -EBADMSG, -ENOTSUP. */
static int check_machine(const struct walk *walk, const struct ep_proc_file *file,
			 uint16_t *ret_machine)
{
	Elf64_Ehdr header;

	if (pread(file->fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return -EBADMSG;
	if (walk->objects.len > 0 && header.e_machine != walk->machine)
		return -ENOTSUP;
	*ret_machine = header.e_machine;
	return 0;
}

static int read_needed(const struct ep_proc_file *file, struct ep_elf_needed *ret_needed)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	int r = ep_elf_open_fd(fcntl(file->fd, F_DUPFD_CLOEXEC, 0), &elf);

	return r < 0 ? r : ep_elf_needed_read(elf, ret_needed);
}

/* Of another file that has the same by accident no table is made in advance: no harm is done. */
static uint64_t rejected_key(const struct ep_proc_file *file)
{
	return ep_mix64(file->inode + ep_mix64(file->dev));
}

static int add_object(struct walk *walk, const char *path, size_t needed_by,
		      struct ep_proc_file *file, struct ep_elf_needed *needed)
{
	struct object *object;
	char *copy = strdup(path);

	object = copy ? ep_vec_push(&walk->objects) : NULL;
	if (!object) {
		ep_elf_needed_fini(needed);
		ep_proc_file_close(file);
		free(copy);
		return copy ? 0 : -ENOMEM;
	}
	*object = (struct object){
		.path = copy,
		.needed_by = needed_by,
		.dev = file->dev,
		.inode = file->inode,
		.needed = *needed,
	};
	return list(walk, path, file);
}

static bool has_file(const struct walk *walk, const struct ep_proc_file *file)
{
	const struct object *object;

	ep_vec_each(&walk->objects, object) {
		if (object->dev == file->dev && object->inode == file->inode)
			return true;
	}
	return false;
}

/* 1: it is an object now, or is one already; 0: it is none of this program's; -ENOMEM. */
static int try_file(struct walk *walk, const char *path, size_t needed_by)
{
	struct ep_elf_needed needed;
	struct ep_proc_file file;
	bool has = false;
	int r;

	if (ep_proc_open_path(path, &file) < 0)
		return 0;
	has = has_file(walk, &file);
	if (has || ep_map_find(&walk->rejected, rejected_key(&file))) {
		ep_proc_file_close(&file);
		return has;
	}
	r = check_machine(walk, &file, &walk->machine);
	if (r == 0)
		r = read_needed(&file, &needed);
	if (r < 0) {
		if (r != -ENOMEM)
			(void)ep_map_set(&walk->rejected, rejected_key(&file), 1);
		ep_proc_file_close(&file);
		return r == -ENOMEM ? r : 0;
	}
	r = add_object(walk, path, needed_by, &file, &needed);
	return r < 0 ? r : 1;
}

/* --- $ORIGIN and its like -------------------------------------------------------------------- */

/* Bytes of $NAME or ${NAME} at `text`, which is behind the $; 0 when it is something else. */
static size_t token_bytes(const char *text, const char *name)
{
	size_t curly = *text == '{', len = strlen(name);
	char after;

	if (strncmp(text + curly, name, len) != 0)
		return 0;
	after = text[curly + len];
	if (curly)
		return after == '}' ? len + 2 : 0;
	/* glibc elf/dl-load.c is_dst */
	return (after >= 'A' && after <= 'Z') || (after >= 'a' && after <= 'z') ||
			       (after >= '0' && after <= '9') || after == '_'
		       ? 0
		       : len;
}

struct path {
	char text[PATH_MAX];
	size_t len;
	bool full;
};

static void put(struct path *path, const char *text, size_t len)
{
	if (len >= sizeof(path->text) - path->len) {
		path->full = true;
		return;
	}
	memcpy(path->text + path->len, text, len);
	path->len += len;
	path->text[path->len] = '\0';
}

static void put_origin(struct path *path, const char *object_path)
{
	const char *slash = strrchr(object_path, '/');

	if (!slash)
		put(path, ".", 1);
	else
		put(path, object_path, EP_MAX((size_t)(slash - object_path), (size_t)1));
}

/* Writes what a token stands for and returns its bytes; 0: it is none. */
static size_t put_token(struct path *path, const char *text, const char *object_path,
			const char *lib)
{
	const char *platform = (const char *)(uintptr_t)getauxval(AT_PLATFORM);
	size_t n = token_bytes(text, "ORIGIN");

	if (n > 0) {
		put_origin(path, object_path);
		return n;
	}
	n = token_bytes(text, "LIB");
	if (n > 0) {
		put(path, lib, strlen(lib));
		return n;
	}
	n = token_bytes(text, "PLATFORM");
	if (n > 0 && platform)
		put(path, platform, strlen(platform));
	return n;
}

/* False when the text is too long. */
static bool expand(struct path *path, const char *text, size_t len, const char *object_path,
		   const char *lib)
{
	for (size_t i = 0; i < len; i++) {
		size_t n = text[i] == '$' ? put_token(path, text + i + 1, object_path, lib) : 0;

		if (n == 0)
			put(path, text + i, 1);
		i += n;
	}
	return !path->full;
}

static bool mentions_lib(const char *text, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++) {
		if (text[i] == '$' && token_bytes(text + i + 1, "LIB") > 0)
			return true;
	}
	return false;
}

/* What $LIB is was said when glibc was built: the first of the usual ones that leads to a file. */
static int try_in(struct walk *walk, const char *dir, size_t len, const char *object_path,
		  const char *name, size_t needed_by)
{
	static const char *const libs[] = {"lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64",
					   "lib"};
	size_t n = mentions_lib(dir, len) ? EP_LEN(libs) : 1;
	int r = 0;

	for (size_t i = 0; i < n && r == 0 && may_look(walk); i++) {
		struct path path;

		path.len = 0;
		path.full = false;
		if (!expand(&path, dir, len, object_path, libs[i]))
			return 0;
		if (name) {
			put(&path, "/", 1);
			put(&path, name, strlen(name));
		}
		if (!path.full)
			r = try_file(walk, path.text, needed_by);
	}
	return r;
}

/* --- directories ----------------------------------------------------------------------------- */

/* Each directory of a list; object_path is what $ORIGIN is of. 1, 0 not found, -ENOMEM. */
static int try_list(struct walk *walk, const char *dirs, const char *object_path, const char *name,
		    size_t needed_by)
{
	const char *separators = walk->musl ? ":\n" : ":;";
	int r = 0;

	if (!dirs || !*dirs)
		return 0;
	for (;; dirs++) {
		size_t len = strcspn(dirs, separators);

		if (len > 0)
			r = try_in(walk, dirs, len, object_path, name, needed_by);
		else if (!walk->musl) /* the working directory */
			r = try_in(walk, ".", 1, object_path, name, needed_by);
		dirs += len;
		if (r != 0 || !*dirs || walk->tries == 0)
			return r;
	}
}

static int try_rpaths(struct walk *walk, const char *name, size_t needed_by, bool runpaths)
{
	int r = 0;

	for (size_t i = needed_by; i != NOBODY && r == 0; i = object_at(walk, i)->needed_by) {
		const struct ep_elf_needed *needed = &object_at(walk, i)->needed;
		const char *dirs = needed->rpath || !runpaths ? needed->rpath : needed->runpath;

		r = try_list(walk, dirs, object_at(walk, i)->path, name, needed_by);
	}
	return r;
}

static int try_cache(struct walk *walk, const char *name, size_t needed_by)
{
	const char *path;
	uint64_t pos = 0;
	int found = 0;

	while ((path = ep_ld_cache_next(&walk->cache, walk->machine, name, &pos)) != NULL &&
	       may_look(walk)) {
		int r = try_file(walk, path, needed_by);

		if (r < 0)
			return r;
		found |= r;
	}
	return found;
}

static int find_glibc(struct walk *walk, const char *name, size_t needed_by)
{
	/* Copied: a file that is found moves the objects. */
	const struct object by = *object_at(walk, needed_by);
	const char *program = object_at(walk, 0)->path;
	const char *dirs = walk->system->dirs ? walk->system->dirs : GLIBC_DIRS;
	int r = 0;

	if (!by.needed.runpath)
		r = try_rpaths(walk, name, needed_by, false);
	if (r == 0)
		r = try_list(walk, ep_command_variable(walk->envp, "LD_LIBRARY_PATH"), program,
			     name, needed_by);
	if (r == 0)
		r = try_list(walk, by.needed.runpath, by.path, name, needed_by);
	if (r != 0 || by.needed.no_default)
		return r;
	r = try_cache(walk, name, needed_by);
	return r ? r : try_list(walk, dirs, program, name, needed_by);
}

/* ldso/dynlink.c: "lib", then one of these up to the first dot. */
static bool is_musl_itself(const char *name)
{
	static const char *const own[] = {"c.", "pthread.", "rt.", "m.", "dl.", "util.", "xnet."};

	for (size_t i = 0; i < EP_LEN(own); i++) {
		if (strncmp(name, "lib", 3) == 0 &&
		    strncmp(name + 3, own[i], strlen(own[i])) == 0)
			return true;
	}
	return strncmp(name, MUSL_PREFIX, strlen(MUSL_PREFIX)) == 0;
}

static int find_musl(struct walk *walk, const char *name, size_t needed_by)
{
	const char *program = object_at(walk, 0)->path;
	int r;

	if (is_musl_itself(name))
		return 1;
	r = try_list(walk, ep_command_variable(walk->envp, "LD_LIBRARY_PATH"), program, name,
		     needed_by);
	if (r == 0)
		r = try_rpaths(walk, name, needed_by, true);
	if (r == 0)
		r = try_list(walk, walk->musl_dirs.len ? walk->musl_dirs.data : MUSL_DIRS, program,
			     name, needed_by);
	return r;
}

/* --- the walk -------------------------------------------------------------------------------- */

static bool is_known(const struct walk *walk, const char *name)
{
	const struct object *object;

	ep_vec_each(&walk->objects, object) {
		if (strcmp(base_name(object->path), name) == 0 ||
		    (object->needed.soname && strcmp(object->needed.soname, name) == 0))
			return true;
	}
	return false;
}

static int find(struct walk *walk, const char *name, size_t needed_by)
{
	int r;

	if (!may_look(walk))
		return 0;
	if (strchr(name, '/'))
		r = try_in(walk, name, strlen(name), object_at(walk, needed_by)->path, NULL,
			   needed_by);
	else if (is_known(walk, name))
		return 0;
	else
		r = walk->musl ? find_musl(walk, name, needed_by)
			       : find_glibc(walk, name, needed_by);
	return EP_MIN(r, 0);
}

/* A text file that anybody may have put there: a FIFO is not waited for. */
static int read_text(const char *path, struct ep_vec *bytes)
{
	struct ep_proc_file file;
	int r = ep_proc_open_path(path, &file);

	if (r < 0)
		return r;
	r = ep_read_fd(file.fd, bytes);
	ep_proc_file_close(&file);
	return r;
}

/* PREFIX is what is before the last two slashes of the loader's own path. */
static void read_musl_dirs(struct walk *walk, const char *interp)
{
	const char *name = base_name(interp), *dot = strchr(name, '.');
	size_t prefix = name > interp ? (size_t)(name - interp) - 1 : 0;
	char path[PATH_MAX];

	while (prefix > 0 && interp[prefix - 1] != '/')
		prefix--;
	prefix -= prefix > 0;
	snprintf(path, sizeof(path), "%.*s/etc/%.*s.path", (int)prefix, interp,
		 (int)(dot ? (size_t)(dot - name) : strlen(name)), name);
	if (read_text(path, &walk->musl_dirs) < 0)
		walk->musl_dirs.len = 0;
}

static int load_interp(struct walk *walk)
{
	const char *interp = object_at(walk, 0)->needed.interp;
	int r;

	if (!interp)
		return 0;
	walk->musl = strncmp(base_name(interp), MUSL_PREFIX, strlen(MUSL_PREFIX)) == 0;
	if (walk->musl)
		read_musl_dirs(walk, interp);
	r = try_file(walk, interp, 0);
	return EP_MIN(r, 0);
}

static int preload(struct walk *walk, const char *names, const char *separators)
{
	ep_autofree char *copy = strdup(names);
	char *rest = copy, *name;
	int r = copy ? 0 : -ENOMEM;

	while (r == 0 && (name = strtok_r(rest, separators, &rest)) != NULL)
		r = find(walk, name, 0);
	return r;
}

/* glibc elf/rtld.c handle_preload_list and do_preload; musl has no file. */
static int preload_all(struct walk *walk)
{
	const char *names = ep_command_variable(walk->envp, "LD_PRELOAD");
	const char *path = walk->system->ld_preload ? walk->system->ld_preload : LD_PRELOAD_FILE;
	struct ep_vec bytes;
	int r = names ? preload(walk, names, " :") : 0;

	ep_vec_init(&bytes, 1, MAX_PATH_FILE);
	if (r == 0 && !walk->musl && read_text(path, &bytes) == 0)
		r = preload(walk, bytes.data, ": \t\n");
	ep_vec_fini(&bytes);
	return r;
}

/* By index: what is found is appended, and moves the objects. Their texts stay. */
static int load_needed(struct walk *walk)
{
	for (size_t i = 0; i < walk->objects.len; i++) {
		for (size_t j = 0; j < object_at(walk, i)->needed.n_names; j++) {
			int r = find(walk, object_at(walk, i)->needed.names[j], i);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

static void end_walk(struct walk *walk)
{
	struct object *object;

	ep_vec_each(&walk->objects, object) {
		ep_elf_needed_fini(&object->needed);
		free(object->path);
	}
	ep_vec_fini(&walk->objects);
	ep_vec_fini(&walk->musl_dirs);
	ep_map_fini(&walk->rejected);
}

/* The program's $ORIGIN is without links: the loader asks /proc/self/exe. */
static int walk_program(struct walk *walk, const char *program)
{
	ep_autofree char *path = realpath(program, NULL);
	int r;

	ep_vec_init(&walk->objects, sizeof(struct object), EP_LIBRARIES_MAX_FILES);
	ep_vec_init(&walk->musl_dirs, 1, MAX_PATH_FILE);
	ep_map_init(&walk->rejected, MAX_REJECTED);
	walk->musl = false;
	r = path ? try_file(walk, path, NOBODY) : 0;
	if (r > 0) {
		r = load_interp(walk);
		/* Without one the kernel is all that loads it. */
		if (r == 0 && object_at(walk, 0)->needed.interp)
			r = preload_all(walk);
		if (r == 0 && object_at(walk, 0)->needed.interp)
			r = load_needed(walk);
	}
	end_walk(walk);
	return r;
}

int ep_libraries_find(char *const *argv, char *const *envp,
		      const struct ep_libraries_system *system,
		      const struct ep_libraries_limits *limits, struct ep_vec *files)
{
	struct walk walk = {.envp = envp, .system = system, .limits = limits, .files = files,
			    .tries = MAX_TRIES};
	struct ep_vec programs;
	char **program;
	int r;

	ep_vec_init(&programs, sizeof(char *), EP_COMMAND_MAX_PROGRAMS);
	r = ep_command_find(argv, envp, &programs);
	if (ep_ld_cache_read(system->ld_cache ? system->ld_cache : LD_CACHE, &walk.cache) < 0)
		walk.cache = (struct ep_ld_cache){0};
	ep_vec_each(&programs, program) {
		if (r == 0 && !is_over(&walk))
			r = walk_program(&walk, *program);
	}
	ep_ld_cache_fini(&walk.cache);
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
