/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults at the very first instruction of a function, where the address minus one belongs to
 * another function, and burns in the handler of that fault.
 */
#include "zoo.h"

#include <signal.h>
#include <ucontext.h>

ZOO_DEFINE_SPIN(spin)

void faults_at_once(void);
#if defined(__x86_64__)
__asm__(".text\n.p2align 4\nret\n.globl faults_at_once\n.type faults_at_once,@function\n"
	"faults_at_once:\n.cfi_startproc\nud2\nret\n.cfi_endproc\n.size faults_at_once,.-faults_at_once\n");
#define FAULT_BYTES 2
#define PC(context) ((context)->uc_mcontext.gregs[REG_RIP])
#else
__asm__(".text\n.p2align 4\nret\n.globl faults_at_once\n.type faults_at_once,%function\n"
	"faults_at_once:\n.cfi_startproc\nudf #0\nret\n.cfi_endproc\n.size faults_at_once,.-faults_at_once\n");
#define FAULT_BYTES 4
#define PC(context) ((context)->uc_mcontext.pc)
#endif

KEEP void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	spin(SPINS_PER_MS);
	PC((ucontext_t *)context) += FAULT_BYTES;
}

KEEP void caller(void)
{
	faults_at_once();
	BARRIER();
}

int main(int argc, char **argv)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_fault;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGILL, &action, NULL);
	zoo_start(argc, argv,
		  "STACK spin on_fault SIGRETURN faults_at_once caller main\n"
		  "MAY ?on_fault ?SIGRETURN faults_at_once caller main\n");
	while (zoo_time_left())
		caller();
	return 0;
}
