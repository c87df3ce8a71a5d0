/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Cgroups that are made while we run, by raw tracepoints (include/trace/events/cgroup.h): one below a
 * chosen cgroup is chosen before anything runs in it, and so is a unit's that starts. Containers are
 * known by parts of paths that user space understands: it looks when `cgroups` of ep_control changed.
 */
#ifndef EP_BPF_CGROUP_H
#define EP_BPF_CGROUP_H

#include "bpf/filter.bpf.h"

/* Other hierarchies are those of v1, whose numbers are the same again. */
static __always_inline bool is_default_hierarchy(__u64 cgroup)
{
	__u64 root = read_kernel_u64(cgroup + ep_config.cgroup_root_off);

	return read_kernel_u32(root + ep_config.root_hierarchy_off) == 0;
}

static __always_inline __u32 parent_bits(__u64 cgroup)
{
	__u64 css = read_kernel_u64(cgroup + ep_config.cgroup_parent_off);

	return choice(EP_FILTER_CGROUP,
		      cgroup_id(read_kernel_u64(css + ep_config.css_cgroup_off)));
}

static __always_inline __u32 unit_bits(__u64 cgroup)
{
	__u64 node = read_kernel_u64(cgroup + ep_config.cgroup_node_off);
	__u64 words[EP_UNIT_WORDS] = {0};

	if (!used_bits(EP_FILTER_BOTH(EP_FILTER_UNIT)))
		return 0;
	if (bpf_probe_read_kernel_str(words, sizeof(words),
				      (void *)read_kernel_u64(node + ep_config.node_name_off)) <= 0)
		return 0;
	return choice(EP_FILTER_UNIT, ep_unit_hash(words));
}

/* TP_PROTO(struct cgroup *cgrp, const char *path) */
SEC("raw_tracepoint/cgroup_mkdir")
int ep_cgroup_mkdir(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 cgroup = ctx->args[0], key;
	struct ep_control *control = get_control();
	__u32 bits;

	if (!used_bits(EP_FILTER_CGROUPS) || !is_default_hierarchy(cgroup))
		return 0;
	bits = parent_bits(cgroup) | unit_bits(cgroup);
	key = EP_CHOICE(EP_FILTER_CGROUP, cgroup_id(cgroup));
	if (bits)
		mark(key);
	if (bits && bpf_map_update_elem(&ep_choices, &key, &bits, BPF_ANY))
		count(EP_COUNTER_FILTER_FULL);
	if (control)
		control->cgroups++;
	return 0;
}

/* TP_PROTO(struct cgroup *cgrp, const char *path): no task is in it any more. */
SEC("raw_tracepoint/cgroup_release")
int ep_cgroup_gone(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 cgroup = ctx->args[0], key;

	if (!used_bits(EP_FILTER_CGROUPS) || !is_default_hierarchy(cgroup))
		return 0;
	key = EP_CHOICE(EP_FILTER_CGROUP, cgroup_id(cgroup));
	bpf_map_delete_elem(&ep_choices, &key);
	return 0;
}

/*
 * TP_PROTO(struct cgroup *dst_cgrp, const char *path, struct task_struct *task, bool threadgroup): it has been moved
 * (kernel/cgroup/cgroup.c, cgroup_attach_task).
 */
SEC("raw_tracepoint/cgroup_attach_task")
int ep_cgroup_move(struct bpf_raw_tracepoint_args *ctx)
{
	if (used_bits(EP_FILTER_CGROUPS))
		forget_other(read_kernel_u32(ctx->args[2] + ep_config.task_tgid_off), false);
	return 0;
}

#endif
