/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/loaded.h"

#include <bpf/bpf.h>
#include <errno.h>

#define MAX_PROGRAMS  16384
#define MAX_FUNCTIONS 256 /* of a program: BPF_MAX_SUBPROGS, include/linux/bpf_verifier.h */

/* A program that is not compiled has no addresses. The kernel may hide those of others from us. */
int ep_loaded_program(int fd, struct ep_vec *codes)
{
	uint64_t addrs[MAX_FUNCTIONS] = {0};
	uint32_t lens[MAX_FUNCTIONS] = {0}, bytes;
	struct bpf_prog_info info = {
		.nr_jited_ksyms = MAX_FUNCTIONS,
		.nr_jited_func_lens = MAX_FUNCTIONS,
		.jited_ksyms = (uintptr_t)addrs,
		.jited_func_lens = (uintptr_t)lens,
	};
	int r = 0;

	bytes = sizeof(info);
	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0)
		return 0;
	for (uint32_t i = 0; r == 0 && i < EP_MIN(info.nr_jited_ksyms, (uint32_t)MAX_FUNCTIONS); i++) {
		struct ep_loaded_code code = {.addr = addrs[i], .bytes = lens[i]};

		if (code.addr && code.bytes)
			r = ep_vec_append(codes, &code, 1);
	}
	return r;
}

int ep_loaded_programs(struct ep_vec *codes)
{
	uint32_t id = 0;
	int r = 0;

	for (unsigned int n = 0; r == 0 && n < MAX_PROGRAMS; n++) {
		ep_autoclose int fd = -1;

		if (bpf_prog_get_next_id(id, &id) < 0)
			return errno == ENOENT ? 0 : -errno;
		fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0 && errno != ENOENT) /* it went meanwhile */
			return -errno;
		if (fd >= 0)
			r = ep_loaded_program(fd, codes);
	}
	return r;
}
