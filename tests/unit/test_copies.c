/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of files in memory, by the descriptors that keep them. */
#include "core/proc/copies.h"
#include "core/base/work.h"
#include "tests/kit/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((size_t)1 << 20)

static struct ep_memory_budget memory = {.limit = 16 * BYTES};

static int make_copy(void)
{
	static char text[BYTES];
	const struct ep_proc_file file = {.bytes = BYTES};
	int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	memset(text, 'a', sizeof(text));
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text)), BYTES);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
	ep_copies_set_memory(&memory);
	assert_int_equal(ep_copies_charge(BYTES), 0);
	assert_int_equal(ep_copies_add(fd, &file, BYTES), 0);
	return fd;
}

/* As when tables of it are built once more. */
EP_TEST(a_copy_is_held_by_its_last_descriptor)
{
	int fd = make_copy(), other = fcntl(fd, F_DUPFD_CLOEXEC, 0),
	    stranger = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(other >= 0 && stranger >= 0);
	ep_copies_move(stranger, other); /* no copy */
	ep_copies_move(fd, other);
	close(fd);
	assert_int_equal(ep_copies_bytes(), BYTES);
	assert_int_equal(atomic_load(&memory.used), BYTES);
	close(other);
	assert_int_equal(ep_copies_bytes(), 0);
	assert_int_equal(atomic_load(&memory.used), 0);
	close(stranger);
	ep_copies_set_memory(NULL);
}

int main(void)
{
	return ep_test_run(NULL, NULL);
}
