/* SPDX-License-Identifier: Apache-2.0 */
/* One vDSO for all 64-bit processes, and that one is ours. */
#include "core/process/analysis.h"
#include "core/process/read.h"
#include "tests/kit/test.h"
#include "tests/unit/heap_chunks.h"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *compat; /* a 32-bit program; NULL: there is no compiler for it */

/* The size of the vDSO's file as a read of the process tells it; -1: it has no vDSO mapping. */
static int64_t read_vdso(pid_t pid)
{
	struct ep_process_read read = {.pid = pid};
	int64_t bytes = -1;

	ep_process_read_run(&read);
	assert_int_equal(read.result, 0);
	for (size_t i = 0; i < read.files.len; i++) {
		if (ep_vec_at(&read.maps.mappings, struct ep_mapping, i)->kind == EP_MAPPING_VDSO)
			bytes = (int64_t)ep_vec_at(&read.files, struct ep_proc_file, i)->bytes;
	}
	ep_process_read_fini(&read);
	return bytes;
}

EP_TEST(a_64_bit_process_has_it)
{
	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	assert_true(read_vdso(getpid()) > 0);
}

static pid_t start(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(path, path, (char *)NULL);
		_exit(1); /* a kernel without 32-bit processes */
	}
	return pid;
}

static void wait_for_exec(void)
{
	struct timespec ms = {.tv_nsec = 1000000};

	nanosleep(&ms, NULL);
}

EP_TEST(a_32_bit_process_has_none)
{
	pid_t pid = compat ? start(compat) : -1;
	char link[64], exe[4096] = "";
	int64_t bytes = -1;

	if (pid < 0)
		skip();
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	for (int i = 0; i < 1000 && !strstr(exe, "compat"); i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			skip();
		wait_for_exec();
		(void)!readlink(link, exe, sizeof(exe) - 1);
	}
	if (!strstr(exe, "compat"))
		skip();
	for (int i = 0; i < 1000 && bytes < 0; i++) { /* the mapping follows the name */
		wait_for_exec();
		bytes = read_vdso(pid);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(bytes, 0);
}

/* Whoever's mapping it was that made the vDSO known: the image is not read from there. */
EP_TEST(the_image_is_ours)
{
	static char nowhere[] = "[vdso]";
	static struct ep_rule rules[EP_MAX_RULES];
	struct ep_delta_store_ops ops = {
		.add_chunk = heap_add_chunk, .remove_chunk = heap_remove_chunk, .rules = rules};
	struct ep_analysis analysis = {
		.pid = getpid(),
		.mapping = {.start = 0x1000, .end = 0x2000, .kind = EP_MAPPING_VDSO,
			    .path = nowhere},
		.file.fd = -1,
	};
	uint64_t own = getauxval(AT_SYSINFO_EHDR);
	char page[4096];

	if (!own)
		skip();
	assert_int_equal(ep_delta_store_new(&ops, 16 << 20, &analysis.store), 0);
	ep_analysis_run(&analysis);
	assert_int_equal(analysis.result, 0);
	assert_int_equal(analysis.table_result, 0);
	assert_int_equal(pread(analysis.file.fd, page, sizeof(page), 0), sizeof(page));
	assert_memory_equal(page, (const void *)(uintptr_t)own, sizeof(page));
	ep_proc_file_close(&analysis.file);
	ep_delta_store_drop_text(analysis.store, analysis.text);
	ep_delta_store_free(analysis.store);
}

int main(int argc, char **argv)
{
	compat = argc > 1 ? argv[1] : NULL;
	return ep_test_run(NULL, NULL);
}
