/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/proc over real processes, which this test starts: a copy of itself that pauses, a deleted
 * one, one in a memfd, one without its main thread, one after its own root.
 */
#include "core/base/clock.h"
#include "core/proc/maps.h"
#include "core/proc/memory.h"
#include "core/proc/open.h"
#include "core/proc/process.h"
#include "core/proc/root.h"
#include "tests/kit/test.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#define MAX_MAPPINGS 1000

/* --- children --------------------------------------------------------------------------------- */

/* In the child: says that it is ready, and waits to be killed. */
static void ready_and_wait(int ready_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(ready_fd, "r", 1) != 1)
		_exit(9);
	for (;;)
		pause();
}

typedef void (*child_body)(int ready_fd, const void *arg);

static void kill_child(void *pid)
{
	kill((pid_t)(intptr_t)pid, SIGKILL);
	waitpid((pid_t)(intptr_t)pid, NULL, 0);
}

static void end_child(pid_t pid)
{
	ep_test_release((void *)(intptr_t)pid);
}

/* Runs `body`, which ends in ready_and_wait or exits; returns when it is ready. The test's end is its own. */
static pid_t start_child(child_body body, const void *arg)
{
	int fds[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe2(fds, 0), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		body(fds[1], arg);
		_exit(8);
	}
	close(fds[1]);
	if (read(fds[0], &c, 1) != 1)
		fail_msg("child did not start");
	close(fds[0]);
	ep_test_owns((void *)(intptr_t)pid, kill_child);
	return pid;
}

static void exec_fd(int fd, int ready_fd)
{
	char ready[16];
	char name[] = "child", *argv[] = {name, ready, NULL};

	snprintf(ready, sizeof(ready), "%d", ready_fd);
	fexecve(fd, argv, environ);
	_exit(7);
}

static int copy_self(int to)
{
	ep_autoclose int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char buffer[65536];
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0)
		if (write(to, buffer, (size_t)n) != n)
			return -1;
	return (int)n;
}

static void run_self(int ready_fd, const void *arg)
{
	exec_fd(open("/proc/self/exe", O_RDONLY), ready_fd);
}

static void run_memfd(int ready_fd, const void *arg)
{
	int fd = memfd_create("prog", 0);

	if (copy_self(fd) < 0)
		_exit(6);
	exec_fd(fd, ready_fd);
}

static void run_deleted(int ready_fd, const void *arg)
{
	int fd = open(arg, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	if (fd < 0 || copy_self(fd) < 0)
		_exit(6);
	close(fd);
	fd = open(arg, O_RDONLY);
	unlink(arg);
	exec_fd(fd, ready_fd);
}

static void run_named(int ready_fd, const void *arg)
{
	prctl(PR_SET_NAME, arg);
	ready_and_wait(ready_fd);
}

static void *second_thread(void *arg)
{
	prctl(PR_SET_NAME, "second");
	usleep(50000); /* the main thread is gone by then */
	ready_and_wait((int)(intptr_t)arg);
	return NULL;
}

static void run_without_main_thread(int ready_fd, const void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, second_thread, (void *)(intptr_t)ready_fd);
	pthread_exit(NULL);
}

/* --- helpers ---------------------------------------------------------------------------------- */

static struct ep_maps maps; /* of the test's child */

EP_TEST_RELEASES(ep_maps_fini)

static void read_maps(pid_t pid)
{
	ep_maps_init(&maps, MAX_MAPPINGS);
	ep_test_owns(&maps, ep_maps_fini_made);
	assert_int_equal(ep_maps_read(&maps, pid, EP_MAPS_EXECUTABLE), 0);
	assert_true(maps.mappings.len > 0);
}

static const struct ep_mapping *find_path(const char *part)
{
	const struct ep_mapping *m;

	ep_vec_each (&maps.mappings, m)
		if (strstr(m->path, part))
			return m;
	fail_msg("no mapping of %s", part);
	return NULL;
}

static void check_is_elf(const struct ep_proc_file *file)
{
	char magic[SELFMAG];

	assert_int_equal(pread(file->fd, magic, SELFMAG, 0), SELFMAG);
	assert_memory_equal(magic, ELFMAG, SELFMAG);
	assert_true(file->bytes > 1000);
	assert_true(fcntl(file->fd, F_GETFD) & FD_CLOEXEC);
}

/* Access to map_files and to other users' /proc entries needs privileges (proc(5)). */
static bool can_map_files(void)
{
	return geteuid() == 0;
}

static void check_opens(pid_t pid, const struct ep_mapping *m)
{
	struct ep_proc_file file, known;

	assert_int_equal(ep_proc_open_mapping(pid, m, &file), 0);
	check_is_elf(&file);
	assert_int_equal(ep_proc_stat_mapping(pid, m, &known), 0);
	assert_int_equal(known.inode, file.inode);
	assert_int_equal(known.dev, file.dev);
	assert_int_equal(known.fd, -1);
	ep_proc_file_close(&file);
	assert_int_equal(file.fd, -1);
}

/* --- maps and files --------------------------------------------------------------------------- */

static void become_nobody(int ready_fd, const void *arg)
{
	(void)arg;
	if (geteuid() == 0)
		(void)!setresuid(65534, 65534, 65534); /* some containers have no other user */
	prctl(PR_SET_DUMPABLE, 0);
	ready_and_wait(ready_fd);
}

/* Its files in /proc are root's. */
EP_TEST(who_is_not_dumpable_has_an_owner)
{
	pid_t pid = start_child(become_nobody, NULL);
	uint32_t uid = 0;

	assert_int_equal(ep_process_read_owner(pid, &uid), 0);
	assert_true(uid == geteuid() || (geteuid() == 0 && uid == 65534));
	end_child(pid);
	assert_int_equal(ep_process_read_owner(INT32_MAX, &uid), -ESRCH);
}

EP_TEST(the_file_behind_a_mapping_is_opened)
{
	pid_t pid = start_child(run_self, NULL);

	read_maps(pid);
	check_opens(pid, find_path("test_proc_live"));
	check_opens(pid, find_path("libc.so"));
}

EP_TEST(a_deleted_file_is_opened)
{
	char path[] = "/tmp/test_proc_deleted_XXXXXX";
	ep_cleanup(ep_process_info_fini) struct ep_process_info info;
	pid_t pid;

	if (!can_map_files())
		skip();
	close(mkstemp(path));
	unlink(path);
	pid = start_child(run_deleted, path);
	read_maps(pid);
	assert_true(find_path("test_proc_deleted")->deleted);
	check_opens(pid, find_path("test_proc_deleted"));
	assert_int_equal(ep_process_read(pid, &info), 0);
	assert_string_equal(info.exe_path, path);
	assert_true(info.exe_deleted);
}

EP_TEST(a_memfd_is_opened)
{
	pid_t pid;

	if (!can_map_files())
		skip();
	pid = start_child(run_memfd, NULL);
	read_maps(pid);
	assert_int_equal(find_path("/memfd:prog")->kind, EP_MAPPING_MEMFD);
	check_opens(pid, find_path("/memfd:prog"));
}

EP_TEST(a_process_without_its_main_thread_is_read)
{
	struct ep_process_info info;
	pid_t pid, tid;

	if (!can_map_files())
		skip();
	pid = start_child(run_without_main_thread, NULL);
	assert_int_equal(ep_process_read_stat(pid, &info), 0);
	assert_int_equal(info.state, 'Z');
	assert_int_equal(ep_process_find_live_thread(pid, &tid), 0);
	assert_int_not_equal(tid, pid);
	read_maps(pid);
	check_opens(pid, find_path("libc.so"));
}

/* A child that maps a file below a root of its own, in its own mount namespace. */
static void run_behind_a_root(int ready_fd, const void *arg)
{
	int fd;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", arg, "tmpfs", 0, NULL) < 0 || chdir(arg) < 0)
		_exit(5);
	fd = open("prog", O_RDWR | O_CREAT, 0755);
	if (fd < 0 || copy_self(fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	    umount2(".", MNT_DETACH) < 0 || chroot(".") < 0)
		_exit(5);
	if (mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(5);
	ready_and_wait(ready_fd);
}

EP_TEST(a_file_in_another_mount_namespace_is_opened)
{
	char dir[] = "/tmp/test_proc_root_XXXXXX";
	pid_t pid;

	if (!can_map_files())
		skip();
	assert_non_null(mkdtemp(dir));
	pid = start_child(run_behind_a_root, dir);
	read_maps(pid);
	assert_string_equal(find_path("prog")->path, "/prog");
	check_opens(pid, find_path("prog"));
	rmdir(dir);
}

/* --- views ------------------------------------------------------------------------------------ */

static uint64_t mount_ns_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* That of the file which is our own executable, as the process names it. */
static struct ep_proc_view view_of_self(pid_t pid, const char *path)
{
	ep_cleanup(ep_proc_root_close) struct ep_proc_root root = {.fd = -1};
	struct ep_proc_file file;

	assert_int_equal(ep_proc_open_path("/proc/self/exe", &file), 0);
	assert_int_equal(ep_proc_root_open(pid, 0, &root), 0);
	ep_proc_file_set_view(&file, &root, path);
	ep_proc_file_close(&file);
	return file.view;
}

static const char *self_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = '\0';
	return path;
}

/* In its first moments it has the namespaces that it was forked with; some kernels allow no others.
 */
static void run_unshared(int ready_fd, const void *arg)
{
	if (unshare(*(const int *)arg) < 0)
		_exit(5);
	ready_and_wait(ready_fd);
}

static bool can_unshare(int flags)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(unshare(flags) < 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status == 0;
}

EP_TEST(process_of_ours_has_our_view)
{
	pid_t pid = start_child(run_named, "ours");
	struct ep_proc_root root;

	assert_int_equal(ep_proc_root_open(pid, 0, &root), 0);
	assert_true(ep_proc_view_is_ours(&root.view));
	ep_proc_root_close(&root);
	assert_true(ep_proc_speaks_for(pid, 0, mount_ns_of(getpid())));
	assert_false(ep_proc_speaks_for(pid, 0, mount_ns_of(getpid()) + 1));
}

EP_TEST(pid_that_came_again_is_another_process)
{
	pid_t pid = start_child(run_named, "again");
	struct ep_process_info info;
	struct ep_proc_root root;

	assert_int_equal(ep_process_read_stat(pid, &info), 0);
	assert_int_equal(ep_proc_root_open(pid, info.start_ns, &root), 0);
	ep_proc_root_close(&root);
	assert_int_equal(ep_proc_root_open(pid, info.start_ns + EP_NS_PER_SEC, &root), -ESRCH);
	assert_true(ep_proc_speaks_for(pid, info.start_ns, mount_ns_of(getpid())));
	assert_false(ep_proc_speaks_for(pid, info.start_ns + EP_NS_PER_SEC, mount_ns_of(getpid())));
	end_child(pid);
	assert_int_equal(ep_proc_root_open(pid, info.start_ns, &root), -ESRCH);
}

/* Who may mount there has done nothing: files that have the same path in both are ours. */
EP_TEST(copy_of_our_mounts_shares_our_files)
{
	int flags = CLONE_NEWUSER | CLONE_NEWNS;
	struct ep_proc_view view;
	pid_t pid;

	if (!can_unshare(flags))
		skip();
	pid = start_child(run_unshared, &flags);
	view = view_of_self(pid, self_path());
	assert_true(ep_proc_view_is_ours(&view));
	view = view_of_self(pid, "/another/path");
	assert_int_equal(view.mount_ns, mount_ns_of(pid));
	view = view_of_self(pid, ""); /* it was deleted there */
	assert_int_equal(view.mount_ns, mount_ns_of(pid));
	assert_true(ep_proc_speaks_for(pid, 0, mount_ns_of(pid)));
	assert_false(ep_proc_speaks_for(pid, 0, mount_ns_of(getpid())));
}

EP_TEST(user_namespace_alone_does_not_speak_for_our_mounts)
{
	int flags = CLONE_NEWUSER;
	struct ep_proc_root root;
	pid_t pid;

	if (!can_unshare(flags))
		skip();
	pid = start_child(run_unshared, &flags);
	assert_int_equal(mount_ns_of(pid), mount_ns_of(getpid()));
	assert_int_equal(ep_proc_root_open(pid, 0, &root), 0);
	assert_true(ep_proc_view_is_ours(&root.view));
	ep_proc_root_close(&root);
	assert_false(ep_proc_speaks_for(pid, 0, mount_ns_of(getpid())));
}

/* Where debug files are, something else is mounted. */
static void run_with_debug_files(int ready_fd, const void *arg)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	    mount("none", "/usr/lib/debug", "tmpfs", 0, NULL) < 0)
		_exit(5);
	ready_and_wait(ready_fd);
}

EP_TEST(debug_files_of_its_own_make_a_view)
{
	struct ep_proc_view view;
	pid_t pid;

	if (!can_unshare(CLONE_NEWUSER | CLONE_NEWNS) || access("/usr/lib/debug", F_OK) < 0)
		skip();
	pid = start_child(run_with_debug_files, NULL);
	view = view_of_self(pid, self_path());
	assert_int_equal(view.mount_ns, mount_ns_of(pid));
}

static void run_in_a_chroot(int ready_fd, const void *arg)
{
	if (unshare(CLONE_NEWUSER) < 0 || chroot(arg) < 0)
		_exit(5);
	ready_and_wait(ready_fd);
}

EP_TEST(root_of_its_own_is_a_view)
{
	struct ep_proc_file file = {.fd = -1};
	struct ep_proc_root root;
	char name[EP_ROOT_NAME_BYTES];
	struct stat st;
	pid_t pid;

	if (!can_unshare(CLONE_NEWUSER))
		skip();
	pid = start_child(run_in_a_chroot, "/usr");
	file.view = view_of_self(pid, "/lib");
	assert_int_equal(stat("/usr", &st), 0);
	assert_int_equal(file.view.root_inode, st.st_ino);
	assert_int_equal(ep_proc_file_open_root(&file, pid, &root, name), 0);
	assert_int_equal(access(name, F_OK), 0);
	assert_string_not_equal(name, EP_ROOT_GONE);
	ep_proc_root_close(&root);
	file.view.mount_ns++; /* the process is in another one by now */
	assert_int_equal(ep_proc_file_open_root(&file, pid, &root, name), 0);
	assert_string_equal(name, EP_ROOT_GONE);
	ep_proc_root_close(&root);
	file.view = (struct ep_proc_view){0};
	assert_int_equal(ep_proc_file_open_root(&file, pid, &root, name), 0);
	assert_string_equal(name, "");
}

/*
 * Without privileges map_files cannot be followed: paths are tried, below the process's root
 * first. A name that holds another file by now must be refused.
 */
static int open_unprivileged(pid_t pid, const struct ep_mapping *m)
{
	struct ep_proc_file file;
	int r;

	if (geteuid() == 0 && seteuid(65534) < 0)
		return -EINVAL;
	r = ep_proc_open_mapping(pid, m, &file);
	if (r == 0)
		ep_proc_file_close(&file);
	if (getuid() == 0 && seteuid(0) < 0)
		return -EINVAL;
	return r;
}

static void run_as_nobody(int ready_fd, const void *arg)
{
	if (getuid() == 0 &&
	    (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
		_exit(5);
	prctl(PR_SET_DUMPABLE, 1);
	ready_and_wait(ready_fd);
}

EP_TEST(without_privileges_paths_are_tried_and_checked)
{
	pid_t pid = start_child(run_as_nobody, NULL);
	struct ep_mapping m;

	read_maps(pid);
	m = *find_path("libc.so");
	m.start += 4096; /* no such name in map_files */
	assert_int_equal(open_unprivileged(pid, &m), 0);
	m.inode++;
	assert_true(open_unprivileged(pid, &m) < 0);
	m.inode--;
	m.dev_major += 1;
	assert_true(open_unprivileged(pid, &m) < 0);
	m.dev_major -= 1;
	m.path = "/dev/null";
	assert_true(open_unprivileged(pid, &m) < 0);
}

EP_TEST(anonymous_memory_is_no_file)
{
	struct ep_mapping m = {.start = 0x1000, .end = 0x2000, .kind = EP_MAPPING_ANON, .path = ""};
	struct ep_proc_file file;

	assert_int_equal(ep_proc_open_mapping(getpid(), &m, &file), -ENOTSUP);
}

EP_TEST(a_vdso_is_read)
{
	pid_t pid = start_child(run_self, NULL);
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;

	ep_vec_init(&bytes, 1, 1 << 20);
	read_maps(pid);
	assert_int_equal(ep_proc_read_vdso(pid, find_path("[vdso]"), &bytes), 0);
	assert_true(bytes.len >= 4096);
	assert_memory_equal(bytes.data, ELFMAG, SELFMAG);
	assert_int_equal(ep_proc_read_vdso(pid, find_path("libc.so"), &bytes), -EINVAL);
}

/* --- identity --------------------------------------------------------------------------------- */

static uint64_t boottime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

EP_TEST(a_process_is_identified)
{
	uint64_t before = boottime_ns() / 10000000 * 10000000;
	pid_t pid = start_child(run_self, NULL);
	struct ep_process_info info, self;

	assert_int_equal(ep_process_read(pid, &info), 0);
	assert_int_equal(ep_process_read(getpid(), &self), 0);
	assert_int_equal(info.pid, pid);
	assert_int_equal(info.parent_pid, getpid());
	assert_in_range(info.start_ns, before, boottime_ns());
	assert_string_equal(info.exe_path, self.exe_path);
	assert_int_equal(info.pid_ns, self.pid_ns);
	assert_string_equal(info.container_id, self.container_id);
	assert_true(info.pid_ns != 0 && !info.exe_deleted && !info.kernel_thread);
	ep_process_info_fini(&info);
	ep_process_info_fini(&self);
}

EP_TEST(odd_names_are_read)
{
	static const char *const names[] = {"a) S 1 (b", ":-) (", "new\nline",	    "back\\n",
					    "",		 " ",	  "fifteen bytes.."};

	for (size_t i = 0; i < EP_LEN(names); i++) {
		pid_t pid = start_child(run_named, names[i]);
		struct ep_process_info info;
		char name[EP_PROCESS_COMM_BYTES];

		assert_int_equal(ep_process_read_stat(pid, &info), 0);
		assert_string_equal(info.comm, names[i]);
		assert_int_equal(ep_process_read_thread_name(pid, pid, name), 0);
		assert_string_equal(name, names[i]);
		end_child(pid);
	}
}

static bool has_pid(const struct ep_vec *pids, pid_t pid)
{
	pid_t *p;

	ep_vec_each (pids, p)
		if (*p == pid)
			return true;
	return false;
}

EP_TEST(processes_and_threads_are_listed)
{
	pid_t pid = start_child(run_self, NULL);
	struct ep_vec pids;

	ep_vec_init(&pids, sizeof(pid_t), 100000);
	assert_int_equal(ep_process_list(&pids), 0);
	assert_true(has_pid(&pids, pid) && has_pid(&pids, getpid()) && has_pid(&pids, 1));
	ep_vec_fini(&pids);
	assert_int_equal(ep_process_list_threads(pid, &pids), 0);
	assert_int_equal(pids.len, 1);
	ep_vec_fini(&pids);
	ep_vec_init(&pids, sizeof(pid_t), 1);
	assert_int_equal(ep_process_list(&pids), -E2BIG);
	ep_vec_fini(&pids);
}

EP_TEST(a_process_that_is_gone_says_so)
{
	pid_t pid = start_child(run_self, NULL);
	char name[EP_PROCESS_COMM_BYTES];
	struct ep_process_info info;
	struct ep_proc_file file;
	struct ep_mapping m;
	uint64_t value;

	read_maps(pid);
	m = *find_path("test_proc_live");
	m.deleted = true; /* the file itself is still there */
	end_child(pid);
	assert_int_equal(ep_proc_open_mapping(pid, &m, &file), -ESRCH);
	assert_int_equal(ep_maps_read(&maps, pid, EP_MAPS_EXECUTABLE), -ESRCH);
	assert_int_equal(ep_process_read(pid, &info), -ESRCH);
	assert_int_equal(ep_process_read_stat(pid, &info), -ESRCH);
	assert_int_equal(ep_process_read_thread_name(pid, pid, name), -ESRCH);
	assert_int_equal(ep_memory_read_u64(pid, 0x1000, &value), -ESRCH);
}

/* --- memory ----------------------------------------------------------------------------------- */

static const char marker[] = "a string in the target";

EP_TEST(memory_is_read)
{
	pid_t pid = start_child(run_named, "memory");
	uint64_t addr = (uint64_t)(uintptr_t)marker, value;
	char text[64];

	assert_int_equal(ep_memory_read(pid, addr, text, sizeof(marker)), 0);
	assert_string_equal(text, marker);
	assert_int_equal(ep_memory_read_u64(pid, addr, &value), 0);
	assert_memory_equal(&value, marker, sizeof(value));
	assert_int_equal(ep_memory_read_string(pid, addr, text, sizeof(text)), 0);
	assert_string_equal(text, marker);
	assert_int_equal(ep_memory_read_string(pid, addr, text, 5), -E2BIG);
	assert_int_equal(ep_memory_read(pid, 16, text, 8), -EFAULT);
	assert_int_equal(ep_memory_read(pid, UINT64_MAX - 3, text, 8), -EFAULT);
}

EP_TEST(reading_stops_at_unmapped_memory)
{
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t addr = (uint64_t)(uintptr_t)two;
	char buffer[8192];
	size_t done;
	pid_t pid;

	memset(two, 'y', 4096);
	strcpy(two + 4096 - 4, "end");
	munmap(two + 4096, 4096);
	pid = start_child(run_named, "memory");
	assert_int_equal(ep_memory_read_some(pid, addr, buffer, sizeof(buffer), &done), 0);
	assert_int_equal(done, 4096);
	assert_int_equal(ep_memory_read(pid, addr, buffer, sizeof(buffer)), -EFAULT);
	assert_int_equal(ep_memory_read_string(pid, addr + 4000, buffer, sizeof(buffer)), 0);
	assert_int_equal(strlen(buffer), 95);
	end_child(pid);
	munmap(two, 4096);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[0], "child") == 0)
		ready_and_wait((int)strtol(argv[1], NULL, 10));
	return ep_test_run(NULL, NULL);
}
