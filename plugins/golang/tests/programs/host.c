// SPDX-License-Identifier: Apache-2.0

// Has burner as a library, c-archive or c-shared: its arguments are the program's. Go's runtime
// takes them from where the C library's constructors get them.
extern void goMain(void);

int main(void)
{
	goMain();
	return 0;
}
