/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reopen SECONDS LIBPYTHON HOME [LIBPYTHON HOME]...: opens each library in turn, runs some Python
 * in it, and closes it again.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <wchar.h>

static const char program[] = "def inner():\n"
			      "    x = 0\n"
			      "    for i in range(3000000): x += i\n"
			      "def outer(): inner()\n"
			      "outer()\n";

static void *must_find(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return symbol;
}

static void run(const char *path, const char *home)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	static wchar_t wide[4096]; /* the library keeps the pointer */

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	if (mbstowcs(wide, home, 4095) != (size_t)-1)
		((void (*)(const wchar_t *))must_find(library, "Py_SetPythonHome"))(wide);
	((void (*)(int))must_find(library, "Py_InitializeEx"))(0);
	((int (*)(const char *))must_find(library, "PyRun_SimpleString"))(program);
	((void (*)(void))must_find(library, "Py_Finalize"))();
	dlclose(library);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 3 ? atoi(argv[1]) : 0);

	do {
		for (int i = 2; i + 1 < argc; i += 2)
			run(argv[i], argv[i + 1]);
	} while (time(NULL) < end);
	return 0;
}
