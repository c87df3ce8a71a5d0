/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list is made a program of BPF by libseccomp, as a binary tree: some ten comparisons a call. From Linux 5.11 on the
 * kernel finds out at once that a number is allowed whatever the arguments are, and does not run the program for it.
 *
 * Facts: seccomp(2), seccomp_rule_add(3), seccomp_attr_set(3); glibc sysdeps/unix/sysv/linux/clone-internal.c (clone3,
 * then clone after ENOSYS), nptl/pthread_create.c and posix/fork.c (all signals are blocked meanwhile).
 */
#include "core/base/system_calls.h"
#include "core/base/log.h"
#include "core/base/util.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#define BINARY_TREE	2	    /* SCMP_FLTATR_CTL_OPTIMIZE, seccomp_attr_set(3) */
#define MAX_NUMBERS	512	    /* more than any architecture of ours has; the last counts those beyond */
#define CODE_OF_SECCOMP 1	    /* SYS_SECCOMP, linux/include/uapi/asm-generic/siginfo.h */
#define INT_MASK	0xffffffffu /* the kernel takes an int from the lower half of a register */
#define NAME_OF_MEMORY	0x53564d41  /* PR_SET_VMA, which glibc calls for names of its memory when it is asked to */

struct call {
	int number; /* negative: this architecture does not have it */
	bool reader;
};

static const struct call calls[] = {
#define EP_CALL(name, reader) {SCMP_SYS(name), reader},
#include "core/base/system_calls.def"
#undef EP_CALL
};

/* With one argument that is a number: whole, or those bits of it that `mask` has. */
struct call_if {
	int number;
	unsigned int argument;
	uint64_t mask, value;
	bool reader;
};

static const struct call_if calls_if[] = {
	{SCMP_SYS(socket), 0, INT_MASK, AF_UNIX, false},
	{SCMP_SYS(socket), 0, INT_MASK, AF_INET, false},
	{SCMP_SYS(socket), 0, INT_MASK, AF_INET6, false},
	{SCMP_SYS(socket), 0, INT_MASK, AF_NETLINK, false},
	{SCMP_SYS(socketpair), 0, INT_MASK, AF_UNIX, false},
	{SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD, true}, /* no process */
	{SCMP_SYS(kill), 1, INT_MASK, 0, false},		/* is it there? */
	{SCMP_SYS(prlimit64), 0, INT_MASK, 0, false},		/* our own limits */
	{SCMP_SYS(prctl), 0, INT_MASK, PR_SET_NAME, true},
	{SCMP_SYS(prctl), 0, INT_MASK, PR_GET_NAME, true},
	{SCMP_SYS(prctl), 0, INT_MASK, PR_GET_DUMPABLE, true},
	{SCMP_SYS(prctl), 0, INT_MASK, PR_GET_SECCOMP, true},
	{SCMP_SYS(prctl), 0, INT_MASK, PR_GET_NO_NEW_PRIVS, true},
	{SCMP_SYS(prctl), 0, INT_MASK, PR_CAPBSET_READ, false},
	{SCMP_SYS(prctl), 0, INT_MASK, NAME_OF_MEMORY, true},
};

/* One more: how a command is ended, how a process is stopped. */
static int call_of(enum ep_callers callers)
{
	return callers == EP_CALLERS_COMMAND ? SCMP_SYS(kill) : callers == EP_CALLERS_CAPTURE ? SCMP_SYS(ptrace) : -1;
}

/* Refused without a signal: see system_calls.h. */
static const int tried[] = {SCMP_SYS(clone3),	      SCMP_SYS(fork),		SCMP_SYS(vfork),
			    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register)};

/* --- what was refused ------------------------------------------------------------------------ */

/*
 * Process-wide, since signals are: the handler has no other place to write to. `told` is of the thread that asks for
 * what was refused.
 */
static _Atomic uint32_t refused[MAX_NUMBERS];
static uint8_t told[MAX_NUMBERS];
static _Atomic(void (*)(void *)) wake_up;
static _Atomic(void *) wake_arg;

static void set_result(ucontext_t *context, long result)
{
#if defined(__x86_64__)
	context->uc_mcontext.gregs[REG_RAX] = result;
#elif defined(__aarch64__)
	context->uc_mcontext.regs[0] = (unsigned long long)result;
#else
#error "where does a system call's result go?"
#endif
}

/* In the thread that made the call, instead of it. */
static void on_refused(int signal_number, siginfo_t *info, void *context)
{
	unsigned int number = (unsigned int)info->si_syscall;
	void (*wake)(void *);
	int saved = errno;

	(void)signal_number;
	if (info->si_code != CODE_OF_SECCOMP) /* somebody's kill(1) */
		return;
	set_result(context, -ENOSYS);
	atomic_fetch_add_explicit(&refused[EP_MIN(number, MAX_NUMBERS - 1u)], 1, memory_order_relaxed);
	wake = atomic_load(&wake_up);
	if (wake)
		wake(atomic_load(&wake_arg));
	errno = saved;
}

/* Not blocked: the kernel ends a process whose SIGSYS is. */
static int catch_refused(void)
{
	struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t set;

	sigemptyset(&action.sa_mask);
	sigemptyset(&set);
	sigaddset(&set, SIGSYS);
	if (sigaction(SIGSYS, &action, NULL) < 0)
		return -errno;
	return -pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void ep_system_calls_watch(void (*wake)(void *arg), void *arg)
{
	atomic_store(&wake_up, NULL);
	atomic_store(&wake_arg, arg);
	atomic_store(&wake_up, wake);
}

static void name_call(int number, char *name, size_t size)
{
	char *text = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);

	snprintf(name, size, "%s", text ? text : "unknown");
	free(text);
}

bool ep_system_calls_next_refused(struct ep_refused_call *ret_call)
{
	for (int i = 0; i < MAX_NUMBERS; i++) {
		if (told[i] || !atomic_load_explicit(&refused[i], memory_order_relaxed))
			continue;
		told[i] = true;
		ret_call->number = i;
		name_call(i, ret_call->name, sizeof(ret_call->name));
		return true;
	}
	return false;
}

uint64_t ep_system_calls_refused(void)
{
	uint64_t n = 0;

	for (int i = 0; i < MAX_NUMBERS; i++)
		n += atomic_load_explicit(&refused[i], memory_order_relaxed);
	return n;
}

void ep_system_calls_print_counters(FILE *out)
{
	ep_put_count(out, "system calls refused, since they are not on the list", ep_system_calls_refused());
	for (int i = 0; i < MAX_NUMBERS; i++) {
		uint32_t n = atomic_load_explicit(&refused[i], memory_order_relaxed);
		char name[sizeof(((struct ep_refused_call *)0)->name)];

		if (!n)
			continue;
		name_call(i, name, sizeof(name));
		ep_put_count_of(out, name, "calls refused", n);
	}
}

/* --- the filter ------------------------------------------------------------------------------ */

static int allow(scmp_filter_ctx filter, int number)
{
	return number < 0 ? 0 : seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
}

static int allow_if(scmp_filter_ctx filter, const struct call_if *call)
{
	struct scmp_arg_cmp condition = SCMP_CMP(call->argument, SCMP_CMP_MASKED_EQ, call->mask, call->value);
	int r = call->number < 0 ? 0 : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call->number, 1, &condition);

	return r == -EEXIST ? 0 : r; /* it is allowed in any case */
}

/* Signals to ourselves alone: what abort(3) and pthread_kill(3) send. */
static int allow_own_signals(scmp_filter_ctx filter)
{
	struct call_if call = {SCMP_SYS(tgkill), 0, INT_MASK, (uint64_t)getpid(), true};

	return allow_if(filter, &call);
}

/* No thread: ENOSYS. That it is one is allowed above. */
static int refuse_processes(scmp_filter_ctx filter)
{
	struct scmp_arg_cmp condition = SCMP_CMP(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0);

	return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone), 1, &condition);
}

static int refuse_tried(scmp_filter_ctx filter)
{
	int r = refuse_processes(filter);

	for (size_t i = 0; i < EP_LEN(tried) && r == 0; i++)
		r = tried[i] < 0 ? 0 : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), tried[i], 0);
	return r;
}

static bool is_for(enum ep_callers callers, bool reader)
{
	return callers != EP_CALLERS_READER || reader;
}

static int add_rules(scmp_filter_ctx filter, enum ep_callers callers)
{
	int r = allow_own_signals(filter);

	for (size_t i = 0; i < EP_LEN(calls) && r == 0; i++)
		r = is_for(callers, calls[i].reader) ? allow(filter, calls[i].number) : 0;
	if (r == 0)
		r = allow(filter, call_of(callers));
	for (size_t i = 0; i < EP_LEN(calls_if) && r == 0; i++)
		r = is_for(callers, calls_if[i].reader) ? allow_if(filter, &calls_if[i]) : 0;
	if (r == 0 && callers != EP_CALLERS_READER) /* of a reader all are refused in this way */
		r = refuse_tried(filter);
	return r;
}

/* All threads where the kernel can; and errors as the kernel has them. */
static int set_attributes(scmp_filter_ctx filter)
{
	int r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, BINARY_TREE);

	(void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	if (r == 0)
		r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	return r;
}

int ep_system_calls_limit(enum ep_callers callers)
{
	uint32_t otherwise = callers == EP_CALLERS_READER ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_TRAP;
	scmp_filter_ctx filter = seccomp_init(otherwise);
	int r;

	if (!filter)
		return -ENOMEM;
	r = set_attributes(filter);
	if (r == 0)
		r = add_rules(filter, callers);
	if (r == 0 && callers != EP_CALLERS_READER)
		r = catch_refused();
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

size_t ep_system_calls_allowed(enum ep_callers callers)
{
	size_t n = 1; /* signals to ourselves */

	for (size_t i = 0; i < EP_LEN(calls); i++)
		n += calls[i].number >= 0 && is_for(callers, calls[i].reader);
	for (size_t i = 0; i < EP_LEN(calls_if); i++) {
		bool is_first = i == 0 || calls_if[i - 1].number != calls_if[i].number;

		n += calls_if[i].number >= 0 && is_first && is_for(callers, calls_if[i].reader);
	}
	return n; /* what commands may in addition is kill, which is counted for its conditions */
}
