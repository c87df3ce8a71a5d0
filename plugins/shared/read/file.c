/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/read/file.h"

#include "core/base/util.h"

#include <errno.h>
#include <stdlib.h>

uint64_t file_va(const struct ep_unwinder_host *host, const struct ep_file *file, const char *name)
{
	struct ep_symbol symbol;

	return host->file_symbol(file, name, &symbol) == 0 ? symbol.va : 0;
}

void file_thread_variable(const struct ep_unwinder_host *host, const struct ep_file *file,
			  const char *name, struct ep_variable *variable)
{
	struct ep_symbol symbol;

	if (host->file_symbol(file, name, &symbol) == 0)
		*variable = (struct ep_variable){.kind = EP_VARIABLE_SEGMENT, .value = symbol.va};
}

int file_probe(const struct ep_unwinder_host *host, const struct ep_file *file, size_t bytes,
	       int (*look)(void *executable, const struct ep_file *file), void **ret_executable)
{
	const struct ep_unwinder_host **executable = calloc(1, bytes);
	int r;

	if (!executable)
		return -ENOMEM;
	*executable = host;
	r = look(executable, file);
	if (r == 0 || r == EP_CODE_ONLY)
		*ret_executable = executable;
	else
		free(executable);
	return r;
}

int file_add_symbol(void *arg, const struct ep_symbol *symbol, const char *name)
{
	const struct file_description *to = arg;

	return to->host->add_symbol(to->description, symbol, name);
}

int file_read_long(const struct ep_unwinder_host *host, const struct ep_file *file, uint64_t va,
		   void *buf, size_t bytes)
{
	uint8_t *to = buf;
	int r = 0;

	for (size_t done = 0, len; r == 0 && done < bytes; done += len) {
		len = EP_MIN(bytes - done, (size_t)EP_MAX_FILE_READ);
		r = host->file_read(file, va + done, to + done, len);
	}
	return r;
}

int file_scan(const struct ep_unwinder_host *host, const struct ep_file *file, const char *section,
	      size_t overlap, file_visit *visit, void *arg)
{
	ep_autofree uint8_t *piece = NULL;
	struct ep_symbol found;
	uint64_t done = 0;
	int r = host->file_section(file, section, &found);

	if (r)
		return r == -ENODATA ? 0 : r;
	piece = malloc(EP_MAX_FILE_READ);
	if (!piece)
		return -ENOMEM;
	found.bytes = EP_MIN(found.bytes, (uint64_t)FILE_MAX_SCAN);
	while (done < found.bytes) {
		uint64_t left = found.bytes - done;
		size_t len = (size_t)EP_MIN(left, (uint64_t)EP_MAX_FILE_READ);

		r = host->file_read(file, found.va + done, piece, len);
		if (!r)
			r = visit(arg, found.va + done, piece, len);
		if (r || len == left)
			return r;
		done += len - overlap;
	}
	return 0;
}
