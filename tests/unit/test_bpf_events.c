/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel writes for us besides BPF: the list of CPUs, side-band records. */
#include "core/bpf/cpus.h"
#include "core/bpf/sideband.h"
#include "tests/kit/test.h"
#include "tests/unit/bpf_rings.h"

EP_TEST(cpu_lists)
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

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct ep_cpus cpus = {0};
		int r = ep_cpus_parse(rows[i].text, strlen(rows[i].text), &cpus);

		if (r != rows[i].result || cpus.bits[0] != rows[i].first_word)
			fail_msg("%s: %d", rows[i].text, r);
	}
}

EP_TEST(cpus_are_counted)
{
	static const char text[] = "0-3,8-11,70\n";
	struct ep_cpus cpus, none = {0};

	assert_int_equal(ep_cpus_parse(text, strlen(text), &cpus), 0);
	assert_int_equal(ep_cpus_count_below(&cpus, 0), 0);
	assert_int_equal(ep_cpus_count_below(&cpus, 3), 3);
	assert_int_equal(ep_cpus_count_below(&cpus, 8), 4);
	assert_int_equal(ep_cpus_count_below(&cpus, 64), 8);
	assert_int_equal(ep_cpus_count_below(&cpus, 70), 8);
	assert_int_equal(ep_cpus_count_below(&cpus, 71), 9);
	assert_int_equal(ep_cpus_count_below(&cpus, EP_MAX_CPUS + 64), 9);
	assert_int_equal(ep_cpus_end(&cpus), 71);
	assert_int_equal(ep_cpus_end(&none), 0);
}

static struct fake_mmap2 mmap2(void)
{
	return (struct fake_mmap2){
		.header = {.type = PERF_RECORD_MMAP2,
			   .misc = PERF_RECORD_MISC_MMAP_BUILD_ID,
			   .size = sizeof(struct fake_mmap2)},
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

EP_TEST(mapping_record_is_read)
{
	struct fake_mmap2 record = mmap2();
	struct seen seen = {0};

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

EP_TEST(mapping_record_without_build_id)
{
	struct fake_mmap2 record = mmap2();
	struct seen seen = {0};

	record.header.misc = 0;
	record.maj = 8;
	record.min = 3;
	record.ino = 1ull << 40;
	record.ino_generation = 77;
	ep_sideband_parse(&record, sizeof(record), see, &seen);
	assert_int_equal(seen.n, 1);
	assert_null(seen.last.build_id);
	assert_true(seen.last.has_inode);
	assert_int_equal(seen.last.device_major, 8);
	assert_int_equal(seen.last.device_minor, 3);
	assert_int_equal(seen.last.inode, 1ull << 40);
	assert_int_equal(seen.last.inode_generation, 77);
}

/* What lies there is the build id: with one, nothing is known of the inode. */
EP_TEST(build_id_or_inode)
{
	static const struct {
		const char *label;
		uint16_t misc;
		uint8_t build_id_bytes;
		size_t told_bytes;
	} rows[] = {
		{"of 8 bytes", PERF_RECORD_MISC_MMAP_BUILD_ID, 8, 8},
		{"longer than there is room for", PERF_RECORD_MISC_MMAP_BUILD_ID, 255, 20},
		{"empty", PERF_RECORD_MISC_MMAP_BUILD_ID, 0, 0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct fake_mmap2 record = mmap2();
		struct seen seen = {0};

		record.header.misc = rows[i].misc;
		record.build_id_bytes = rows[i].build_id_bytes;
		ep_sideband_parse(&record, sizeof(record), see, &seen);
		if (seen.n != 1 || seen.last.has_inode || seen.last.inode ||
		    seen.last.build_id_bytes != rows[i].told_bytes ||
		    (seen.last.build_id != NULL) != (rows[i].told_bytes > 0))
			fail_msg("%s", rows[i].label);
	}
}

EP_TEST(memory_without_a_file)
{
	static const char *const names[] = {"//anon", "[vdso]"};

	for (size_t i = 0; i < EP_LEN(names); i++) {
		struct fake_mmap2 record = mmap2();
		struct seen seen = {0};

		record.header.misc = 0;
		memset(record.build_id, 0, sizeof(record.build_id));
		record.build_id_bytes = 0;
		memcpy(record.name, names[i], strlen(names[i]) + 1);
		ep_sideband_parse(&record, sizeof(record), see, &seen);
		assert_int_equal(seen.n, 1);
		assert_string_equal(seen.last.name, names[i]);
		assert_false(seen.last.has_inode);
		assert_null(seen.last.build_id);
	}
}

EP_TEST(every_shorter_record_is_survived)
{
	for (size_t bytes = 0; bytes < sizeof(struct fake_mmap2); bytes++) {
		struct fake_mmap2 record = mmap2();
		uint8_t *exact = malloc(bytes ? bytes : 1); /* so that a sanitizer sees overreads */
		struct seen seen = {0};

		memset(record.name, 'x', sizeof(record.name)); /* and a name without an end */
		memcpy(exact, &record, bytes);
		ep_sideband_parse(exact, bytes, see, &seen);
		free(exact);
	}
}

EP_TEST(lost_records_are_counted)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} record = {.header = {.type = PERF_RECORD_LOST, .size = sizeof(record)}, .lost = 9};
	struct seen seen = {0};

	assert_int_equal(ep_sideband_parse(&record, sizeof(record), see, &seen), 9);
	assert_int_equal(seen.n, 0);
}
