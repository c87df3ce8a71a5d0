/* SPDX-License-Identifier: Apache-2.0 */
/* For programs of tests that have no main of their own. */
#include "tests/kit/test.h"

int main(int argc, char **argv)
{
	int n = 0;

	for (; ep_test_arguments && ep_test_arguments[n]; n++) {
		if (argc < n + 2) {
			fprintf(stderr, "%s: no %s\n", argv[0], ep_test_arguments[n]);
			return 2;
		}
		ep_test_argument[n] = argv[n + 1];
	}
	if (argc > n + 1)
		cmocka_set_test_filter(argv[n + 1]);
	return ep_test_run(NULL, NULL);
}
