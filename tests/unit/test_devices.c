/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/devices.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

EP_TEST(lines_of_mountinfo_are_parsed)
{
	static const struct {
		const char *line, *point, *type;
		uint32_t dev_major, dev_minor;
	} rows[] = {
		{"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
		 "/mnt2", "ext3", 98, 0},
		{"36 35 0:45 / /home/a/x rw - fuse.sshfs me@host: rw,user_id=1000", "/home/a/x",
		 "fuse.sshfs", 0, 45},
		{"1 1 0:2 / / rw shared:1 master:2 propagate_from:3 - rootfs", "/", "rootfs", 0, 2},
		{"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 ext3 /dev/root", NULL, NULL, 0, 0},
		{"36 35 98 /mnt1 /mnt2 rw,noatime - ext3 /dev/root", NULL, NULL, 0, 0},
		{"36 35 98:x /mnt1 /mnt2 rw,noatime - ext3 /dev/root", NULL, NULL, 0, 0},
		{"36 35 98:0 /mnt1 /mnt2 rw -", NULL, NULL, 0, 0},
		{"", NULL, NULL, 0, 0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_mount mount;
		int r = ep_mount_parse(rows[i].line, strlen(rows[i].line), &mount);

		if (!rows[i].type) {
			assert_int_equal(r, -EBADMSG);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(mount.dev_major, rows[i].dev_major);
		assert_int_equal(mount.dev_minor, rows[i].dev_minor);
		assert_int_equal(mount.point_bytes, strlen(rows[i].point));
		assert_memory_equal(mount.point, rows[i].point, mount.point_bytes);
		assert_int_equal(mount.type_bytes, strlen(rows[i].type));
		assert_memory_equal(mount.type, rows[i].type, mount.type_bytes);
	}
}

static bool is_suspect(int fd)
{
	uint64_t dev, inode;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(ep_device_of_fd(fd, &dev, &inode), 0);
	assert_int_equal(dev, st.st_dev);
	assert_int_equal(inode, st.st_ino);
	return ep_device_is_suspect(getpid(), major(dev), minor(dev));
}

EP_TEST(our_own_root_and_memory_are_trusted)
{
	ep_autoclose int root = open("/", O_PATH | O_CLOEXEC),
			 memory = memfd_create("x", MFD_CLOEXEC);
	ep_autoclose int proc = open("/proc", O_PATH | O_CLOEXEC);

	assert_false(is_suspect(root));
	assert_false(is_suspect(memory));
	assert_false(is_suspect(proc));
}

EP_TEST(what_nobody_mounted_is_suspect)
{
	assert_true(ep_device_is_suspect(getpid(), 0, 0xfffff));
	assert_true(ep_device_is_suspect(getpid(), 0, 0xfffff));
	assert_true(ep_devices_any_suspect());
}

/* Whatever is asked in between, what is known for ever stays. */
EP_TEST(many_devices_are_not_too_many)
{
	ep_autoclose int root = open("/", O_PATH | O_CLOEXEC);

	for (uint32_t i = 0; i < 3000; i++)
		assert_true(ep_device_is_suspect(getpid(), 0, 0xf0000 + i));
	assert_false(is_suspect(root));
}
