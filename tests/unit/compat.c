/* SPDX-License-Identifier: Apache-2.0 */
/* A 32-bit process that waits to be killed, for a minute at most: alarm, then pause. */
static void call(int number, int arg)
{
	__asm__ volatile("int $0x80" : "+a"(number) : "b"(arg) : "memory");
}

void _start(void)
{
	call(27, 60); /* arch/x86/entry/syscalls/syscall_32.tbl */
	for (;;)
		call(29, 0);
}
