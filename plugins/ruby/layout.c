/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read in the internal headers of 2.5.0 to 4.0.6 (vm_core.h, iseq.h, method.h, internal/class.h),
 * and seen in processes of 2.7.4, 3.1.2, 3.1.7, 3.3.8 and 3.4.11. Each row holds from its release
 * on.
 */
#include "plugins/ruby/layout.h"

#include "core/base/util.h"
#include "plugins/ruby/ruby_shared.h"
#include "plugins/shared/release.h"

/* vm_core.h, rb_control_frame_t: size, jit_return. Before bp (2.6) it has five members and pc;
 * jit_return is from 3.1 on, bp until 3.2. */
static const struct {
	uint32_t release;
	struct ruby_frame_layout frame;
} frames[] = {
	{RUBY_RELEASE(2, 5), {48, 0}},
	{RUBY_RELEASE(2, 6), {56, 0}},
	{RUBY_RELEASE(3, 1), {64, 56}},
	{RUBY_RELEASE(3, 3), {56, 48}},
};

/* vm_core.h, rb_iseq_constant_body: insns_info.body, .size, .succ_index_table, parent_iseq,
 * local_iseq; iseq.h, iseq_insn_info_entry: size, line_no. */
static const struct {
	uint32_t release;
	struct ruby_body_layout body;
} bodies[] = {
	{RUBY_RELEASE(2, 5), {112, 200, 0, 168, 176, 12, 4}}, /* the table has the positions */
	{RUBY_RELEASE(2, 6), {120, 136, 144, 168, 176, 8, 0}},
	{RUBY_RELEASE(3, 1), {120, 136, 144, 168, 176, 12, 0}}, /* node_id */
	{RUBY_RELEASE(3, 2), {112, 128, 136, 160, 168, 12, 0}}, /* first_lineno is an int */
	{RUBY_RELEASE(4, 0), {112, 128, 136, 160, 176, 12, 0}}, /* lvar_states before local_iseq */
};

/* internal/class.h: rb_classext, where it is, its variables; classpath, permanent_classpath,
 * attached object; FL_SINGLETON's bit. */
static const struct {
	uint32_t release;
	struct ruby_class_layout class;
} classes[] = {
	{RUBY_RELEASE(2, 5), {.ext = 24, .ext_is_pointer = true, .iv_table = 8, .singleton = 12}},
	/* Variables are in shapes: no field has the name. */
	{RUBY_RELEASE(3, 2), {.ext = 24, .ext_is_pointer = true, .singleton = 12}},
	{RUBY_RELEASE(3, 3),
	 {.ext = 32, .classpath = 120, .permanent = 117, .attached = 96, .singleton = 12}},
	{RUBY_RELEASE(3, 4),
	 {.ext = 32, .classpath = 120, .permanent = 117, .attached = 96, .singleton = 13}},
	{RUBY_RELEASE(4, 0), {.ext = 24, .classpath = 128, .attached = 112, .singleton = 13}},
};

bool ruby_layout_find(uint32_t major, uint32_t minor, struct ruby_layout *ret)
{
	uint32_t release = RUBY_RELEASE(major, minor);

	if (major > 99 || minor > 99 || release < RUBY_OLDEST)
		return false;
	*ret = (struct ruby_layout){
		.release = release,
		.lineno_is_value = release < RUBY_RELEASE(3, 2), /* vm_core.h: rb_iseq_location_t */
		.string_in_flags = release < RUBY_RELEASE(3, 2), /* rstring.h: struct RString */
		/* gc.c, internal/gc.h: struct RMoved: flags, (from 3.0 on a word,) destination */
		.moved = release < RUBY_RELEASE(3, 0) ? 8 : 16,
		/* method.h: rb_method_definition_struct, after original_id */
		.def_serial = release < RUBY_RELEASE(2, 7) ? 0 : 40,
		/* vm_core.h: rb_thread_struct */
		.thread_id = release < RUBY_RELEASE(3, 0) ? 72 : 0,
	};
	ret->frame = release_row(frames, release)->frame;
	ret->body = release_row(bodies, release)->body;
	ret->class = release_row(classes, release)->class;
	return true;
}

uint32_t ruby_body_bytes(const struct ruby_body_layout *layout)
{
	uint32_t end = EP_MAX(EP_MAX(layout->info + 16, layout->info_size + 4), layout->succ + 8);

	return EP_MIN(EP_MAX(EP_MAX(end, layout->local + 8), RUBY_BODY_BYTES), RUBY_MAX_BODY_BYTES);
}
