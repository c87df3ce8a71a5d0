/* SPDX-License-Identifier: Apache-2.0 */
/* Fixtures and core files: what core/replay promises beside the stacks themselves. */
#include "core/replay/core_file.h"
#include "core/replay/fixture.h"
#include "core/replay/replay.h"
#include "core/replay/replay_internal.h"
#include "tests/kit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

EP_TEST_ARGUMENTS("CORE_X86_64", "CORE_AARCH64")

/* --- fixtures -------------------------------------------------------------------------------- */

/* The answer to file_symbols(prefix): this name, and "v_b". */
static void add_symbols(struct ep_fixture *fixture, struct ep_fixture_executable *executable,
			const char *prefix, const char *name)
{
	struct ep_fixture_answer answer = {.question = EP_FIXTURE_SYMBOLS,
					   .name = ep_fixture_string(fixture, prefix),
					   .data = (uint32_t)fixture->data.len};
	uint64_t words[2] = {0x1000, 8};

	assert_int_equal(ep_vec_append(&fixture->data, words, sizeof(words)), 0);
	assert_int_equal(ep_vec_append(&fixture->data, name, strlen(name) + 1), 0);
	assert_int_equal(ep_vec_append(&fixture->data, words, sizeof(words)), 0);
	assert_int_equal(ep_vec_append(&fixture->data, "v_b", 4), 0);
	answer.symbol.bytes = fixture->data.len - answer.data;
	assert_int_equal(ep_vec_append(&executable->answers, &answer, 1), 0);
}

static struct ep_fixture *make_fixture(void)
{
	uint8_t block[EP_FIXTURE_BLOCK_BYTES];
	struct ep_fixture *fixture = NULL;
	struct ep_fixture_executable *executable;
	struct ep_replay_thread thread = {.pid = 7, .tid = 7, .comm = "toy", .thread_pointer = 0x7000};
	struct ep_fixture_mapping mapping = {.start = 0x1000,
					     .end = 0x3000,
					     .prot = PROT_READ,
					     .executable = 1,
					     .path = "/usr/bin/toy"};

	assert_int_equal(ep_fixture_new(&fixture), 0);
	fixture->arch = thread.arch = ep_replay_arch_find(EM_X86_64);
	fixture->pid = 7;
	thread.regs[16] = 0x1234;
	assert_int_equal(ep_vec_append(&fixture->threads, &thread, 1), 0);
	assert_int_equal(ep_vec_append(&fixture->mappings, &mapping, 1), 0);
	executable = ep_fixture_add_executable(fixture);
	assert_non_null(executable);
	executable->path = ep_fixture_string(fixture, "/usr/bin/toy");
	add_symbols(fixture, executable, "v_", "v_a");
	memset(block, 0x5a, sizeof(block));
	assert_int_equal(ep_fixture_add_block(fixture, 0x8000, block), 0);
	return fixture;
}

/* What its file says; the fixture is freed. */
static struct ep_fixture *written_and_read(struct ep_fixture *fixture)
{
	struct ep_fixture *again = NULL;
	struct ep_vec bytes;

	ep_vec_init(&bytes, 1, EP_FIXTURE_MAX_BYTES);
	assert_int_equal(ep_fixture_encode(fixture, &bytes), 0);
	assert_int_equal(ep_fixture_decode(bytes.data, bytes.len, &again), 0);
	ep_vec_fini(&bytes);
	ep_fixture_free(fixture);
	return again;
}

static int read_again(const struct ep_fixture *fixture)
{
	struct ep_fixture *again = NULL;
	struct ep_vec bytes;
	int r;

	ep_vec_init(&bytes, 1, EP_FIXTURE_MAX_BYTES);
	assert_int_equal(ep_fixture_encode(fixture, &bytes), 0);
	r = ep_fixture_decode(bytes.data, bytes.len, &again);
	ep_fixture_free(again);
	ep_vec_fini(&bytes);
	return r;
}

EP_TEST(what_was_written_is_read)
{
	ep_cleanup(ep_fixture_freep) struct ep_fixture *again = written_and_read(make_fixture());
	const struct ep_fixture_mapping *mapping;
	uint64_t word;

	assert_int_equal(again->pid, 7);
	assert_int_equal(again->arch->machine, EM_X86_64);
	assert_int_equal(ep_vec_at(&again->threads, struct ep_replay_thread, 0)->regs[16], 0x1234);
	mapping = ep_vec_at(&again->mappings, struct ep_fixture_mapping, 0);
	assert_string_equal(mapping->path, "/usr/bin/toy");
	assert_int_equal(mapping->end, 0x3000);
	assert_int_equal(ep_fixture_read(again, 0x8008, &word, 8), 0);
	assert_int_equal(word, 0x5a5a5a5a5a5a5a5a);
	assert_int_equal(ep_fixture_read(again, 0x80fc, &word, 8), -EFAULT);
}

static void add_name(struct ep_fixture *fixture, uint64_t va, const char *name, const char *source,
		     uint32_t line)
{
	struct ep_fixture_executable *executable =
		ep_vec_at(&fixture->executables, struct ep_fixture_executable, 0);
	struct ep_fixture_name slot = {va, ep_fixture_string(fixture, name),
				       ep_fixture_string(fixture, source), line};

	assert_int_equal(ep_vec_append(&executable->names, &slot, 1), 0);
}

EP_TEST(inlined_functions_are_lines_of_the_text)
{
	ep_cleanup(ep_fixture_freep) struct ep_fixture *fixture = make_fixture();
	struct ep_elf_segment segment = {.va = 0x1000, .mem_bytes = 0x2000, .file_bytes = 0x2000,
					 .align = 4096};
	struct ep_replay *replay = NULL;
	struct ep_vec text;

	ep_vec_at(&fixture->mappings, struct ep_fixture_mapping, 0)->prot |= PROT_EXEC;
	assert_int_equal(ep_vec_append(&ep_vec_at(&fixture->executables,
						  struct ep_fixture_executable, 0)->segments,
				       &segment, 1),
			 0);
	add_name(fixture, 0x1234, "inner", "toy.x", 7);
	add_name(fixture, 0x1235, "other", "", 0);
	add_name(fixture, 0x1234, "outer", "", 0);
	fixture = written_and_read(fixture);
	ep_vec_init(&text, 1, 65536);
	assert_int_equal(ep_replay_new(fixture, NULL, NULL, &replay), 0);
	assert_int_equal(ep_replay_attach(replay), 0);
	assert_int_equal(ep_replay_print(replay, &text), 0);
	assert_int_equal(ep_vec_append(&text, "", 1), 0);
	if (!strstr(text.data, "\nnative  toy  inner  toy.x:7\nnative  toy  outer\n") ||
	    strstr(text.data, "other"))
		fail_msg("%s", (char *)text.data);
	ep_replay_free(replay);
	ep_vec_fini(&text);
}

/* Cut anywhere, or with one byte changed: refused, or taken as something that is sound. */
EP_TEST(broken_fixtures_do_no_harm)
{
	static const uint32_t one_thread[] = {1, 7}; /* how many, and the id of the first */
	struct ep_fixture *fixture = make_fixture(), *again = NULL;
	struct ep_vec bytes, plain;
	void *count;

	add_name(fixture, 0x1234, "inner", "toy.x", 7);
	ep_vec_init(&bytes, 1, EP_FIXTURE_MAX_BYTES);
	ep_vec_init(&plain, 1, EP_FIXTURE_MAX_BYTES);
	assert_int_equal(ep_fixture_encode(fixture, &bytes), 0);
	assert_int_equal(ep_fixture_decompress(bytes.data, bytes.len, &plain), 0);
	for (size_t n = 0; n < plain.len; n++) {
		again = NULL;
		if (ep_fixture_parse(plain.data, n, &again) == 0)
			assert_non_null(again->arch);
		ep_fixture_free(again);
	}
	for (size_t n = 0; n < bytes.len; n++) {
		again = NULL;
		((uint8_t *)bytes.data)[n] ^= 0x41;
		(void)ep_fixture_decode(bytes.data, bytes.len, &again);
		((uint8_t *)bytes.data)[n] ^= 0x41;
		ep_fixture_free(again);
	}
	/* as many threads as a number can say: there is no memory taken for them */
	count = memmem(plain.data, plain.len, one_thread, sizeof(one_thread));
	assert_non_null(count);
	memset(count, 0xff, 4);
	assert_int_equal(ep_fixture_parse(plain.data, plain.len, &again), -EBADMSG);
	((uint8_t *)plain.data)[4]++; /* the version */
	assert_int_equal(ep_fixture_parse(plain.data, plain.len, &again), -ENOTSUP);
	ep_fixture_free(fixture);
	ep_vec_fini(&bytes);
	ep_vec_fini(&plain);
}

EP_TEST(mappings_must_ascend)
{
	ep_cleanup(ep_fixture_freep) struct ep_fixture *fixture = make_fixture();
	struct ep_fixture_mapping over = {.start = 0x2000, .end = 0x4000, .path = ""};

	assert_int_equal(ep_vec_append(&fixture->mappings, &over, 1), 0);
	assert_int_equal(read_again(fixture), -EBADMSG);
}

/* Names that do not ascend, are others than asked for, too long, or cut off. */
EP_TEST(symbols_must_be_as_a_file_gives_them)
{
	static const struct {
		const char *prefix, *name;
		int result;
	} rows[] = {
		{"v_", "v_a", 0},	   {"", "a", 0},	     {"v_", "v_b", -EBADMSG},
		{"v_", "v_c", -EBADMSG}, {"w_", "v_a", -EBADMSG}, {"", "", -EBADMSG},
	};
	char long_name[600] = "";
	struct ep_fixture *fixture;

	memset(long_name, 'a', sizeof(long_name) - 1);
	for (size_t i = 0; i <= EP_LEN(rows); i++) {
		struct ep_fixture_executable *executable;

		fixture = make_fixture();
		executable = fixture->executables.data;
		executable->answers.len = 0;
		if (i < EP_LEN(rows))
			add_symbols(fixture, executable, rows[i].prefix, rows[i].name);
		else
			add_symbols(fixture, executable, "", long_name);
		assert_int_equal(read_again(fixture), i < EP_LEN(rows) ? rows[i].result : -EBADMSG);
		ep_fixture_free(fixture);
	}
	fixture = make_fixture();
	((struct ep_fixture_answer *)((struct ep_fixture_executable *)fixture->executables.data)
		 ->answers.data)
		->symbol.bytes--;
	assert_int_equal(read_again(fixture), -EBADMSG);
	ep_fixture_free(fixture);
}

/* The next bytes belong to another answer: a text without an end stops at its answer's. */
EP_TEST(long_reads_keep_what_is_pointed_to)
{
	static char constants[32768 + 5000];
	uint64_t block[EP_FIXTURE_BLOCK_BYTES / 8] = {0x1000 + 100, 0x1000 + 32768 - 4};
	struct ep_fixture *fixture = make_fixture();
	struct ep_fixture_executable *executable = fixture->executables.data;
	struct ep_elf_segment segment = {.va = 0x1000, .file_bytes = 0x10000};
	struct ep_fixture_answer answer = {.question = EP_FIXTURE_READ, .name = "", .va = 0x1000,
					   .bytes = 32768, .data = (uint32_t)fixture->data.len};
	struct ep_replay *replay = NULL;
	const char *kept;

	memset(constants, 'x', sizeof(constants));
	memcpy(constants + 100, "text", 5);
	((struct ep_fixture_mapping *)fixture->mappings.data)->prot |= PROT_EXEC;
	assert_int_equal(ep_fixture_add_block(fixture, 0x9000, (const uint8_t *)block), 0);
	assert_int_equal(ep_vec_append(&fixture->data, constants, sizeof(constants)), 0);
	assert_int_equal(ep_vec_append(&executable->segments, &segment, 1), 0);
	assert_int_equal(ep_vec_append(&executable->answers, &answer, 1), 0);
	assert_int_equal(ep_replay_new(fixture, NULL, NULL, &replay), 0);
	assert_int_equal(ep_replay_trim(replay), 0);
	kept = (const char *)fixture->data.data + answer.data;
	assert_memory_equal(kept + 98, "\0\0text\0\0", 8);
	assert_memory_equal(kept + 32768 - 6, "\0\0xxxxxx", 8);
	ep_replay_free(replay);
	ep_fixture_free(fixture);
}

/* As it was recorded: what was not asked then is not there, nor is what lies beside another file. */
EP_TEST(files_beside_mapped_ones_are_kept)
{
	ep_cleanup(ep_fixture_freep) struct ep_fixture *fixture = make_fixture();
	struct ep_fixture_answer answer = {.question = EP_FIXTURE_BESIDE, .name = "/usr/bin/toy.pdb", .va = 16, .bytes = 4,
					   .data = (uint32_t)fixture->data.len, .symbol = {77, 5000}};
	struct ep_target_file file = {.addr = 0x1800, .name = "toy.pdb"};
	struct ep_replay *replay = NULL;
	char bytes[4];

	assert_int_equal(ep_vec_append(&fixture->data, "BSJB", 4), 0);
	assert_int_equal(ep_vec_append(&fixture->answers, &answer, 1), 0);
	fixture = written_and_read(fixture);
	assert_int_equal(ep_replay_new(fixture, NULL, NULL, &replay), 0);
	assert_int_equal(ep_replay_beside(replay, &file, 16, bytes, 4), 0);
	assert_memory_equal(bytes, "BSJB", 4);
	assert_int_equal(file.content, 77);
	assert_int_equal(file.bytes, 5000);
	file.content = 78;
	assert_int_equal(ep_replay_beside(replay, &file, 16, bytes, 4), -ESTALE);
	assert_int_equal(ep_replay_beside(replay, &file, 20, bytes, 4), -ENODATA);
	file.addr = 0x3000;
	assert_int_equal(ep_replay_beside(replay, &file, 16, bytes, 4), -ENODATA);
	ep_replay_free(replay);
	((struct ep_fixture_answer *)fixture->answers.data)->data += 1u << 20;
	assert_int_equal(read_again(fixture), -EBADMSG);
}

/* --- core files: what tests/replay/make_core.py writes ---------------------------------------- */

static void open_core(const char *path, struct ep_core_file *core)
{
	assert_int_equal(ep_core_file_open(open(path, O_RDONLY | O_CLOEXEC), core), 0);
	assert_int_equal(core->threads.len, 2);
	assert_int_equal(core->pid, 1001);
	assert_int_equal(core->vdso_addr, 0x20000);
}

EP_TEST(core_of_x86_64)
{
	const struct ep_replay_thread *thread;
	struct ep_core_file core;

	open_core(ep_test_argument[0], &core);
	thread = ep_vec_at(&core.threads, struct ep_replay_thread, 1);
	assert_int_equal(thread->tid, 1002);
	assert_string_equal(thread->comm, "toy");
	/* struct user_regs_struct: r15 is 0, rbp 4, rip 16, rsp 19, fs_base 21 */
	assert_int_equal(thread->regs[15], 0x2000);
	assert_int_equal(thread->regs[6], 0x2004);
	assert_int_equal(thread->regs[16], 0x2010);
	assert_int_equal(thread->regs[7], 0x2013);
	assert_int_equal(thread->thread_pointer, 0x2015);
	assert_true(thread->in_syscall);
	ep_core_file_close(&core);
}

EP_TEST(core_of_aarch64)
{
	const struct ep_replay_thread *thread;
	struct ep_core_file core;

	open_core(ep_test_argument[1], &core);
	thread = ep_vec_at(&core.threads, struct ep_replay_thread, 0);
	assert_int_equal(thread->regs[29], 0x1000 + 29);
	assert_int_equal(thread->regs[thread->arch->sp], 0x1000 + 31);
	assert_int_equal(thread->regs[thread->arch->pc], 0x1000 + 32);
	assert_int_equal(thread->thread_pointer, 0x7001);
	assert_int_equal(thread[1].thread_pointer, 0);
	ep_core_file_close(&core);
}

EP_TEST(core_memory_and_files)
{
	const struct ep_core_load *load;
	struct ep_core_file core;
	uint8_t bytes[16];

	open_core(ep_test_argument[0], &core);
	assert_int_equal(ep_core_file_read(&core, 0x20ff0, bytes, 16), 0);
	assert_int_equal(bytes[15], 0x22);
	assert_int_equal(ep_core_file_read(&core, 0x20ff8, bytes, 16), -EFAULT);
	assert_int_equal(ep_core_file_read(&core, 0x21000, bytes, 1), -EFAULT);
	assert_int_equal(ep_core_file_read(&core, 0x10ff8, bytes, 16), -EFAULT);
	load = ep_core_file_find(&core, 0x40fff);
	assert_non_null(load);
	assert_string_equal(load->path, "/usr/bin/toy");
	assert_int_equal(load->file_off, 0x3000);
	load = ep_core_file_find(&core, 0x41000); /* in NT_FILE alone */
	assert_non_null(load);
	assert_int_equal(load->file_off, 0x4000);
	assert_null(ep_core_file_find(&core, 0x30000));
	ep_core_file_close(&core);
}

EP_TEST(other_files_are_no_cores)
{
	struct ep_core_file core;

	assert_int_equal(ep_core_file_open(open("/proc/self/exe", O_RDONLY), &core), -EBADMSG);
	assert_int_equal(ep_core_file_open(open("/dev/null", O_RDONLY), &core), -EBADMSG);
}
