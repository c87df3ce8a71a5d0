/* SPDX-License-Identifier: Apache-2.0 */
/* The parsers of core/proc, over tables of text. Real processes: test_proc_live.c. */
#include "core/proc/cgroups.h"
#include "core/proc/container.h"
#include "core/proc/environment.h"
#include "core/proc/maps.h"
#include "core/proc/process.h"
#include "tests/kit/test.h"


/* --- maps ------------------------------------------------------------------------------------- */

struct line_case {
	const char *label, *line;
	int result;
	struct ep_mapping want;
};

#define RX (EP_PROT_READ | EP_PROT_EXEC)

static const struct line_case line_cases[] = {
	{"file", "7f0000001000-7f0000002000 r-xp 00002000 fe:01 1835043                    /usr/bin/cat",
	 0, {.start = 0x7f0000001000, .end = 0x7f0000002000, .file_off = 0x2000, .inode = 1835043,
	     .dev_major = 0xfe, .dev_minor = 1, .prot = RX, .path = "/usr/bin/cat"}},
	{"padded addresses", "00400000-00422000 r-xp 00000000 08:11 7 /a", 0,
	 {.start = 0x400000, .end = 0x422000, .inode = 7, .dev_major = 8, .dev_minor = 0x11,
	  .prot = RX, .path = "/a"}},
	{"deleted", "1000-2000 r-xp 00000000 00:2b 9 /tmp/a b (deleted)", 0,
	 {.start = 0x1000, .end = 0x2000, .inode = 9, .dev_minor = 0x2b, .prot = RX,
	  .deleted = true, .path = "/tmp/a b"}},
	{"memfd", "1000-2000 r-xs 00001000 00:01 1025 /memfd:doublemapper (deleted)", 0,
	 {.start = 0x1000, .end = 0x2000, .file_off = 0x1000, .inode = 1025, .dev_minor = 1,
	  .kind = EP_MAPPING_MEMFD, .prot = RX | EP_PROT_SHARED, .deleted = true,
	  .path = "/memfd:doublemapper"}},
	{"shared anonymous", "1000-2000 rwxs 00000000 00:01 1024 /dev/zero (deleted)", 0,
	 {.start = 0x1000, .end = 0x2000, .inode = 1024, .dev_minor = 1, .kind = EP_MAPPING_ANON,
	  .prot = RX | EP_PROT_WRITE | EP_PROT_SHARED, .deleted = true, .path = "/dev/zero"}},
	{"System V", "1000-2000 rwxs 00000000 00:01 3 /SYSV00000000 (deleted)", 0,
	 {.start = 0x1000, .end = 0x2000, .inode = 3, .dev_minor = 1, .kind = EP_MAPPING_ANON,
	  .prot = RX | EP_PROT_WRITE | EP_PROT_SHARED, .deleted = true,
	  .path = "/SYSV00000000"}},
	{"nameless", "1000-2000 r-xp 00000000 00:00 0 ", 0,
	 {.start = 0x1000, .end = 0x2000, .kind = EP_MAPPING_ANON, .prot = RX, .path = ""}},
	{"nameless, no space", "1000-2000 r-xp 00000000 00:00 0", 0,
	 {.start = 0x1000, .end = 0x2000, .kind = EP_MAPPING_ANON, .prot = RX, .path = ""}},
	{"named anonymous", "1000-2000 r-xp 00000000 00:00 0   [anon:heap]", 0,
	 {.start = 0x1000, .end = 0x2000, .kind = EP_MAPPING_ANON, .prot = RX, .path = "[anon:heap]"}},
	{"vdso", "7ffff7fc9000-7ffff7fcb000 r-xp 00000000 00:00 0   [vdso]", 0,
	 {.start = 0x7ffff7fc9000, .end = 0x7ffff7fcb000, .kind = EP_MAPPING_VDSO, .prot = RX,
	  .path = "[vdso]"}},
	{"a file called [vdso]", "1000-2000 r-xp 00000000 08:01 5 /x/[vdso]", 0,
	 {.start = 0x1000, .end = 0x2000, .inode = 5, .dev_major = 8, .dev_minor = 1, .prot = RX,
	  .path = "/x/[vdso]"}},
	{"vsyscall", "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]", 0,
	 {.start = 0xffffffffff600000, .end = 0xffffffffff601000, .kind = EP_MAPPING_OTHER,
	  .prot = EP_PROT_EXEC, .path = "[vsyscall]"}},
	{"wide device", "1000-2000 r-xp 00000000 103:fffff 18446744073709551615 /a", 0,
	 {.start = 0x1000, .end = 0x2000, .inode = UINT64_MAX, .dev_major = 0x103,
	  .dev_minor = 0xfffff, .prot = RX, .path = "/a"}},
	{"empty", "", -EBADMSG, {0}},
	{"end before start", "2000-1000 r-xp 00000000 00:00 0 ", -EBADMSG, {0}},
	{"empty range", "1000-1000 r-xp 00000000 00:00 0 ", -EBADMSG, {0}},
	{"overflowing address", "10000000000000000-2 r-xp 00000000 00:00 0 ", -EBADMSG, {0}},
	{"cut in the flags", "1000-2000 r-x", -EBADMSG, {0}},
	{"cut in the device", "1000-2000 r-xp 00000000 08:", -EBADMSG, {0}},
	{"no inode", "1000-2000 r-xp 00000000 08:01 ", -EBADMSG, {0}},
	{"overflowing device", "1000-2000 r-xp 00000000 100000000:01 5 /a", -EBADMSG, {0}},
};

static void check_mapping(const struct ep_mapping *got, const struct ep_mapping *want)
{
	assert_int_equal(got->start, want->start);
	assert_int_equal(got->end, want->end);
	assert_int_equal(got->file_off, want->file_off);
	assert_int_equal(got->inode, want->inode);
	assert_int_equal(got->dev_major, want->dev_major);
	assert_int_equal(got->dev_minor, want->dev_minor);
	assert_int_equal(got->kind, want->kind);
	assert_int_equal(got->prot, want->prot);
	assert_int_equal(got->deleted, want->deleted);
	assert_int_equal(got->path_bytes, strlen(want->path));
	assert_memory_equal(got->path, want->path, got->path_bytes);
}

EP_TEST(a_line_of_maps_is_parsed)
{
	for (size_t i = 0; i < EP_LEN(line_cases); i++) {
		const struct line_case *c = &line_cases[i];
		struct ep_mapping got;
		int r = ep_maps_parse_line(c->line, strlen(c->line), &got);

		if (r != c->result)
			fail_msg("%s: result %d", c->label, r);
		if (r == 0)
			check_mapping(&got, &c->want);
	}
}

static const char some_maps[] =
	"00400000-00401000 r--p 00000000 fe:01 11 /opt/a\n"
	"00401000-00403000 r-xp 00001000 fe:01 11 /opt/a\n"
	"00403000-00405000 r-xp 00003000 fe:01 11 /opt/a\n"
	"00405000-00406000 rw-p 00005000 fe:01 11 /opt/a\n"
	"7f0000000000-7f0000001000 r-xp 00000000 fe:01 12 /opt/new\\012line\n"
	"7f0000002000-7f0000003000 r-xp 00000000 00:00 0 \n"
	"7fff00000000-7fff00002000 r-xp 00000000 00:00 0 [vdso]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]";

EP_TEST(only_executable_mappings_are_kept)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;

	ep_maps_init(&maps, 100);
	assert_int_equal(ep_maps_parse(&maps, some_maps, strlen(some_maps), EP_MAPS_EXECUTABLE), 0);
	assert_int_equal(maps.mappings.len, 5);
	assert_int_equal(maps.seen, 8);
	assert_int_equal(maps.dropped, 0);
	assert_int_equal(ep_maps_parse(&maps, some_maps, strlen(some_maps), EP_MAPS_ALL), 0);
	assert_int_equal(maps.mappings.len, 7);
}

/* The unwinder's search compares addresses as numbers below 2^63. */
EP_TEST(the_kernels_half_is_left_out)
{
	struct ep_mapping *m;
	ep_cleanup(ep_maps_fini) struct ep_maps maps;

	ep_maps_init(&maps, 100);
	assert_int_equal(ep_maps_parse(&maps, some_maps, strlen(some_maps), EP_MAPS_ALL), 0);
	ep_vec_each(&maps.mappings, m)
		assert_true(m->end <= (uint64_t)1 << 63);
	assert_int_equal(maps.dropped, 0);
}

EP_TEST(newlines_in_a_path_are_decoded)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;

	ep_maps_init(&maps, 100);
	assert_int_equal(ep_maps_parse(&maps, some_maps, strlen(some_maps), EP_MAPS_EXECUTABLE), 0);
	assert_string_equal(ep_vec_at(&maps.mappings, struct ep_mapping, 2)->path,
			    "/opt/new\nline");
}

EP_TEST(an_address_finds_its_mapping)
{
	ep_cleanup(ep_maps_fini) struct ep_maps maps;

	ep_maps_init(&maps, 100);
	assert_null(ep_maps_find(&maps, 0x401000));
	assert_int_equal(ep_maps_parse(&maps, some_maps, strlen(some_maps), EP_MAPS_EXECUTABLE), 0);
	assert_int_equal(ep_maps_find(&maps, 0x401000)->start, 0x401000);
	assert_int_equal(ep_maps_find(&maps, 0x402fff)->start, 0x401000);
	assert_int_equal(ep_maps_find(&maps, 0x403000)->start, 0x403000);
	assert_ptr_equal(ep_maps_find(&maps, 0x403000)->path, ep_maps_find(&maps, 0x402000)->path);
	assert_null(ep_maps_find(&maps, 0x400fff));
	assert_null(ep_maps_find(&maps, 0x405000));
	assert_null(ep_maps_find(&maps, UINT64_MAX));
	assert_int_equal(ep_maps_find(&maps, 0x7fff00001fff)->kind, EP_MAPPING_VDSO);
}

EP_TEST(lines_out_of_order_are_dropped_and_counted)
{
	static const char text[] = "2000-4000 r-xp 00000000 08:01 1 /a\n"
				   "3000-5000 r-xp 00000000 08:01 1 /b\n"
				   "garbage with an x in it\n"
				   "1000-2000 r-xp 00000000 08:01 1 /c\n"
				   "4000-5000 r-xp 00000000 08:01 1 /d\n";
	ep_cleanup(ep_maps_fini) struct ep_maps maps;

	ep_maps_init(&maps, 100);
	assert_int_equal(ep_maps_parse(&maps, text, strlen(text), EP_MAPS_ALL), 0);
	assert_int_equal(maps.mappings.len, 2);
	assert_int_equal(maps.dropped, 3);
}

static FILE *write_many(size_t n)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	for (size_t i = 0; i < n; i++)
		fprintf(file, "%zx-%zx r-xp 00000000 08:01 %zu      /usr/lib/some/where/lib%zu.so\n",
			0x7f0000000000 + i * 8192, 0x7f0000000000 + i * 8192 + 4096, i + 1, i);
	fflush(file);
	rewind(file);
	return file;
}

EP_TEST(a_hundred_thousand_mappings_are_bounded)
{
	struct ep_maps maps;
	FILE *file = write_many(100000);

	ep_maps_init(&maps, 16384);
	assert_int_equal(ep_maps_read_fd(&maps, fileno(file), EP_MAPS_EXECUTABLE), 0);
	assert_int_equal(maps.seen, 100000);
	assert_int_equal(maps.mappings.len, 16384);
	assert_int_equal(maps.dropped, 100000 - 16384);
	assert_string_equal(ep_vec_at(&maps.mappings, struct ep_mapping, 16383)->path,
			    "/usr/lib/some/where/lib16383.so");
	ep_maps_fini(&maps);
	fclose(file);
}

EP_TEST(a_line_beyond_all_bounds_is_skipped)
{
	static const char good[] = "1000-2000 r-xp 00000000 08:01 1 /a\n";
	struct ep_maps maps;
	FILE *file = tmpfile();

	assert_non_null(file);
	fputs("0-1000 r-xp 00000000 08:01 1 /", file);
	for (int i = 0; i < 100000; i++)
		fputc('x', file);
	fprintf(file, "\n%s", good);
	rewind(file);
	ep_maps_init(&maps, 16);
	assert_int_equal(ep_maps_read_fd(&maps, fileno(file), EP_MAPS_EXECUTABLE), 0);
	assert_int_equal(maps.mappings.len, 1);
	assert_string_equal(ep_maps_find(&maps, 0x1000)->path, "/a");
	ep_maps_fini(&maps);
	fclose(file);
}

/* --- stat ------------------------------------------------------------------------------------- */

#define STAT_TAIL " S 17 1 1 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 1 0 12345 1000 200 0\n"

struct stat_case {
	const char *label, *text, *comm;
	int result;
};

static const struct stat_case stat_cases[] = {
	{"plain", "42 (cat)" STAT_TAIL, "cat", 0},
	{"spaces and parentheses", "42 (a) S 1 (b c)" STAT_TAIL, "a) S 1 (b c", 0},
	{"only parentheses", "42 ())))" STAT_TAIL, ")))", 0},
	{"newline and backslash", "42 (a\nb\\nc)" STAT_TAIL, "a\nb\\nc", 0},
	{"empty", "42 ()" STAT_TAIL, "", 0},
	{"workqueue name is cut", "42 (kworker/u9:3-events_unbound)" STAT_TAIL, "kworker/u9:3-ev", 0},
	{"no text", "", NULL, -EBADMSG},
	{"no name", "42 S 1 2 3", NULL, -EBADMSG},
	{"closed before opened", "42 )(", NULL, -EBADMSG},
	{"cut before the start time", "42 (cat) S 17 1 1 0 -1 4194560 100 0 0", NULL, -EBADMSG},
	{"cut behind the name", "42 (cat)", NULL, -EBADMSG},
	{"pid 0", "0 (cat)" STAT_TAIL, NULL, -EBADMSG},
};

EP_TEST(stat_is_parsed)
{
	for (size_t i = 0; i < EP_LEN(stat_cases); i++) {
		const struct stat_case *c = &stat_cases[i];
		struct ep_process_info info;
		int r = ep_process_parse_stat(c->text, strlen(c->text), &info);

		if (r != c->result)
			fail_msg("%s: result %d", c->label, r);
		if (r < 0)
			continue;
		assert_string_equal(info.comm, c->comm);
		assert_int_equal(info.pid, 42);
		assert_int_equal(info.parent_pid, 17);
		assert_int_equal(info.state, 'S');
		assert_false(info.kernel_thread);
		assert_int_equal(info.start_ns, 123450000000);
	}
}

EP_TEST(a_kernel_thread_is_known_by_its_flag)
{
	static const char text[] = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0";
	struct ep_process_info info;

	assert_int_equal(ep_process_parse_stat(text, strlen(text), &info), 0);
	assert_true(info.kernel_thread);
}

/* In a time namespace they need not begin at multiples of one. */
EP_TEST(start_times_compare_by_tick)
{
	assert_true(ep_process_same_start(123456789012, 123450000000));
	assert_true(ep_process_same_start(123450000000, 123459999999));
	assert_false(ep_process_same_start(123460000000, 123450000000));
	assert_true(ep_process_same_start(123449999999, 123450000000));
	assert_false(ep_process_same_start(123440000000, 123450000000));
}

/* --- cgroup ----------------------------------------------------------------------------------- */

#define ID64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID64B "f123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID32 "0123456789abcdef0123456789abcdef"
#define POD "/kubepods/burstable/pod2c48913c-b29f-11e7-9350-020968147796/"

static const struct {
	const char *label, *text, *id;
} cgroup_cases[] = {
	{"no container", "0::/user.slice/user-1000.slice/session-2.scope\n", ""},
	{"root", "0::/\n", ""},
	{"empty", "", ""},
	{"docker, v1", "12:cpu,cpuacct:/docker/" ID64 "\n11:pids:/docker/" ID64 "\n0::/\n", ID64},
	{"docker, systemd", "0::/system.slice/docker-" ID64 ".scope\n", ID64},
	{"docker, inner cgroup", "0::/system.slice/docker-" ID64 ".scope/init.scope\n", ID64},
	{"docker in docker", "0::/docker/" ID64B "/docker/" ID64 "\n", ID64},
	{"containerd", "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID64 ".scope\n", ID64},
	{"containerd, mixed drivers", "1:cpu:/system.slice/containerd.service/"
	 "kubepods-burstable-pod1.slice:cri-containerd:" ID64 "\n", ID64},
	{"cri-o", "0::/kubepods.slice/crio-" ID64 ".scope/container\n", ID64},
	{"cri-o monitor", "0::/kubepods.slice/crio-conmon-" ID64 ".scope\n", ""},
	{"podman", "0::/machine.slice/libpod-" ID64 ".scope/container\n", ID64},
	{"podman monitor", "0::/machine.slice/libpod-conmon-" ID64 ".scope\n", ""},
	{"podman, rootless", "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-"
	 ID64 ".scope\n", ID64},
	{"kubelet, cgroupfs", "4:memory:" POD ID64 "\n", ID64},
	{"seen from a sibling's cgroup namespace", "0::/../" ID64 "\n", ID64},
	{"ECS", "9:cpuset:/ecs/" ID32 "/" ID32 "-1234567890\n", ID32 "-1234567890"},
	{"32 digits alone", "9:cpuset:/ecs/" ID32 "\n", ""},
	{"LXC", "0::/lxc.payload.web1/system.slice/nginx.service\n", "web1"},
	{"LXC, old", "4:memory:/lxc/web1\n", "web1"},
	{"LXC monitor", "0::/lxc.monitor.web1\n", ""},
	{"docker in LXC", "0::/lxc.payload.web1/docker/" ID64 "\n", ID64},
	{"nspawn", "0::/machine.slice/machine-my\\x2dbox.scope/payload\n", "my-box"},
	{"nspawn service", "0::/machine.slice/systemd-nspawn@deb12.service/payload\n", "deb12"},
	{"virtual machine", "0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n", ""},
	{"63 digits", "0::/docker/" ID32 "123456789abcdef0123456789abcdef\n", ""},
	{"upper case", "0::/docker/" ID32 ID32 "A\n", ""},
	{"65 digits", "0::/docker/a" ID64 "\n", ""},
	{"path with colons", "0::/a:b/docker-" ID64 ".scope", ID64},
	{"no colons", "docker-" ID64 ".scope\n", ""},
	{"name too long", "0::/lxc.payload." ID64 ID64 "\n", ""},
};

EP_TEST(container_ids_are_found)
{
	for (size_t i = 0; i < EP_LEN(cgroup_cases); i++) {
		char id[EP_CONTAINER_ID_BYTES];

		ep_container_parse_id(cgroup_cases[i].text, strlen(cgroup_cases[i].text), id);
		if (strcmp(id, cgroup_cases[i].id) != 0)
			fail_msg("%s: got \"%s\"", cgroup_cases[i].label, id);
	}
}

EP_TEST(environment_gives_what_was_asked_for)
{
	static const char data[] = "A=1\0BB=two words\0=x\0A2=no\0EMPTY=\0NOVALUE\0A=again\0BB=cut";
	static const char *const names[] = {"A", "EMPTY", "BB", "NOVALUE", "MISSING"};
	static const char expected[] = "A=1\0BB=two words\0EMPTY=\0A=again";
	struct ep_vec text;

	ep_vec_init(&text, 1, 1024);
	assert_int_equal(ep_environment_parse(data, sizeof(data) - 1, names, 5, &text), 0);
	assert_int_equal(text.len, sizeof(expected));
	assert_memory_equal(text.data, expected, sizeof(expected));
	ep_vec_fini(&text);
	ep_vec_init(&text, 1, 8);
	assert_int_equal(ep_environment_parse(data, sizeof(data) - 1, names, 5, &text), -E2BIG);
	ep_vec_fini(&text);
}

EP_TEST(environment_values_are_bounded)
{
	static const char *const names[] = {"LONG", "B"};
	char data[EP_ENVIRONMENT_MAX_VALUE + 64] = "LONG=";
	ep_cleanup(ep_vec_fini) struct ep_vec text;

	memset(data + 5, 'x', EP_ENVIRONMENT_MAX_VALUE);
	memcpy(data + 5 + EP_ENVIRONMENT_MAX_VALUE, "\0B=1", 5);
	ep_vec_init(&text, 1, sizeof(data));
	assert_int_equal(ep_environment_parse(data, 5 + EP_ENVIRONMENT_MAX_VALUE + 5, names, 2, &text),
			 0);
	assert_int_equal(text.len, 4);
	assert_string_equal(text.data, "B=1");
}

EP_TEST(path_in_the_tree_of_cgroups_is_that_of_its_line)
{
	static const struct {
		const char *text, *path; /* NULL: there is none */
	} cases[] = {
		{"0::/system.slice/x.service\n", "/system.slice/x.service"},
		{"12:pids:/a\n1:name=systemd:/b\n0::/c d\n", "/c d"},
		{"12:pids:/a0::/b\n1:name=systemd:/b\n", NULL},
		{"0::/\n", "/"},
		{"0::/no newline", NULL},
		{"", NULL},
	};
	char path[EP_CGROUP_PATH_BYTES], long_line[EP_CGROUP_PATH_BYTES + 8] = "0::";

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		int r = ep_cgroup_parse_path(cases[i].text, strlen(cases[i].text), path);

		assert_int_equal(r, cases[i].path ? 0 : -ENODATA);
		assert_string_equal(path, cases[i].path ? cases[i].path : "");
	}
	memset(long_line + 3, '/', EP_CGROUP_PATH_BYTES);
	long_line[3 + EP_CGROUP_PATH_BYTES] = '\n';
	assert_int_equal(ep_cgroup_parse_path(long_line, 4 + EP_CGROUP_PATH_BYTES, path), -ENODATA);
	assert_int_equal(ep_cgroup_parse_path("0::/a\0b\n", 8, path), -ENODATA);
}

/* --- cgroups ---------------------------------------------------------------------------------- */

static const struct {
	const char *label, *text, *mount;
} mount_cases[] = {
	{"alone", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup"},
	{"beside v1", "34 24 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
		      "33 24 0:29 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw",
	 "/sys/fs/cgroup/unified"},
	{"escaped", "30 23 0:26 / /a\\040b rw - cgroup2 cgroup2 rw\n", "/a b"},
	{"none", "34 24 0:30 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n", NULL},
	{"no fields", "30 - cgroup2 \n - cgroup2 x", NULL},
};

EP_TEST(the_tree_of_cgroups_is_found)
{
	for (size_t i = 0; i < EP_LEN(mount_cases); i++) {
		char mount[EP_CGROUP_PATH_BYTES];
		const char *text = mount_cases[i].text;
		int r = ep_cgroup_parse_mount(text, strlen(text), mount);

		if (r != (mount_cases[i].mount ? 0 : -ENOENT))
			fail_msg("%s: %d", mount_cases[i].label, r);
		if (r == 0)
			assert_string_equal(mount, mount_cases[i].mount);
	}
}
