/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bpf/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#define MAX_DESCRIPTORS 1024

static int add(struct ep_bpf_descriptors *descriptors, enum ep_bpf_descriptor_kind kind, const char *name, int fd,
	       size_t n_instructions)
{
	struct ep_bpf_descriptor descriptor = {.kind = kind, .n_instructions = (uint32_t)n_instructions};
	size_t len = strnlen(name, sizeof(descriptor.name));
	int r;

	if (len == sizeof(descriptor.name))
		return -E2BIG;
	memcpy(descriptor.name, name, len);
	descriptor.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (descriptor.fd < 0)
		return -errno;
	r = ep_vec_append(&descriptors->all, &descriptor, 1);
	if (r < 0)
		close(descriptor.fd);
	return r;
}

int ep_bpf_descriptors_init(struct ep_bpf_descriptors *descriptors, const struct bpf_object *object)
{
	struct bpf_program *program;
	struct bpf_map *map;
	int r = 0;

	ep_vec_init(&descriptors->all, sizeof(struct ep_bpf_descriptor), MAX_DESCRIPTORS);
	bpf_object__for_each_map(map, object) {
		if (r == 0)
			r = add(descriptors, EP_BPF_MAP, bpf_map__name(map), bpf_map__fd(map), 0);
	}
	bpf_object__for_each_program(program, object) {
		if (r == 0 && bpf_program__fd(program) >= 0)
			r = add(descriptors, EP_BPF_PROGRAM, bpf_program__name(program), bpf_program__fd(program),
				bpf_program__insn_cnt(program));
	}
	if (r < 0)
		ep_bpf_descriptors_fini(descriptors);
	else
		ep_vec_shrink(&descriptors->all);
	return r;
}

void ep_bpf_descriptors_fini(struct ep_bpf_descriptors *descriptors)
{
	struct ep_bpf_descriptor *descriptor;

	ep_vec_each (&descriptors->all, descriptor) {
		if (descriptor->fd >= 0)
			close(descriptor->fd);
	}
	ep_vec_fini(&descriptors->all);
}

struct ep_bpf_descriptor *ep_bpf_descriptors_find(const struct ep_bpf_descriptors *descriptors,
						  enum ep_bpf_descriptor_kind kind, const char *name)
{
	struct ep_bpf_descriptor *descriptor;

	ep_vec_each (&descriptors->all, descriptor) {
		if (descriptor->kind == kind && strcmp(descriptor->name, name) == 0)
			return descriptor;
	}
	return NULL;
}

int ep_bpf_descriptors_fd(const struct ep_bpf_descriptors *descriptors, enum ep_bpf_descriptor_kind kind,
			  const char *name)
{
	const struct ep_bpf_descriptor *descriptor = ep_bpf_descriptors_find(descriptors, kind, name);

	return descriptor && descriptor->fd >= 0 ? descriptor->fd : -ENOENT;
}

void ep_bpf_descriptors_close(struct ep_bpf_descriptors *descriptors, enum ep_bpf_descriptor_kind kind,
			      const char *name)
{
	struct ep_bpf_descriptor *descriptor = ep_bpf_descriptors_find(descriptors, kind, name);
	int fd;

	if (!descriptor || descriptor->fd < 0)
		return;
	fd = descriptor->fd;
	descriptor->fd = -1;
	close(fd);
}
