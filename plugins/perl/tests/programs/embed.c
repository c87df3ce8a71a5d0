/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perl inside of a C program:
 *
 *	embed threads burner.pl ARG...		two interpreters, each in a thread of its own
 *	embed turns burner.pl ARG...		two interpreters, one after the other in the main
 *						thread
 *	embed handler burner.pl ARG...		one; when its program has run, a sub of it is called
 *						by C
 */
#include <EXTERN.h>
#include <perl.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 16

void boot_DynaLoader(pTHX_ CV *cv);

static char *args[MAX_ARGS];
static int n_args;

static void init_libraries(pTHX)
{
	newXS("DynaLoader::boot_DynaLoader", boot_DynaLoader, __FILE__);
}

/* What perl.h calls PL_... is a member of my_perl. */
static PerlInterpreter *make_interpreter(void)
{
	PerlInterpreter *my_perl = perl_alloc();

	PERL_SET_CONTEXT(my_perl);
	perl_construct(my_perl);
	PL_exit_flags |= PERL_EXIT_DESTRUCT_END;
	if (perl_parse(my_perl, init_libraries, n_args, args, NULL) != 0)
		exit(1);
	return my_perl;
}

static void run_interpreter(PerlInterpreter *perl)
{
	PERL_SET_CONTEXT(perl);
	perl_run(perl);
}

static void *run_thread(void *perl)
{
	run_interpreter(perl);
	return NULL;
}

static void run_threads(PerlInterpreter *perls[2])
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, run_thread, perls[i]) != 0)
			exit(1);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void handle_request(PerlInterpreter *my_perl)
{
	dSP;

	PUSHMARK(SP);
	call_pv("main::in_thread", G_VOID | G_DISCARD | G_NOARGS);
}

static void run_mode(const char *mode, PerlInterpreter *perls[2])
{
	if (strcmp(mode, "threads") == 0) {
		run_threads(perls);
	} else if (strcmp(mode, "turns") == 0) {
		run_interpreter(perls[1]);
		run_interpreter(perls[0]);
	} else {
		run_interpreter(perls[0]);
		handle_request(perls[0]);
	}
}

int main(int argc, char **argv, char **env)
{
	PerlInterpreter *perls[2];

	if (argc < 3 || argc > MAX_ARGS)
		return 2;
	for (int i = 1; i < argc; i++)
		args[n_args++] = argv[i];
	args[0] = argv[0];
	PERL_SYS_INIT3(&argc, &argv, &env);
	for (int i = 0; i < 2; i++)
		perls[i] = make_interpreter();
	run_mode(argv[1], perls);
	for (int i = 0; i < 2; i++) {
		PERL_SET_CONTEXT(perls[i]);
		perl_destruct(perls[i]);
		perl_free(perls[i]);
	}
	PERL_SYS_TERM();
	return 0;
}
