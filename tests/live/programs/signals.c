/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Burns inside the handler of a timer signal that interrupts burning code: on the normal stack, or
 * with "alt" as second argument on an alternate one. The interrupted leaf is part of the truth: an
 * unwinder that looks up its address minus one, or skips it, shows here.
 */
#include "zoo.h"

#include <signal.h>
#include <sys/time.h>

ZOO_DEFINE_SPIN(spin)
ZOO_DEFINE_SPIN(spin_in_handler)

static unsigned char alternate[65536];

KEEP void work_of_handler(void)
{
	spin_in_handler(SPINS_PER_MS);
	BARRIER();
}

KEEP void on_alarm(int signo)
{
	(void)signo;
	work_of_handler();
	BARRIER();
}

KEEP void interrupted(void)
{
	spin(SPINS_PER_MS * 20);
	BARRIER();
}

static void arm(int on_alternate)
{
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	struct itimerval every = {{0, 4000}, {0, 4000}};
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_alarm;
	action.sa_flags = SA_RESTART | (on_alternate ? SA_ONSTACK : 0);
	sigaltstack(&stack, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

int main(int argc, char **argv)
{
	zoo_start(argc, argv,
		  "STACK spin_in_handler work_of_handler on_alarm SIGRETURN spin interrupted main\n"
		  "MAY spin_in_handler work_of_handler on_alarm SIGRETURN LIBC main\n" /* zoo_time_left */
		  "STACK spin interrupted main\n");
	arm(argc > 2 && strcmp(argv[2], "alt") == 0);
	while (zoo_time_left())
		interrupted();
	return 0;
}
