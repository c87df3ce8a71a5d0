/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/stat: no CPU beyond the largest there can be. */
#include "core/bpf/cpus.h"
#include "core/bpf/idle.h"
#include "tests/kit/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ep_cleanup(ep_vec_fini) struct ep_vec idle;

	ep_idle_init(&idle);
	(void)ep_idle_parse(&idle, (const char *)data, size);
	assert(idle.len <= EP_MAX_CPUS);
	assert(ep_idle_get(&idle, (uint32_t)idle.len).idle_ns == 0);
	return 0;
}
