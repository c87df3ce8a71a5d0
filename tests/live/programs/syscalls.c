/* SPDX-License-Identifier: Apache-2.0 */
/* Spends its time in the kernel, copying zeros. */
#include "zoo.h"

#include <fcntl.h>
#include <unistd.h>

static char buffer[1 << 20];

KEEP void read_zeros(int fd)
{
	for (int i = 0; i < 20; i++)
		(void)!read(fd, buffer, sizeof(buffer));
	BARRIER();
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY);

	zoo_start(argc, argv,
		  "STACK KERNEL LIBC read_zeros main\n"
		  "MAY ?read@plt ?LIBC read_zeros main\n"); /* a system call itself is not cheap everywhere */
	while (fd >= 0 && zoo_time_left())
		read_zeros(fd);
	return fd < 0;
}
