/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/elevated.h"
#include "core/base/log.h"
#include "core/base/vec.h"
#include "core/plugin/host.h"
#include "core/plugin/unwinder.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_NAME    31 /* bytes of a plugin's name, plugin.h */
#define MAX_PLUGINS 256

struct ep_module {
	uint32_t refs;
	void *handle;
	bool keep; /* an exporter was open: callbacks into its code may be waiting on the loop */
	const struct ep_plugin *plugin;
};

__attribute__((format(printf, 3, 4))) static int refuse(char reason[EP_REASON_BYTES], int r,
							const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, EP_REASON_BYTES, fmt, args);
	va_end(args);
	return r;
}

/* --- is the file safe to load --- */

static bool is_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return len > 0 && len <= MAX_NAME && name[len] == '\0';
}

/*
 * Owned by root or by us, and nobody else may write; where we may do more than our user, by root
 * alone. The group may write if it is root's. Sticky does not help a directory: its owner could
 * still rename what is in it.
 */
static int check_owner(const struct stat *st, const char *path, char reason[EP_REASON_BYTES])
{
	bool group = st->st_mode & S_IWGRP && st->st_gid != 0;

	if (st->st_uid != 0 && ep_is_elevated())
		return refuse(reason, -EPERM,
			      "%s belongs to user %u, and this program may do more than that user: "
			      "run `chown root %s` as root",
			      path, st->st_uid, path);
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return refuse(reason, -EPERM,
			      "%s belongs to user %u, who could change what runs here as user %u: "
			      "run `chown %s %s`",
			      path, st->st_uid, geteuid(), geteuid() ? "$USER" : "root", path);
	if (st->st_mode & S_IWOTH || group)
		return refuse(reason, -EPERM,
			      "%s can be written by %s, who could change what runs here: "
			      "run `chmod go-w %s`",
			      path, st->st_mode & S_IWOTH ? "everybody" : "its group", path);
	return 0;
}

static int open_as_caller(const char *dir, const char *name, int *ret_fd, char reason[EP_REASON_BYTES])
{
	ep_autoclose int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char path[PATH_MAX], file[MAX_NAME + 4];
	struct stat st;
	int r;

	if (dir_fd < 0 || fstat(dir_fd, &st) < 0)
		return refuse(reason, -errno, "plugin directory %s: %s; set [plugins] dir", dir,
			      ep_strerror(errno));
	r = check_owner(&st, dir, reason);
	if (r < 0)
		return r;
	snprintf(file, sizeof(file), "%s.so", name);
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 && errno == ELOOP)
		return refuse(reason, -EPERM, "%s is a symbolic link: put the file itself there",
			      path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse(reason, -errno,
			      "%s: %s; build or install the plugin, or do not enable it", path,
			      ep_strerror(errno));
	if (!S_ISREG(st.st_mode))
		return refuse(reason, -EPERM, "%s is not a regular file", path);
	r = check_owner(&st, path, reason);
	if (r == 0)
		*ret_fd = ep_take_fd(fd);
	return r;
}

/* A directory that an option names is searched with the rights of who named it. */
static int open_file(const char *dir, const char *name, int *ret_fd, char reason[EP_REASON_BYTES])
{
	struct ep_rights rights;
	int r = ep_rights_of_caller(&rights);

	if (r < 0)
		return refuse(reason, r, "plugin directory %s: %s", dir, ep_strerror(r));
	r = open_as_caller(dir, name, ret_fd, reason);
	ep_rights_restore(&rights);
	return r;
}

/* --- is it a plugin --- */

static int check_exporter(const struct ep_plugin *plugin, char reason[EP_REASON_BYTES])
{
	const struct ep_exporter_ops *ops;

	if (!EP_HAS(plugin, exporter))
		return refuse(reason, -EBADMSG, "plugin %s: says it exports, but has no exporter",
			      plugin->name);
	ops = plugin->exporter;
	if (!EP_HAS(ops, options) || !EP_HAS(ops, open) || !EP_HAS(ops, export_batch) ||
	    !EP_HAS(ops, close))
		return refuse(reason, -EBADMSG,
			      "plugin %s: lacks one of options, open, export_batch, close: "
			      "ask who made it for a complete one",
			      plugin->name);
	return 0;
}

int ep_plugin_check(const struct ep_plugin *plugin, const char *name, char reason[EP_REASON_BYTES])
{
	if (plugin->size < offsetof(struct ep_plugin, exporter))
		return refuse(reason, -EBADMSG, "plugin %s: its descriptor is cut short", name);
	if (plugin->abi_major != EP_ABI_MAJOR)
		return refuse(reason, -ENOTSUP,
			      "plugin %s: built for ABI %u, this is %u: build it against these "
			      "headers",
			      name, plugin->abi_major, EP_ABI_MAJOR);
	if (!plugin->name || !is_name(plugin->name) || strcmp(plugin->name, name) != 0)
		return refuse(reason, -EBADMSG,
			      "plugin %s: calls itself \"%.31s\": the file must be named after the "
			      "plugin",
			      name, plugin->name ? plugin->name : "");
	if (plugin->kind == EP_PLUGIN_EXPORTER)
		return check_exporter(plugin, reason);
	if (plugin->kind == EP_PLUGIN_UNWINDER)
		return ep_unwinder_check(plugin, reason);
	return refuse(reason, -ENOTSUP,
		      "plugin %s: is of kind %u, which this version does not know", name,
		      plugin->kind);
}

/*
 * A path to the file of fd that was not used before: the loader remembers every path of a file
 * that is still loaded, and descriptors' numbers come again. "/proc/./self" and "/proc//self" are
 * the same place.
 */
static void make_path(int fd, char path[64])
{
	static unsigned int serial; /* of the process, as the loader's memory is */
	unsigned int bits = __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
	size_t at = 5;

	memcpy(path, "/proc", 5);
	for (unsigned int i = 0; i < 16; i++) {
		path[at++] = '/';
		path[at++] = bits >> i & 1 ? '.' : '/';
	}
	snprintf(path + at, 64 - at, "/self/fd/%d", fd);
}

/*
 * Loads the file that was checked: its path could name another one by now. Symbols stay local and
 * are bound at once, so a plugin that needs more than it links fails here and not while it runs.
 */
static int load(struct ep_module *module, int fd, const char *name, char reason[EP_REASON_BYTES])
{
	char path[64];

	make_path(fd, path);
	module->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!module->handle)
		return refuse(reason, -EBADMSG, "plugin %s: cannot be loaded: %s", name, dlerror());
	module->plugin = dlsym(module->handle, EP_PLUGIN_SYMBOL);
	if (!module->plugin)
		return refuse(reason, -EBADMSG, "plugin %s: not a plugin, it has no symbol %s",
			      name, EP_PLUGIN_SYMBOL);
	return ep_plugin_check(module->plugin, name, reason);
}

static void module_freep(struct ep_module **module)
{
	ep_module_unload(*module);
}

int ep_module_load(const char *dir, const char *name, struct ep_module **ret_module,
		   char reason[EP_REASON_BYTES])
{
	ep_cleanup(module_freep) struct ep_module *module = NULL;
	ep_autoclose int fd = -1;
	int r;

	if (!is_name(name))
		return refuse(reason, -EINVAL,
			      "\"%.64s\" is no plugin name: a-z, 0-9 and _, at most %d", name,
			      MAX_NAME);
	r = open_file(dir, name, &fd, reason);
	if (r < 0)
		return r;
	module = calloc(1, sizeof(*module));
	if (!module)
		return refuse(reason, -ENOMEM, "plugin %s: out of memory", name);
	module->refs = 1;
	r = load(module, fd, name, reason);
	if (r < 0)
		return r;
	*ret_module = ep_take(module);
	return 0;
}

void ep_module_unload(struct ep_module *module)
{
	if (!module || --module->refs > 0)
		return;
	if (module->handle && !module->keep)
		dlclose(module->handle);
	free(module);
}

struct ep_module *ep_module_ref(struct ep_module *module)
{
	module->refs++;
	return module;
}

void ep_module_keep_mapped(struct ep_module *module)
{
	module->keep = true;
}

const struct ep_plugin *ep_module_plugin(const struct ep_module *module)
{
	return module->plugin;
}

const struct ep_exporter_ops *ep_module_exporter(const struct ep_module *module)
{
	return module->plugin->kind == EP_PLUGIN_EXPORTER ? module->plugin->exporter : NULL;
}

const struct ep_unwinder_ops *ep_module_unwinder(const struct ep_module *module)
{
	return module->plugin->kind == EP_PLUGIN_UNWINDER ? module->plugin->unwinder : NULL;
}

/* --- listing --- */

static int is_shared_object(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 3 && strcmp(entry->d_name + len - 3, ".so") == 0;
}

int ep_plugin_list(const char *dir, ep_plugin_visit visit, void *arg)
{
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, is_shared_object, alphasort);

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		char path[PATH_MAX], reason[EP_REASON_BYTES] = "", *name = entries[i]->d_name;
		struct ep_plugin_entry entry = {.path = path, .name = name, .reason = reason};

		snprintf(path, sizeof(path), "%s/%s", dir, name);
		name[strlen(name) - 3] = '\0';
		if (i < MAX_PLUGINS) {
			(void)ep_module_load(dir, name, &entry.module, reason);
			visit(arg, &entry);
			ep_module_unload(entry.module);
		}
		free(entries[i]);
	}
	free(entries);
	return 0;
}
