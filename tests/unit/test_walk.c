/* SPDX-License-Identifier: Apache-2.0 */
/* Late walks: of this process's own stack, and of an invented one where all goes wrong. */
#include "core/base/map.h"
#include "core/trace/store.h"
#include "tests/unit/walk_own.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NATIVE	EP_FRAME_NATIVE
#define RETURN	EP_FRAME_RETURN_ADDRESS
#define POINTER EP_FRAME_POINTER_WALK
#define SLOTTED (WALK_SLOT << EP_FRAME_SLOT_SHIFT)
#define SPOKEN	(EP_FRAME_FIRST_DYNAMIC + WALK_SLOT)

struct frame {
	uint32_t kind, flags, aux;
	uint64_t word;
};

struct fixture {
	struct walk_world world;
	struct ep_row rows[WALK_N_ROWS];
	struct walk_event event;
	struct ep_vec out; /* the walked event */
	uint32_t n_asked;  /* for code */
	uint64_t code;	   /* what there is of it at every address of WALK_ABSENT */
};

static int set_up(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	assert_non_null(fx);
	walk_world_init(&fx->world);
	walk_invented(&fx->world, fx->rows);
	ep_vec_init(&fx->out, 1, EP_WALK_MAX_BYTES);
	*state = fx;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fx = *state;

	walk_world_fini(&fx->world);
	ep_vec_fini(&fx->out);
	free(fx);
	return 0;
}

static int read_code(void *arg, uint32_t executable, uint64_t va, void *buf, size_t bytes)
{
	struct fixture *fx = arg;

	fx->n_asked++;
	if (executable != WALK_OTHER_ID || va < WALK_VA || bytes != sizeof(fx->code))
		return -EFAULT;
	memcpy(buf, &fx->code, bytes);
	return 0;
}

/* 0 with the new event's sample. */
static int run(struct fixture *fx, struct ep_sample *ret_sample)
{
	struct ep_walk_source source = {.arg = fx, .read_code = read_code};
	int r;

	walk_event_flatten(&fx->event);
	r = ep_walker_run(fx->world.walker, fx->event.flat, fx->event.bytes, fx->rows, WALK_N_ROWS,
			  &source, &fx->out);
	if (r == 0)
		memcpy(ret_sample, fx->out.data, sizeof(*ret_sample));
	return r;
}

/* BPF's hash, written down plainly (bpf/entry.bpf.h, bpf/record.h, bpf/record.bpf.h). */
static uint64_t hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9fb21c651e98df25ull;
	return hash ^ hash >> 32;
}

static uint64_t hash_event(const struct ep_sample *sample, const uint8_t *words)
{
	uint64_t hash = hash_word((uint64_t)sample->image << 32 | sample->pid, sample->start_ns);
	uint64_t word;

	for (uint32_t i = 0; i < (uint32_t)sample->n_kernel + sample->n_words; i++) {
		if (i > 0 && i == sample->n_kernel)
			hash = hash_word(hash, sample->n_kernel);
		memcpy(&word, words + i * sizeof(word), sizeof(word));
		hash = hash_word(hash, word);
	}
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdull;
	hash ^= hash >> 33;
	hash *= 0xc4ceb9fe1a85ec53ull;
	return hash ^ hash >> 33;
}

/* What holds of every event that comes out. */
static void check_event(struct fixture *fx, const struct ep_sample *sample)
{
	const uint8_t *words = (uint8_t *)fx->out.data + sizeof(*sample);
	struct ep_store *store = NULL;

	assert_int_equal(sample->copy_bytes, 0);
	assert_int_equal(fx->out.len, sizeof(*sample) +
			 8 * ((size_t)sample->n_kernel + sample->n_words));
	assert_true(sample->hash == hash_event(sample, words));
	assert_int_equal(ep_store_new(&EP_STORE_DEFAULT_LIMITS, 0, &store), 0);
	assert_int_equal(ep_store_add(store, fx->out.data, fx->out.len), 0);
	ep_store_free(store);
}

/* Walks, and wants these frames (up to kind 0), and this error. */
static void expect(struct fixture *fx, const struct frame *frames, uint32_t error)
{
	struct ep_sample sample = {0};
	uint32_t n = 0, at;
	uint64_t words[2];

	assert_int_equal(run(fx, &sample), 0);
	check_event(fx, &sample);
	assert_int_equal(sample.error, error);
	for (at = 0; frames[n].kind; n++, at += 2) {
		assert_true(at + 2 <= sample.n_words);
		memcpy(words, (uint8_t *)fx->out.data + sizeof(sample) +
			      8 * ((size_t)sample.n_kernel + at), sizeof(words));
		if (words[0] != EP_FRAME_HEADER(frames[n].kind, frames[n].flags, 1, frames[n].aux) ||
		    words[1] != frames[n].word)
			fail_msg("frame %u: 0x%llx 0x%llx", n, (unsigned long long)words[0],
				 (unsigned long long)words[1]);
	}
	assert_int_equal(sample.n_frames, n);
	assert_int_equal(sample.n_words, at);
}

static uint8_t flags_of(const struct fixture *fx)
{
	return ((const struct ep_sample *)fx->out.data)->flags;
}

/* The ELF virtual address of code in WALK_CODE. */
#define VA(addr) ((addr) - WALK_CODE + WALK_VA)

/* --- what is there ---------------------------------------------------------------------------- */

static void walk_goes_to_the_root(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE + 5)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_CODE + 0x1234)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 9)},
		{0},
	};

	walk_event_init(&fx->event, WALK_CODE + 5, 1);
	walk_event_return(&fx->event, 0, WALK_CODE + 0x1234);
	walk_event_return(&fx->event, 1, WALK_ROOT + 9);
	fx->event.sample.flags = EP_SAMPLE_RAW | EP_SAMPLE_UNKNOWN_PROCESS;
	expect(fx, frames, 0);
	assert_int_equal(flags_of(fx), 0);
}

/* The words before and behind the place, those of the kernel, and the sample stay as they are. */
static void late_frames_take_their_place(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, 9, 0x77},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_CODE + 5)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 9)},
		{SPOKEN, EP_FRAME_ENTRY, 1, 0x1111},
		{SPOKEN, EP_FRAME_ENTRY, 1, 0x2222},
		{0},
	};
	const struct ep_sample *sample;

	walk_event_init(&fx->event, WALK_CODE + 5, 1);
	fx->event.copy.return_address = 1;
	walk_event_return(&fx->event, 0, WALK_ROOT + 9);
	fx->event.sample.n_kernel = 2;
	fx->event.words[0] = 0xffffffff81000001ull;
	fx->event.words[1] = 0xffffffff81000002ull;
	walk_event_frame(&fx->event, NATIVE, 0, 9, 0x77);
	fx->event.copy.at_word = 2;
	walk_event_frame(&fx->event, SPOKEN, EP_FRAME_ENTRY, 1, 0x1111);
	walk_event_frame(&fx->event, SPOKEN, EP_FRAME_ENTRY, 1, 0x2222);
	memcpy(fx->event.sample.comm, "prog", 5);
	fx->event.sample.event.time_ns = 99;
	expect(fx, frames, 0);
	sample = fx->out.data;
	assert_int_equal(sample->n_kernel, 2);
	assert_memory_equal(sample + 1, fx->event.words, 16);
	assert_string_equal(sample->comm, "prog");
	assert_int_equal(sample->event.time_ns, 99);
	assert_int_equal(sample->tid, 7);
}

/* Rules that are entries of their own, each from the leaf, where all registers are known. */
static void all_rules_are_followed(void **state)
{
	static const struct {
		const char *label;
		uint64_t pc;
		uint32_t word; /* of the stack, from sp: where the return address must be */
		uint32_t error;
	} rows[] = {
		{"deref", WALK_DEREF, 11, 0},
		{"plt, before the push", WALK_PLT + 10, 0, 0},
		{"plt, behind it", WALK_PLT + 11, 1, 0},
		{"rbx", WALK_RBX, 21, 0},
		{"fp", WALK_FP, 31, 0},
		{"no rule, by fp", WALK_NO_RULE, 31, 0},
		{"unsupported", WALK_UNSUPPORTED, 0, EP_ERROR_UNSUPPORTED_RULE},
	};
	struct fixture *fx = *state;

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_sample sample = {0};
		uint64_t *stack;

		walk_event_init(&fx->event, rows[i].pc, 1);
		stack = fx->event.stack + (WALK_SP - WALK_STACK) / 8;
		stack[2] = WALK_SP + 80; /* what the first one looks at */
		fx->event.copy.regs[3] = WALK_SP + 160;
		fx->event.copy.regs[EP_REG_FP] = WALK_SP + 240;
		stack[rows[i].word] = WALK_ROOT + 1;
		assert_int_equal(run(fx, &sample), 0);
		if (sample.error != rows[i].error || sample.n_frames != 2)
			fail_msg("%s: error %u, %u frames", rows[i].label, sample.error,
				 sample.n_frames);
	}
}

/* The caller's address is that of an instruction that has not run yet: the one before may have another rule. */
static void interrupted_callers_are_found_by_their_address(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_INJECTED)},
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 9)},
		{0},
	};

	walk_event_init(&fx->event, WALK_INJECTED, 1);
	walk_event_return(&fx->event, 0, WALK_CODE); /* the first byte that is mapped */
	walk_event_return(&fx->event, 1, WALK_ROOT + 9);
	expect(fx, frames, 0);
}

static void callers_may_be_on_a_lower_stack(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_SWITCH)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_CODE + 5)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 9)},
		{0},
	};

	walk_event_init(&fx->event, WALK_SWITCH, 1);
	fx->event.copy.regs[EP_REG_SP] = WALK_SP + 0x800;
	fx->event.copy.regs[EP_REG_FP] = WALK_SP; /* the frame's pair of fp and return address */
	walk_event_return(&fx->event, 0, WALK_CODE + 5);
	walk_event_return(&fx->event, 1, WALK_ROOT + 9);
	expect(fx, frames, 0);
}

/* Frame pointers led to the other stack, of which BPF has copied a piece. */
static void stack_behind_a_switch_may_be_copied_too(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_SWITCH)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_CODE + 5)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 9)},
		{0},
	};
	const struct frame without[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_SWITCH)},
		{EP_FRAME_ERROR, 0, EP_ERROR_BAD_READ, WALK_SWITCH},
		{0},
	};
	const uint64_t places[] = {WALK_STACK - 0x100000, WALK_STACK + 0x100000};

	for (size_t i = 0; i < EP_LEN(places); i++) {
		walk_event_init(&fx->event, WALK_SWITCH, 1);
		fx->event.copy.regs[EP_REG_FP] = places[i] + 16;
		walk_event_other(&fx->event, places[i]);
		fx->event.other[3] = WALK_CODE + 5; /* behind the fp that is saved */
		fx->event.other[5] = WALK_ROOT + 9;
		expect(fx, frames, 0);
		walk_event_init(&fx->event, WALK_SWITCH, 1);
		fx->event.copy.regs[EP_REG_FP] = places[i] + 16;
		expect(fx, without, EP_ERROR_BAD_READ);
	}
}

static void switches_in_a_circle_end(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample = {0};

	walk_event_init(&fx->event, WALK_SWITCH, 1);
	fx->event.copy.regs[EP_REG_FP] = WALK_SP;
	fx->event.stack[(WALK_SP - WALK_STACK) / 8] = WALK_SP;
	walk_event_return(&fx->event, 0, WALK_SWITCH + 1);
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.error, EP_ERROR_NO_PROGRESS);
	assert_int_equal(sample.n_frames, EP_MAX_SWITCHES + 2); /* the error is one */
}

static void return_address_may_be_in_a_register(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample = {0};

	walk_event_init(&fx->event, WALK_IN_REG, 1);
	fx->event.copy.regs[0] = WALK_ROOT + 1;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.error, 0);
	assert_int_equal(sample.n_frames, 2);
	/* not in a caller */
	fx->event.copy.known_regs = EP_KNOWN_ALWAYS;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.error, EP_ERROR_BAD_REGISTER);
}

/* What the copy says of the frame it begins with decides (bpf/native.bpf.h, may_stand). */
static void an_interrupted_frame_may_have_nothing_on_the_stack(void **state)
{
	static const struct {
		uint16_t interrupted, stood;
		uint32_t error;
	} rows[] = {
		{1, 0, 0},
		{1, 1, EP_ERROR_NO_PROGRESS},
		{0, 0, EP_ERROR_NO_PROGRESS},
	};
	struct fixture *fx = *state;
	struct ep_sample sample = {0};

	walk_event_init(&fx->event, WALK_VFORK, 1);
	fx->event.copy.regs[5] = WALK_CODE + 0x1234;
	walk_event_return(&fx->event, 0, WALK_ROOT + 9);
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		fx->event.copy.interrupted = rows[i].interrupted;
		fx->event.copy.stood = rows[i].stood;
		assert_int_equal(run(fx, &sample), 0);
		assert_int_equal(sample.error, rows[i].error);
		assert_int_equal(sample.n_frames, rows[i].error ? 2 : 3);
	}
}

/* A leaf without a rule and without a frame pointer: what lies at sp, if a call is before it. */
static void return_address_of_a_bare_leaf_is_behind_a_call(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample = {0};
	uint64_t header;

	walk_event_init(&fx->event, WALK_NO_RULE, 1);
	fx->event.copy.interrupted = 1;
	fx->event.copy.regs[EP_REG_FP] = 1;
	fx->event.stack[(WALK_SP - WALK_STACK) / 8] = WALK_ABSENT + 0x10;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.n_frames, 2); /* the leaf and an error */
	fx->code = 0x00000000e8000000ull;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.n_frames, 3);
	memcpy(&header, (uint8_t *)fx->out.data + sizeof(sample) + 16, sizeof(header));
	assert_int_equal(header, EP_FRAME_HEADER(NATIVE, RETURN | POINTER, 1, WALK_OTHER_ID));
}

/* fp 0 ends a chain of frame pointers; behind a caller that was guessed it may be any register. */
static void guessed_caller_without_frame_pointer_is_no_root(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample = {0};

	walk_event_init(&fx->event, WALK_NO_RULE + 5, 1);
	fx->event.copy.return_address = fx->event.copy.by_pointer = 1;
	fx->event.copy.regs[EP_REG_FP] = 0;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.error, 0);
	fx->event.copy.guessed = 1;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.error, EP_ERROR_BAD_FRAME_POINTER);
}

/* The user's part is whole now, the kernel's is what it was. */
static void error_of_the_kernels_part_stays(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{EP_FRAME_ERROR, 0, EP_ERROR_KERNEL_DEPTH, 0},
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE + 5)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 9)},
		{0},
	};

	walk_event_init(&fx->event, WALK_CODE + 5, 1);
	walk_event_return(&fx->event, 0, WALK_ROOT + 9);
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_KERNEL_DEPTH, 0);
	fx->event.copy.at_word = 2;
	expect(fx, frames, EP_ERROR_KERNEL_DEPTH);
}

/* struct rt_sigframe's registers: r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip. */
static void put_signal_frame(struct walk_event *event, uint32_t word, uint64_t sp, uint64_t pc)
{
	uint64_t *regs = event->stack + (WALK_SP - WALK_STACK) / 8 + word + 5;

	regs[15] = sp;
	regs[16] = pc;
}

static void signal_frames_are_passed(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE + 5)},
		{NATIVE, RETURN | EP_FRAME_SIGNAL, WALK_CODE_ID, VA(WALK_SIGNAL + 1)},
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 9)},
		{0},
	};

	walk_event_init(&fx->event, WALK_CODE + 5, 1);
	walk_event_return(&fx->event, 0, WALK_SIGNAL + 1);
	put_signal_frame(&fx->event, 2, WALK_SP + 0x400, WALK_CODE);
	walk_event_return(&fx->event, 0x40, WALK_ROOT + 9);
	expect(fx, frames, 0);
}

/* musl's restorer has no rule: it is told by its code, which the file has. */
static void restorer_is_told_by_its_code(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE + 5)},
		{NATIVE, RETURN | EP_FRAME_SIGNAL, WALK_OTHER_ID, WALK_VA + 0x10},
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_ROOT + 9)},
		{0},
	};

	fx->code = 0x0f0000000fc0c748ull; /* mov $15, %rax; syscall */
	walk_event_init(&fx->event, WALK_CODE + 5, 1);
	walk_event_return(&fx->event, 0, WALK_ABSENT + 0x10);
	put_signal_frame(&fx->event, 2, WALK_SP + 0x400, WALK_ROOT + 9);
	expect(fx, frames, 0);
	assert_int_equal(fx->n_asked, 1);
}

/* Its last bytes belong to no file any more. */
static void code_is_read_within_its_mapping(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample = {0};

	fx->code = 0x0f0000000fc0c748ull;
	for (uint32_t bytes = 1; bytes <= 8; bytes++) {
		fx->n_asked = 0;
		walk_event_init(&fx->event, WALK_CODE, 1);
		walk_event_return(&fx->event, 0, WALK_ABSENT + 0x1000 - bytes);
		put_signal_frame(&fx->event, 2, WALK_SP + 0x400, WALK_ROOT);
		assert_int_equal(run(fx, &sample), 0);
		assert_int_equal(fx->n_asked, bytes == 8);
		assert_int_equal(sample.error, bytes == 8 ? 0 : EP_ERROR_BAD_FRAME_POINTER);
	}
}

/* The one register besides sp and fp that rules restore; it is kept where none mentions it. */
static void base_register_reaches_its_caller(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample = {0};
	uint64_t *stack;

	walk_event_init(&fx->event, WALK_DEREF, 1);
	stack = fx->event.stack + (WALK_SP - WALK_STACK) / 8;
	stack[2] = WALK_SP + 80; /* CFA: sp + 96 */
	stack[10] = WALK_SP + 160;
	stack[11] = WALK_RBX + 1;
	stack[21] = WALK_ROOT + 1;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.error, 0);
	assert_int_equal(sample.n_frames, 3);
	/* a caller whose callee left it alone */
	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_RBX + 1);
	fx->event.copy.regs[3] = WALK_SP + 160;
	stack[21] = WALK_ROOT + 1;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.error, 0);
	assert_int_equal(sample.n_frames, 3);
	/* and one whose callee's rule does not say so */
	walk_event_init(&fx->event, WALK_PLT, 1);
	stack[0] = WALK_RBX + 1;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.error, EP_ERROR_BAD_REGISTER);
}

/* --- what is not there ------------------------------------------------------------------------ */

/* Functions without end, as deep as the copy and deeper. */
static void fill_stack(struct walk_event *event)
{
	for (uint32_t i = 0; i < EP_LEN(event->stack) / 2 - 1; i++)
		walk_event_return(event, i, WALK_CODE + 0x20);
}

static void copy_that_is_full_is_too_short(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample = {0};

	walk_event_init(&fx->event, WALK_CODE, EP_COPY_PAGES);
	fill_stack(&fx->event);
	assert_int_equal(run(fx, &sample), 0);
	check_event(fx, &sample);
	assert_int_equal(sample.error, EP_ERROR_COPY_END);
	/* each return address that is there, and the leaf, and the error */
	assert_int_equal(sample.n_frames, EP_LEN(fx->event.stack) / 2 - 1 + 2);
}

static void copy_that_is_not_full_has_all_there_is(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample = {0};

	for (uint32_t pages = 0; pages < EP_COPY_PAGES; pages++) {
		walk_event_init(&fx->event, WALK_CODE, pages);
		fill_stack(&fx->event);
		assert_int_equal(run(fx, &sample), 0);
		assert_int_equal(sample.error, EP_ERROR_BAD_READ);
		assert_int_equal(sample.n_frames, pages ? pages * 256 + 1 : 2);
	}
}

/* A handler ran on a stack of its own: that of the interrupted code was not copied. */
static void stack_behind_another_was_not_copied(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, EP_FRAME_SIGNAL, WALK_CODE_ID, VA(WALK_SIGNAL)},
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{EP_FRAME_ERROR, 0, EP_ERROR_COPY_END, WALK_CODE},
		{0},
	};
	const uint64_t elsewhere[] = {WALK_STACK - 0x10000, WALK_STACK + 0x10000};

	for (size_t i = 0; i < EP_LEN(elsewhere); i++) {
		walk_event_init(&fx->event, WALK_SIGNAL, 1);
		put_signal_frame(&fx->event, 0, elsewhere[i], WALK_CODE);
		expect(fx, frames, EP_ERROR_COPY_END);
	}
}

static void address_in_no_row_is_raw(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{NATIVE, RETURN, 0, WALK_NOTHING},
		{EP_FRAME_ERROR, 0, EP_ERROR_NO_MAPPING, WALK_NOTHING},
		{0},
	};

	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_NOTHING);
	expect(fx, frames, EP_ERROR_NO_MAPPING);
	assert_int_equal(flags_of(fx), EP_SAMPLE_RAW | EP_SAMPLE_UNKNOWN_ADDRESS);
}

/* As in BPF: what a frame pointer led to is not shown if it is no code. */
static void frame_pointer_to_no_code_was_none(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_NO_RULE)},
		{EP_FRAME_ERROR, 0, EP_ERROR_BAD_FRAME_POINTER, WALK_NOTHING},
		{0},
	};

	walk_event_init(&fx->event, WALK_NO_RULE, 1);
	fx->event.copy.regs[EP_REG_FP] = WALK_SP;
	walk_event_return(&fx->event, 0, WALK_NOTHING);
	expect(fx, frames, EP_ERROR_BAD_FRAME_POINTER);
}

static void code_without_tables_is_passed_by_frame_pointer(void **state)
{
	const uint64_t codes[] = {WALK_PENDING, WALK_DROPPED};
	struct fixture *fx = *state;

	for (size_t i = 0; i < EP_LEN(codes); i++) {
		const struct frame frames[] = {
			{NATIVE, 0, WALK_OTHER_ID, WALK_VA + 4},
			{NATIVE, RETURN | POINTER, WALK_CODE_ID, VA(WALK_ROOT + 1)},
			{0},
		};
		const struct frame stuck[] = {
			{NATIVE, 0, WALK_OTHER_ID, WALK_VA + 4},
			{EP_FRAME_ERROR, 0, EP_ERROR_NO_TABLES, codes[i] + 4},
			{0},
		};

		walk_event_init(&fx->event, codes[i] + 4, 1);
		fx->event.copy.regs[EP_REG_FP] = WALK_SP;
		walk_event_return(&fx->event, 0, WALK_ROOT + 1);
		expect(fx, frames, 0);
		fx->event.copy.regs[EP_REG_FP] = 5;
		expect(fx, stuck, EP_ERROR_NO_TABLES);
	}
}

static void process_without_rows_has_no_mapping(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample;

	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_flatten(&fx->event);
	assert_int_equal(ep_walker_run(fx->world.walker, fx->event.flat, fx->event.bytes, NULL, 0,
				       NULL, &fx->out), 0);
	memcpy(&sample, fx->out.data, sizeof(sample));
	assert_int_equal(sample.error, EP_ERROR_NO_MAPPING);
	assert_int_equal(ep_walker_run(fx->world.walker, fx->event.flat, fx->event.bytes, fx->rows,
				       EP_MAX_ROWS + 1, NULL, &fx->out), -EINVAL);
}

/* References to what is not there any more are no rules, and no reads. */
static void tables_that_are_gone_have_no_rules(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{EP_FRAME_ERROR, 0, EP_ERROR_BAD_FRAME_POINTER, WALK_CODE},
		{0},
	};
	const uint32_t refs[] = {EP_REF(1, 2), EP_REF(EP_MAX_CHUNKS - 1, 2),
				 EP_REF(EP_MAX_CHUNKS + 1, 2), UINT32_MAX - 1};

	for (size_t i = 0; i < EP_LEN(refs); i++) {
		fx->rows[0].pages = refs[i];
		walk_event_init(&fx->event, WALK_CODE, 1);
		expect(fx, frames, EP_ERROR_BAD_FRAME_POINTER);
	}
}

/* --- languages -------------------------------------------------------------------------------- */

static void init_marked(struct fixture *fx)
{
	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_MARKED + 0x10);
	walk_event_return(&fx->event, 1, WALK_ROOT + 1);
}

static void marked_frames_wait_for_their_language(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{NATIVE, SLOTTED, WALK_MARK_ID, WALK_VA},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 1)},
		{SPOKEN, EP_FRAME_ENTRY, 1, 0x1111},
		{0},
	};

	init_marked(fx);
	walk_event_frame(&fx->event, SPOKEN, EP_FRAME_ENTRY, 1, 0x1111);
	expect(fx, frames, 0);
}

static void marked_frames_without_their_language_are_late(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{NATIVE, SLOTTED, WALK_MARK_ID, WALK_VA},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 1)},
		{EP_FRAME_ERROR, 0, EP_ERROR_LATE, WALK_ROOT + 1},
		{0},
	};
	const struct frame other[] = {
		frames[0], frames[1], frames[2], frames[3], {SPOKEN + 1, 0, 1, 0x1111}, {0},
	};

	init_marked(fx);
	expect(fx, frames, EP_ERROR_LATE);
	walk_event_frame(&fx->event, SPOKEN + 1, 0, 1, 0x1111);
	expect(fx, other, EP_ERROR_LATE);
}

/* A language that failed has said so itself. */
static void error_of_a_language_is_the_samples(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{NATIVE, SLOTTED, WALK_MARK_ID, WALK_VA},
		{NATIVE, RETURN, WALK_CODE_ID, VA(WALK_ROOT + 1)},
		{EP_FRAME_ERROR, 0, EP_ERROR_TAIL_CALLS, 0},
		{0},
	};

	init_marked(fx);
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_TAIL_CALLS, 0);
	expect(fx, frames, EP_ERROR_TAIL_CALLS);
}

/* The first error frame, wherever it is; what BPF said of the sample is what the walk found out. */
static void first_error_is_the_samples(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{EP_FRAME_ERROR, 0, EP_ERROR_NO_REGISTERS, 0},
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{EP_FRAME_ERROR, 0, EP_ERROR_LATE, WALK_ENTER + 0x10},
		{EP_FRAME_ERROR, 0, EP_ERROR_TAIL_CALLS, 0},
		{0},
	};

	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_ENTER + 0x10);
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_TAIL_CALLS, 0);
	expect(fx, frames + 1, EP_ERROR_LATE);
	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_ENTER + 0x10);
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_NO_REGISTERS, 0);
	fx->event.copy.at_word = 2;
	walk_event_frame(&fx->event, EP_FRAME_ERROR, 0, EP_ERROR_TAIL_CALLS, 0);
	expect(fx, frames, EP_ERROR_NO_REGISTERS);
}

static void code_that_a_language_unwinds_is_late(void **state)
{
	struct fixture *fx = *state;
	const struct frame frames[] = {
		{NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE)},
		{EP_FRAME_ERROR, 0, EP_ERROR_LATE, WALK_ENTER + 0x10},
		{0},
	};

	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_ENTER + 0x10);
	expect(fx, frames, EP_ERROR_LATE);
	/* code of a JIT, in no file */
	walk_event_init(&fx->event, WALK_ANON + 0x1010, 1);
	expect(fx, (const struct frame[]){{EP_FRAME_ERROR, 0, EP_ERROR_LATE, WALK_ANON + 0x1010},
					  {0}}, EP_ERROR_LATE);
}

/* A language takes what no file backs: it was not there to say whose this is. */
static void anonymous_code_is_late(void **state)
{
	static const uint64_t places[] = {WALK_ANON + 0x10, WALK_NOTHING};
	struct fixture *fx = *state;

	fx->rows[WALK_N_ROWS - 2].executable = EP_ROW_ANONYMOUS;
	for (size_t i = 0; i < EP_LEN(places); i++) {
		const struct frame frames[] = {{EP_FRAME_ERROR, 0, EP_ERROR_LATE, places[i]}, {0}};

		walk_event_init(&fx->event, places[i], 1);
		expect(fx, frames, EP_ERROR_LATE);
	}
}

/* --- limits ----------------------------------------------------------------------------------- */

/* However full the sample is already, what comes out is one that the store takes. */
static void deep_stacks_end_where_the_words_do(void **state)
{
	struct fixture *fx = *state;

	for (uint32_t n = EP_MAX_WORDS - 20; n <= EP_MAX_WORDS; n += 2) {
		for (uint32_t tail = 0; tail <= 2; tail++) {
			struct ep_sample sample = {0};

			walk_event_init(&fx->event, WALK_CODE, 1);
			fill_stack(&fx->event);
			while (fx->event.sample.n_words < n)
				walk_event_frame(&fx->event, NATIVE, 0, 1, 1);
			fx->event.copy.at_word = tail * (n / 4) * 2;
			assert_int_equal(run(fx, &sample), 0);
			check_event(fx, &sample);
			assert_int_equal(sample.error, EP_ERROR_TOO_DEEP);
		}
	}
}

static void equal_stacks_have_equal_hashes(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample first = {0}, other = {0};

	walk_event_init(&fx->event, WALK_CODE, 1);
	walk_event_return(&fx->event, 0, WALK_ROOT + 1);
	assert_int_equal(run(fx, &first), 0);
	/* the same by another way: walked up to the leaf's caller before, more of the stack */
	walk_event_init(&fx->event, WALK_ROOT + 1, 3);
	walk_event_frame(&fx->event, NATIVE, 0, WALK_CODE_ID, VA(WALK_CODE));
	fx->event.copy.at_word = 2;
	fx->event.copy.return_address = 1;
	fx->event.sample.hash = 12345;
	assert_int_equal(run(fx, &other), 0);
	assert_true(first.hash == other.hash);
	fx->event.sample.image++;
	assert_int_equal(run(fx, &other), 0);
	assert_true(first.hash != other.hash);
}

/* --- malformed events -------------------------------------------------------------------------- */

static void set_type(struct walk_event *e) { e->sample.event.type = EP_EVENT_KNOWN; }
static void set_kernel(struct walk_event *e) { e->sample.n_kernel = EP_MAX_KERNEL + 1; }
static void set_words(struct walk_event *e) { e->sample.n_words = EP_MAX_WORDS + 2; }
static void set_word_less(struct walk_event *e) { e->sample.n_words--; }
static void set_frame_less(struct walk_event *e) { e->sample.n_frames--; }
static void set_frame_more(struct walk_event *e) { e->sample.n_frames++; }
static void set_long_frame(struct walk_event *e) { e->words[0] |= 4ull << 16; }
static void set_border(struct walk_event *e) { e->copy.at_word = 1; }
static void set_beyond(struct walk_event *e) { e->copy.at_word = 6; }
static void set_no_copy(struct walk_event *e) { e->sample.copy_bytes = 0; }
static void set_short_copy(struct walk_event *e) { e->sample.copy_bytes = sizeof(e->copy) - 8; }
static void set_long_copy(struct walk_event *e) { e->sample.copy_bytes += 8; }
static void set_other_bytes(struct walk_event *e) { e->copy.bytes = 0; }
static void set_part_page(struct walk_event *e)
{
	e->copy.bytes -= 8;
	e->sample.copy_bytes -= 8;
}
static void set_addr(struct walk_event *e) { e->copy.addr -= EP_COPY_PAGE_BYTES; }
static void set_far_addr(struct walk_event *e) { e->copy.addr += EP_COPY_PAGES * EP_COPY_PAGE_BYTES; }
static void set_odd_addr(struct walk_event *e) { e->copy.addr++; }
static void set_pc(struct walk_event *e) { e->copy.pc = 0; }
static void set_known(struct walk_event *e) { e->copy.known_regs = 1 << EP_REG_FP; }
static void set_more_known(struct walk_event *e) { e->copy.known_regs = 1 << 20 | EP_KNOWN_ALL; }
static void set_return(struct walk_event *e) { e->copy.return_address = 2; }
static void set_pointer(struct walk_event *e) { e->copy.by_pointer = 0x80; }
static void set_stood(struct walk_event *e) { e->copy.stood = 2; }
static void set_guessed(struct walk_event *e) { e->copy.guessed = 0x80; }
static void set_odd_other(struct walk_event *e) { walk_event_other(e, WALK_STACK + 8); }
static void set_short_other(struct walk_event *e)
{
	walk_event_other(e, WALK_STACK);
	e->copy.other_bytes -= 512;
	e->sample.copy_bytes -= 512;
}
static void set_no_other(struct walk_event *e) { e->copy.other_bytes = EP_COPY_OTHER_BYTES; }

static void malformed_events_are_refused(void **state)
{
	static const struct {
		const char *label;
		void (*spoil)(struct walk_event *event);
	} rows[] = {
		{"type", set_type}, {"n_kernel", set_kernel}, {"n_words", set_words},
		{"a word less", set_word_less}, {"a frame less", set_frame_less},
		{"a frame more", set_frame_more}, {"long frame", set_long_frame},
		{"at_word in a frame", set_border}, {"at_word beyond", set_beyond},
		{"no copy", set_no_copy}, {"short copy", set_short_copy},
		{"long copy", set_long_copy}, {"other bytes", set_other_bytes},
		{"part of a page", set_part_page}, {"addr", set_addr},
		{"far addr", set_far_addr}, {"odd addr", set_odd_addr},
		{"pc", set_pc}, {"known_regs", set_known}, {"more known_regs", set_more_known},
		{"return_address", set_return}, {"by_pointer", set_pointer},
		{"stood", set_stood}, {"guessed", set_guessed},
		{"odd other stack", set_odd_other}, {"part of another stack", set_short_other},
		{"no other stack", set_no_other},
	};
	struct fixture *fx = *state;
	struct ep_sample sample;

	for (size_t i = 0; i <= EP_LEN(rows); i++) {
		int r;

		walk_event_init(&fx->event, WALK_ROOT, 2);
		walk_event_frame(&fx->event, NATIVE, 0, 9, 0x77);
		walk_event_frame(&fx->event, NATIVE, 0, 9, 0x78);
		fx->event.copy.at_word = 2;
		if (i < EP_LEN(rows))
			rows[i].spoil(&fx->event);
		r = run(fx, &sample);
		if (r != (i < EP_LEN(rows) ? -EBADMSG : 0))
			fail_msg("%s: %d", i < EP_LEN(rows) ? rows[i].label : "as it was", r);
	}
}

/* The page of sp was not touched yet: what is in it cannot be read, and that is the end of it. */
static void first_page_may_be_missing(void **state)
{
	struct fixture *fx = *state;
	struct ep_sample sample;

	walk_event_init(&fx->event, WALK_ROOT, 2);
	fx->event.copy.addr += EP_COPY_PAGE_BYTES;
	assert_int_equal(run(fx, &sample), 0);
	assert_int_equal(sample.n_frames, 1 + (sample.error != 0));
	assert_int_not_equal(sample.error, EP_ERROR_COPY_END);
}

static void events_of_any_other_length_are_refused(void **state)
{
	struct fixture *fx = *state;
	uint8_t *exact;

	walk_event_init(&fx->event, WALK_ROOT, 1);
	walk_event_frame(&fx->event, NATIVE, 0, 9, 0x77);
	walk_event_flatten(&fx->event);
	for (size_t bytes = 0; bytes < fx->event.bytes + 9; bytes++) {
		int r;

		exact = malloc(bytes + 1);
		assert_non_null(exact);
		memcpy(exact + 1, fx->event.flat, bytes); /* not aligned */
		r = ep_walker_run(fx->world.walker, exact + 1, bytes, fx->rows, WALK_N_ROWS, NULL,
				  &fx->out);
		assert_int_equal(r, bytes == fx->event.bytes ? 0 : -EBADMSG);
		free(exact);
	}
}

/* --- a real stack ------------------------------------------------------------------------------ */

static uint64_t address_of(const struct ep_row *rows, uint64_t header, uint64_t word)
{
	const struct ep_row *row = &rows[EP_FRAME_AUX(header) - 1];

	assert_int_equal(EP_FRAME_KIND(header), NATIVE);
	assert_int_not_equal(EP_FRAME_AUX(header), 0);
	return word - row->va + row->start;
}

static void compare_own(const struct own *own, const struct ep_row *rows, const struct ep_vec *out)
{
	struct ep_sample sample;
	uint64_t words[2 * OWN_MAX_FRAMES];

	memcpy(&sample, out->data, sizeof(sample));
	assert_int_equal(sample.error, 0);
	assert_int_equal(sample.flags, 0);
	assert_int_equal(sample.n_frames, own->n_frames);
	assert_int_equal(sample.n_words, 2 * own->n_frames);
	memcpy(words, (const uint8_t *)out->data + sizeof(sample), 8 * (size_t)sample.n_words);
	assert_true(address_of(rows, words[0], words[1]) == own->regs[EP_REG_PC]);
	for (int i = 1; i < own->n_frames; i++) {
		assert_int_equal(EP_FRAME_FLAGS(words[2 * i]), RETURN);
		if (address_of(rows, words[2 * i], words[2 * i + 1]) != (uint64_t)own->frames[i])
			fail_msg("frame %d: 0x%llx instead of %p", i,
				 (unsigned long long)words[2 * i + 1], own->frames[i]);
	}
}

static void own_stack_is_as_the_c_library_sees_it(void **state)
{
	static struct walk_world world;
	static struct own own;
	struct ep_row rows[OWN_MAX_ROWS];
	struct ep_vec out;
	size_t n;

	(void)state;
	walk_world_init(&world);
	ep_vec_init(&out, 1, EP_WALK_MAX_BYTES);
	own_sample(&own, 60);
	assert_in_range(own.n_frames, 62, OWN_MAX_FRAMES - 1);
	n = own_rows(&world, rows);
	assert_int_equal(ep_walker_run(world.walker, own.event.flat, own.event.bytes, rows, n, NULL,
				       &out), 0);
	compare_own(&own, rows, &out);
	ep_vec_fini(&out);
	walk_world_fini(&world);
}

/* 2000 frames do not fit into the copy: those that do are there. */
static void own_stack_may_be_too_deep_for_a_copy(void **state)
{
	static struct walk_world world;
	static struct own own;
	struct ep_row rows[OWN_MAX_ROWS];
	struct ep_sample sample;
	struct ep_vec out;
	size_t n;

	(void)state;
	walk_world_init(&world);
	ep_vec_init(&out, 1, EP_WALK_MAX_BYTES);
	own_sample(&own, 2000);
	n = own_rows(&world, rows);
	assert_int_equal(ep_walker_run(world.walker, own.event.flat, own.event.bytes, rows, n, NULL,
				       &out), 0);
	memcpy(&sample, out.data, sizeof(sample));
	assert_int_equal(sample.error, EP_ERROR_COPY_END);
	assert_in_range(sample.n_frames, 60, 1999);
	ep_vec_fini(&out);
	walk_world_fini(&world);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(walk_goes_to_the_root),
		TEST(late_frames_take_their_place),
		TEST(all_rules_are_followed),
		TEST(interrupted_callers_are_found_by_their_address),
		TEST(callers_may_be_on_a_lower_stack),
		TEST(stack_behind_a_switch_may_be_copied_too),
		TEST(switches_in_a_circle_end),
		TEST(return_address_may_be_in_a_register),
		TEST(an_interrupted_frame_may_have_nothing_on_the_stack),
		TEST(return_address_of_a_bare_leaf_is_behind_a_call),
		TEST(guessed_caller_without_frame_pointer_is_no_root),
		TEST(error_of_the_kernels_part_stays),
		TEST(signal_frames_are_passed),
		TEST(restorer_is_told_by_its_code),
		TEST(code_is_read_within_its_mapping),
		TEST(base_register_reaches_its_caller),
		TEST(copy_that_is_full_is_too_short),
		TEST(copy_that_is_not_full_has_all_there_is),
		TEST(stack_behind_another_was_not_copied),
		TEST(address_in_no_row_is_raw),
		TEST(frame_pointer_to_no_code_was_none),
		TEST(code_without_tables_is_passed_by_frame_pointer),
		TEST(process_without_rows_has_no_mapping),
		TEST(tables_that_are_gone_have_no_rules),
		TEST(marked_frames_wait_for_their_language),
		TEST(marked_frames_without_their_language_are_late),
		TEST(error_of_a_language_is_the_samples),
		TEST(first_error_is_the_samples),
		TEST(code_that_a_language_unwinds_is_late),
		TEST(anonymous_code_is_late),
		TEST(deep_stacks_end_where_the_words_do),
		TEST(equal_stacks_have_equal_hashes),
		TEST(malformed_events_are_refused),
		TEST(first_page_may_be_missing),
		TEST(events_of_any_other_length_are_refused),
		cmocka_unit_test(own_stack_is_as_the_c_library_sees_it),
		cmocka_unit_test(own_stack_may_be_too_deep_for_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
