/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel writes for us besides BPF: the list of CPUs, side-band records. */
#include "core/bpf/cpus.h"
#include "core/bpf/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void cpu_lists(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t first_word;
	} rows[] = {
		{"0\n", 0, 1},
		{"0-3\n", 0, 0xf},
		{"0-1,4,6-7\n", 0, 0xd3},
		{"63\n", 0, 1ull << 63},
		{"", 0, 0},
		{"3-1\n", -EBADMSG, 0},
		{"0-8192\n", -EBADMSG, 0},
		{"a\n", -EBADMSG, 0},
		{"0-\n", -EBADMSG, 0},
		{"0;1\n", -EBADMSG, 0},
		{"99999999999999999999\n", -EBADMSG, 0},
	};

	(void)state;
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_cpus cpus = {0};
		int r = ep_cpus_parse(rows[i].text, strlen(rows[i].text), &cpus);

		if (r != rows[i].result || cpus.bits[0] != rows[i].first_word)
			fail_msg("%s: %d", rows[i].text, r);
	}
}

/* A PERF_RECORD_MMAP2 as the kernel lays it out, with its time at the end. */
struct record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint8_t build_id_bytes, reserved[3], build_id[20];
	uint32_t prot, flags;
	char name[16];
	uint64_t time_ns;
};

static struct record mmap2(void)
{
	return (struct record){
		.header = {.type = PERF_RECORD_MMAP2,
			   .misc = PERF_RECORD_MISC_MMAP_BUILD_ID,
			   .size = sizeof(struct record)},
		.pid = 42,
		.addr = 0x7f0000,
		.len = 0x2000,
		.pgoff = 0x1000,
		.build_id_bytes = 20,
		.build_id = {1, 2, 3},
		.name = "/usr/bin/x",
		.time_ns = 77,
	};
}

struct seen {
	int n;
	struct ep_mapping_event last;
};

static void see(void *arg, const struct ep_mapping_event *event)
{
	struct seen *seen = arg;

	seen->n++;
	seen->last = *event;
}

static void mapping_record_is_read(void **state)
{
	struct record record = mmap2();
	struct seen seen = {0};

	(void)state;
	assert_int_equal(ep_sideband_parse(&record, sizeof(record), see, &seen), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.last.pid, 42);
	assert_int_equal(seen.last.addr, 0x7f0000);
	assert_int_equal(seen.last.bytes, 0x2000);
	assert_int_equal(seen.last.file_off, 0x1000);
	assert_int_equal(seen.last.time_ns, 77);
	assert_int_equal(seen.last.build_id_bytes, 20);
	assert_string_equal(seen.last.name, "/usr/bin/x");
}

static void mapping_record_without_build_id(void **state)
{
	struct record record = mmap2();
	struct seen seen = {0};

	(void)state;
	record.header.misc = 0;
	ep_sideband_parse(&record, sizeof(record), see, &seen);
	assert_int_equal(seen.n, 1);
	assert_null(seen.last.build_id);
}

static void every_shorter_record_is_survived(void **state)
{
	(void)state;
	for (size_t bytes = 0; bytes < sizeof(struct record); bytes++) {
		struct record record = mmap2();
		uint8_t *exact = malloc(bytes ? bytes : 1); /* so that a sanitizer sees overreads */
		struct seen seen = {0};

		memset(record.name, 'x', sizeof(record.name)); /* and a name without an end */
		memcpy(exact, &record, bytes);
		ep_sideband_parse(exact, bytes, see, &seen);
		free(exact);
	}
}

static void lost_records_are_counted(void **state)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} record = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(record)}, .lost = 9};
	struct seen seen = {0};

	(void)state;
	assert_int_equal(ep_sideband_parse(&record, sizeof(record), see, &seen), 9);
	assert_int_equal(seen.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(mapping_record_is_read),
		cmocka_unit_test(mapping_record_without_build_id),
		cmocka_unit_test(every_shorter_record_is_survived),
		cmocka_unit_test(lost_records_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
