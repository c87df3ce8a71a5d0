/* SPDX-License-Identifier: Apache-2.0 */
#define MADE_BYTES (2u << 20) /* for code with large tables */

#include "core/base/util.h"
#include "plugins/hotspot/symbolize/names.h"
#include "plugins/hotspot/symbolize/scopes.h"
#include "plugins/hotspot/tests/unit/made_app.h"
#include "tests/kit/test.h"

#define MAX_NAMES 8
#define LARGE_PCS 40000

struct got {
	struct ep_name names[MAX_NAMES];
	char strings[MAX_NAMES][3][256];
	size_t n;
	int result; /* what `add` gives */
};

struct fixture {
	struct made_vm vm;
	struct made_app app;
	struct memory memory;
	struct hotspot_names *names;
	struct got got;
};

const char *hotspot_stubs_name(const struct hotspot_stubs *stubs, uint64_t addr)
{
	return stubs && addr == 0x1000 ? "StubRoutines (\n1)" : NULL;
}

static const char *keep(struct got *got, size_t which, const char *text)
{
	if (!text)
		return NULL;
	snprintf(got->strings[got->n][which], sizeof(got->strings[0][0]), "%s", text);
	return got->strings[got->n][which];
}

static int add(struct ep_names *to, const struct ep_name *name)
{
	struct got *got = (struct got *)to;

	assert_true(got->n < MAX_NAMES);
	got->names[got->n] = *name;
	got->names[got->n].function = keep(got, 0, name->function);
	got->names[got->n].system_name = keep(got, 1, name->system_name);
	got->names[got->n].file = keep(got, 2, name->file);
	got->n++;
	return got->result;
}

static void unmake(void *made)
{
	ep_autofree struct fixture *fx = made;

	hotspot_names_free(fx->names);
}

static struct fixture *make(enum made_family family, uint32_t oop_maps)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	assert_non_null(fx);
	made_init(&fx->vm, family);
	fx->app = made_app(&fx->vm, oop_maps);
	fx->memory = (struct memory){.read = fake_memory_read, .arg = &fx->vm.reads};
	assert_int_equal(hotspot_names_new(&fx->memory, &fx->vm.layout, &fx->names), 0);
	ep_test_owns(fx, unmake);
	return fx;
}

static int ask(struct fixture *fx, const struct ep_raw_frame *frame)
{
	int result = fx->got.result;

	fx->got = (struct got){.result = result};
	return hotspot_names_of(fx->names, NULL, frame, add, (struct ep_names *)&fx->got);
}

static struct ep_raw_frame compiled(const struct fixture *fx, uint32_t off, uint32_t flags)
{
	return (struct ep_raw_frame){
		.aux = MADE_CODE_OFF + off,
		.n_words = 2,
		.flags = HOTSPOT_FRAME_COMPILED << HOTSPOT_FRAME_SHIFT | flags,
		.words = {fx->app.blob, HOTSPOT_COMPILED_WORD(APP_ID, fx->app.run)},
	};
}

static struct ep_raw_frame interpreted(struct fixture *fx, uint64_t method, uint32_t bci)
{
	return (struct ep_raw_frame){
		.aux = bci,
		.n_words = 2,
		.flags = HOTSPOT_FRAME_INTERPRETED << HOTSPOT_FRAME_SHIFT,
		.words = {method, made_interpreted_word(&fx->vm, method)},
	};
}

static void check(const struct fixture *fx, size_t i, const char *function, const char *system_name,
		  const char *file, uint32_t line)
{
	assert_true(i < fx->got.n);
	assert_string_equal(fx->got.names[i].function, function);
	assert_string_equal(fx->got.names[i].system_name, system_name);
	if (file)
		assert_string_equal(fx->got.names[i].file, file);
	else
		assert_null(fx->got.names[i].file);
	assert_int_equal(fx->got.names[i].line, line);
}

#define RUN    "com.example.Main.run", "com.example.Main.run(I)V"
#define INNER  "com.example.Main$Inner.inner", "com.example.Main$Inner.inner()Ljava/lang/String;"
#define APPLY  "com.example.Main$$Lambda.apply", "com.example.Main$$Lambda.apply(I)I"
#define GUESS(text) text " [approximate]"

static void check_asked(struct fixture *fx, const struct ep_raw_frame *frame, const char *function,
			const char *system_name, const char *file, uint32_t line)
{
	assert_int_equal(ask(fx, frame), 0);
	check(fx, 0, function, system_name, file, line);
}

static void check_three(const struct fixture *fx)
{
	assert_int_equal(fx->got.n, 3);
	check(fx, 0, APPLY, NULL, 0);
	check(fx, 1, INNER, "Main.kt", 301);
	check(fx, 2, RUN, "Other.kt", 8); /* 102 by the source map */
	assert_int_equal(fx->got.names[1].start_line, 300);
	assert_int_equal(fx->got.names[2].start_line, 0);
}

/* In the layouts of all families. */
#define FAMILY_TEST(name) EP_TEST_EACH(name, enum made_family, family, MADE_FAMILIES)

/* Inlined methods, in order. */
FAMILY_TEST(names_what_was_inlined)
{
	struct fixture *fx = make(family, 100);
	struct ep_raw_frame frame = compiled(fx, 128, 0);

	assert_int_equal(ask(fx, &frame), 0);
	check_three(fx);
}

EP_TEST(knows_no_scope_between_calls)
{
	static const uint32_t offs[] = {0, 15, 17, 127, 129, 220, 221, 0x4001};

	for (size_t i = 0; i < EP_LEN(offs); i++) {
		struct fixture *fx = make(MADE_17, 100);
		struct ep_raw_frame frame = compiled(fx, offs[i], 0);

		assert_int_equal(ask(fx, &frame), 0);
		assert_int_equal(fx->got.n, 1);
		check(fx, 0, RUN, "Main.kt", 0);
		assert_int_equal(fx->got.names[0].start_line, 10);
	}
}

#define NAMES_TEST(name, family, maps) EP_TEST_OF(name, struct fixture *fx, make(family, maps))

/* The first debug point after, not the one before, nor one at the very place. */
NAMES_TEST(looks_behind_where_interrupted, MADE_25, 6)
{
	struct ep_raw_frame frame = compiled(fx, 16, EP_FRAME_INTERRUPTED);

	assert_int_equal(ask(fx, &frame), 0);
	assert_int_equal(fx->got.n, 1);
	check(fx, 0, RUN, "Other.kt", 8);
	frame.aux = MADE_CODE_OFF + 15;
	check_asked(fx, &frame, RUN, "Main.kt", 11);
	frame.aux = MADE_CODE_OFF + 210; /* after it: a point without a scope */
	check_asked(fx, &frame, RUN, "Main.kt", 10);
	frame.aux = 3; /* before the code */
	check_asked(fx, &frame, RUN, "Main.kt", 10);
}

/* The last debug point that has a scope. */
EP_TEST(looks_before_where_nothing_is_behind)
{
	for (uint64_t maps = 5; maps <= 6; maps++) { /* dense or not */
		struct fixture *fx = make(MADE_25, maps);
		struct ep_raw_frame frame = compiled(fx, 1000, EP_FRAME_INTERRUPTED);

		assert_int_equal(ask(fx, &frame), 0);
		assert_int_equal(fx->got.n, 1);
		check(fx, 0, RUN, "Main.kt", 20);
	}
}

/* An oop map for each debug point: there are none between calls. */
NAMES_TEST(flags_what_is_a_guess, MADE_25, 6)
{
	struct ep_raw_frame frame = compiled(fx, 100, EP_FRAME_INTERRUPTED);

	assert_int_equal(ask(fx, &frame), 0);
	assert_int_equal(fx->got.n, 3); /* apply only after; run and inner before as well */
	check(fx, 0, "com.example.Main$$Lambda.apply", GUESS("com.example.Main$$Lambda.apply(I)I"),
	      NULL, 0);
	check(fx, 1, INNER, "Main.kt", 301);
	check(fx, 2, RUN, "Other.kt", 8);
	assert_int_equal(hotspot_names_take_approximate(fx->names), 1);
	assert_int_equal(hotspot_names_take_approximate(fx->names), 0);
	frame.aux = MADE_CODE_OFF + 70;
	assert_int_equal(ask(fx, &frame), 0);
	assert_int_equal(fx->got.n, 2);
	check(fx, 0, "com.example.Main$Inner.inner",
	      GUESS("com.example.Main$Inner.inner()Ljava/lang/String;"), "Main.kt", 301);
	check(fx, 1, RUN, "Other.kt", 8);
}

NAMES_TEST(flags_nothing_where_points_are_dense, MADE_8, 5)
{
	struct ep_raw_frame frame = compiled(fx, 100, EP_FRAME_INTERRUPTED);

	assert_int_equal(ask(fx, &frame), 0);
	check_three(fx);
	assert_int_equal(hotspot_names_take_approximate(fx->names), 0);
}

NAMES_TEST(knows_null_checks, MADE_17, 6)
{
	struct ep_raw_frame frame = compiled(fx, 40, EP_FRAME_INTERRUPTED);

	check_asked(fx, &frame, RUN, "Main.kt", 20);
	frame.aux++;
	check_asked(fx, &frame, RUN, "Other.kt", 8);
}

FAMILY_TEST(names_interpreted_methods)
{
	struct fixture *fx = make(family, 6);
	struct ep_raw_frame frame = interpreted(fx, fx->app.run, 7);

	check_asked(fx, &frame, RUN, "Main.kt", 11);
	frame.aux = HOTSPOT_BCI_NATIVE;
	check_asked(fx, &frame, RUN, "Main.kt", 0);
	frame.words[1] ^= 1ull << 50;
	assert_int_equal(ask(fx, &frame), EP_FRAME_GONE);
}

/* Known frames, and known code at new places, need no read at all. */
NAMES_TEST(reads_once, MADE_25, 100)
{
	struct ep_raw_frame frame = compiled(fx, 128, 0), other = interpreted(fx, fx->app.inner, 9);
	uint64_t reads;

	assert_int_equal(ask(fx, &frame), 0);
	assert_int_equal(ask(fx, &other), 0);
	reads = fx->vm.reads.n_reads;
	for (uint32_t off = 0; off < 240; off++) {
		frame.aux = MADE_CODE_OFF + off;
		frame.flags ^= EP_FRAME_INTERRUPTED;
		assert_int_equal(ask(fx, &frame), 0);
		assert_int_equal(ask(fx, &other), 0);
	}
	assert_int_equal(fx->vm.reads.n_reads, reads);
}

/* Nor is code whose tables alone take more than half of what is kept. */
EP_TEST(reads_large_code_once)
{
	static struct made_pc pcs[LARGE_PCS];
	struct fixture *fx = make(MADE_25, 100);
	struct ep_raw_frame frame = compiled(fx, 128, 0), large = frame;
	struct made_nmethod nmethod = {.scopes = app_scopes, .n_scopes = 1,
				       .pcs = pcs, .n_pcs = LARGE_PCS,
				       .metadata = &fx->app.run, .n_metadata = 1, .oop_maps = 100};
	uint64_t reads;

	_Static_assert(LARGE_PCS * sizeof(struct hotspot_pc) > HOTSPOT_NAMES_MAX_BYTES / 2,
		       "it is small");
	for (int i = 0; i < LARGE_PCS; i++)
		pcs[i] = (struct made_pc){.off = 16 + i};
	large.words[0] = made_nmethod(&fx->vm, APP_ID, &nmethod);
	assert_int_equal(ask(fx, &frame), 0);
	assert_int_equal(ask(fx, &large), 0);
	reads = fx->vm.reads.n_reads;
	for (uint32_t off = 20; off < 100; off++) {
		large.aux = MADE_CODE_OFF + off;
		assert_int_equal(ask(fx, &large), 0);
	}
	assert_int_equal(ask(fx, &frame), 0);
	assert_int_equal(fx->vm.reads.n_reads, reads);
}

static void put_id(void *arg)
{
	struct made_vm *vm = arg;

	made_put(vm, vm->a, HOTSPOT_F_nmethod_compile_id, APP_ID + 1);
}

static void put_unused(void *arg)
{
	struct made_vm *vm = arg;

	made_poke(vm, vm->a - 16 + 4, &(uint8_t){0}, 1);
}

static void put_method(void *arg)
{
	struct made_vm *vm = arg;

	made_put(vm, vm->a, HOTSPOT_F_nmethod_method, vm->b);
}

/* Whenever compiled code goes, it is named as it was or not at all; once gone, not again. */
EP_TEST(gives_up_what_is_gone)
{
	void (*const changes[])(void *arg) = {put_id, put_unused, put_method};
	uint64_t n_reads = 0;

	for (size_t i = 0; i < EP_LEN(changes); i++) {
		for (uint64_t at = 1; at <= n_reads || at == 1; at++) {
			struct fixture *fx = make(MADE_25, 100);
			struct ep_raw_frame frame = compiled(fx, 128, 0);

			fx->vm.a = fx->app.blob;
			fx->vm.b = fx->app.inner;
			fx->vm.reads.change = n_reads ? changes[i] : NULL;
			fx->vm.reads.change_at = at;
			assert_int_equal(ask(fx, &frame), n_reads ? EP_FRAME_GONE : 0);
			assert_int_equal(fx->got.n, n_reads ? 0 : 3);
			if (n_reads) {
				assert_int_equal(ask(fx, &frame), EP_FRAME_GONE);
			} else {
				n_reads = fx->vm.reads.n_reads;
				at = 0;
			}
			ep_test_release(fx);
		}
	}
	assert_true(n_reads > 10);
}

static void put_const(void *arg)
{
	struct made_vm *vm = arg;

	made_put(vm, vm->a, HOTSPOT_F_names_method_const, vm->b);
}

EP_TEST(gives_up_interpreted_that_changed)
{
	uint64_t n_reads, const_method;
	struct fixture *fx = make(MADE_17, 6);
	struct ep_raw_frame frame = interpreted(fx, fx->app.run, 7);

	assert_int_equal(ask(fx, &frame), 0);
	n_reads = fx->vm.reads.n_reads;
	/* The last seven look whether it is still the same: the last six of them see no Method. */
	for (uint64_t at = 1; at <= n_reads - 6; at++) {
		fx = make(MADE_17, 6);
		memcpy(&const_method, fx->vm.memory + (fx->app.inner - MADE_BASE) + 8, 8);
		fx->vm.a = fx->app.run;
		fx->vm.b = const_method;
		fx->vm.reads.change = put_const;
		fx->vm.reads.change_at = at;
		assert_int_equal(ask(fx, &frame), EP_FRAME_GONE);
		assert_int_equal(fx->got.n, 0);
	}
}

/*
 * What is later at a Method's address is another one: of a class of the same shape with another
 * name, or of a version of the class that was redefined. A frame of the first is gone then.
 */
FAMILY_TEST(tells_methods_at_one_address_apart)
{
	for (int i = 0; i < 2; i++) {
		struct fixture *fx = make(family, 6);
		struct ep_raw_frame frame = interpreted(fx, fx->app.run, 7), other;
		uint64_t pool = made_word(&fx->vm, made_word(&fx->vm, fx->app.run + 8) + 8);

		assert_int_equal(ask(fx, &frame), 0);
		if (i == 0)
			made_put(&fx->vm, made_word(&fx->vm, pool + 24), HOTSPOT_F_names_class_name,
				 made_symbol(&fx->vm, "com/example/Niam"));
		else
			made_poke(&fx->vm, pool + 64, &(uint32_t){1}, 4);
		other = interpreted(fx, fx->app.run, 7);
		assert_int_not_equal(other.words[1], frame.words[1]);
		assert_int_equal(ask(fx, &other), 0);
		assert_string_equal(fx->got.names[0].function,
				    i == 0 ? "com.example.Niam.run" : "com.example.Main.run");
		frame.aux = 8;
		assert_int_equal(ask(fx, &frame), EP_FRAME_GONE);
	}
}

/* BPF finds 0 where a page of an archive was never touched; where all is there, another value is
 * another method. */
FAMILY_TEST(names_methods_of_untouched_pages)
{
	struct fixture *fx = make(family, 6);
	struct ep_raw_frame frame = interpreted(fx, fx->app.run, 7);
	const struct hotspot_way whole = made_way(&fx->vm, fx->app.run);
	struct hotspot_way ways[] = {whole, whole, whole, whole};

	ways[0].symbol = ways[0].class_symbol = 0;
	ways[1] = ways[0];
	ways[1].class_name = ways[1].class = ways[1].version = 0;
	ways[2] = ways[1];
	ways[2].pool = 0;
	ways[3].symbol = 8;
	for (size_t i = 0; i < EP_LEN(ways); i++) {
		frame.words[1] = hotspot_interpreted_word(&ways[i]);
		if (i < 2)
			check_asked(fx, &frame, RUN, "Main.kt", 11);
		else
			assert_int_equal(ask(fx, &frame), EP_FRAME_GONE);
	}
}

/* The name's symbol is given up before the class's memory is. */
FAMILY_TEST(names_no_class_that_is_unloaded)
{
	struct fixture *fx = make(family, 6);
	struct ep_raw_frame frame = interpreted(fx, fx->app.run, 7);
	uint64_t pool = made_word(&fx->vm, made_word(&fx->vm, fx->app.run + 8) + 8);
	uint64_t name = made_word(&fx->vm, made_word(&fx->vm, pool + 24) + 24);

	made_poke(&fx->vm, name + (family == MADE_8 ? 2 : 0), &(uint16_t){0}, 2);
	assert_int_equal(ask(fx, &frame), EP_FRAME_GONE);
}

EP_TEST(fails_as_its_reads_do)
{
	static const int failures[] = {-ESRCH, -EFAULT};

	for (size_t i = 0; i < EP_LEN(failures); i++) {
		for (uint64_t at = 1; at <= 12; at++) {
			struct fixture *fx = make(MADE_8, 6);
			struct ep_raw_frame frame = compiled(fx, 128, 0);
			int r;

			fx->vm.reads.fail_at = at;
			fx->vm.reads.fail_with = failures[i];
			r = ask(fx, &frame);
			if (failures[i] == -ESRCH)
				assert_int_equal(r, -ESRCH);
			else /* a symbol that ends where memory does is read again */
				assert_true(r == EP_FRAME_GONE || r == 0);
			assert_true(r == 0 || fx->got.n == 0);
			fx->vm.reads.fail_at = 0;
			assert_int_equal(ask(fx, &frame), 0);
			check_three(fx);
			ep_test_release(fx);
		}
	}
}

NAMES_TEST(passes_on_what_add_says, MADE_8, 6)
{
	struct ep_raw_frame frame = compiled(fx, 128, 0);

	fx->got.result = -E2BIG;
	assert_int_equal(ask(fx, &frame), -E2BIG);
	assert_int_equal(fx->got.n, 1);
}

/* Frames of no method, and such as nobody pushes. */
NAMES_TEST(names_the_rest, MADE_8, 6)
{
	static const struct {
		uint32_t kind, aux;
		bool has_stubs;
		const char *name; /* NULL: -EBADMSG */
	} rows[] = {
		{HOTSPOT_FRAME_STUB, 0, false, "[stub]"},
		{HOTSPOT_FRAME_STUB, HOTSPOT_BLOB_VTABLE, false, "[vtable stub]"},
		{HOTSPOT_FRAME_STUB, UINT32_MAX, false, "[stub]"},
		{HOTSPOT_FRAME_STUB, UINT32_MAX, true, "[StubRoutines (\ufffd1)]"},
		{HOTSPOT_FRAME_HEAP_FRAMES, 0, false, "[frames in the heap]"},
		{7, 0, false, NULL},
		{HOTSPOT_FRAME_COMPILED, 0, false, NULL}, /* of one word */
		{HOTSPOT_FRAME_INTERPRETED, 0, false, NULL},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		const struct ep_raw_frame frame = {.n_words = 1,
						   .words = {0x1000},
						   .aux = rows[i].aux,
						   .flags = rows[i].kind << HOTSPOT_FRAME_SHIFT};
		const void *stubs = rows[i].has_stubs ? fx : NULL;

		fx->got.n = 0;
		assert_int_equal(hotspot_names_of(fx->names, stubs, &frame, add,
						  (struct ep_names *)&fx->got),
				 rows[i].name ? 0 : -EBADMSG);
		if (rows[i].name)
			assert_string_equal(fx->got.names[0].function, rows[i].name);
	}
}
