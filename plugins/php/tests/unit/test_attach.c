/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that are made up: whether the layout holds; globals of threads and of static builds. */
#include "plugins/php/php.h"
#include "plugins/shared/attach/attach.h"
#include "plugins/php/static.h"
#include "plugins/php/tests/unit/made_php.h"

#define GLOBALS (HEAP + 0x100)
#define CURRENT 0x1e8u
#define OFFSET	(HEAP + 0x10) /* executor_globals_offset */
#define KEY	(HEAP + 0x18)

struct process {
	struct made *made;
	struct php_executable exe;
	struct php_state state;
	uint64_t frame;
};

/* A method is called by C, which the main program has called. */
static void begin(struct process *process, uint32_t release)
{
	struct made *made = made_new(release);
	struct made_function main = make_function_of(made, NULL, NULL, "/srv/b.php", 0);
	struct made_function callee = make_function_of(made, "m", "A", "/srv/b.php", 0);
	struct made_function of_c = make_function_of(made, "array_map", NULL, NULL, 0);
	const struct made_function *const functions[] = {&main, &of_c, &callee};

	*process = (struct process){
		.made = made,
		.exe = {.layout = made->layout,
			.globals_va = GLOBALS,
			.globals_bytes = 0x700,
			.current = CURRENT,
			.loop = {HEAP, 16},
			.code = {{HEAP, 16}},
			.n_code = 1},
	};
	process->exe.host = made->namer.host;
	made->host.state = &process->state;
	made->host.state_bytes = sizeof(process->state);
	for (size_t i = 0; i < EP_LEN(functions); i++) {
		uint64_t frame = make(made, 7 * 8);

		put_word(made, frame, functions[i]->opcodes + 3 * PHP_OP_BYTES);
		put_word(made, frame + 3 * 8, functions[i]->addr);
		put_word(made, frame + 6 * 8, process->frame);
		process->frame = frame;
	}
	put_word(made, GLOBALS + CURRENT, process->frame);
}

static int attach(struct process *process, void **instance)
{
	return php_attach(&process->exe, &process->made->host.target, instance);
}

/* A release that nobody has seen is not walked before it was looked at. */
EP_TEST_EACH(a_layout_that_does_not_hold_is_refused, int, i, 6)
{
	struct process process;
	void *instance = NULL;
	uint64_t function;
	int expected = i < 3 ? 0 : -ENOTSUP;

	begin(&process, PHP_NEWEST_KNOWN + 1);
	function = fake_host_word(&process.made->host, process.frame + 3 * 8);
	if (i == 1)
		put_word(process.made, process.frame,
			 GLOBALS + 0x3c0); /* an exception is handled */
	else if (i == 2)
		put_word(process.made, process.frame + 3 * 8, 0);
	else if (i == 3)
		put_word(process.made, process.frame,
			 fake_host_word(&process.made->host, process.frame) + 8);
	else if (i == 4)
		put_word(process.made, function + PHP_FUNCTION_NAME, 0x10);
	else if (i == 5)
		put_word(process.made, process.frame + 6 * 8, 0x10);
	assert_int_equal(attach(&process, &instance), expected);
	assert_int_equal(process.made->host.n_states, expected == 0);
	assert_int_equal(process.made->host.n_warnings, expected != 0);
	assert_int_equal(process.state.unproven, 0);
	if (instance)
		php_detach(instance);
}

/* BPF looks itself until something runs. */
EP_TEST(known_releases_are_armed_at_once)
{
	struct process process;
	void *instance = NULL;

	begin(&process, PHP_RELEASE(8, 4));
	put_word(process.made, GLOBALS + CURRENT, 0);
	assert_int_equal(attach(&process, &instance), 0);
	assert_int_equal(process.state.unproven, 1);
	assert_int_equal(process.state.globals_addr, GLOBALS);
	assert_int_equal(attach_refresh(instance), EP_NOT_YET);
	put_word(process.made, GLOBALS + CURRENT, process.frame);
	assert_int_equal(attach_refresh(instance), 0);
	assert_int_equal(process.state.unproven, 0);
	assert_int_equal(process.made->host.n_warnings, 0);
	php_detach(instance);
}

/* First there is neither the key nor the globals' offset, then one of them. */
EP_TEST_EACH(globals_of_threads_are_found_when_they_are_made, int, i, 2)
{
	struct process process;
	void *instance = NULL;

	begin(&process, PHP_RELEASE(8, 4));
	process.exe.globals_va = 0;
	process.exe.offset_va = OFFSET;
	process.exe.key_va = KEY;
	put_int(process.made, KEY, UINT32_MAX);
	assert_int_equal(attach(&process, &instance), 0);
	if (i)
		put_word(process.made, OFFSET, 0x40);
	else
		put_int(process.made, KEY, 3);
	assert_int_equal(attach_refresh(instance), EP_NOT_YET);
	put_word(process.made, OFFSET, 0x40);
	put_int(process.made, KEY, 3);
	assert_int_equal(attach_refresh(instance), 0);
	assert_int_equal(process.state.globals_off, 0x40);
	assert_int_equal(process.state.cache.off[1], 3);
	process.made->host.n_states = 0;
	assert_int_equal(attach_refresh(instance), 0);
	assert_int_equal(process.made->host.n_states, 0);
	php_detach(instance);
}

#define BSS (HEAP + 0x4000)

/* Wherever they are: .bss is read in pieces of 4 KiB. */
EP_TEST(globals_of_a_static_build_are_found)
{
	struct process process;
	void *instance = NULL;

	for (uint64_t at = BSS + 0x1000 - 288 - 24; at <= BSS + 0x1000 - 288 + 8; at += 8) {
		begin(&process, PHP_RELEASE(8, 4));
		process.exe.globals_va = 0;
		process.exe.bss = (struct ep_symbol){BSS, 0x2000};
		assert_int_equal(attach(&process, &instance), 0);
		assert_int_equal(attach_refresh(instance), EP_NOT_YET);
		put_int(process.made, at + 8, 1);
		put_int(process.made, at + 24, 15);
		put_word(process.made, at + 288, at + 288);
		put_word(process.made, at + 296, at + 40);
		put_word(process.made, at + CURRENT, process.frame);
		assert_int_equal(attach_refresh(instance), 0);
		assert_int_equal(process.state.globals_addr, at);
		php_detach(instance);
		ep_test_release(NULL);
	}
}
