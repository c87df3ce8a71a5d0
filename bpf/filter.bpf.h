/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Is a task wanted (bpf/filter.h)? Asked at each event, before anything else is done for it, and at
 * fork, exec and exit before user space hears of them. User, cgroup and thread may change from one event
 * to the next; they cost one or two loads and are read each time. Matching a name costs more, so it is
 * done once for each program, and the verdict is kept in ep_verdicts. A rename is judged when it happens.
 */
#ifndef EP_BPF_FILTER_BPF_H
#define EP_BPF_FILTER_BPF_H

#include "bpf/kernel.bpf.h"
#include "bpf/maps.bpf.h"

/* A thread, and the program that it runs. */
struct ep_subject {
	__u64 task, start_ns;
	__u32 pid, tid, image;
	bool is_current; /* a constant: its fields are loads where the verifier knows them */
};

/* Constants for the verifier: what a filter does not use is not in its program. */
static __always_inline __u32 used_bits(__u32 mask)
{
	return (ep_config.filter_need | ep_config.filter_never) & mask;
}

static __always_inline bool holds(__u32 bits, __u32 mask)
{
	return (bits & used_bits(mask)) == (ep_config.filter_need & mask);
}

/* More than processes by pid: what is wanted may change, and user space hears of what was wanted once. */
static __always_inline bool may_change(void)
{
	return used_bits(EP_FILTER_BITS & ~EP_FILTER_BOTH(EP_FILTER_PID));
}

static __always_inline struct ep_marks *get_marks(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ep_marks, &zero);
}

static __always_inline bool is_marked(__u64 choice)
{
	const struct ep_marks *marks = get_marks();

	return marks && marks->bytes[ep_mark_of(choice)];
}

static __always_inline void mark(__u64 choice)
{
	struct ep_marks *marks = get_marks();

	if (marks)
		marks->bytes[ep_mark_of(choice)] = 1;
}

/*
 * Other CPUs see the stores before this one first: `lock add` is a memory barrier on x86-64. It is __ATOMIC_RELAXED
 * because newer compilers otherwise choose an instruction with a result, which Linux 5.10 does not know.
 */
static __always_inline void count_in_order(__u32 *counter)
{
	__asm__ volatile("" : : : "memory");
	(void)__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
	__asm__ volatile("" : : : "memory");
}

/* --- what was judged before ------------------------------------------------------------------- */

/*
 * Samples decide whether a process is wanted; tracepoints on other CPUs report that this may have changed. A sample
 * that decided by the state before the change must not store its outdated decision:
 *
 *	sample: c = changes; judge; entry = not wanted; barrier; changes != c: entry = 0
 *	change: entry = value; changes++, a barrier; entry = value
 *
 * Either the sample sees the new count, or the change stores its value after the sample did.
 */

/*
 * Threads and users have no part in it: those of a process may differ, and a change of user is
 * reported by nobody.
 */
static __always_inline bool keeps_others(void)
{
	return used_bits(EP_FILTER_BITS &
			 ~(EP_FILTER_BOTH(EP_FILTER_TID) | EP_FILTER_BOTH(EP_FILTER_USER)));
}

static __always_inline volatile __u16 *find_other(__u32 pid)
{
	__u32 line = EP_OTHER_LINE(pid);
	struct ep_others_line *found = bpf_map_lookup_elem(&ep_others, &line);

	return found ? &found->entries[EP_OTHER_ENTRY(pid)] : NULL;
}

/* Without a constant: those are loads as well, of lines that nobody else reads. */
static __always_inline bool is_known_other(__u32 pid)
{
	volatile __u16 *entry = find_other(pid);

	return entry && *entry == EP_OTHER_NOT_WANTED(pid);
}

static __always_inline __u32 count_of_changes(void)
{
	struct ep_control *control = get_control();

	return control ? *(volatile __u32 *)&control->changes : 0;
}

/* What was judged since `changes` were counted. */
static __always_inline void keep_other(__u32 pid, __u32 changes)
{
	volatile __u16 *entry;
	struct ep_control *control;

	if (!keeps_others())
		return;
	entry = find_other(pid);
	control = get_control();
	if (!entry || !control || *entry == EP_OTHER_UNSURE(pid))
		return;
	*entry = EP_OTHER_NOT_WANTED(pid);
	count_in_order(&control->judged);
	if (*(volatile __u32 *)&control->changes != changes)
		*entry = 0;
}

/* It is to be judged again; `unsure`: each time, for what decides about it changes in a moment. */
static __always_inline void forget_other(__u32 pid, bool unsure)
{
	volatile __u16 *entry;
	struct ep_control *control;
	__u16 value = unsure ? EP_OTHER_UNSURE(pid) : 0;

	if (!ep_config.filter || !keeps_others())
		return;
	entry = find_other(pid);
	control = get_control();
	if (!entry || !control)
		return;
	*entry = value;
	count_in_order(&control->changes);
	*entry = value;
}

/* Of a process that has not run yet: what is known is of the pid's last owner. */
static __always_inline void begin_other(__u32 pid)
{
	volatile __u16 *entry;

	if (!ep_config.filter || !keeps_others())
		return;
	entry = find_other(pid);
	if (entry && *entry)
		*entry = 0;
}

/* --- processes by pid ------------------------------------------------------------------------- */

/* Whoever has this pid. */
static __always_inline bool may_be_wanted_by_pid(__u32 pid)
{
	struct ep_filter_entry *entry;

	if (!(ep_config.filter_need & EP_FILTER_IN(EP_FILTER_PID)))
		return true;
	if (!is_marked(EP_CHOICE(EP_FILTER_PID, pid)))
		return false;
	entry = bpf_map_lookup_elem(&ep_filter, &pid);
	return entry && holds(entry->bits, EP_FILTER_BOTH(EP_FILTER_PID));
}

static __always_inline __u32 pid_bits(__u32 pid, __u64 start_ns)
{
	struct ep_filter_entry *entry = bpf_map_lookup_elem(&ep_filter, &pid);

	return entry && (!entry->start_ns || entry->start_ns == start_ns) ? entry->bits : 0;
}

static __always_inline bool is_wanted_by_pid(__u32 pid, __u64 start_ns)
{
	return !used_bits(EP_FILTER_BOTH(EP_FILTER_PID)) ||
	       holds(pid_bits(pid, start_ns), EP_FILTER_BOTH(EP_FILTER_PID));
}

static __always_inline void inherit_pid(__u32 parent, __u64 parent_start_ns, __u32 pid,
					__u64 start_ns)
{
	struct ep_filter_entry entry = {.start_ns = start_ns};

	if (!used_bits(EP_FILTER_BOTH(EP_FILTER_PID)) || ep_config.no_inherit)
		return;
	entry.bits = pid_bits(parent, parent_start_ns);
	if (!entry.bits)
		return;
	mark(EP_CHOICE(EP_FILTER_PID, pid));
	if (bpf_map_update_elem(&ep_filter, &pid, &entry, BPF_ANY))
		count(EP_COUNTER_FILTER_FULL);
	forget_other(pid, false);
}

/* --- threads, users, cgroups ------------------------------------------------------------------ */

static __always_inline __u32 choice(__u32 key, __u64 number)
{
	__u64 choice = EP_CHOICE(key, number);
	__u32 *bits;

	if (!is_marked(choice))
		return 0;
	bits = bpf_map_lookup_elem(&ep_choices, &choice);
	return bits ? *bits : 0;
}

/* No map is asked for a number that cannot be there: its lines are cold when an event comes. */
static __always_inline bool is_listed(const volatile __u32 *numbers, __u32 n, __u32 number)
{
	if (n > EP_FILTER_LISTED)
		return true;
	for (__u32 i = 0; i < EP_FILTER_LISTED; i++) {
		if (i < n && numbers[i] == number)
			return true;
	}
	return false;
}

static __always_inline __u32 user_bits(__u32 user)
{
	return is_listed(ep_config.users, ep_config.n_users, user) ? choice(EP_FILTER_USER, user) : 0;
}

static __always_inline __u32 thread_bits(__u32 tid)
{
	return is_listed(ep_config.threads, ep_config.n_threads, tid) ? choice(EP_FILTER_TID, tid)
								      : 0;
}

static __always_inline bool is_read_by_load(const struct ep_subject *who)
{
	return who->is_current && ep_config.has_task_btf;
}

/* The effective user: as whom it may do what it does. */
static __always_inline __u32 task_user(const struct ep_subject *who)
{
	const __u8 *task, *cred;

	if (!is_read_by_load(who))
		return read_kernel_u32(read_kernel_u64(who->task + ep_config.task_cred_off) +
				       ep_config.cred_euid_off);
	task = (const __u8 *)bpf_get_current_task_btf();
	cred = *(const __u8 *const *)(task + ep_config.task_cred_off);
	return cred ? *(const __u32 *)(cred + ep_config.cred_euid_off) : 0;
}

static __always_inline __u64 cgroup_id(__u64 cgroup)
{
	return read_kernel_u64(read_kernel_u64(cgroup + ep_config.cgroup_node_off) +
			       ep_config.node_id_off);
}

/* In the hierarchy of cgroup v2. */
static __always_inline __u64 task_cgroup(const struct ep_subject *who)
{
	const __u8 *task, *set, *cgroup, *node;

	if (!is_read_by_load(who))
		return cgroup_id(read_kernel_u64(
			read_kernel_u64(who->task + ep_config.task_cgroups_off) +
			ep_config.cgroups_default_off));
	task = (const __u8 *)bpf_get_current_task_btf();
	set = *(const __u8 *const *)(task + ep_config.task_cgroups_off);
	if (!set)
		return 0;
	cgroup = *(const __u8 *const *)(set + ep_config.cgroups_default_off);
	if (!cgroup)
		return 0;
	node = *(const __u8 *const *)(cgroup + ep_config.cgroup_node_off);
	return node ? *(const __u64 *)(node + ep_config.node_id_off) : 0;
}

static __always_inline bool is_wanted_by_thread(const struct ep_subject *who)
{
	return !used_bits(EP_FILTER_BOTH(EP_FILTER_TID)) ||
	       holds(thread_bits(who->tid), EP_FILTER_BOTH(EP_FILTER_TID));
}

static __always_inline bool is_wanted_by_user(const struct ep_subject *who)
{
	return !used_bits(EP_FILTER_BOTH(EP_FILTER_USER)) ||
	       holds(user_bits(task_user(who)), EP_FILTER_BOTH(EP_FILTER_USER));
}

static __always_inline bool is_wanted_by_cgroup(const struct ep_subject *who)
{
	return !used_bits(EP_FILTER_CGROUPS) ||
	       holds(choice(EP_FILTER_CGROUP, task_cgroup(who)), EP_FILTER_CGROUPS);
}

/* Are all threads of this task's process in its cgroup? Not where cgroups of threads are at or below it. */
static __always_inline bool is_cgroup_of_all(const struct ep_subject *who)
{
	__u64 task = who->task ? who->task : bpf_get_current_task();
	__u64 cgroup = read_kernel_u64(read_kernel_u64(task + ep_config.task_cgroups_off) +
				       ep_config.cgroups_default_off);

	return ep_config.cgroup_domain_off && ep_config.cgroup_threaded_off &&
	       read_kernel_u64(cgroup + ep_config.cgroup_domain_off) == cgroup &&
	       !read_kernel_u32(cgroup + ep_config.cgroup_threaded_off);
}

/* --- names ------------------------------------------------------------------------------------ */

static __always_inline struct ep_glob *get_glob(__u32 which)
{
	return bpf_map_lookup_elem(&ep_globs, &which);
}

static __always_inline __u32 match_comm(const char comm[EP_COMM_BYTES])
{
	const struct ep_glob *glob = get_glob(EP_GLOB_COMM);
	struct ep_glob_state state;

	if (!used_bits(EP_FILTER_BOTH(EP_FILTER_COMM)) || !glob)
		return 0;
	ep_glob_begin(glob, &state);
	/* 16 rounds of about 40 instructions. What comes after its end is zero, and changes nothing. */
	for (__u32 i = 0; i < EP_COMM_BYTES; i++)
		ep_glob_step(glob, &state, (__u8)comm[i]);
	return ep_glob_end(glob, &state) * EP_FILTER_IN(EP_FILTER_COMM);
}

/*
 * The way from a file to the root: a component of its path, and what of it was not read yet. In
 * memory, and not on the stack, for the verifier: there it forgets what each round leaves.
 */
struct ep_path_walk {
	__u64 mount, dentry; /* the parent directory to look at next; mount: a struct vfsmount, as in struct path */
	__u64 text;
	__u32 left; /* bytes of it, and the slash before it; 0: the next component's turn */
	__u32 is_done;
	struct ep_glob_state state;
	__u64 byte;
};

/* One for samples, which may interrupt the other one's program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct ep_path_walk);
} ep_paths SEC(".maps");

/* fs/d_path.c, prepend_path: from the root of a mount to where it is mounted. */
static __always_inline void leave_mount(volatile struct ep_path_walk *walk)
{
	__u64 mount = walk->mount - ep_config.mount_in_off;
	__u64 parent = read_kernel_u64(mount + ep_config.mount_parent_off);

	walk->is_done = ep_is_zero(parent) | ep_is_zero(parent ^ mount);
	walk->dentry = read_kernel_u64(mount + ep_config.mount_point_off);
	walk->mount = parent + ep_config.mount_in_off;
}

static __always_inline void take_component(volatile struct ep_path_walk *walk)
{
	__u64 parent = read_kernel_u64(walk->dentry + ep_config.dentry_parent_off);
	__u64 name = walk->dentry + ep_config.dentry_name_off;
	__u32 len = read_kernel_u32(name + ep_config.name_len_off);

	walk->is_done = ep_is_zero(parent) | ep_is_zero(parent ^ walk->dentry) |
			(EP_EXE_COMPONENT - len) >> 31;
	walk->text = read_kernel_u64(name + ep_config.name_text_off);
	walk->left = len + 1;
	walk->dentry = parent;
}

static __always_inline void climb(volatile struct ep_path_walk *walk)
{
	if (walk->dentry == read_kernel_u64(walk->mount + ep_config.mount_root_off))
		leave_mount(walk);
	else
		take_component(walk);
}

/* Without branches, and the byte through memory: for the verifier all rounds are alike. */
static __always_inline void take_byte(volatile struct ep_path_walk *walk, const struct ep_glob *glob)
{
	__u32 left = walk->left - 1;

	walk->left = left;
	walk->byte = '/';
	/* Nothing, where the component begins. */
	bpf_probe_read_kernel((void *)&walk->byte, -left >> 31, (void *)(walk->text + left - 1));
	ep_glob_step(glob, (struct ep_glob_state *)&walk->state, (__u8)walk->byte);
}

static __always_inline void begin_path(const struct ep_subject *who,
				       volatile struct ep_path_walk *walk)
{
	__u64 mm = read_kernel_u64(who->task + ep_config.task_mm_off);
	__u64 path = read_kernel_u64(mm + ep_config.mm_exe_file_off) + ep_config.file_path_off;

	walk->mount = read_kernel_u64(path + ep_config.path_mount_off);
	walk->dentry = read_kernel_u64(path + ep_config.path_dentry_off);
	walk->left = 0;
	walk->is_done = ep_is_zero(mm) | ep_is_zero(walk->dentry);
}

/* What /proc/PID/exe shows, but for a process that was moved to another root. */
static __always_inline __u32 match_exe(const struct ep_subject *who)
{
	__u32 which = !who->is_current;
	const struct ep_glob *glob = get_glob(EP_GLOB_EXE);
	volatile struct ep_path_walk *walk = bpf_map_lookup_elem(&ep_paths, &which);

	if (!used_bits(EP_FILTER_BOTH(EP_FILTER_EXE)) || !glob || !walk)
		return 0;
	begin_path(who, walk);
	ep_glob_begin(glob, (struct ep_glob_state *)&walk->state);
	/* 192 rounds of about 100 instructions. */
	for (__u32 i = 0; i < EP_EXE_STEPS; i++) {
		if (walk->is_done)
			break;
		if (walk->left)
			take_byte(walk, glob);
		else
			climb(walk);
	}
	return ep_glob_end(glob, (struct ep_glob_state *)&walk->state) * walk->is_done *
	       EP_FILTER_IN(EP_FILTER_EXE);
}

static __always_inline struct ep_verdict *find_verdict(const struct ep_subject *who)
{
	__u32 pid = who->pid;
	struct ep_verdict *verdict = bpf_map_lookup_elem(&ep_verdicts, &pid);

	return verdict && verdict->start_ns == who->start_ns ? verdict : NULL;
}

/* What is known of this program's names; of an older one's only that user space has heard of the process. */
static __always_inline __u32 known_bits(const struct ep_subject *who)
{
	struct ep_verdict *verdict = find_verdict(who);

	if (!verdict)
		return 0;
	/* An exec renames the task a moment before it counts the image up. */
	return verdict->image - who->image <= 1 ? verdict->bits : verdict->bits & EP_VERDICT_TOLD;
}

static __always_inline void keep_verdict(const struct ep_subject *who, __u32 bits)
{
	struct ep_verdict verdict = {.start_ns = who->start_ns, .image = who->image, .bits = bits};
	__u32 pid = who->pid;

	bpf_map_update_elem(&ep_verdicts, &pid, &verdict, BPF_ANY);
}

/* It gets this name in a moment. */
static __always_inline void judge_rename(const struct ep_subject *who, const char comm[EP_COMM_BYTES],
					 bool is_exec)
{
	__u32 bits = known_bits(who) & ~EP_FILTER_BOTH(EP_FILTER_COMM);
	__u32 comm_bits = match_comm(comm);

	if (!used_bits(EP_FILTER_NAMES))
		return;
	if (used_bits(EP_FILTER_BOTH(EP_FILTER_COMM)))
		keep_verdict(who, bits | comm_bits | EP_VERDICT_COMM);
	/* Until then the name it has may be one that is not wanted, and what is known of its file is the old one's. */
	forget_other(who->pid, (is_exec && used_bits(EP_FILTER_BOTH(EP_FILTER_EXE))) ||
				       holds(comm_bits, EP_FILTER_BOTH(EP_FILTER_COMM)));
}

/* The name of a process is that of its first thread. */
static __always_inline __u32 match_leader(const struct ep_subject *who)
{
	__u64 leader = read_kernel_u64(who->task + ep_config.task_group_leader_off);
	char comm[EP_COMM_BYTES] = "";

	bpf_probe_read_kernel_str(comm, sizeof(comm), (void *)(leader + ep_config.task_comm_off));
	return match_comm(comm) | EP_VERDICT_COMM;
}

/*
 * Most others are known at the first bytes of the name they have: no map is asked, and none grows. Who may
 * be wanted by it may be about to get another one.
 */
static __always_inline bool may_be_named(const struct ep_subject *who)
{
	const struct ep_glob *glob = get_glob(EP_GLOB_COMM);
	struct ep_glob_state state;
	const __u8 *task, *comm;

	if (!used_bits(EP_FILTER_BOTH(EP_FILTER_COMM)) || !is_read_by_load(who) || !glob)
		return true;
	task = (const __u8 *)bpf_get_current_task_btf();
	comm = *(const __u8 *const *)(task + ep_config.task_group_leader_off) + ep_config.task_comm_off;
	if (!(ep_config.names_start[comm[0] >> 5] >> (comm[0] & 31) & 1))
		return holds(0, EP_FILTER_BOTH(EP_FILTER_COMM));
	ep_glob_begin(glob, &state);
	/* 16 rounds of about 40 instructions. */
	for (__u32 i = 0; i < EP_COMM_BYTES; i++) {
		__u8 byte = comm[i];

		if (!byte)
			break;
		ep_glob_step(glob, &state, byte);
		if (!(state.words[0] | state.words[1] | state.words[2] | state.words[3]))
			break;
	}
	return holds(ep_glob_end(glob, &state) * EP_FILTER_IN(EP_FILTER_COMM),
		     EP_FILTER_BOTH(EP_FILTER_COMM));
}

static __always_inline __u32 names_bits(const struct ep_subject *who)
{
	__u32 bits = known_bits(who);
	bool no_exe = used_bits(EP_FILTER_BOTH(EP_FILTER_EXE)) && !(bits & EP_VERDICT_EXE);
	bool no_comm = used_bits(EP_FILTER_BOTH(EP_FILTER_COMM)) && !(bits & EP_VERDICT_COMM);

	if (!no_exe && !no_comm)
		return bits;
	if (no_comm)
		bits |= match_leader(who);
	/* Last, for what comes after it is walked by the verifier from each of its rounds. */
	if (no_exe)
		bits |= match_exe(who) | EP_VERDICT_EXE;
	keep_verdict(who, bits);
	return bits;
}

/* --- all together ----------------------------------------------------------------------------- */

enum ep_judgement {
	EP_WANTED,
	EP_NOT_WANTED,	  /* this time */
	EP_NEVER_WANTED, /* until something changes that BPF hears of, in none of its threads */
};

/*
 * For samples: what rejects nearly all others without looking at which program they run, whose start and
 * image lie in two cold lines. The rest is is_wanted_program(), whose rejections hold for all threads too.
 */
static __always_inline enum ep_judgement judge(const struct ep_subject *who)
{
	if (!ep_config.filter)
		return EP_WANTED;
	if (!may_be_wanted_by_pid(who->pid))
		return EP_NEVER_WANTED;
	if (!is_wanted_by_thread(who))
		return EP_NOT_WANTED;
	if (!is_wanted_by_cgroup(who))
		return is_cgroup_of_all(who) ? EP_NEVER_WANTED : EP_NOT_WANTED;
	if (!may_be_named(who))
		return EP_NEVER_WANTED;
	return is_wanted_by_user(who) ? EP_WANTED : EP_NOT_WANTED;
}

static __always_inline bool is_wanted_program(const struct ep_subject *who)
{
	if (!ep_config.filter)
		return true;
	return is_wanted_by_pid(who->pid, who->start_ns) &&
	       (!used_bits(EP_FILTER_NAMES) || holds(names_bits(who), EP_FILTER_NAMES));
}

static __always_inline bool is_wanted(const struct ep_subject *who)
{
	return judge(who) == EP_WANTED && is_wanted_program(who);
}

/* Until user space has looked again, no mapping is taken for one of somebody who was not chosen. */
static __always_inline void count_birth(void)
{
	struct ep_control *control = get_control();

	if (ep_config.filter && control)
		count_in_order(&control->births);
}

/* User space hears of this program now: it is to hear of its end. */
static __always_inline void note_told(const struct ep_subject *who)
{
	struct ep_verdict *verdict;

	if (!may_change())
		return;
	verdict = find_verdict(who);
	if (verdict && verdict->bits & EP_VERDICT_TOLD)
		return;
	count_birth();
	if (verdict)
		verdict->bits |= EP_VERDICT_TOLD;
	else
		keep_verdict(who, EP_VERDICT_TOLD);
}

static __always_inline void forget_told(const struct ep_subject *who)
{
	struct ep_verdict *verdict = find_verdict(who);

	if (verdict)
		verdict->bits &= ~EP_VERDICT_TOLD;
}

/* Does user space know of it? What it has read by itself is in ep_procs. */
static __always_inline bool was_told(const struct ep_subject *who)
{
	struct ep_verdict *verdict;
	__u32 pid = who->pid;

	if (!ep_config.filter)
		return true;
	if (!may_change())
		return is_wanted_by_pid(who->pid, who->start_ns);
	verdict = find_verdict(who);
	return (verdict && verdict->bits & EP_VERDICT_TOLD) || bpf_map_lookup_elem(&ep_procs, &pid);
}

#endif
