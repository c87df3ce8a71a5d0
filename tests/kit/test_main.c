/* SPDX-License-Identifier: Apache-2.0 */
/* For programs of tests that have no main of their own. */
#include "tests/kit/test.h"

int main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return ep_test_run(NULL, NULL);
}
