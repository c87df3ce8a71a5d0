/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/shared/names/add.h"

int names_add(const struct ep_unwinder_host *host, struct ep_names *names,
	      const struct names_function *function, struct ep_name more)
{
	more.size = sizeof(more);
	more.function = function->function;
	more.file = *function->file ? function->file : NULL;
	more.start_line = function->start_line;
	return host->add_name(names, &more);
}

int names_add_text(const struct ep_unwinder_host *host, struct ep_names *names, const char *text,
		   enum ep_unnamed unnamed, uint32_t flags)
{
	const struct ep_name name = {
		.size = sizeof(name), .function = text, .unnamed = unnamed, .flags = flags};

	return host->add_name(names, &name);
}
