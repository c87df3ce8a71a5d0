/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin calls the functions in C of each file. For test_natives.py. */
#include "plugins/php/natives.h"
#include "tests/kit/print_names.h"

static int names(const struct ep_file *file, print_name *add)
{
	return php_tables_names(ep_unwinder_host_get(), file, add, NULL);
}

int main(int argc, char **argv)
{
	return print_names(argc, argv, names);
}
