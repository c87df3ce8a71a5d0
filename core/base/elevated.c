/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/elevated.h"
#include "core/base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAP_WORDS _LINUX_CAPABILITY_U32S_3

/* Capabilities of this thread (capget(2)). */
struct capabilities {
	struct __user_cap_data_struct data[CAP_WORDS];
};

static int get_capabilities(struct capabilities *capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, capabilities->data) < 0 ? -errno : 0;
}

static int set_capabilities(const struct capabilities *capabilities)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capset, &header, capabilities->data) < 0 ? -errno : 0;
}

/* Absent and empty are the same: `SUDO_UID= ebpf-profiler ...` is how a shell takes it away. */
static int read_id(const char *variable, uint32_t *ret_id)
{
	const char *text = secure_getenv(variable);
	uint64_t id;

	if (!text || !*text)
		return EP_SUDO_NONE;
	if (ep_parse_u64_str(text, &id) < 0 || id >= UINT32_MAX)
		return -EINVAL;
	*ret_id = (uint32_t)id;
	return 0;
}

int ep_sudo_caller(struct ep_sudo_caller *ret_caller)
{
	struct ep_sudo_caller caller = {0};
	int r = geteuid() == 0 ? read_id("SUDO_UID", &caller.uid) : EP_SUDO_NONE;

	if (r == 0 && caller.uid == 0)
		r = EP_SUDO_NONE;
	if (r != 0)
		return r;
	if (read_id("SUDO_GID", &caller.gid) != 0)
		return -EINVAL;
	*ret_caller = caller;
	return 0;
}

void ep_sudo_caller_complain(void)
{
	fprintf(stderr, "ebpf-profiler: SUDO_UID and SUDO_GID must be the numbers of who called sudo: correct "
			"them, or take them away with `unset SUDO_UID SUDO_GID`\n");
}

/* Sets the ids that files are opened with. The kernel says nothing of a refusal, but what they are now. */
static int set_ids(uid_t uid, gid_t gid)
{
	(void)setfsgid(gid);
	(void)setfsuid(uid);
	return (uid_t)setfsuid((uid_t)-1) == uid && (gid_t)setfsgid((gid_t)-1) == gid ? 0 : -EPERM;
}

/* None in effect; those that are permitted stay, and come back. */
static int lower_capabilities(void)
{
	struct capabilities capabilities;
	int r = get_capabilities(&capabilities);

	if (r < 0)
		return r;
	for (size_t i = 0; i < CAP_WORDS; i++)
		capabilities.data[i].effective = 0;
	return set_capabilities(&capabilities);
}

static void raise_capabilities(const struct ep_rights *rights)
{
	struct capabilities capabilities;

	if (get_capabilities(&capabilities) < 0)
		return;
	for (size_t i = 0; i < CAP_WORDS; i++)
		capabilities.data[i].effective = rights->effective[i];
	(void)set_capabilities(&capabilities);
}

static int change_rights(uid_t uid, gid_t gid, struct ep_rights *ret_rights)
{
	struct ep_rights rights = {
		.changed = true,
		.fsuid = (uid_t)setfsuid((uid_t)-1),
		.fsgid = (gid_t)setfsgid((gid_t)-1),
	};
	struct capabilities capabilities;
	int r = get_capabilities(&capabilities);

	if (r < 0)
		return r;
	for (size_t i = 0; i < CAP_WORDS; i++)
		rights.effective[i] = capabilities.data[i].effective;
	r = set_ids(uid, gid);
	if (r == 0)
		r = lower_capabilities();
	if (r < 0)
		ep_rights_restore(&rights);
	else
		*ret_rights = rights;
	return r;
}

int ep_rights_of_caller(struct ep_rights *ret_rights)
{
	if (!ep_is_elevated()) {
		*ret_rights = (struct ep_rights){0};
		return 0;
	}
	return change_rights(getuid(), getgid(), ret_rights);
}

int ep_rights_of_sudo_caller(const struct ep_sudo_caller *caller, struct ep_rights *ret_rights)
{
	return change_rights(caller->uid, caller->gid, ret_rights);
}

void ep_rights_restore(struct ep_rights *rights)
{
	int saved = errno;

	if (rights->changed) {
		raise_capabilities(rights); /* the ids may need them */
		(void)set_ids(rights->fsuid, rights->fsgid);
		raise_capabilities(rights); /* what a change of ids makes of them (capabilities(7)) */
	}
	*rights = (struct ep_rights){0};
	errno = saved;
}

int ep_open_as_caller(const char *path, int flags)
{
	struct ep_rights rights;
	int r = ep_rights_of_caller(&rights), fd;

	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags);
	r = fd < 0 ? -errno : fd;
	ep_rights_restore(&rights);
	return r;
}
