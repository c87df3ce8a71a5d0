/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of V8's frames (walk_world.h): frames that called, the Isolate, and what is wrong. What
 * Nodes of 8 to 26 have is in the fixtures (tests/replay); here is what none of those has.
 */
#include "walk_world.h"

/* --- frames that called ----------------------------------------------------------------------- */

EP_TEST_WITH(frames_are_walked_by_rbp, begin, NULL)
{
	put_usual_stack();
	assert_string_equal(walk_to_native(), "native 5 902810 return address\n"
					      "interpreted aux 17: 20000440 1001 20000800\n"
					      "compiled: 20000480 1002 30000050\n"
					      "native 5 903810 return address\n");
	world_check_hash();
	assert_int_equal(REC->sample.n_frames, 3 + 4);
	assert_int_equal(WALK->core.left_at, 4 & 0xffff); /* words of two native frames */
}

EP_TEST_WITH(native_caller_has_its_registers, begin, NULL)
{
	put_usual_stack();
	walk_to_native();
	assert_int_equal(WALK->pc, NATIVE + 0x20);
	assert_int_equal(WALK->regs[EP_REG_SP], STACK + 0x310);
	assert_int_equal(WALK->regs[EP_REG_FP], STACK + 0x400);
	assert_int_equal(WALK->regs[12], 0xc03);
	assert_int_equal(WALK->regs[13], 0xc04);
	assert_int_equal(WALK->regs[14], 0xc05);
	assert_int_equal(WALK->regs[15], 0xc06);
	assert_int_equal(WALK->regs[3], 0xc07);
	assert_int_equal(WALK->known_regs, EP_KNOWN_ALWAYS | EP_CALLEE_REGS);
	assert_int_equal(WALK->return_address, 1);
}

/* The stack window of a sample is not the next one's, whose stack has other frames at the same
 * place. */
EP_TEST_WITH(next_sample_reads_its_own_stack, begin, NULL)
{
	put_function_frame(0x100, NATIVE + 0x40, 0x180, 1);
	assert_string_equal(walk_code(), "compiled: 20000440 1001 30000050\n");
	begin_sample();
	put_function_frame(0x100, NATIVE + 0x60, 0x180, 2);
	assert_string_equal(walk_code(), "compiled: 20000480 1002 30000050\n");
	assert_int_equal(WALK->pc, NATIVE + 0x60);
}

EP_TEST_WITH(construct_frame_is_said_of_its_callee, begin, NULL)
{
	put_function_frame(0x100, BLOB + 0x3c10, 0x180, 1);
	put_frame(0x180, JIT + 0x60, 0x200, CONSTRUCT << 1);
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	assert_string_equal(walk_code(), "compiled construct: 20000440 1001 30000050\n"
					 "native 5 903c10 return address\n"
					 "compiled: 20000480 1002 30000060\n");
}

EP_TEST_WITH(arguments_adaptor_is_between, begin, NULL)
{
	world.state.types[30] = V8_TYPE_ADAPTOR;
	put_function_frame(0x100, BLOB + 0x3d10, 0x180, 1);
	put_frame(0x180, BLOB + 0x3c10, 0x200, 30 << 1);
	put_frame(0x200, JIT + 0x60, 0x280, CONSTRUCT << 1);
	put_function_frame(0x280, NATIVE + 0x40, 0x300, 2);
	assert_string_equal(walk_code(), "compiled construct: 20000440 1001 30000050\n"
					 "native 5 903d10 return address\n"
					 "native 5 903c10 return address\n"
					 "compiled: 20000480 1002 30000060\n");
}

EP_TEST_WITH(regexp_code_leads_to_native_code, begin, NULL)
{
	uint64_t fp = put_frame(0x100, NATIVE + 0x30, 0x180, REGEXP << 1);

	world_put(fp - 64, 0xbb);
	WALK->regs[12] = 0x12;
	assert_string_equal(walk_code(), "regexp: 30000050\n");
	assert_int_equal(WALK->regs[3], 0xbb);
	assert_int_equal(WALK->regs[12], 0x12);
	assert_int_equal(WALK->known_regs, EP_KNOWN_ALWAYS | EP_CALLEE_REGS);
}

EP_TEST_WITH(regexp_code_without_a_type, begin, NULL)
{
	uint64_t fp = put_frame(0x100, NATIVE + 0x30, 0x180, HEAP + 0x300 + TAG);

	world_put(fp - 16, 5); /* start index */
	world_put(fp - 56, 0xbb);
	world.state.flags = V8_STATE_REGEXP_UNMARKED;
	world.state.regexp_rbx_slot = -7;
	assert_string_equal(walk_code(), "regexp: 30000050\n");
	assert_int_equal(WALK->regs[3], 0xbb);
}

EP_TEST_WITH(deoptimizer_has_no_frame_of_its_own, begin, NULL)
{
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 3);
	be_at(BLOB + DEOPT + 0x80, 0x200);
	assert_string_equal(walk_to_native(), "native 5 902080 return address\n"
					      "compiled register: 200004c0 1003 40002080\n");
	/*
	 * It has taken that off the stack, into a FrameDescription: of three words below rbp, and
	 * with two arguments. What was there is where C++ has its own now.
	 */
	begin(state);
	world.state.deopt_input = 0x50;
	world.state.deopt_content = 0x1c8;
	world_put(STACK + 0x118, HEAP + 0xb00);
	world_put(HEAP + 0xb50, HEAP + 0xc00);
	world_put(HEAP + 0xc00, 7 * 8);
	world_put(HEAP + 0xdc8 + 8, function_of(3));
	world_put(HEAP + 0xdc8 + 16, CONTEXT);
	world_put(HEAP + 0xdc8 + 24, STACK + 0x180);
	world_put(HEAP + 0xdc8 + 32, JIT + 0x60);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 1);
	be_at(BLOB + DEOPT + 0x120, 0x100);
	WALK->regs[EP_REG_SP] = STACK + 0x110;
	world_put(STACK + 0x110, STACK + 0x118);
	assert_string_equal(walk_to_native(), "native 5 902120 return address\n"
					      "compiled register: 200004c0 1003 40002120\n"
					      "compiled: 20000440 1001 30000060\n");
	/* The same, of no frame. */
	begin(state);
	put_function_frame(0x100, BLOB + DEOPT + 0x120, 0x180, 1);
	put_function_frame(0x80, JIT + 0x50, 0x180, 3);
	world_put(STACK + 0x100, STACK + 0x80);
	be_at(JIT + 0x50, 0x100);
	world_run(v8_unwind);
	assert_int_equal(REC->sample.error, 100 + V8_ERROR_DEOPT);
}

/* In no mapping that is known: a page that V8 has made just now. */
EP_TEST_WITH(new_code_is_walked, begin, NULL)
{
	put_function_frame(0x100, JIT + 0x2000, 0x180, 1);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 2);
	assert_string_equal(walk_code(), "compiled: 20000440 1001 30000050\n"
					 "compiled: 20000480 1002 30002000\n");
}

/* The builtins, a second time. */
EP_TEST_WITH(new_builtins_are_walked, begin, NULL)
{
	world_put(BLOB + IET_RETURN, BEHIND);
	put_function_frame(0x100, NEW_COPY + HANDLER + 0x20, 0x180, 1);
	put_frame(0x180, NEW_COPY + IET_RETURN, 0x200, STUB << 1);
	put_interpreted_frame(0x200, NATIVE + 0x40, 0x280, 2, 9);
	assert_string_equal(walk_code(), "compiled: 20000440 1001 30000050\n"
					 "native 0 30023020 return address\n"
					 "interpreted aux 9: 20000480 1002 20000800\n");
	assert_int_equal(REC->sample.flags & EP_SAMPLE_RAW, EP_SAMPLE_RAW);
}

/* Those of two isolates, of which the second one has what the first one had where that was. */
EP_TEST_WITH(functions_of_other_threads_are_others, begin, NULL)
{
	REC->sample.tid = 0x51234;
	put_function_frame(0x100, BLOB + IET_RETURN, 0x180, 1);
	put_interpreted_frame(0x180, NATIVE + 0x40, 0x200, 2, 9);
	assert_string_equal(walk_code(), "compiled: 20000440 1001 30000050\n"
					 "interpreted aux 9: 20000480 1002 20000800\n");
	assert_int_equal(REC->words[3], 0x1234000030000050);
	assert_int_equal(REC->words[7], 0x1234000020000800);
}

EP_TEST_WITH(function_that_cannot_be_read_is_code, begin, NULL)
{
	put_frame(0x100, JIT + 0x60, 0x180, CONTEXT);
	world_put(STACK + 0x100 - 16, 0x99990001);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 2);
	assert_string_equal(walk_code(), "code: 30000050\n"
					 "compiled: 20000480 1002 30000060\n");
}

EP_TEST_WITH(heap_interpreter_that_is_not_known_leaves_the_offset, begin, NULL)
{
	world.state.flags |= V8_STATE_HEAP_BUILTINS | V8_STATE_IET_UNKNOWN;
	put_interpreted_frame(0x100, JIT + 0x60, 0x180, 1, 5);
	put_function_frame(0x180, NATIVE + 0x40, 0x200, 2);
	world_put(STACK + 0x180 - 40, 0x1234); /* no Smi */
	assert_string_equal(walk_code(), "compiled aux 5: 20000440 1001 30000050\n"
					 "compiled aux -1: 20000480 1002 30000060\n");
}

/* It returns to where a builtin begins: what is before that has nothing to do with it. */
EP_TEST_WITH(deoptimized_frame_is_the_interpreters, begin, NULL)
{
	static const uint32_t offs[] = {ENTER, ENTER_NEXT};

	for (size_t i = 0; i < sizeof(offs) / sizeof(offs[0]); i++) {
		begin(state);
		put_function_frame(0x100, BLOB + offs[i], 0x180, 1);
		put_interpreted_frame(0x180, NATIVE + 0x40, 0x200, 2, 5);
		assert_string_equal(walk_code(), "compiled: 20000440 1001 30000050\n"
						 "interpreted aux 5: 20000480 1002 20000800\n");
		world_check_hash();
	}
}

EP_TEST_WITH(trampoline_of_a_function_is_the_interpreter, begin, NULL)
{
	world.state.flags |= V8_STATE_IET_COPIES;
	put_interpreted_frame(0x100, NATIVE + 0x40, 0x180, 1, 5);
	be_at(JIT + 0x200 + IET_RETURN - IET, 0x100);
	world_put(WALK->pc, BEHIND);
	assert_string_equal(walk_to_native(), "interpreted aux 5: 20000440 1001 20000800\n");
}

/* Maglev keeps what it likes where the interpreter has its array and its offset. */
EP_TEST_WITH(compiled_code_at_the_place_of_a_trampolines_is_none, begin, NULL)
{
	world.state.flags |= V8_STATE_IET_COPIES;
	put_interpreted_frame(0x100, NATIVE + 0x40, 0x180, 1, 5);
	be_at(JIT + 0x200 + IET_RETURN - IET, 0x100);
	assert_string_equal(walk_to_native(), "compiled: 20000440 1001 300002c0\n");
}

/* --- the Isolate ------------------------------------------------------------------------------ */

static void put_isolate(uint32_t entry_off, uint32_t vm_state)
{
	world.state.isolate = ISOLATE;
	world_put(ISOLATE + C_ENTRY_FP, STACK + entry_off);
	world_put(ISOLATE + VM_STATE, vm_state);
}

EP_TEST_WITH(collector_is_said_by_the_isolate, begin, NULL)
{
	put_usual_stack();
	put_isolate(0x100, 1);
	walk_to_native();
	assert_memory_equal(world.text, "gc\nnative 5 902810 return address\ninterpreted", 38);
	world_check_hash();
}

/* Another thread's, or another time's. */
EP_TEST_WITH(collector_of_another_is_not_said, begin, NULL)
{
	put_usual_stack();
	put_isolate(0x108, 1);
	assert_memory_equal(walk_to_native(), "native", 6);
	begin(state);
	put_usual_stack();
	put_isolate(0x100, 6);
	assert_memory_equal(walk_to_native(), "native", 6);
	begin(state);
	put_usual_stack();
	REC->sample.tid++;
	put_isolate(0x100, 1);
	assert_memory_equal(walk_to_native(), "native", 6);
}

EP_TEST_WITH(isolate_of_a_thread_is_remembered, begin, NULL)
{
	REC->sample.tid++;
	REC->sample.start_ns = 5;
	put_function_frame(0x200, NATIVE + 0x40, 0x280, 2);
	be_interrupted(JIT + 0x50, 0x200);
	WALK->regs[V8_REG_ROOT] = ISOLATE + 0x80;
	walk_to_native();
	begin_sample();
	REC->sample.tid++;
	REC->sample.start_ns = 5;
	put_usual_stack();
	world_put(ISOLATE + C_ENTRY_FP, STACK + 0x100);
	world_put(ISOLATE + VM_STATE, 1);
	assert_memory_equal(walk_to_native(), "gc", 2);
	begin_sample(); /* another thread, of which the same would be remembered */
	REC->sample.tid += 1 + V8_THREADS;
	REC->sample.start_ns = 5;
	put_usual_stack();
	assert_memory_equal(walk_to_native(), "native", 6);
}

static void put_exit(uint32_t off)
{
	world_put(STACK + off - 16, STACK + off - 0x80);
	world_put(STACK + off - 0x88, BLOB + CENTRY + 0x10);
}

static void check_resumed(uint32_t off)
{
	assert_int_equal(world.called[0], EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_RESUMED);
	assert_int_equal(WALK->next_pc, BLOB + CENTRY + 0x10);
	assert_int_equal(WALK->next_sp, STACK + off - 0x80);
	assert_int_equal(WALK->next_fp, STACK + off);
}

EP_TEST_WITH(walk_without_rules_goes_on_at_the_exit_frame, begin, NULL)
{
	put_isolate(0x500, 0);
	put_exit(0x500);
	WALK->core.entered = EP_FAILED;
	world_run(v8_unwind);
	check_resumed(0x500);
}

EP_TEST_WITH(walk_goes_on_at_what_the_last_entry_says, begin, NULL)
{
	put_usual_stack();
	put_isolate(0x500, 0);
	put_exit(0x500);
	put_exit(0x600);
	walk_to_native();
	WALK->core.entered = EP_FAILED;
	world_run(v8_unwind);
	check_resumed(0x600);
}

EP_TEST_WITH(outermost_entry_has_nothing_behind_it, begin, NULL)
{
	put_usual_stack();
	world_put(STACK + 0x300 - 64, 0);
	put_isolate(0x500, 0);
	put_exit(0x500);
	walk_to_native();
	WALK->core.entered = EP_FAILED;
	world_run(v8_unwind);
	assert_int_equal(world.entered[0], EP_FAILED); /* ep_next: another language may know */
}

EP_TEST_WITH(native_code_is_skipped_where_no_calls_are_left, begin, NULL)
{
	put_usual_stack();
	put_exit(0x600);
	put_frame(0x600, JIT + 0x60, 0x680, EXIT << 1);
	put_function_frame(0x680, NATIVE + 0x40, 0x700, 3);
	WALK->core.tail_calls = 22;
	put_exit(0x600);
	assert_string_equal(walk_to_native(), "native 5 902810 return address\n"
					      "interpreted aux 17: 20000440 1001 20000800\n"
					      "compiled: 20000480 1002 30000050\n"
					      "native 5 903810 return address\n"
					      "gap\n"
					      "native 5 902810 return address\n"
					      "compiled: 200004c0 1003 30000060\n");
	assert_int_equal(WALK->pc, NATIVE + 0x40);
}

EP_TEST_WITH(outermost_entry_is_left_where_no_calls_are_left, begin, NULL)
{
	put_usual_stack();
	world_put(STACK + 0x300 - 64, 0);
	WALK->core.tail_calls = 22;
	walk_to_native();
	assert_int_equal(WALK->pc, NATIVE + 0x20);
	assert_int_equal(WALK->regs[EP_REG_FP], STACK + 0x400);
	assert_int_equal(WALK->regs[EP_REG_SP], STACK + 0x310);
}

/* --- what is wrong ---------------------------------------------------------------------------- */

EP_TEST_WITH(code_of_another_is_given_back, begin, NULL)
{
	put_frame(0x100, NATIVE + 0x40, 0x180, 0x12340); /* neither type nor context */
	be_at(JIT + 0x50, 0x100);
	world.calls_fail = true;
	assert_int_equal(world_step(v8_unwind), EP_SLOT_NATIVE);
	assert_int_equal(world.entered[0], EP_GIVEN_BACK);
	assert_int_equal(EP_FRAME_KIND(REC->words[0]), EP_FRAME_ERROR); /* that it could not */
	world.calls_fail = false;
	REC->sample.n_words = 0;
	REC->sample.error = 0;
	WALK->core.entered = EP_ENTERED;
	world_run(v8_unwind); /* nobody knows it */
	assert_int_equal(REC->sample.error, 100 + V8_ERROR_FRAME);
}

EP_TEST_WITH(frames_that_are_none_end_the_stack, begin, NULL)
{
	static const struct {
		const char *label;
		uint64_t caller, word, function, pc;
		uint32_t error;
	} bad[] = {
		{"fp is odd", 0x184, CONTEXT, 0, JIT, V8_ERROR_FRAME},
		{"fp is below sp", 0x80, CONTEXT, 0, JIT, V8_ERROR_FRAME},
		{"fp cannot be read", 0x2000, CONTEXT, 0, JIT, V8_ERROR_FRAME},
		{"neither type nor context", 0x180, 0x10000, 0, JIT, V8_ERROR_FRAME},
		{"no function", 0x180, CONTEXT, 0x123, JIT, V8_ERROR_FUNCTION},
		{"no caller", 0x180, SWITCH << 1, 0, 0, V8_ERROR_STACK},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(state);
		put_function_frame(0x100, JIT + 0x60, bad[i].caller, 1);
		put_frame(0x180, bad[i].pc, 0x200, bad[i].word);
		world_put(STACK + 0x180 - 16, bad[i].function);
		be_at(JIT + 0x50, 0x100);
		world_run(v8_unwind);
		if (REC->sample.error != 100 + bad[i].error)
			fail_msg("%s: error %u", bad[i].label, REC->sample.error);
	}
}

EP_TEST_WITH(stack_that_does_not_grow_ends, begin, NULL)
{
	put_function_frame(0x100, JIT + 0x60, 0x100, 1);
	be_at(JIT + 0x50, 0x100);
	world_run(v8_unwind);
	assert_int_equal(REC->sample.error, 100 + V8_ERROR_FRAME);
	assert_string_equal(world_say(say_frame), "compiled: 20000440 1001 30000050\nerror 100\n");
}
