/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/util.h"
#include "core/proc/memory.h"
#include "plugins/hotspot/tests/live/step/step.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_SECONDS 5

/* Intel SDM volume 3, 18.2.4: L0 enables breakpoint 0; its R/W0 and LEN0 are 0: an instruction's. */
#define DR7_EXECUTE_0 1ul

static void poke_debug_register(const struct tracee *tracee, size_t n, uint64_t value)
{
	(void)ptrace(PTRACE_POKEUSER, tracee->tid, offsetof(struct user, u_debugreg[0]) + n * 8,
		     value);
}

/* SIGALRM has a handler that does nothing: waitpid comes back. */
static int wait_stop(const struct tracee *tracee, int *ret_status)
{
	pid_t pid;

	alarm(WAIT_SECONDS);
	pid = waitpid(tracee->tid, ret_status, __WALL);
	if (pid < 0)
		return errno == EINTR ? -ETIMEDOUT : -ESRCH;
	alarm(0);
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

int tracee_stop(struct tracee *tracee)
{
	int status, r;

	if (ptrace(PTRACE_INTERRUPT, tracee->tid, NULL, NULL) < 0)
		return -ESRCH;
	r = wait_stop(tracee, &status);
	while (r == 0 && signal_of(status)) { /* the interrupt comes behind it */
		if (ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(intptr_t)signal_of(status)) < 0)
			return -ESRCH;
		r = wait_stop(tracee, &status);
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
	r = wait_stop(tracee, &status);
	if (r == 0)
		r = get_regs(tracee);
	if (r < 0)
		return r;
	tracee->signal = signal_of(status);
	return tracee->signal ? 1 : 0;
}

/* A breakpoint of the CPU: other threads run the same code, so no byte of it is changed. */
int tracee_run_to(struct tracee *tracee, uint64_t addr, uint64_t sp)
{
	int signal = tracee->signal, status = 0, r;

	tracee->signal = 0;
	poke_debug_register(tracee, 0, addr);
	poke_debug_register(tracee, 7, DR7_EXECUTE_0);
	do {
		if (ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(intptr_t)signal) < 0)
			return -ESRCH;
		r = wait_stop(tracee, &status);
		if (r == 0)
			r = get_regs(tracee);
		signal = r == 0 ? signal_of(status) : 0;
	} while (r == 0 && !(tracee->regs.rip == addr && tracee->regs.rsp == sp));
	if (r == -ETIMEDOUT && tracee_stop(tracee) < 0)
		return -ESRCH;
	poke_debug_register(tracee, 7, 0);
	tracee->signal = signal;
	return r;
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
