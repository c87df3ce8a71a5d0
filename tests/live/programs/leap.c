/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls through machine code in anonymous memory that hides return addresses: no table, frame
 * pointer or stack scan finds its caller, only who knows the side stack does (../unwinders/leap).
 *
 *	main ─► swing ─► leap ─► swing ─► leap ─► ... swing ─► spin
 *
 *	leap SECONDS [LEAPS [page|heap|anonymous|untold [FRAMES]]]
 *
 * Where its code lies: in a page that stays; in a heap, reserved as a whole, where it moves to a page
 * that is committed anew every 2 ms; or in a new mapping as often, the old one being unmapped. Or it
 * moves once, after 300 ms, to a page that was mapped before: no mapping tells. Each leap is so many
 * frames.
 *
 * With -DWITH_TOY each swing is called by the interpreter of the template, and that by leap:
 *
 *	main ─► swing ─► leap ─► play ─► toy_run [tune] ─► swing_tune ─► swing ─► leap ─► ...
 */
#ifdef WITH_TOY
#include "plugins/template/tests/programs/toy.h"
#else
#include "zoo.h"
#endif

#include <stdbool.h>
#include <sys/mman.h>

ZOO_DEFINE_SPIN(spin)

#define KEY 0x5a5a5a5aa5a5a5a5ull

/* Read by the plugin: struct leap_state. */
struct {
	uint64_t code_start, code_end, kept_start, kept_end, top_addr, key;
	uint64_t heap_start, heap_end, mode, frames;
} volatile leap_about;
enum { MODE_PAGE, MODE_HEAP, MODE_ANONYMOUS, MODE_UNTOLD };

static uint64_t side_stack[64], *side_top = side_stack;
typedef void (*leap_fn)(void (*function)(long), long argument);
static leap_fn leap;

KEEP void swing(long left);

#ifdef WITH_TOY
#define BEFORE_LEAP " swing_tune tune play"
static long tune_left;
KEEP void swing_tune(void);
KEEP void play(long left);

static const struct toy_instruction tune_code[] = {{TOY_C, 2, (const void *)swing_tune},
						   {TOY_RETURN, 3, NULL}};
static const struct toy_function tune = {"tune", "tune.toy", 1, 0, tune_code};

KEEP void play(long left)
{
	tune_left = left;
	toy_run(&tune);
	BARRIER();
}

KEEP void swing_tune(void)
{
	swing(tune_left);
	BARRIER();
}
#else
#define BEFORE_LEAP ""
#define play swing
#endif

KEEP void swing(long left)
{
	if (left > 0)
		leap(play, left - 1);
	else
		spin(SPINS_PER_MS);
	BARRIER();
}

static uint8_t *put(uint8_t *at, const char *bytes, size_t n)
{
	memcpy(at, bytes, n);
	return at + n;
}
#define PUT(bytes) at = put(at, bytes, sizeof(bytes) - 1)

static uint8_t *put_u64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

/* rdi: the function, rsi: its argument. Only rax, rcx, r10 and r11 are changed. */
static void assemble(uint8_t *code)
{
	uint64_t top_addr = (uintptr_t)&side_top, kept_start, kept_end;
	uint8_t *at = code;

	PUT("\x58\x49\xbb"); /* pop %rax; mov $side_top, %r11 */
	at = put_u64(at, top_addr);
	PUT("\x4d\x8b\x13\x48\xb9"); /* mov (%r11), %r10; mov $KEY, %rcx */
	at = put_u64(at, KEY);
	PUT("\x48\x31\xc8\x49\x89\x02"); /* xor %rcx, %rax; mov %rax, (%r10) */
	PUT("\x49\x83\x03\x08");	 /* addq $8, (%r11) */
	kept_start = (uintptr_t)at;
	PUT("\x48\x89\xf8\x48\x89\xf7\xff\xd0\x49\xbb"); /* rax = rdi; rdi = rsi; call *%rax */
	at = put_u64(at, top_addr);			 /* mov $side_top, %r11 */
	PUT("\x49\x83\x2b\x08");			 /* subq $8, (%r11) */
	kept_end = (uintptr_t)at - 3;			 /* after the first byte of that */
	PUT("\x4d\x8b\x13\x49\x8b\x0a\x48\xb8"); /* rcx = **r11; mov $KEY, %rax */
	at = put_u64(at, KEY);
	PUT("\x48\x31\xc1\xff\xe1"); /* xor %rax, %rcx; jmp *%rcx */
	if (leap_about.code_start) /* where it was first: all copies are alike */
		return;
	leap_about.code_end = (uintptr_t)at;
	leap_about.kept_start = kept_start;
	leap_about.kept_end = kept_end;
	leap_about.top_addr = top_addr;
	leap_about.key = KEY;
	leap_about.code_start = (uintptr_t)code; /* the last: now it can be used */
}

#define PAGE_BYTES 4096
#define HEAP_BYTES (64 * PAGE_BYTES)
#define MOVE_NS	   2000000
#define UNTOLD_NS  300000000

static void *map(void *at, size_t bytes, int protection, int flags)
{
	void *memory = mmap(at, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (memory == MAP_FAILED) {
		printf("skip: no memory for code\n");
		exit(77);
	}
	return memory;
}

/* In the heap the next page but one, round and round, so that what is executable does not grow. */
static void *new_page(void)
{
	static uint64_t n;
	const int all = PROT_READ | PROT_WRITE | PROT_EXEC;

	if (leap_about.mode != MODE_HEAP)
		return map(NULL, PAGE_BYTES, all, 0);
	return map((char *)leap_about.heap_start + (2 * n++ * PAGE_BYTES) % HEAP_BYTES, PAGE_BYTES,
		   all, MAP_FIXED);
}

static void *second_page;

/* The plugin has to read all of it again. */
static void move_untold(void)
{
	leap_about.code_start = 0;
	assemble(second_page);
	leap = (leap_fn)second_page;
	leap_about.mode = MODE_PAGE;
}

static void move_code(void)
{
	void *old = (void *)leap, *code = new_page();

	assemble(code);
	leap = (leap_fn)code;
	if (old && leap_about.mode == MODE_HEAP)
		(void)map(old, PAGE_BYTES, PROT_NONE, MAP_FIXED);
	else if (old)
		(void)munmap(old, PAGE_BYTES);
}

static bool is_time_to_move(void)
{
	static uint64_t moved_ns;
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (moved_ns == 0)
		moved_ns = now_ns;
	if (leap_about.mode == MODE_PAGE ||
	    now_ns - moved_ns < (leap_about.mode == MODE_UNTOLD ? UNTOLD_NS : MOVE_NS))
		return false;
	moved_ns = now_ns;
	return true;
}

int main(int argc, char **argv)
{
	long leaps = argc > 2 ? atol(argv[2]) : 3;
	const char *where = argc > 3 ? argv[3] : "";

	if (leaps > 60)
		return 77;
	leap_about.mode = strcmp(where, "heap") == 0	    ? MODE_HEAP
			  : strcmp(where, "anonymous") == 0 ? MODE_ANONYMOUS
			  : strcmp(where, "untold") == 0    ? MODE_UNTOLD
							    : MODE_PAGE;
	leap_about.frames = argc > 4 ? strtoul(argv[4], NULL, 10) : 1;
	if (leap_about.mode == MODE_HEAP) {
		leap_about.heap_start = (uintptr_t)map(NULL, HEAP_BYTES, PROT_NONE, 0);
		leap_about.heap_end = leap_about.heap_start + HEAP_BYTES;
	}
	second_page = new_page();
	move_code();
#ifdef WITH_TOY
	toy_about.ready = 1;
#endif
	printf("STACK spin swing");
	for (long i = 0; i < leaps; i++) {
		printf("%s", BEFORE_LEAP);
		for (uint64_t frame = 0; frame < leap_about.frames; frame++)
			printf(" leap");
		printf(" swing");
	}
	printf(" main\nMAY ... move_code|move_untold main\n"); /* the kernel tells the profiler of each page */
	zoo_start(argc, argv, "");
	while (zoo_time_left()) {
		if (is_time_to_move())
			leap_about.mode == MODE_UNTOLD ? move_untold() : move_code();
		swing(leaps);
	}
	return 0;
}
