/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a descriptor of an unwinder can be used: what it must have, and for which version of the
 * headers its BPF program was built. No kernel is asked.
 */
#include "core/base/log.h"
#include "core/base/pages.h"
#include "core/elf/file.h"
#include "core/plugin/unwinder.h"
#include "ebpf-profiler/bpf/self.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_whole(const struct ep_bpf_image *image)
{
	return image && EP_HAS(image, object) && EP_HAS(image, object_bytes) &&
	       EP_HAS(image, program);
}

static bool has_bpf(const struct ep_unwinder_ops *ops)
{
	return EP_HAS(ops, bpf) && is_whole(ops->bpf) &&
	       (!EP_HAS(ops, keeper) || is_whole(ops->keeper));
}

/* The number that the headers put into a BPF object: struct ep_self. */
static int read_bpf_abi(const struct ep_bpf_image *image, uint32_t *ret_abi)
{
	ep_cleanup(ep_elf_closep) struct ep_elf *elf = NULL;
	ep_cleanup(ep_elf_bytes_fini) struct ep_elf_bytes bytes = {0};
	struct ep_elf_section section;
	int r = ep_elf_open_memory(image->object, image->object_bytes, &elf);

	if (r == 0)
		r = ep_elf_find_section(elf, EP_SELF_SECTION, &section);
	if (r == 0)
		r = ep_elf_read_section(elf, &section, &bytes);
	if (r == 0 && bytes.bytes < sizeof(struct ep_self))
		r = -EBADMSG;
	if (r == 0)
		memcpy(ret_abi, bytes.data + offsetof(struct ep_self, bpf_abi), sizeof(*ret_abi));
	return r;
}

static int check_bpf_abi(const struct ep_plugin *plugin, const struct ep_bpf_image *image,
			 char reason[512])
{
	uint32_t abi = 0;
	int r = read_bpf_abi(image, &abi);

	/* Most languages never run: their programs are not read again. */
	ep_pages_give_back(image->object, image->object_bytes);
	if (r < 0 && r != -ENOMEM)
		r = -EBADMSG;
	if (r < 0)
		snprintf(reason, 512,
			 "%s: its BPF program does not say which version it was built for (%s): it "
			 "needs EP_UNWINDER() of ebpf-profiler/bpf/unwinder.h",
			 plugin->name, ep_strerror(r));
	else if (abi != EP_BPF_ABI)
		snprintf(reason, 512,
			 "%s: its BPF program was built for another version of ebpf-profiler "
			 "(%u, this is %u): build it again",
			 plugin->name, abi, EP_BPF_ABI);
	return r == 0 && abi != EP_BPF_ABI ? -ENOTSUP : r;
}

int ep_unwinder_check(const struct ep_plugin *plugin, char reason[512])
{
	const struct ep_unwinder_ops *ops = EP_HAS(plugin, unwinder) ? plugin->unwinder : NULL;

	if (ops && has_bpf(ops) && EP_HAS(ops, probe) && EP_HAS(ops, attach) &&
	    EP_HAS(ops, symbolize) && EP_HAS(ops, detach) && EP_HAS(ops, unload)) {
		int r = check_bpf_abi(plugin, ops->bpf, reason);

		return r == 0 && EP_HAS(ops, keeper) ? check_bpf_abi(plugin, ops->keeper, reason) : r;
	}
	snprintf(reason, 512,
		 "plugin %s: lacks one of bpf, probe, attach, symbolize, detach, unload: ask who made "
		 "it for a complete one",
		 plugin->name);
	return -EBADMSG;
}
