/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Toy functions and C functions that call each other:
 *
 *	main ─► toy_run [outer ─► inner] ─► bounce ─► toy_run [outer ─► inner] ─► bounce ─► ... spin
 *
 *	toy SECONDS [ROUNDS [late|deep|nap]]	"late": the interpreter is ready only after 300 ms;
 *						"deep": 8 toy functions more, link, between outer
 *						and inner; "nap": its stub in place of spin
 */
#include "toy.h"

#include "stubs.h"

#include <unistd.h>

ZOO_DEFINE_SPIN(spin)

static int rounds = 6, round_now, naps;
KEEP void bounce(void);

static const struct toy_instruction busy_code[] = {{TOY_BUSY, 31, NULL}, {TOY_RETURN, 32, NULL}};
static const struct toy_function busy = {"busy", "busy.toy", 30, 0, busy_code};
static const struct toy_instruction inner_code[] = {{TOY_C, 21, (const void *)bounce},
						    {TOY_RETURN, 22, NULL}};
static const struct toy_function inner = {"inner", "inner.toy", 20, 0, inner_code};
static const struct toy_instruction outer_code[] = {{TOY_CALL, 11, &inner}, {TOY_RETURN, 12, NULL}};
static const struct toy_function outer = {"outer", "outer.toy", 10, 0, outer_code};

#define LINKS 8
static struct toy_instruction link_code[LINKS][2];
static struct toy_function links[LINKS];
static struct toy_instruction deep_code[] = {{TOY_CALL, 11, &links[0]}, {TOY_RETURN, 12, NULL}};
static const struct toy_function deep_outer = {"outer", "outer.toy", 10, 0, deep_code};
static const struct toy_function *first = &outer;

static void make_links(void)
{
	for (int i = 0; i < LINKS; i++) {
		links[i] = (struct toy_function){"link", "link.toy", 40, 0, link_code[i]};
		link_code[i][0] = (struct toy_instruction){
			TOY_CALL, 41, i + 1 < LINKS ? &links[i + 1] : &inner};
		link_code[i][1] = (struct toy_instruction){TOY_RETURN, 42, NULL};
	}
	first = &deep_outer;
}

/* The same at each level but the last: C called from toy, calling toy. */
KEEP void bounce(void)
{
	if (++round_now < rounds) {
		toy_run(first);
	} else {
		if (naps)
			TOY_NAP(8 * SPINS_PER_MS); /* whoever stops it finds it there */
		else
			spin(SPINS_PER_MS);
		BARRIER();
		toy_run(&busy);
	}
	BARRIER();
	round_now--;
}

static void print_truth(const char *leaf)
{
	printf("STACK %s", leaf);
	for (int i = 0; i < rounds; i++)
		printf(" bounce inner %souter", first == &outer ? "" : "link{8} ");
	printf(" main\n");
}

int main(int argc, char **argv)
{
	if (argc > 2)
		rounds = atoi(argv[2]);
	if (argc > 3 && strcmp(argv[3], "deep") == 0)
		make_links();
	naps = argc > 3 && strcmp(argv[3], "nap") == 0;
	print_truth(naps ? "nap" : "spin");
	print_truth("busy");
	zoo_start(argc, argv, "");
	if (argc > 3 && strcmp(argv[3], "late") == 0)
		usleep(300000);
	toy_about.ready = 1;
	while (zoo_time_left())
		toy_run(first);
	return 0;
}
