/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/util.h"
#include "core/proc/memory.h"
#include "tests/kit/step/step.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS	 5000
#define MAX_HITS 1000 /* of an address, with another sp */

/* Intel SDM volume 3, 18.2.4: L0 enables breakpoint 0, L1 to L3 the others; their R/W and LEN are 0: an
 * instruction's. */
#define DR7_EXECUTE_0 1ul
#define DR7_EXECUTE_1 4ul
#define DR7_EXECUTE_2 16ul
#define DR7_EXECUTE_3 64ul

static void poke_debug_register(const struct tracee *tracee, size_t n, uint64_t value)
{
	(void)ptrace(PTRACE_POKEUSER, tracee->tid, offsetof(struct user, u_debugreg[0]) + n * 8,
		     value);
}

/* SIGALRM has a handler that does nothing: waitpid comes back. */
static int wait_stop(const struct tracee *tracee, unsigned int milliseconds, int *ret_status)
{
	struct itimerval time = {.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000}},
			 none = {0};
	pid_t pid;

	(void)setitimer(ITIMER_REAL, &time, NULL);
	pid = waitpid(tracee->tid, ret_status, __WALL);
	if (pid < 0)
		return errno == EINTR ? -ETIMEDOUT : -ESRCH;
	(void)setitimer(ITIMER_REAL, &none, NULL);
	return WIFSTOPPED(*ret_status) ? 0 : -ESRCH;
}

static int get_regs(struct tracee *tracee)
{
	return ptrace(PTRACE_GETREGS, tracee->tid, NULL, &tracee->regs) < 0 ? -ESRCH : 0;
}

/* ptrace(2): a stop with an event, or SIGTRAP after a step, is no signal of the program's. */
static int signal_of(int status)
{
	return status >> 16 || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

/*
 * Both threads on one CPU, before all others: each instruction takes two switches between them, and
 * beside work each of these would be a wait for the others' turns. The other threads of the process
 * have the other CPUs.
 */
static void hurry(pid_t tid, int cpu, int priority)
{
	struct sched_param first = {.sched_priority = priority};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	(void)sched_setaffinity(tid, sizeof(one), &one);
	(void)sched_setscheduler(tid, SCHED_FIFO, &first);
}

int tracee_seize(const struct tracee *tracee)
{
	int cpu = sched_getcpu();

	if (ptrace(PTRACE_SEIZE, tracee->tid, NULL, NULL) < 0)
		return -errno;
	hurry(0, cpu, 2);
	hurry(tracee->tid, cpu, 1);
	return 0;
}

int tracee_stop(struct tracee *tracee)
{
	int status, r;

	if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) < 0)
		return -ESRCH;
	r = wait_stop(tracee, WAIT_MS, &status);
	while (r == 0 && signal_of(status)) { /* the interrupt comes after it */
		if (ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(intptr_t)signal_of(status)) < 0)
			return -ESRCH;
		r = wait_stop(tracee, WAIT_MS, &status);
	}
	return r < 0 ? r : get_regs(tracee);
}

int tracee_continue(struct tracee *tracee, unsigned int microseconds)
{
	int signal = tracee->signal;

	tracee->signal = 0;
	if (ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(intptr_t)signal) < 0)
		return -ESRCH;
	usleep(microseconds);
	return tracee_stop(tracee);
}

int tracee_step(struct tracee *tracee)
{
	int status, r;

	if (ptrace(PTRACE_SINGLESTEP, tracee->tid, NULL, (void *)(intptr_t)tracee->signal) < 0)
		return -ESRCH;
	tracee->signal = 0;
	r = wait_stop(tracee, WAIT_MS, &status);
	if (r == 0)
		r = get_regs(tracee);
	if (r < 0)
		return r;
	tracee->signal = signal_of(status);
	return tracee->signal ? 1 : 0;
}

/* Breakpoints of the CPU: other threads run the same code, so no byte of it is changed. */
int tracee_run_to(struct tracee *tracee, uint64_t addr, uint64_t sp, uint64_t away,
		  unsigned int milliseconds)
{
	const struct user_regs_struct *regs = &tracee->regs;
	int signal = tracee->signal, status = 0, r;
	bool is_there = false, is_away = false, is_also = false;
	unsigned int hits = 0;

	tracee->signal = 0;
	poke_debug_register(tracee, 0, addr);
	poke_debug_register(tracee, 1, away);
	poke_debug_register(tracee, 2, tracee->also[0]);
	poke_debug_register(tracee, 3, tracee->also[1]);
	poke_debug_register(tracee, 7,
			    DR7_EXECUTE_0 | (away ? DR7_EXECUTE_1 : 0) |
				    (tracee->also[0] ? DR7_EXECUTE_2 : 0) |
				    (tracee->also[1] ? DR7_EXECUTE_3 : 0));
	do {
		if (ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(intptr_t)signal) < 0)
			return -ESRCH;
		r = wait_stop(tracee, milliseconds, &status);
		if (r == 0)
			r = get_regs(tracee);
		signal = r == 0 ? signal_of(status) : 0;
		is_there = regs->rip == addr && regs->rsp == sp;
		is_away = away && regs->rip == away && regs->rsp > sp;
		is_also = regs->rip == tracee->also[0] || regs->rip == tracee->also[1];
	} while (r == 0 && !is_there && !is_away && !is_also && ++hits < MAX_HITS);
	if (r == -ETIMEDOUT && tracee_stop(tracee) < 0)
		return -ESRCH;
	poke_debug_register(tracee, 7, 0);
	tracee->signal = signal;
	if (r == 0 && hits == MAX_HITS)
		return -ETIMEDOUT;
	if (r < 0)
		return r;
	return is_there ? 0 : is_away ? 1 : 2;
}

void tracee_end(struct tracee *tracee)
{
	poke_debug_register(tracee, 7, 0);
	(void)ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)tracee->signal);
}

uint64_t tracee_word(const struct tracee *tracee, uint64_t addr)
{
	uint64_t word;

	return ep_memory_read_u64(tracee->pid, addr, &word) == 0 ? word : 0;
}

void tracee_code(const struct tracee *tracee, uint8_t *ret_code)
{
	if (ep_memory_read(tracee->pid, tracee->regs.rip, ret_code, STEP_CODE_BYTES) < 0)
		memset(ret_code, 0, STEP_CODE_BYTES);
}
