/* SPDX-License-Identifier: Apache-2.0 */
/* Which code of BPF programs there is, as the kernel tells root. */
#include "core/bpf/loaded.h"
#include "tests/kit/test.h"

#include <bpf/bpf.h>
#include <errno.h>

/* return 0; of a type that any kernel has. */
static int load_program(void)
{
	static const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "ep_loaded", "GPL", insns, EP_LEN(insns), NULL);
}

static uint64_t code_of(int fd)
{
	uint64_t addr = 0;
	struct bpf_prog_info info = {.nr_jited_ksyms = 1, .jited_ksyms = (uintptr_t)&addr};
	uint32_t bytes = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0 ? 0 : addr;
}

EP_TEST(a_program_that_is_loaded_is_there_with_its_end)
{
	struct ep_loaded_code *code;
	uint64_t bytes = 0, addr;
	struct ep_vec codes;
	int fd = load_program(), r;

	if (fd < 0)
		skip();
	addr = code_of(fd);
	ep_vec_init(&codes, sizeof(*code), 100000);
	r = ep_loaded_programs(&codes);
	ep_vec_each(&codes, code) {
		if (code->addr == addr)
			bytes = code->bytes;
	}
	ep_vec_fini(&codes);
	close(fd);
	if (r == -EPERM || addr == 0)
		skip();
	assert_int_equal(r, 0);
	assert_in_range(bytes, 1, 200);
}
