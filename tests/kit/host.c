/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kit/host.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* File-level, since a plugin's log has no argument that would tell whose it is. */
static struct fake_host *logging;

/* --- a file
 * ----------------------------------------------------------------------------------------- */

static int find_symbol(const struct fake_symbol *symbols, size_t n, const char *name,
		       struct ep_symbol *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(symbols[i].name, name) == 0) {
			*ret = symbols[i].symbol;
			return 0;
		}
	}
	return -ENODATA;
}

static int fake_symbol(void *arg, const char *name, struct ep_symbol *ret)
{
	const struct fake_host *host = arg;

	return find_symbol(host->symbols, host->n_symbols, name, ret);
}

static int fake_section(void *arg, const char *name, struct ep_symbol *ret)
{
	const struct fake_host *host = arg;

	return find_symbol(host->sections, host->n_sections, name, ret);
}

static int fake_symbols(void *arg, const char *prefix,
			int (*visit)(void *arg, const char *name, const struct ep_symbol *symbol),
			void *visit_arg)
{
	const struct fake_host *host = arg;

	for (size_t i = 0; i < host->n_symbols; i++) {
		if (strncmp(host->symbols[i].name, prefix, strlen(prefix)) == 0 &&
		    visit(visit_arg, host->symbols[i].name, &host->symbols[i].symbol) != 0)
			break;
	}
	return 0;
}

static int fake_file_read(void *arg, uint64_t va, void *buf, size_t bytes)
{
	struct fake_host *host = arg;
	int r = fake_memory_read(&host->contents, va, buf, bytes);

	return r == -EFAULT ? -ENODATA : r;
}

static int fake_function(void *arg, uint64_t va, struct ep_symbol *ret)
{
	const struct fake_host *host = arg;

	for (size_t i = 0; i < host->n_functions; i++) {
		if (va - host->functions[i].va < host->functions[i].bytes) {
			*ret = host->functions[i];
			return 0;
		}
	}
	return -ENODATA;
}

/* --- a process
 * -------------------------------------------------------------------------------------- */

static int fake_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	return fake_memory_read(&((struct fake_host *)arg)->memory, addr, buf, bytes);
}

static int fake_mappings(void *arg,
			 int (*visit)(void *arg, const struct ep_target_mapping *mapping),
			 void *visit_arg)
{
	const struct fake_host *host = arg;

	for (size_t i = 0; i < host->n_mappings; i++) {
		if (visit(visit_arg, &host->mappings[i]) != 0)
			break;
	}
	return 0;
}

static int fake_file(void *arg, struct ep_target_file *file, uint64_t off, void *buf, size_t bytes)
{
	struct fake_host *host = arg;

	if (!host->beside_name || strcmp(file->name, host->beside_name) != 0)
		return -ENODATA;
	if (file->content && file->content != host->beside_content)
		return -ESTALE;
	file->content = host->beside_content;
	return fake_memory_read(&host->beside, off, buf, bytes);
}

static int fake_tls_variable(void *arg, uint64_t off, struct ep_tls *ret)
{
	const struct fake_host *host = arg;

	if (host->no_variable == 0)
		*ret = (struct ep_tls){.steps = 1, .off = {(int32_t)off}};
	return host->no_variable;
}

static int fake_tls_key(void *arg, uint32_t key, struct ep_tls *ret)
{
	const struct fake_host *host = arg;

	if (host->no_key == 0)
		*ret = (struct ep_tls){.steps = 2, .off = {1296, (int32_t)key}};
	return host->no_key;
}

static int fake_set_state(void *arg, const void *state, size_t bytes)
{
	struct fake_host *host = arg;

	if (bytes != host->state_bytes)
		return -E2BIG;
	memcpy(host->state, state, bytes);
	host->n_states++;
	return 0;
}

static int fake_set_ranges(void *arg, const struct ep_range *ranges, size_t n)
{
	struct fake_host *host = arg;

	if (n > EP_LEN(host->ranges))
		return -E2BIG;
	memcpy(host->ranges, ranges, n * sizeof(*ranges));
	host->n_ranges = n;
	host->n_ranges_set++;
	return 0;
}

static void fake_count(void *arg, uint32_t counter, uint64_t n)
{
	((struct fake_host *)arg)->counts[counter] += n;
}

static int fake_add_name(void *arg, const struct ep_name *name)
{
	struct fake_host *host = arg;

	if (!name->function)
		return -EINVAL;
	host->n_names++;
	host->line = name->line;
	host->start_line = name->start_line;
	host->unnamed = EP_HAS(name, unnamed) ? name->unnamed : 0;
	host->name_flags = EP_HAS(name, flags) ? name->flags : 0;
	snprintf(host->function, sizeof(host->function), "%s", name->function);
	snprintf(host->file_name, sizeof(host->file_name), "%s", name->file ? name->file : "");
	return 0;
}

EP_PRINTF(2, 3) static void fake_log(enum ep_host_level level, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(logging->logged, sizeof(logging->logged), fmt, args);
	va_end(args);
	logging->n_warnings += level <= EP_HOST_WARN;
	if (logging->prints)
		printf("    log %d: %s\n", (int)level, logging->logged);
}

/* --- all of it
 * -------------------------------------------------------------------------------------- */

void fake_host_init(struct fake_host *host, void *state, size_t state_bytes)
{
	memset(host, 0, offsetof(struct fake_host, ranges));
	host->state = state;
	host->state_bytes = state_bytes;
	host->file_ops = (struct ep_file_ops){
		.symbol = fake_symbol,
		.symbols = fake_symbols,
		.section = fake_section,
		.read = fake_file_read,
		.function = fake_function,
		.named = fake_symbol,
	};
	host->ops = (struct ep_target_ops){
		.read = fake_read,
		.mappings = fake_mappings,
		.file = fake_file,
		.tls_variable = fake_tls_variable,
		.tls_key = fake_tls_key,
		.set_state = fake_set_state,
		.set_ranges = fake_set_ranges,
		.count = fake_count,
	};
	host->file = (struct ep_file){
		.ops = &host->file_ops, .arg = host, .path = "/usr/bin/made", .machine = EM_X86_64};
	host->target = (struct ep_target){.ops = &host->ops, .arg = host, .pid = 42};
	host->names = (struct ep_names){.add = fake_add_name, .arg = host};
	logging = host;
}

const struct ep_unwinder_host *fake_host_services(struct fake_host *host)
{
	static const struct ep_host log = {.size = sizeof(log), .log = fake_log};
	static struct ep_unwinder_host services;

	logging = host;
	services = *ep_unwinder_host_get();
	services.host = &log;
	return &services;
}

uint64_t fake_host_word(struct fake_host *host, uint64_t addr)
{
	uint64_t word = 0;

	return host->ops.read(host, addr, &word, sizeof(word)) == 0 ? word : 0;
}

uint64_t fake_host_read_tls(struct fake_host *host, const struct ep_tls *tls,
			    uint64_t thread_pointer)
{
	uint64_t value = thread_pointer;

	for (uint32_t i = 0; i < tls->steps && value; i++)
		value = fake_host_word(host, value + (uint64_t)(int64_t)tls->off[i]);
	return tls->steps ? value : 0;
}
