/* SPDX-License-Identifier: Apache-2.0 */
/* What a file makes of us can be no more than what its reader may: nothing of root's is left then. */
#include "core/base/elevated.h"
#include "core/base/util.h"
#include "reports/read/reader.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define NOBODY 65534 /* the kernel's overflowuid, and "nobody" of every distribution */

/* Who called a setuid program, who called sudo, else nobody. */
static int choose_user(struct ep_sudo_caller *ret_user)
{
	int r;

	*ret_user = (struct ep_sudo_caller){.uid = getuid(), .gid = getgid()};
	if (ret_user->uid != 0)
		return 0;
	r = ep_sudo_caller(ret_user);
	if (r == EP_SUDO_NONE)
		*ret_user = (struct ep_sudo_caller){.uid = NOBODY, .gid = NOBODY};
	return r < 0 ? r : 0;
}

/*
 * Root of a container without the right to change users, or of a user namespace where there is no other user,
 * stays that user: its capabilities are all there is to give up.
 */
static int become(void)
{
	struct ep_sudo_caller user;
	int r = choose_user(&user);

	if (r < 0)
		return r;
	if (setgroups(0, NULL) < 0 || setresgid(user.gid, user.gid, user.gid) < 0 ||
	    setresuid(user.uid, user.uid, user.uid) < 0)
		r = -errno;
	return r == -EPERM || r == -EINVAL ? 0 : r;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capset, &header, none) < 0)
		return -errno;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* Nothing brings it back: neither another user, nor a program that is started. */
static int verify(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3];
	uid_t uid, euid, suid;

	if (getresuid(&uid, &euid, &suid) < 0 || uid != euid || uid != suid)
		return -EPERM;
	if (uid != 0 && (setuid(0) == 0 || (getgid() != 0 && setgid(0) == 0)))
		return -EPERM;
	if (syscall(SYS_capget, &header, have) < 0)
		return -errno;
	for (size_t i = 0; i < EP_LEN(have); i++) {
		if (have[i].effective || have[i].permitted || have[i].inheritable)
			return -EPERM;
	}
	return 0;
}

int ep_read_drop_root(void)
{
	int r = 0;

	if (geteuid() == 0)
		r = become();
	if (r == 0)
		r = drop_capabilities();
	return r < 0 ? r : verify();
}
