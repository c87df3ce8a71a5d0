/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mountinfo (proc_pid_mountinfo(5); fs/proc_namespace.c, show_mountinfo):
 *
 *	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
 *	id  up dev root  point options   tags...     type source    options of the file system
 *
 * The state is one for the process, as the mounts are: readers of memory ask for it from many
 * threads, below all objects that a session has.
 */
#include "core/proc/devices.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#define SLOTS	   1024u
#define TRUSTED_NS EP_NS_PER_SEC
#define LOOK_NS	   (20 * EP_NS_PER_MS) /* our own mounts are looked at no more often than that */
#define MFD_HUGE   0x0004U	       /* MFD_HUGETLB, memfd_create(2) */

struct device {
	uint64_t dev;	 /* makedev() + 1; 0: free */
	uint64_t end_ns; /* until when that is known; UINT64_MAX: for ever */
	bool is_suspect;
};

static struct {
	pthread_mutex_t mutex;
	struct device devices[SLOTS];
	size_t n;
	int mounts_fd; /* of our own mountinfo: poll(2) tells that it changed */
	bool is_ready;
	_Atomic uint64_t looked_ns;
	atomic_bool ours_suspect, others_suspect; /* our mounts; those of others, ever */
} known = {.mutex = PTHREAD_MUTEX_INITIALIZER, .mounts_fd = -1};

/* --- one line -------------------------------------------------------------------------------- */

static bool next_field(const char **pos, const char *end, const char **ret_field, size_t *ret_bytes)
{
	const char *field = *pos, *space;

	if (field >= end)
		return false;
	space = memchr(field, ' ', (size_t)(end - field));
	if (!space)
		space = end;
	*ret_field = field;
	*ret_bytes = (size_t)(space - field);
	*pos = space < end ? space + 1 : end;
	return true;
}

static int parse_device(const char *text, size_t bytes, struct ep_mount *mount)
{
	const char *end = text + bytes;
	uint64_t number[2];

	if (ep_parse_u64(&text, end, 10, &number[0]) < 0 || text >= end || *text++ != ':' ||
	    ep_parse_u64(&text, end, 10, &number[1]) < 0 || number[0] > UINT32_MAX ||
	    number[1] > UINT32_MAX)
		return -EBADMSG;
	mount->dev_major = (uint32_t)number[0];
	mount->dev_minor = (uint32_t)number[1];
	return 0;
}

int ep_mount_parse(const char *line, size_t bytes, struct ep_mount *ret_mount)
{
	enum { DEVICE = 2, POINT = 4, FIRST_TAG = 6 };
	const char *pos = line, *end = line + bytes, *field;
	struct ep_mount mount = {0};
	size_t n;

	for (int i = 0; next_field(&pos, end, &field, &n); i++) {
		if (i == DEVICE && parse_device(field, n, &mount) < 0)
			return -EBADMSG;
		if (i == POINT) {
			mount.point = field;
			mount.point_bytes = n;
		}
		if (i < FIRST_TAG || n != 1 || *field != '-')
			continue;
		if (!next_field(&pos, end, &mount.type, &mount.type_bytes) || mount.type_bytes == 0)
			return -EBADMSG;
		*ret_mount = mount;
		return 0;
	}
	return -EBADMSG;
}

/* --- what is trusted ------------------------------------------------------------------------- */

/* A text of a line has no NUL. */
static bool is_text(const char *text, size_t bytes, const char *other)
{
	return strlen(other) == bytes && memcmp(text, other, bytes) == 0;
}

/* FS_USERNS_MOUNT among them: tmpfs, ramfs and those of the kernel's own state hold pages in
 * memory. */
static bool is_local_type(const struct ep_mount *mount)
{
	static const char *const types[] = {
		"ext4",	    "ext3",	"ext2",	    "xfs",	   "btrfs",	"f2fs",
		"tmpfs",    "ramfs",	"devtmpfs", "rootfs",	   "hugetlbfs", "squashfs",
		"erofs",    "iso9660",	"udf",	    "vfat",	   "msdos",	"exfat",
		"ntfs3",    "hfsplus",	"zfs",	    "jfs",	   "reiserfs",	"nilfs2",
		"bcachefs", "ubifs",	"jffs2",    "cramfs",	   "romfs",	"minix",
		"ext",	    "proc",	"sysfs",    "devpts",	   "mqueue",	"securityfs",
		"debugfs",  "tracefs",	"cgroup",   "cgroup2",	   "pstore",	"bpf",
		"configfs", "efivarfs", "fusectl",  "binfmt_misc", "nsfs",	"selinuxfs",
		"smackfs",  "resctrl",	"cpuset",   "binder",	   "autofs",	"rpc_pipefs",
		"nfsd",	    "pipefs",	"sockfs",   "dax",
	};

	for (size_t i = 0; i < EP_LEN(types); i++) {
		if (is_text(mount->type, mount->type_bytes, types[i]))
			return true;
	}
	return false;
}

/* A user who made a namespace of his own mounts overlays over anything, a FUSE mount of his as
 * well. */
static bool is_in_our_user_namespace(pid_t pid)
{
	char path[64];
	struct stat ours, theirs;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat("/proc/self/ns/user", &ours) == 0 && stat(path, &theirs) == 0 &&
	       ours.st_ino == theirs.st_ino;
}

static bool mount_is_suspect(const struct ep_mount *mount, bool is_ours, bool mounts_overlays)
{
	if (is_ours && is_text(mount->point, mount->point_bytes, "/"))
		return false;
	if (is_text(mount->type, mount->type_bytes, "overlay"))
		return !mounts_overlays;
	return !is_local_type(mount);
}

/* --- what is known: under the mutex ---------------------------------------------------------- */

static struct device *find_slot(uint64_t dev)
{
	size_t at = (size_t)((dev + 1) * 0x9e3779b97f4a7c15ull >> 54) % SLOTS;

	while (known.devices[at].dev && known.devices[at].dev != dev + 1)
		at = (at + 1) % SLOTS;
	return &known.devices[at];
}

/* Of too many everything but what is known for ever is learned anew. */
static void forget(void)
{
	struct device kept[16];
	size_t n = 0;

	for (size_t i = 0; i < SLOTS; i++) {
		if (known.devices[i].end_ns == UINT64_MAX && n < EP_LEN(kept))
			kept[n++] = known.devices[i];
	}
	memset(known.devices, 0, sizeof(known.devices));
	known.n = n;
	for (size_t i = 0; i < n; i++)
		*find_slot(kept[i].dev - 1) = kept[i];
}

static void put(uint64_t dev, bool is_suspect, uint64_t end_ns)
{
	struct device *device = find_slot(dev);

	if (device->dev && device->end_ns == UINT64_MAX)
		return;
	if (!device->dev && known.n >= SLOTS / 2) {
		forget();
		device = find_slot(dev);
	}
	known.n += device->dev == 0;
	*device = (struct device){.dev = dev + 1, .is_suspect = is_suspect, .end_ns = end_ns};
}

static void put_fd(int made_fd)
{
	ep_autoclose int fd = made_fd;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		put(st.st_dev, false, UINT64_MAX);
}

/* Nobody mounts these: mm/shmem.c shm_mnt, fs/hugetlbfs, fs/anon_inodes.c, net/socket.c. */
static void learn_unmounted(void)
{
	put_fd(memfd_create("device", MFD_CLOEXEC));
	put_fd(memfd_create("device", MFD_CLOEXEC | MFD_HUGE));
	put_fd(eventfd(0, EFD_CLOEXEC));
	put_fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

/*
 * The mounts that a process sees: 1 one of them is suspect, 0 none is, -errno it cannot be known.
 */
static int learn(pid_t pid, bool is_ours)
{
	uint64_t end_ns = ep_clock_mono_ns() + TRUSTED_NS;
	bool mounts_overlays = is_ours || is_in_our_user_namespace(pid), any = false;
	ep_autofree char *line = NULL;
	struct ep_mount mount;
	size_t size = 0;
	char path[64];
	ssize_t n;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while ((n = getline(&line, &size, file)) > 0) {
		bool is_suspect;

		if (ep_mount_parse(line, (size_t)n - (line[n - 1] == '\n'), &mount) < 0)
			continue;
		is_suspect = mount_is_suspect(&mount, is_ours, mounts_overlays);
		any |= is_suspect;
		put(makedev(mount.dev_major, mount.dev_minor), is_suspect,
		    is_ours && is_text(mount.point, mount.point_bytes, "/") ? UINT64_MAX : end_ns);
	}
	fclose(file);
	return any;
}

/* poll(2) of mountinfo: POLLERR and POLLPRI after a change (fs/proc_namespace.c, mounts_poll). */
static bool our_mounts_changed(void)
{
	struct pollfd mounts = {.fd = known.mounts_fd, .events = POLLPRI};

	return known.mounts_fd >= 0 && poll(&mounts, 1, 0) > 0;
}

static void look_at_ours(void)
{
	if (!known.is_ready) {
		known.is_ready = true;
		known.mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
		learn_unmounted();
	} else if (our_mounts_changed()) {
		forget();
	} else {
		return;
	}
	atomic_store(&known.ours_suspect, learn(getpid(), true) > 0);
}

static uint64_t coarse_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * EP_NS_PER_SEC + (uint64_t)now.tv_nsec;
}

/* --- answers --------------------------------------------------------------------------------- */

/* What no line names is suspect. Of a process that is gone counts what was known last, or what we
 * see. */
static bool learn_device(pid_t pid, uint64_t dev)
{
	uint64_t now_ns = ep_clock_mono_ns();
	struct device *device = find_slot(dev);
	int r;

	if (device->dev && device->end_ns >= now_ns)
		return device->is_suspect;
	r = learn(pid, pid == getpid());
	if (r < 0 && !device->dev)
		(void)learn(getpid(), true);
	device = find_slot(dev);
	if (r >= 0 && (!device->dev || device->end_ns < now_ns)) {
		put(dev, true, now_ns + TRUSTED_NS);
		r = 1;
	}
	if (r > 0)
		atomic_store(&known.others_suspect, true);
	device = find_slot(dev);
	return !device->dev || device->is_suspect;
}

bool ep_device_is_suspect(pid_t pid, uint32_t dev_major, uint32_t dev_minor)
{
	bool is_suspect;

	pthread_mutex_lock(&known.mutex);
	look_at_ours();
	is_suspect = learn_device(pid ? pid : getpid(), makedev(dev_major, dev_minor));
	pthread_mutex_unlock(&known.mutex);
	return is_suspect;
}

int ep_device_of_fd(int fd, uint64_t *ret_dev, uint64_t *ret_inode)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
		return -errno;
	*ret_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	*ret_inode = st.stx_ino;
	return 0;
}

bool ep_devices_any_suspect(void)
{
	uint64_t now_ns = coarse_ns();

	if (now_ns - atomic_load_explicit(&known.looked_ns, memory_order_relaxed) >= LOOK_NS) {
		atomic_store(&known.looked_ns, now_ns);
		pthread_mutex_lock(&known.mutex);
		look_at_ours();
		pthread_mutex_unlock(&known.mutex);
	}
	return atomic_load(&known.ours_suspect) || atomic_load(&known.others_suspect);
}

bool ep_devices_process_sees_suspect(pid_t pid)
{
	int r;

	pthread_mutex_lock(&known.mutex);
	look_at_ours();
	r = learn(pid, pid == getpid());
	if (r > 0)
		atomic_store(&known.others_suspect, true);
	pthread_mutex_unlock(&known.mutex);
	return r != 0;
}
