/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process from before its runtime has started on: what is published to BPF, and when. The process
 * is made up.
 */
#include "plugins/ruby/ruby.h"
#include "plugins/ruby/tests/unit/made_ruby.h"

#include <sys/mman.h>

struct process {
	struct made *made;
	struct ruby_executable exe;
	struct ruby_state state;
	void *instance;
};

static void process_free(void *arg)
{
	struct process *p = arg;

	ruby_detach(p->instance);
	free(p);
}

/* Attached while rb_cObject is 0. */
static struct process *new_process(void)
{
	struct process *p = calloc(1, sizeof(*p));
	struct made *made = made_new(RUBY_RELEASE(3, 3));

	assert_non_null(p);
	p->made = made;
	made->host.state = &p->state;
	made->host.state_bytes = sizeof(p->state);
	p->exe = (struct ruby_executable){
		.host = made->namer.host,
		.layout = made->layout,
		.object_va = made->namer.object_addr,
		.ec_va = make(made, 8),
		.code = {{.va = 0x5000, .bytes = 0x100}},
		.n_code = 1,
	};
	put_word(made, made->namer.object_addr, 0);
	assert_int_equal(ruby_attach(&p->exe, &made->host.target, &p->instance), 0);
	ep_test_owns(p, process_free);
	return p;
}

EP_TEST_OF(process_is_proven_once_object_has_its_name, struct process *p, new_process())
{
	struct made *made = p->made;

	assert_int_equal(p->state.unproven, 1);
	assert_int_equal(ruby_refresh(p->instance), EP_NOT_YET);
	assert_int_equal(p->state.unproven, 1);
	put_word(made, made->namer.object_addr, make_class(made, RUBY_TYPE_CLASS, "Object"));
	assert_int_equal(ruby_refresh(p->instance), 0);
	assert_int_equal(p->state.unproven, 0);
}

EP_TEST_OF(code_of_a_jit_is_entered_once_there_is_memory_for_it, struct process *p, new_process())
{
	static const struct ep_target_mapping jit = {.start = 0x7f0000000000,
						     .end = 0x7f0000001000,
						     .prot = PROT_READ | PROT_EXEC,
						     .path = ""};
	struct fake_host *host = &p->made->host;

	assert_int_equal(host->n_ranges, 1);
	assert_int_equal(ruby_refresh(p->instance), EP_NOT_YET);
	assert_int_equal(host->n_ranges, 1);
	host->mappings = &jit;
	host->n_mappings = 1;
	assert_int_equal(ruby_refresh(p->instance), EP_NOT_YET);
	assert_int_equal(host->n_ranges, 2);
	assert_int_equal(host->ranges[0].mode, EP_RANGE_MARK);
	assert_int_equal(host->ranges[1].mode, EP_RANGE_ENTER);
	assert_int_equal(host->ranges[1].flags, EP_RANGE_ANONYMOUS);
}
