/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin calls the XS functions of each object. For test_natives.py. */
#include "plugins/perl/natives.h"
#include "tests/kit/print_names.h"

static int names(const struct ep_file *file, print_name *add)
{
	struct ep_symbol boot;

	if (!pl_xs_find_boot(ep_unwinder_host_get(), file, &boot))
		return 0;
	return pl_xs_names(ep_unwinder_host_get(), file, &boot, add, NULL);
}

int main(int argc, char **argv)
{
	return print_names(argc, argv, names);
}
