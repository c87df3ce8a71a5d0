/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/offsets.h"
#include "core/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <linux/bpf.h>

#define BTF_PATH       "/sys/kernel/btf/vmlinux"
#define MAX_BTF_BYTES  (256 << 20)
#define MAX_STACK_PATH "/proc/sys/kernel/perf_event_max_stack"
/* arch/x86/include/asm/page_64_types.h: THREAD_SIZE is 4 pages, 8 with KASAN. */
#define KERNEL_STACK_BYTES 16384
/* Anonymous structs and unions within task_struct are nested a few levels deep at most. */
#define MEMBER_MAX_DEPTH 4

struct wanted {
	const char *type;
	const char *member;
	size_t config_off;
};

static const struct wanted wanted[] = {
	{"task_struct", "mm", offsetof(struct ep_config, task_mm_off)},
	{"task_struct", "stack", offsetof(struct ep_config, task_stack_off)},
	{"task_struct", "group_leader", offsetof(struct ep_config, task_group_leader_off)},
	{"task_struct", "start_boottime", offsetof(struct ep_config, task_start_off)},
	{"task_struct", "flags", offsetof(struct ep_config, task_flags_off)},
	{"task_struct", "tgid", offsetof(struct ep_config, task_tgid_off)},
	{"task_struct", "self_exec_id", offsetof(struct ep_config, task_exec_id_off)},
	{"task_struct", "signal", offsetof(struct ep_config, task_signal_off)},
	{"mm_struct", "map_count", offsetof(struct ep_config, mm_map_count_off)},
	{"mm_struct", "exe_file", offsetof(struct ep_config, mm_exe_file_off)},
	{"file", "f_inode", offsetof(struct ep_config, file_inode_off)},
	{"signal_struct", "live", offsetof(struct ep_config, signal_live_off)},
	{"task_struct", "nsproxy", offsetof(struct ep_config, task_nsproxy_off)},
	{"nsproxy", "mnt_ns", offsetof(struct ep_config, nsproxy_mount_off)},
};

/* All of them, or none: a kernel without uprobes has none. */
static const struct wanted uprobes_wanted[] = {
	{"task_struct", "utask", offsetof(struct ep_config, task_utask_off)},
	{"uprobe_task", "return_instances", offsetof(struct ep_config, utask_returns_off)},
	{"uprobe_task", "xol_vaddr", offsetof(struct ep_config, utask_copy_off)},
	{"uprobe_task", "vaddr", offsetof(struct ep_config, utask_probed_off)},
	{"return_instance", "stack", offsetof(struct ep_config, return_stack_off)},
	{"return_instance", "orig_ret_vaddr", offsetof(struct ep_config, return_addr_off)},
	{"return_instance", "next", offsetof(struct ep_config, return_next_off)},
};

#define CGROUPS EP_FILTER_CGROUPS
#define COMM	EP_FILTER_BOTH(EP_FILTER_COMM)
#define EXE	EP_FILTER_BOTH(EP_FILTER_EXE)
#define USER	EP_FILTER_BOTH(EP_FILTER_USER)
#define TID	EP_FILTER_BOTH(EP_FILTER_TID)

/* For some keys of the filter: they cannot be used where one of theirs is not there. */
static const struct {
	uint32_t keys;
	struct wanted wanted;
} filter_wanted[] = {
	{TID, {"task_struct", "pid", offsetof(struct ep_config, task_pid_off)}},
	{COMM, {"task_struct", "comm", offsetof(struct ep_config, task_comm_off)}},
	{USER, {"task_struct", "cred", offsetof(struct ep_config, task_cred_off)}},
	{USER, {"cred", "euid", offsetof(struct ep_config, cred_euid_off)}},
	{CGROUPS, {"task_struct", "cgroups", offsetof(struct ep_config, task_cgroups_off)}},
	{CGROUPS, {"css_set", "dfl_cgrp", offsetof(struct ep_config, cgroups_default_off)}},
	{CGROUPS, {"cgroup", "kn", offsetof(struct ep_config, cgroup_node_off)}},
	{CGROUPS, {"cgroup", "root", offsetof(struct ep_config, cgroup_root_off)}},
	{CGROUPS, {"cgroup_root", "hierarchy_id", offsetof(struct ep_config, root_hierarchy_off)}},
	{CGROUPS, {"cgroup_subsys_state", "cgroup", offsetof(struct ep_config, css_cgroup_off)}},
	{CGROUPS, {"kernfs_node", "id", offsetof(struct ep_config, node_id_off)}},
	{CGROUPS, {"kernfs_node", "name", offsetof(struct ep_config, node_name_off)}},
	{EXE, {"file", "f_path", offsetof(struct ep_config, file_path_off)}},
	{EXE, {"path", "mnt", offsetof(struct ep_config, path_mount_off)}},
	{EXE, {"path", "dentry", offsetof(struct ep_config, path_dentry_off)}},
	{EXE, {"mount", "mnt", offsetof(struct ep_config, mount_in_off)}},
	{EXE, {"mount", "mnt_parent", offsetof(struct ep_config, mount_parent_off)}},
	{EXE, {"mount", "mnt_mountpoint", offsetof(struct ep_config, mount_point_off)}},
	{EXE, {"vfsmount", "mnt_root", offsetof(struct ep_config, mount_root_off)}},
	{EXE, {"dentry", "d_parent", offsetof(struct ep_config, dentry_parent_off)}},
	{EXE, {"dentry", "d_name", offsetof(struct ep_config, dentry_name_off)}},
	{EXE, {"qstr", "len", offsetof(struct ep_config, name_len_off)}},
	{EXE, {"qstr", "name", offsetof(struct ep_config, name_text_off)}},
};

/* Bit offset of a member, looking into anonymous structs and unions; -1 when absent. */
static int64_t find_member(const struct btf *btf, const struct btf_type *type, const char *name,
			   unsigned int depth)
{
	const struct btf_member *members = btf_members(type);

	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		const char *have = btf__name_by_offset(btf, members[i].name_off);
		int64_t base = btf_member_bit_offset(type, i), nested;
		const struct btf_type *inner;

		if (have && strcmp(have, name) == 0)
			return base;
		inner = btf__type_by_id(btf, members[i].type);
		if ((have && *have) || depth == 0 || !inner || !btf_is_composite(inner))
			continue;
		nested = find_member(btf, inner, name, depth - 1);
		if (nested >= 0)
			return base + nested;
	}
	return -1;
}

static int read_member(const struct btf *btf, const struct wanted *want, struct ep_config *config)
{
	int32_t id = btf__find_by_name_kind(btf, want->type, BTF_KIND_STRUCT);
	int64_t bits = -1;

	if (id > 0)
		bits = find_member(btf, btf__type_by_id(btf, (uint32_t)id), want->member,
				   MEMBER_MAX_DEPTH);
	if (bits < 0) {
		ep_log(EP_LOG_DEBUG, "bpf: the kernel's BTF has no %s.%s", want->type,
		       want->member);
		return -ENODATA;
	}
	*(uint32_t *)((char *)config + want->config_off) = (uint32_t)(bits / 8);
	return 0;
}

/* task_struct.thread.fsbase: where the thread pointer is kept. Languages need it, the core does not. */
static void read_thread_pointer(const struct btf *btf, struct ep_config *config)
{
	struct ep_config part = {0};
	static const struct wanted thread = {"task_struct", "thread", 0};
	static const struct wanted base = {"thread_struct", "fsbase", 0};
	uint32_t off;

	if (read_member(btf, &thread, &part) < 0)
		return;
	off = *(uint32_t *)&part;
	if (read_member(btf, &base, &part) == 0)
		config->task_tls_off = off + *(uint32_t *)&part;
}

/*
 * A 64-bit number that is never used again, as inode numbers of namespaces are: seq (fs/mount.h),
 * from 6.18 on ns.ns_id (include/linux/ns_common.h). And that inode number, ns.inum.
 */
static void read_mount_ns_id(const struct btf *btf, struct ep_config *config)
{
	static const struct wanted seq = {"mnt_namespace", "seq", 0};
	static const struct wanted common = {"mnt_namespace", "ns", 0};
	static const struct wanted id = {"ns_common", "ns_id", 0};
	static const struct wanted inode = {"ns_common", "inum", 0};
	struct ep_config part = {0};
	uint32_t off;

	if (read_member(btf, &seq, &part) == 0)
		config->mount_ns_id_off = *(uint32_t *)&part;
	if (read_member(btf, &common, &part) < 0)
		return;
	off = *(uint32_t *)&part;
	if (read_member(btf, &inode, &part) == 0)
		config->mount_ns_inode_off = off + *(uint32_t *)&part;
	if (!config->mount_ns_id_off && read_member(btf, &id, &part) == 0)
		config->mount_ns_id_off = off + *(uint32_t *)&part;
}

/* cgroup.self.parent */
static int read_cgroup_parent(const struct btf *btf, struct ep_config *config)
{
	static const struct wanted self = {"cgroup", "self", 0};
	static const struct wanted parent = {"cgroup_subsys_state", "parent", 0};
	struct ep_config part = {0};
	uint32_t off;
	int r = read_member(btf, &self, &part);

	if (r < 0)
		return r;
	off = *(uint32_t *)&part;
	r = read_member(btf, &parent, &part);
	if (r == 0)
		config->cgroup_parent_off = off + *(uint32_t *)&part;
	return r;
}

static void read_uprobe_offsets(const struct btf *btf, struct ep_config *config)
{
	struct ep_config part = *config;

	for (size_t i = 0; i < EP_LEN(uprobes_wanted); i++) {
		if (read_member(btf, &uprobes_wanted[i], &part) < 0)
			return;
	}
	*config = part;
}

static void read_filter_offsets(const struct btf *btf, struct ep_config *config)
{
	/* Without them each event of a process is judged by its cgroup, which need not be that of all its threads. */
	static const struct wanted domain = {"cgroup", "dom_cgrp", offsetof(struct ep_config, cgroup_domain_off)};
	static const struct wanted threaded = {"cgroup", "nr_threaded_children",
					       offsetof(struct ep_config, cgroup_threaded_off)};

	(void)read_member(btf, &domain, config);
	(void)read_member(btf, &threaded, config);
	config->filter_cannot = read_cgroup_parent(btf, config) < 0 ? CGROUPS : 0;
	for (size_t i = 0; i < EP_LEN(filter_wanted); i++) {
		if (read_member(btf, &filter_wanted[i].wanted, config) < 0)
			config->filter_cannot |= filter_wanted[i].keys;
	}
}

/* enum bpf_func_id lists the helpers this kernel has (include/uapi/linux/bpf.h). */
static bool has_helper(const struct btf *btf, const char *name)
{
	int32_t id = btf__find_by_name_kind(btf, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint32_t i = 0; type && i < btf_vlen(type); i++) {
		const char *have = btf__name_by_offset(btf, btf_enum(type)[i].name_off);

		if (have && strcmp(have, name) == 0)
			return true;
	}
	return false;
}

/* Both bpf_get_stack (kernel/bpf/stackmap.c) and who set this stop it at so many frames. */
static uint32_t kernel_frames(void)
{
	FILE *file = fopen(MAX_STACK_PATH, "re");
	unsigned int frames = EP_MAX_KERNEL;

	if (!file)
		return frames;
	if (fscanf(file, "%u", &frames) != 1)
		frames = EP_MAX_KERNEL;
	fclose(file);
	return EP_MIN(frames, (unsigned int)EP_MAX_KERNEL);
}

/*
 * Read, it comes a page at a time and is copied twice. Linux 6.16 lets it be mapped, privately and
 * for reading (btf_sysfs_vmlinux_mmap, kernel/bpf/sysfs_btf.c).
 */
static struct btf *parse_mapped(void)
{
	ep_autoclose int fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC);
	struct btf *btf;
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > MAX_BTF_BYTES)
		return NULL;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return NULL;
	btf = btf__new(data, (uint32_t)st.st_size);
	munmap(data, (size_t)st.st_size);
	return btf;
}

int ep_bpf_read_offsets(struct ep_config *config)
{
	struct ep_config facts = *config;
	struct btf *btf;
	int r = 0;

	if (access(BTF_PATH, R_OK) != 0)
		return -ENOENT;
	btf = parse_mapped();
	if (!btf)
		btf = btf__parse(BTF_PATH, NULL);
	if (!btf)
		return -errno;
	for (size_t i = 0; r == 0 && i < EP_LEN(wanted); i++)
		r = read_member(btf, &wanted[i], &facts);
	read_thread_pointer(btf, &facts);
	read_mount_ns_id(btf, &facts);
	read_filter_offsets(btf, &facts);
	read_uprobe_offsets(btf, &facts);
	facts.has_task_pt_regs = has_helper(btf, "BPF_FUNC_task_pt_regs");
	facts.has_task_btf = has_helper(btf, "BPF_FUNC_get_current_task_btf");
	facts.kernel_stack_bytes = KERNEL_STACK_BYTES;
	facts.kernel_frames = kernel_frames();
	btf__free(btf);
	if (r == 0)
		*config = facts;
	return r;
}
