/* SPDX-License-Identifier: Apache-2.0 */
/* ELF images in memory: what is copied is a file of bounded length, and where the code is lies in it. */
#include "core/proc/image.h"
#include "tests/kit/fuzz.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE  4096u
#define PAGES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 0;
	memcpy(memory, data, size < PAGES * PAGE ? size : PAGES * PAGE);
	for (uint64_t i = 0; i < PAGES; i += 3) {
		uint64_t start = (uintptr_t)memory + i * PAGE, end = start + (i % 2 ? 1 : 2) * PAGE;
		struct ep_image_code code = {0};
		struct ep_proc_file file;
		struct stat st;

		if (ep_proc_copy_image(getpid(), start, end, i % 2, &file, &code) < 0)
			continue;
		assert(fstat(file.fd, &st) == 0 && (uint64_t)st.st_size == file.bytes && file.bytes <= EP_IMAGE_BYTES);
		assert(code.file_off <= file.bytes + UINT64_MAX / 4 && code.file_off % PAGE == 0 && file.inode != 0);
		assert(start <= code.start && code.start < code.end && code.end <= end);
		ep_proc_file_close(&file);
	}
	munmap(memory, PAGES * PAGE);
	return 0;
}
