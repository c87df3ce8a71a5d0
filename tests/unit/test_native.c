/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native unwinder (bpf/native.bpf.h) on a process made by hand: its bytecode is interpreted
 * over a page of code, a stack, and rules that each test writes down itself.
 */
#include "bpf/rule.h"
#include "core/replay/kernel_internal.h"

#include "core_bpf.inc.h"
#include "tests/kit/test.h"
#include "tests/unit/event_hash.h"
#include "resume.inc.h"

#define CODE	   0x400000ull /* of the executable, whose addresses are its own */
#define JIT	   0x7f0000000000ull
#define LATE	   0x7f0000100000ull
#define STACK	   0x7ffd00000000ull
#define CODE_BYTES 4096u
#define WORDS	   96u
#define PID	   77u
#define EXECUTABLE 5u
#define N_ROWS	   3u

/* Functions of the executable, 256 bytes each. */
enum { LEAF, MIDDLE, OUTER, MAIN, FUNCTIONS };
#define AT(function)	 (CODE + (function)*256ull + 16)
#define RETURN(function) (CODE + (function)*256ull + 64) /* after a call */

enum { RAX = 0, RDX = 1, RCX = 2, RBX = 3, RDI = 5, RBP = 6, RSP = 7, R11 = 11, R12 = 12, RIP = 16 };

#define SP(off) EP_RULE_IMM(0, 0, off)
#define LOST(rule) ((rule) & ~EP_RULE_KEEPS)
#define AT_CFA	   .ra_kind = EP_REG_AT_CFA, .ra_off = -8
#define TABLE(i)   (EP_RULE_FIRST_TABLE + (i))

struct world {
	struct ep_kernel *kernel;
	struct ep_rule *rules;
	uint32_t *deltas; /* one for each function */
	uint8_t code[CODE_BYTES];
	uint64_t stack[WORDS];
	struct ep_replay_thread thread;
	struct ep_vec event;
};

static int read_user(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	const struct world *w = arg;

	if (addr >= CODE && ep_in_bounds(addr - CODE, bytes, CODE_BYTES)) {
		memcpy(buf, w->code + (addr - CODE), bytes);
		return 0;
	}
	if (addr < STACK || !ep_in_bounds(addr - STACK, bytes, sizeof(w->stack)))
		return -EFAULT;
	memcpy(buf, (const uint8_t *)w->stack + (addr - STACK), bytes);
	return 0;
}

/* Words of chunk 0: rows from 64, the page of the executable at 512, its deltas from 1024. */
static void fill_chunk(struct world *w, uint32_t *chunk)
{
	struct ep_row *rows = (struct ep_row *)(chunk + 64);
	uint64_t page = EP_PAGE(FUNCTIONS + 1, EP_REF(0, 1024));

	rows[0] = (struct ep_row){CODE, CODE + CODE_BYTES, CODE, EXECUTABLE, EP_REF(0, 512)};
	rows[1] = (struct ep_row){JIT, JIT + 4096, 0, 0, EP_PAGES_ABSENT};
	rows[2] = (struct ep_row){LATE, LATE + 4096, 0, 0, EP_PAGES_PENDING};
	memcpy(chunk + 512, &page, sizeof(page));
	w->deltas = chunk + 1024;
	for (uint32_t i = 0; i <= FUNCTIONS; i++)
		w->deltas[i] = EP_DELTA(i * 256, EP_RULE_NONE);
	w->deltas[MAIN] = EP_DELTA(MAIN * 256, EP_RULE_STOP);
}

static void set_rule(struct world *w, uint32_t function, uint32_t rule)
{
	w->deltas[function] = EP_DELTA(function * 256, rule);
}

static void load(struct world *w)
{
	struct ep_kernel *kernel = w->kernel;

	assert_int_equal(ep_kernel_add_object(kernel, "core", NULL, core_bpf_object,
					      sizeof(core_bpf_object)), 0);
	assert_int_equal(ep_kernel_set_constants(kernel, "core", "ep_config", &ep_kernel_config,
						 sizeof(ep_kernel_config)), 0);
	assert_int_equal(ep_kernel_set_program(kernel, EP_SLOT_FINISH, "core", "ep_finish"), 0);
	assert_int_equal(ep_kernel_set_program(kernel, EP_SLOT_NATIVE, "core", "ep_native"), 0);
}

static int set_up(void **state)
{
	/* No copies of the stack, here and for unknown processes: they end the walk. */
	struct ep_proc proc = {
		.start_ns = 1, .rows = EP_REF(0, 64), .n_rows = N_ROWS, .flags = EP_PROC_FINAL};
	struct world *w = calloc(1, sizeof(*w));
	uint32_t pid = PID;
	struct ep_control *control;
	void *chunk;

	assert_non_null(w);
	assert_int_equal(ep_kernel_new(read_user, w, &w->kernel), 0);
	load(w);
	assert_int_equal(ep_kernel_add_chunk(w->kernel, 0, &chunk), 0);
	assert_int_equal(ep_kernel_update(w->kernel, "ep_procs", &pid, &proc), 0);
	control = ep_kernel_entry(w->kernel, "ep_control", 0);
	assert_non_null(control);
	control->no_copies = 1;
	w->rules = ep_kernel_entry(w->kernel, "ep_rules", 0);
	assert_non_null(w->rules);
	fill_chunk(w, chunk);
	memset(w->code, 0x90, sizeof(w->code));
	for (uint32_t i = 0; i < FUNCTIONS; i++) /* before each return address is a call */
		w->code[RETURN(i) - 5 - CODE] = 0xe8;
	w->thread = (struct ep_replay_thread){
		.arch = ep_replay_arch_find(EM_X86_64), .pid = PID, .tid = PID, .start_ns = 1};
	w->thread.regs[RIP] = AT(LEAF);
	w->thread.regs[RSP] = STACK;
	w->thread.regs[RBP] = 1; /* no frame pointer */
	ep_vec_init(&w->event, 1, sizeof(struct ep_sample) + EP_RECORD_WORDS * 8);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	ep_autofree struct world *w = *state;

	ep_kernel_free(w->kernel);
	ep_vec_fini(&w->event);
	return 0;
}

/* Tests change rules where they lie: nothing that was remembered of them holds. */
static const struct ep_sample *walk(struct world *w)
{
	struct ep_control *control = ep_kernel_entry(w->kernel, "ep_control", 0);
	int r;

	control->generation++;
	r = ep_kernel_run(w->kernel, &w->thread, &w->event);

	if (r < 0)
		fail_msg("run: %d %s", r, ep_kernel_trouble(w->kernel));
	return w->event.data;
}

/*
 * A walk as text: "leaf middle~ main", ~ for a frame found by frame pointer or guess, "!7" for an
 * error frame, "?" for an address of no executable, "-" for a gap.
 */
static const char *walk_text(struct world *w)
{
	static const char *const names[FUNCTIONS] = {"leaf", "middle", "outer", "main"};
	static char text[512];
	const struct ep_sample *sample = walk(w);
	const uint64_t *words = (const uint64_t *)(sample + 1) + sample->n_kernel;
	size_t len = 0;

	text[0] = '\0';
	for (uint32_t at = 0; at < sample->n_words && len < sizeof(text) - 32;
	     at += 1 + EP_FRAME_WORDS(words[at])) {
		uint32_t aux = EP_FRAME_AUX(words[at]);
		const char *by = EP_FRAME_FLAGS(words[at]) & EP_FRAME_POINTER_WALK ? "~" : "";
		const char *space = len ? " " : "";
		uint64_t function = (words[at + 1] - CODE) / 256;

		if (EP_FRAME_KIND(words[at]) == EP_FRAME_ERROR)
			len += (size_t)sprintf(text + len, "%s!%u", space, aux);
		else if (EP_FRAME_KIND(words[at]) == EP_FRAME_GAP)
			len += (size_t)sprintf(text + len, "%s-", space);
		else if (aux == EXECUTABLE && function < FUNCTIONS)
			len += (size_t)sprintf(text + len, "%s%s%s", space, names[function], by);
		else
			len += (size_t)sprintf(text + len, "%s?%s", space, by);
	}
	return text;
}

static const char *with_error(const char *frames, uint32_t error)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s !%u", frames, error);
	return text;
}

/* --- vfork ------------------------------------------------------------------------------------ */

/* glibc: pop %rdi, and the return address is in rdi while nothing is on the stack. */
static void make_vfork(struct world *w, uint32_t function)
{
	w->rules[0] = (struct ep_rule){.cfa_reg = RSP, .ra_kind = EP_REG_IN_REG, .ra_reg = RDI,
				       .others = EP_OTHERS_KEEPS};
	set_rule(w, function, TABLE(0));
	w->thread.regs[RDI] = RETURN(MIDDLE);
	set_rule(w, MIDDLE, SP(16));
	w->stack[1] = RETURN(MAIN);
}

#define WORLD_TEST(name) EP_TEST_ON(name, struct world *w, set_up, tear_down)

WORLD_TEST(a_frame_may_have_nothing_on_the_stack)
{
	make_vfork(w, LEAF);
	assert_string_equal(walk_text(w), "leaf middle main");
	assert_int_equal(walk(w)->error, 0);
	w->thread.in_syscall = true;
	assert_string_equal(walk_text(w), "leaf middle main");
}

WORLD_TEST(only_an_interrupted_frame_may)
{
	make_vfork(w, OUTER);
	set_rule(w, LEAF, SP(8));
	w->stack[0] = RETURN(OUTER);
	assert_string_equal(walk_text(w), with_error("leaf outer", EP_ERROR_NO_PROGRESS));
}

/* The frame the kernel made for a signal, from sp on: struct ucontext, registers at 40. */
static void make_signal_frame(struct world *w, uint32_t at, uint64_t sp, uint64_t pc)
{
	w->stack[at + 5 + 8] = w->thread.regs[RDI];
	w->stack[at + 5 + 15] = sp;
	w->stack[at + 5 + 16] = pc;
}

WORLD_TEST(behind_a_signal_frame_it_may_too)
{
	make_vfork(w, OUTER);
	set_rule(w, LEAF, EP_RULE_SIGNAL);
	make_signal_frame(w, 0, STACK + 50 * 8, AT(OUTER));
	w->stack[51] = RETURN(MAIN);
	assert_string_equal(walk_text(w), "leaf outer middle main");
}

/* Two such frames that signals interrupt can be made to lead into each other for ever. */
WORLD_TEST(but_once_in_a_walk)
{
	make_vfork(w, LEAF);
	w->thread.regs[RDI] = RETURN(OUTER);
	set_rule(w, OUTER, EP_RULE_SIGNAL);
	make_signal_frame(w, 0, STACK, AT(LEAF));
	assert_string_equal(walk_text(w), with_error("leaf outer leaf", EP_ERROR_NO_PROGRESS));
}

WORLD_TEST(a_return_address_in_memory_is_no_excuse)
{
	w->rules[0] = (struct ep_rule){.cfa_reg = RSP, AT_CFA, .others = EP_OTHERS_KEEPS};
	set_rule(w, LEAF, TABLE(0));
	assert_string_equal(walk_text(w), with_error("leaf", EP_ERROR_NO_PROGRESS));
}

/* --- registers -------------------------------------------------------------------------------- */

struct register_case {
	const char *label;
	uint32_t leaf;	     /* its rule; 0: the first of the table */
	uint8_t reg;	     /* what the middle function's CFA starts from */
	struct ep_rule rule; /* of the leaf, when its rule is in the table */
	bool found;
};

#define FROM_SP .cfa_reg = RSP, .cfa_off = 8, AT_CFA

static const struct register_case register_cases[] = {
	{"r11, as in OpenSSL", SP(8), R11, {0}, true},
	{"rax", SP(8), RAX, {0}, true},
	{"r12, which the leaf leaves alone", SP(8), R12, {0}, true},
	{"r12, which the leaf saves", LOST(SP(8)), R12, {0}, false},
	{"rbx, which the leaf saves", LOST(SP(8)), RBX, {0}, false},
	{"r11 where the leaf saves rbx", LOST(SP(8)), R11, {0}, true},
	{"r11, table rule", 0, R11, {FROM_SP, .others = EP_OTHERS_KEEPS}, true},
	{"r12, table rule", 0, R12, {FROM_SP, .others = EP_OTHERS_KEEPS}, true},
	{"r11, saved", 0, R11, {FROM_SP, .others = EP_OTHERS_KEEPS_CALLEE}, false},
	{"r12 where r11 is saved", 0, R12, {FROM_SP, .others = EP_OTHERS_KEEPS_CALLEE}, true},
	{"r12, saved, table rule", 0, R12, {FROM_SP, .others = EP_OTHERS_KEEPS_CALLER}, false},
	{"rbx, saved where the rule says", 0, RBX,
	 {FROM_SP, .others = RBX, .base_slot = 2}, true},
};

WORLD_TEST(registers_no_row_changed_are_known)
{
	for (size_t i = 0; i < EP_LEN(register_cases); i++) {
		const struct register_case *c = &register_cases[i];
		const char *want = c->found ? "leaf middle main" :
					      with_error("leaf middle", EP_ERROR_BAD_REGISTER);

		memset(w->thread.regs, 0, sizeof(w->thread.regs));
		w->thread.regs[RIP] = AT(LEAF);
		w->thread.regs[RSP] = STACK + 8 * 8;
		w->thread.regs[c->reg] = STACK + 40 * 8;
		w->rules[0] = c->rule;
		w->rules[1] = (struct ep_rule){.cfa_reg = c->reg, .cfa_off = 16, AT_CFA,
					       .others = EP_OTHERS_KEEPS};
		set_rule(w, LEAF, c->leaf ? c->leaf : TABLE(0));
		set_rule(w, MIDDLE, TABLE(1));
		w->stack[8] = RETURN(MIDDLE);
		w->stack[41] = RETURN(MAIN);
		if (c->rule.base_slot) { /* the leaf has changed it: CFA - 16 has what it was */
			w->stack[7] = STACK + 40 * 8;
			w->thread.regs[c->reg] = 0;
		}
		if (strcmp(walk_text(w), want) != 0)
			fail_msg("%s: %s, not %s", c->label, walk_text(w), want);
	}
}

WORLD_TEST(a_frame_pointer_vouches_for_no_register)
{
	w->thread.regs[RBP] = STACK + 16;
	w->thread.regs[R12] = STACK + 40 * 8;
	w->rules[0] = (struct ep_rule){.cfa_reg = R12, .cfa_off = 16, AT_CFA,
				       .others = EP_OTHERS_KEEPS};
	set_rule(w, MIDDLE, TABLE(0));
	w->stack[3] = RETURN(MIDDLE);
	assert_string_equal(walk_text(w), with_error("leaf middle~", EP_ERROR_BAD_REGISTER));
}

/* --- a leaf without a rule -------------------------------------------------------------------- */

struct call_case {
	const char *label;
	uint8_t bytes[8]; /* the last ones before the return address */
	bool is_call;
};

static const struct call_case call_cases[] = {
	{"call rel32", {0, 0, 0, 0xe8, 0, 0, 0, 0}, true},
	{"call *%rax", {0, 0, 0, 0, 0, 0, 0xff, 0xd0}, true},
	{"call *%r11", {0, 0, 0, 0, 0, 0x41, 0xff, 0xd3}, true},
	{"call *(%rbx)", {0, 0, 0, 0, 0, 0, 0xff, 0x13}, true},
	{"call *(%r12)", {0, 0, 0, 0, 0x41, 0xff, 0x14, 0x24}, true},
	{"call *8(%rbx)", {0, 0, 0, 0, 0, 0xff, 0x53, 0x08}, true},
	{"call *8(%rsp)", {0, 0, 0, 0, 0xff, 0x54, 0x24, 0x08}, true},
	{"call *0x100(%rip)", {0, 0, 0xff, 0x15, 0, 1, 0, 0}, true},
	{"call *0x100(%rbx)", {0, 0, 0xff, 0x93, 0, 1, 0, 0}, true},
	{"call *0x100(%rsp)", {0, 0xff, 0x94, 0x24, 0, 1, 0, 0}, true},
	{"call *0x100(,%rax,8)", {0, 0xff, 0x14, 0xc5, 0, 1, 0, 0}, true},
	{"nothing but nops", {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, false},
	{"jmp *%rax", {0, 0, 0, 0, 0, 0, 0xff, 0xe0}, false},
	{"push (%rbx)", {0, 0, 0, 0, 0, 0, 0xff, 0x33}, false},
	{"jmp rel32", {0, 0, 0, 0xe9, 0, 0, 0, 0}, false},
	{"call *8(%rbx), one byte early", {0, 0, 0, 0, 0, 0, 0xff, 0x53}, false},
	{"call *(%rip) without its offset", {0, 0, 0, 0, 0, 0, 0xff, 0x15}, false},
};

WORLD_TEST(a_leaf_without_a_rule_has_its_return_address_at_sp)
{
	set_rule(w, MIDDLE, SP(8));
	w->stack[0] = RETURN(MIDDLE);
	w->stack[1] = RETURN(MAIN);
	for (size_t i = 0; i < EP_LEN(call_cases); i++) {
		const struct call_case *c = &call_cases[i];
		const char *want = c->is_call ? "leaf middle~ main" :
						with_error("leaf", EP_ERROR_BAD_FRAME_POINTER);

		memcpy(w->code + (RETURN(MIDDLE) - 8 - CODE), c->bytes, sizeof(c->bytes));
		if (strcmp(walk_text(w), want) != 0)
			fail_msg("%s: %s, not %s", c->label, walk_text(w), want);
	}
}

WORLD_TEST(only_the_leaf_does)
{
	set_rule(w, LEAF, SP(8));
	w->stack[0] = RETURN(MIDDLE);
	w->stack[1] = RETURN(MAIN);
	assert_string_equal(walk_text(w), with_error("leaf middle", EP_ERROR_BAD_FRAME_POINTER));
}

WORLD_TEST(what_lies_at_sp_must_be_in_known_code)
{
	w->stack[0] = 0x500010; /* no mapping, and not readable */
	assert_string_equal(walk_text(w), with_error("leaf", EP_ERROR_BAD_FRAME_POINTER));
	w->stack[0] = 1;
	assert_string_equal(walk_text(w), with_error("leaf", EP_ERROR_BAD_FRAME_POINTER));
	w->thread.regs[RSP] = 8;
	assert_string_equal(walk_text(w), with_error("leaf", EP_ERROR_BAD_FRAME_POINTER));
}

/* rbp points into the stack, but is none: what lies above it is no code. */
WORLD_TEST(a_frame_pointer_to_no_code_is_none)
{
	set_rule(w, MIDDLE, SP(8));
	w->stack[0] = RETURN(MIDDLE);
	w->stack[1] = RETURN(MAIN);
	w->thread.regs[RBP] = STACK + 64;
	w->stack[9] = 0x600000;
	assert_string_equal(walk_text(w), "leaf middle~ main");
	w->thread.regs[RSP] = STACK + 16; /* nor is this a return address */
	assert_string_equal(walk_text(w), with_error("leaf", EP_ERROR_BAD_FRAME_POINTER));
}

/* fp 0 ends a chain of frame pointers, but there was none yet. */
WORLD_TEST(a_guess_is_no_chain)
{
	w->thread.regs[RBP] = 0;
	w->stack[0] = RETURN(MIDDLE);
	assert_string_equal(walk_text(w), with_error("leaf middle~", EP_ERROR_BAD_FRAME_POINTER));
}

/* --- a language that knows more ----------------------------------------------------------------- */

/* Two frames are guessed, of which the second leads nowhere: nothing of them is left, nor in the hash. */
WORLD_TEST(a_walk_goes_on_where_a_language_knows_a_frame)
{
	struct ep_proc proc = {.start_ns = 1, .rows = EP_REF(0, 64), .n_rows = N_ROWS,
			       .slots = {EP_SLOT_FIRST_DYNAMIC},
			       .flags = EP_PROC_FINAL | 1 << EP_PROC_RESUMERS_SHIFT};
	const struct ep_sample *sample;
	uint32_t pid = PID;

	assert_int_equal(ep_kernel_add_object(w->kernel, "test", NULL, resume_object,
					      sizeof(resume_object)), 0);
	assert_int_equal(ep_kernel_set_program(w->kernel, EP_SLOT_FIRST_DYNAMIC, "test", "unwind"), 0);
	assert_int_equal(ep_kernel_update(w->kernel, "ep_procs", &pid, &proc), 0);
	w->thread.regs[RAX] = RETURN(MAIN);
	w->thread.regs[RDX] = STACK + 40 * 8;
	w->thread.regs[RBP] = STACK + 16;
	w->stack[2] = STACK + 64;
	w->stack[3] = RETURN(MIDDLE);
	w->stack[9] = 0x600000;
	assert_string_equal(walk_text(w), "leaf - main");
	sample = walk(w);
	assert_int_equal(sample->error, 0);
	assert_int_equal(sample->hash, hash_event(sample, (const uint8_t *)(sample + 1)));
}

/* --- memory of no file ------------------------------------------------------------------------ */

WORLD_TEST(only_what_may_be_placed_later_is_raw)
{
	static const struct {
		uint64_t pc;
		bool raw;
	} cases[] = {{JIT + 16, false}, {LATE + 16, true}, {LATE + 0x10000, true}};

	for (size_t i = 0; i < EP_LEN(cases); i++) {
		w->thread.regs[RIP] = cases[i].pc;
		assert_int_equal(!!(walk(w)->flags & EP_SAMPLE_RAW), cases[i].raw);
		assert_memory_equal(walk_text(w), "?", 1);
	}
}

WORLD_TEST(of_an_unknown_process_all_is_raw)
{
	w->thread.pid++;
	assert_true(walk(w)->flags & EP_SAMPLE_RAW);
}

/* --- what is sent ----------------------------------------------------------------------------- */

/* In the epoch of the walk before. */
static const struct ep_sample *walk_again(struct world *w)
{
	struct ep_control *control = ep_kernel_entry(w->kernel, "ep_control", 0);

	control->epoch--;
	return walk(w);
}

/* The frames once in an epoch, their hash alone after that. */
WORLD_TEST(each_epoch_begins_with_all_frames)
{
	set_rule(w, LEAF, SP(8));
	w->stack[0] = RETURN(MAIN);
	for (int epoch = 0; epoch < 3; epoch++) {
		assert_int_equal(walk(w)->event.type, EP_EVENT_TRACE);
		for (int i = 0; i < 3; i++)
			assert_int_equal(walk_again(w)->event.type, EP_EVENT_KNOWN);
	}
}

/* Of such a stack the hash does not tell how it goes on. */
WORLD_TEST(what_is_finished_from_a_copy_is_never_known)
{
	struct ep_proc proc = {.start_ns = 1, .rows = EP_REF(0, 64), .n_rows = N_ROWS};
	uint32_t pid = PID;

	assert_int_equal(ep_kernel_update(w->kernel, "ep_procs", &pid, &proc), 0);
	set_rule(w, LEAF, SP(8));
	w->stack[0] = LATE + 16;
	for (int i = 0; i < 3; i++) {
		const struct ep_sample *sample = i ? walk_again(w) : walk(w);

		assert_false(sample->flags & EP_SAMPLE_RAW);
		assert_int_equal(sample->event.type, EP_EVENT_TRACE);
		assert_true(sample->copy_bytes > 0);
	}
}

/* The kernel's limit, which programs of languages may run into (core/replay is the kernel here). */
WORLD_TEST(tail_calls_end)
{
	const uint64_t arguments[5] = {0, 0, EP_SLOT_NATIVE};
	uint64_t result;

	ep_kernel_current = w->kernel;
	w->kernel->tail_calls = 0;
	for (int i = 0; i < 33; i++)
		assert_int_equal(ep_kernel_call_helper(NULL, BPF_FUNC_tail_call, arguments, &result), 1);
	assert_int_equal(ep_kernel_call_helper(NULL, BPF_FUNC_tail_call, arguments, &result), 0);
	assert_int_equal((int64_t)result, -E2BIG);
	ep_kernel_current = NULL;
}

/* An entry of an address holds for the rows and tables that it was made of, wherever in its set it is. */
WORLD_TEST(what_is_remembered_of_another_process_is_not_ours)
{
	struct ep_control *control = ep_kernel_entry(w->kernel, "ep_control", 0);

	set_rule(w, LEAF, SP(8));
	w->stack[0] = RETURN(MAIN);
	for (size_t way = 0; way < 2; way++) {
		for (uint64_t others = 0; others < 2; others++) {
			uint64_t tag = (control->generation + 1ull) << 32;
			struct ep_memo_set *set =
				ep_kernel_entry(w->kernel, "ep_memo", EP_MEMO_SET(0, AT(LEAF), tag));

			set->ways[way] = (struct ep_memo){.addr = AT(LEAF), .tag = tag + others,
							  .executable = EXECUTABLE + 1, .rule = EP_RULE_STOP};
			assert_string_equal(walk_text(w), others ? "leaf main" : "?");
		}
	}
}

/* --- the kernel's part ------------------------------------------------------------------------ */

WORLD_TEST(a_short_kernel_part_says_so)
{
	static const struct {
		int32_t n;
		uint32_t n_kernel, error;
	} cases[] = {
		{1, 1, 0},	 {126, 126, 0}, {127, 127, EP_ERROR_KERNEL_DEPTH},
		{500, 127, EP_ERROR_KERNEL_DEPTH}, {-EFAULT, 0, EP_ERROR_KERNEL_STACK},
		{0, 0, EP_ERROR_KERNEL_STACK},
	};

	set_rule(w, LEAF, SP(8));
	w->stack[0] = RETURN(MAIN);
	w->thread.in_syscall = true;
	for (size_t i = 0; i < EP_LEN(cases); i++) {
		char want[64] = "leaf main";

		if (cases[i].error)
			snprintf(want, sizeof(want), "!%u leaf main", cases[i].error);
		w->kernel->kernel_stack = cases[i].n;
		assert_string_equal(walk_text(w), want);
		assert_int_equal(walk(w)->n_kernel, cases[i].n_kernel);
		assert_int_equal(walk(w)->error, cases[i].error);
	}
}

/* A virtual CPU: the kernel has no stack while its guest runs, but the thread that runs it has. */
WORLD_TEST(a_guest_is_a_frame)
{
	set_rule(w, LEAF, SP(8));
	w->stack[0] = RETURN(MAIN);
	w->thread.in_syscall = true;
	w->kernel->kernel_stack = 0;
	w->kernel->task_flags = 1; /* PF_VCPU, include/linux/sched.h */
	assert_string_equal(walk_text(w), "? leaf main");
	assert_int_equal(walk(w)->error, 0);
}

/* --- walks that take longer than a period ------------------------------------------------------ */

static uint64_t overrun(struct world *w, uint32_t n_frames)
{
	const struct ep_counts *counts = ep_kernel_entry(w->kernel, "ep_counters", 0);
	uint64_t before = counts->n[EP_COUNTER_OVERRUN];

	for (uint32_t i = 0; i + 1 < n_frames; i++)
		w->stack[i] = i + 2 < n_frames ? RETURN(LEAF) : RETURN(MAIN);
	assert_int_equal(walk(w)->n_frames, n_frames);
	return counts->n[EP_COUNTER_OVERRUN] - before;
}

WORLD_TEST(ticks_that_are_over_when_a_walk_ends_are_counted)
{
	set_rule(w, LEAF, SP(8));
	w->kernel->step_ns = 350; /* the clock is read when a sample begins and when it ends */
	assert_int_equal(overrun(w, WORDS), 0); /* nobody says how long a period is */
	w->kernel->period_ns = 100;
	assert_int_equal(overrun(w, WORDS), 3);
	w->kernel->period_ns = 351;
	assert_int_equal(overrun(w, WORDS), 0);
	w->kernel->period_ns = 350;
	assert_int_equal(overrun(w, WORDS), 1);
	assert_int_equal(overrun(w, 8), 0); /* too short for the clock to be read again */
}
