/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otlp_check [-d] [-p] [-m MAX_BYTES] FILE...
 *
 * Judges each file, a request of the Profiles signal (check.h), and says what is wrong with it.
 * -d: also what devfiler wants; -p: prints the stacks, "PID EXECUTABLE THREAD;root;...;leaf
 * EVENTS". The last line is "N requests, N samples, N events, N violations". Exits 1 with any
 * violation.
 */
#include "core/base/parse.h"
#include "tests/otlp/check.h"

#include <inttypes.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)256 << 20)

int main(int argc, char **argv)
{
	struct otlp_check_options options = {0};
	uint64_t violations = 0, samples = 0, events = 0;
	int opt;

	while ((opt = getopt(argc, argv, "dpm:")) != -1) {
		if (opt == 'd')
			options.devfiler = true;
		else if (opt == 'p')
			options.print = stdout;
		else if (opt == 'm')
			options.max_bytes = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	for (int i = optind; i < argc; i++) {
		struct otlp_check_result result;
		struct ep_vec bytes;

		ep_vec_init(&bytes, 1, MAX_FILE_BYTES);
		if (ep_read_file(argv[i], &bytes) < 0 ||
		    otlp_check(bytes.data, bytes.len, &options, &result) < 0) {
			fprintf(stderr, "%s: cannot be read\n", argv[i]);
			return 2;
		}
		if (result.violations)
			fprintf(stderr, "%s: %u violations\n%s", argv[i], result.violations,
				result.text);
		violations += result.violations;
		samples += result.samples;
		events += result.events;
		ep_vec_fini(&bytes);
	}
	printf("%d requests, %" PRIu64 " samples, %" PRIu64 " events, %" PRIu64 " violations\n",
	       argc - optind, samples, events, violations);
	return violations != 0;
}
