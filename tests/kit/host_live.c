/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake host sees of a live process: this needs what the host reads /proc with. */
#include "core/plugin/process_target.h"
#include "core/proc/memory.h"
#include "tests/kit/host.h"

#include <stdlib.h>

/* Until the job ends. */
static struct ep_process_target *live_of(struct fake_host *host)
{
	if (!host->live) {
		host->live = calloc(1, sizeof(*host->live));
		if (!host->live)
			abort();
		ep_process_target_init(host->live, host->target.pid);
	}
	return host->live;
}

static int live_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct fake_host *host = arg;

	host->memory.n_bytes += bytes;
	if (++host->memory.n_reads == host->memory.fail_at)
		return host->memory.fail_with;
	return ep_memory_read(host->target.pid, addr, buf, bytes);
}

static int live_mappings(void *arg,
			 int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			 void *visit_arg)
{
	return ep_process_target_ops.mappings(live_of(arg), visit, visit_arg);
}

static int live_file(void *arg, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes)
{
	return ep_process_target_ops.file(live_of(arg), file, off, buf, bytes);
}

static int live_tls_variable(void *arg, uint64_t off, struct ep_tls *ret)
{
	struct fake_host *host = arg;
	struct ep_process_target *live = live_of(host);

	live->elf = host->elf;
	live->module_addr = host->module_addr;
	live->bias = host->target.bias;
	return ep_process_target_ops.tls_variable(live, off, ret);
}

static int live_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	return ep_process_target_ops.tls_key(live_of(arg), key, ret);
}

void fake_host_be_live(struct fake_host *host, pid_t pid)
{
	host->ops.read = live_read;
	host->ops.mappings = live_mappings;
	host->ops.file = live_file;
	host->ops.tls_variable = live_tls_variable;
	host->ops.tls_key = live_tls_key;
	host->target.pid = pid;
}

void fake_host_end_job(struct fake_host *host)
{
	if (host->live)
		ep_process_target_end_job(host->live);
	free(host->live);
	host->live = NULL;
}
