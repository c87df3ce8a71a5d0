/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is needed of a BPF object after it was loaded: descriptors of its maps and programs, by name. libbpf's
 * object holds the instructions, relocations, lines and types of the whole file besides, a quarter of a MiB each,
 * which nobody asks for again: so it is closed, and this is left.
 */
#ifndef EP_BPF_DESCRIPTORS_H
#define EP_BPF_DESCRIPTORS_H

#include "core/base/vec.h"

struct bpf_object;

#define EP_BPF_DESCRIPTOR_NAME_MAX 64

enum ep_bpf_descriptor_kind { EP_BPF_MAP, EP_BPF_PROGRAM };

struct ep_bpf_descriptor {
	char name[EP_BPF_DESCRIPTOR_NAME_MAX]; /* as in the file */
	enum ep_bpf_descriptor_kind kind;
	int fd;			 /* owned; -1: closed */
	uint32_t n_instructions; /* of a program, as loaded */
};

struct ep_bpf_descriptors {
	struct ep_vec all; /* struct ep_bpf_descriptor */
};

/*
 * Takes those of all maps, and of the programs that were loaded; the object may be closed then. 0; -E2BIG: a name is too
 * long, or there are too many; -ENOMEM, -errno: there is none then.
 */
int ep_bpf_descriptors_init(struct ep_bpf_descriptors *descriptors, const struct bpf_object *object);
void ep_bpf_descriptors_fini(struct ep_bpf_descriptors *descriptors); /* accepts a zeroed one */
/* NULL when there is none of that name. */
struct ep_bpf_descriptor *ep_bpf_descriptors_find(const struct ep_bpf_descriptors *descriptors,
						  enum ep_bpf_descriptor_kind kind, const char *name);
/* The descriptor itself; -ENOENT. */
int ep_bpf_descriptors_fd(const struct ep_bpf_descriptors *descriptors, enum ep_bpf_descriptor_kind kind,
			  const char *name);
/* Closes one, if it is there: who has the program by a program array goes on running it. */
void ep_bpf_descriptors_close(struct ep_bpf_descriptors *descriptors, enum ep_bpf_descriptor_kind kind,
			      const char *name);

#endif
