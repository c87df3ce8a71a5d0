/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/stat, one line (Documentation/filesystems/proc.rst table 1-4, fs/proc/array.c):
 *
 *	1234 (comm) S 1 1234 ... flags ... starttime ...
 *	 1     2    3 4          9         22
 *
 * comm may hold spaces, parentheses and newlines, printed as they are (only /proc/PID/status
 * escapes them: fs/proc/array.c proc_task_name). No later field has a ')', so the last one ends it.
 */
#include "core/proc/process.h"
#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/proc/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PF_KTHREAD	 0x00200000 /* include/linux/sched.h, since v2.6.36 */
#define STAT_MAX_BYTES	 4096
#define STAT_FLAGS_FIELD 9
#define STAT_START_FIELD 22
#define CGROUP_MAX_BYTES 65536
#define MAX_THREADS	 (1 << 16)
#define DELETED		 " (deleted)"

void ep_process_info_fini(struct ep_process_info *info)
{
	free(info->exe_path);
	free(info->cgroup_path);
	info->exe_path = info->cgroup_path = NULL;
}

static int gone_if_absent(int r)
{
	return r == -ENOENT ? -ESRCH : r;
}

static uint64_t tick_ns(void)
{
	long hz = sysconf(_SC_CLK_TCK); /* USER_HZ: 100 on x86-64 and arm64 */

	return EP_NS_PER_SEC / (uint64_t)(hz > 0 ? hz : 100);
}

bool ep_process_same_start(uint64_t a_ns, uint64_t b_ns)
{
	return (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) < tick_ns();
}

/* --- stat ------------------------------------------------------------------------------------- */

/* Workqueue threads print names longer than TASK_COMM_LEN: they are cut. */
static void copy_comm(const char *src, const char *end, char comm[EP_PROCESS_COMM_BYTES])
{
	size_t len = EP_MIN((size_t)(end - src), (size_t)EP_PROCESS_COMM_BYTES - 1);

	memcpy(comm, src, len);
	comm[len] = '\0';
}

static void skip_spaces(const char **pos, const char *end)
{
	while (*pos < end && **pos == ' ')
		(*pos)++;
}

static void skip_field(const char **pos, const char *end)
{
	while (*pos < end && **pos != ' ')
		(*pos)++;
	skip_spaces(pos, end);
}

/* Fields from `first` on are at *pos; reads number `field`. */
static int parse_field(const char *pos, const char *end, unsigned int first, unsigned int field,
		       uint64_t *ret_value)
{
	for (; first < field; first++)
		skip_field(&pos, end);
	return ep_parse_u64(&pos, end, 10, ret_value);
}

static int parse_numbers(const char *pos, const char *end, struct ep_process_info *info)
{
	uint64_t parent, flags, ticks;

	if (pos >= end)
		return -EBADMSG;
	info->state = *pos;
	if (parse_field(pos, end, 3, 4, &parent) < 0 || parent > INT_MAX ||
	    parse_field(pos, end, 3, STAT_FLAGS_FIELD, &flags) < 0 ||
	    parse_field(pos, end, 3, STAT_START_FIELD, &ticks) < 0 ||
	    __builtin_mul_overflow(ticks, tick_ns(), &info->start_ns))
		return -EBADMSG;
	info->start_ns -= (uint64_t)ep_clock_offsets().boot_ns; /* fs/proc/array.c adds it to task->start_boottime */
	info->parent_pid = (pid_t)parent;
	info->kernel_thread = flags & PF_KTHREAD;
	return 0;
}

int ep_process_parse_stat(const char *text, size_t bytes, struct ep_process_info *ret_info)
{
	const char *end = text + bytes, *pos = text;
	const char *open = memchr(text, '(', bytes), *close = memrchr(text, ')', bytes);
	struct ep_process_info info = {0};
	uint64_t pid;

	if (!open || !close || close < open || ep_parse_u64(&pos, end, 10, &pid) < 0 ||
	    pid > INT_MAX || pid == 0)
		return -EBADMSG;
	info.pid = (pid_t)pid;
	copy_comm(open + 1, close, info.comm);
	pos = close + 1;
	skip_spaces(&pos, end);
	if (parse_numbers(pos, end, &info) < 0)
		return -EBADMSG;
	*ret_info = info;
	return 0;
}

/* One read into a buffer: a file of /proc that is known to be short. Bytes read or -errno. */
static ssize_t read_small(const char *path, char *buffer, size_t bytes)
{
	ep_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return gone_if_absent(-errno);
	n = read(fd, buffer, bytes);
	return n < 0 ? -errno : n;
}

/* The clock of a process that may be anybody's: clock_getcpuclockid(3). */
int ep_process_read_cpu(pid_t pid, uint64_t *ret_ns)
{
	struct timespec ts;
	clockid_t clock;
	int r = clock_getcpuclockid(pid, &clock);

	if (r != 0)
		return -r;
	if (clock_gettime(clock, &ts) < 0)
		return errno == EINVAL ? -ESRCH : -errno; /* it has gone since */
	*ret_ns = (uint64_t)ts.tv_sec * EP_NS_PER_SEC + (uint64_t)ts.tv_nsec;
	return 0;
}

int ep_process_read_owner(pid_t pid, uint32_t *ret_uid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_uid = st.st_uid;
	return 0;
}

int ep_process_of_thread(pid_t tid, pid_t *ret_pid)
{
	static const char key[] = "\nTgid:\t"; /* fs/proc/array.c, proc_pid_status: after Name, which has no newline */
	char path[64], text[STAT_MAX_BYTES];
	const char *pos, *end;
	uint64_t pid;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	n = read_small(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	end = text + n;
	pos = memmem(text, (size_t)n, key, sizeof(key) - 1);
	if (!pos)
		return -EBADMSG;
	pos += sizeof(key) - 1;
	if (ep_parse_u64(&pos, end, 10, &pid) < 0 || pid == 0 || pid > INT_MAX)
		return -EBADMSG;
	*ret_pid = (pid_t)pid;
	return 0;
}

int ep_process_read_stat(pid_t pid, struct ep_process_info *ret_info)
{
	char path[64], text[STAT_MAX_BYTES];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	n = read_small(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	return ep_process_parse_stat(text, (size_t)n, ret_info);
}

/* --- links ------------------------------------------------------------------------------------ */

static bool cut_deleted(char *path)
{
	size_t len = strlen(path), tail = strlen(DELETED);

	if (len <= tail || strcmp(path + len - tail, DELETED) != 0)
		return false;
	path[len - tail] = '\0';
	return true;
}

static int read_exe(struct ep_process_info *info)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)info->pid);
	n = readlink(link, path, sizeof(path) - 1);
	path[EP_MAX(n, 0)] = '\0';
	info->exe_deleted = cut_deleted(path);
	info->exe_path = strdup(path);
	return info->exe_path ? 0 : -ENOMEM;
}

static uint64_t read_pid_ns(pid_t pid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_ino;
}

/* A kernel without cgroups has no such file, also for us. */
static int read_cgroup(struct ep_process_info *info)
{
	ep_cleanup(ep_vec_fini) struct ep_vec text;
	char path[EP_CGROUP_PATH_BYTES];
	int r;

	ep_vec_init(&text, 1, CGROUP_MAX_BYTES);
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)info->pid);
	r = ep_read_file(path, &text);
	if (r == -ENOENT && access("/proc/self/cgroup", F_OK) == 0)
		return -ESRCH;
	if (r < 0 && r != -E2BIG && r != -ENOENT)
		return r;
	ep_container_parse_id(text.data, text.len, info->container_id);
	(void)ep_cgroup_parse_path(text.data, text.len, path);
	info->cgroup = ep_cgroup_number(path);
	info->cgroup_path = strdup(path);
	return info->cgroup_path ? 0 : -ENOMEM;
}

int ep_process_read(pid_t pid, struct ep_process_info *ret_info)
{
	struct ep_process_info info;
	int r = ep_process_read_stat(pid, &info);

	if (r < 0)
		return r;
	info.pid_ns = read_pid_ns(pid);
	r = ep_process_read_owner(pid, &info.user);
	if (r == 0)
		r = read_cgroup(&info);
	if (r == 0)
		r = read_exe(&info);
	if (r < 0) {
		ep_process_info_fini(&info);
		return r;
	}
	*ret_info = info;
	return 0;
}

int ep_process_read_thread_name(pid_t pid, pid_t tid, char name[EP_PROCESS_COMM_BYTES])
{
	char path[64], text[64]; /* the kernel prints at most 64 bytes, for workqueue threads */
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	n = read_small(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	if (n > 0 && text[n - 1] == '\n')
		n--;
	n = EP_MIN(n, (ssize_t)EP_PROCESS_COMM_BYTES - 1);
	memcpy(name, text, (size_t)n);
	name[n] = '\0';
	return 0;
}

/* --- lists ------------------------------------------------------------------------------------ */

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static int add_number(struct ep_vec *pids, const char *name)
{
	uint64_t value;
	pid_t pid;

	if (ep_parse_u64_str(name, &value) < 0 || value == 0 || value > INT_MAX)
		return 0;
	pid = (pid_t)value;
	return ep_vec_append(pids, &pid, 1);
}

static int list_numbers(const char *path, struct ep_vec *pids)
{
	ep_cleanup(closedirp) DIR *dir = opendir(path);
	struct dirent *entry;
	int r;

	if (!dir)
		return -errno;
	while (errno = 0, entry = readdir(dir)) {
		r = add_number(pids, entry->d_name);
		if (r < 0)
			return r;
	}
	return -errno;
}

int ep_process_list(struct ep_vec *pids)
{
	return list_numbers("/proc", pids);
}

int ep_process_list_threads(pid_t pid, struct ep_vec *tids)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return gone_if_absent(list_numbers(path, tids));
}

static bool is_live(pid_t tid)
{
	struct ep_process_info info;

	return ep_process_read_stat(tid, &info) == 0 && !info.kernel_thread && info.state != 'Z' &&
	       info.state != 'X';
}

int ep_process_find_live_thread(pid_t pid, pid_t *ret_tid)
{
	ep_cleanup(ep_vec_fini) struct ep_vec tids;
	pid_t *tid;
	int r;

	ep_vec_init(&tids, sizeof(pid_t), MAX_THREADS);
	r = ep_process_list_threads(pid, &tids);
	if (r < 0 && r != -E2BIG)
		return r;
	ep_vec_each (&tids, tid) {
		if (*tid != pid && is_live(*tid)) {
			*ret_tid = *tid;
			return 0;
		}
	}
	return -ESRCH;
}
