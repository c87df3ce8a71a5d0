/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed LIBJVM OPTION... -- CLASS [ARG...]: CLASS.main in a process that is not Java, and loads a
 * JVM when it has run for a while. The few functions of the Java Native Interface that it calls are
 * declared here (JNI specification, chapters 4 and 5: places in the tables, and what
 * JNI_CreateJavaVM is given).
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	JNI_FIND_CLASS = 6,
	JNI_GET_STATIC_METHOD_ID = 113,
	JNI_CALL_STATIC_VOID_METHOD = 141,
	JNI_NEW_STRING_UTF = 167,
	JNI_NEW_OBJECT_ARRAY = 172,
	JNI_SET_OBJECT_ARRAY_ELEMENT = 174,
	VM_DESTROY = 3,
	VERSION_1_8 = 0x00010008,
	MAX_OPTIONS = 16,
};

struct option {
	char *text;
	void *extra;
};

struct arguments {
	int32_t version;
	int32_t n_options;
	struct option *options;
	unsigned char ignore_unknown;
};

typedef void *const **table_of; /* points to a pointer to a table of functions */
typedef int (*create_vm)(table_of *vm, table_of *env, struct arguments *arguments);

static void *call1(table_of env, int place, const void *a)
{
	void *(*function)(table_of, const void *);

	*(void **)&function = (*env)[place];
	return function(env, a);
}

static void *make_array(table_of env, int n, char **words)
{
	void *(*make)(table_of, int32_t, void *, void *);
	void (*set)(table_of, void *, int32_t, void *);
	void *array;

	*(void **)&make = (*env)[JNI_NEW_OBJECT_ARRAY];
	*(void **)&set = (*env)[JNI_SET_OBJECT_ARRAY_ELEMENT];
	array = make(env, n, call1(env, JNI_FIND_CLASS, "java/lang/String"), NULL);
	for (int i = 0; i < n; i++)
		set(env, array, i, call1(env, JNI_NEW_STRING_UTF, words[i]));
	return array;
}

static int run_main(table_of env, const char *name, int n, char **words)
{
	void *(*find)(table_of, void *, const char *, const char *);
	void (*call)(table_of, void *, void *, ...);
	void *class = call1(env, JNI_FIND_CLASS, name);

	*(void **)&find = (*env)[JNI_GET_STATIC_METHOD_ID];
	*(void **)&call = (*env)[JNI_CALL_STATIC_VOID_METHOD];
	if (!class)
		return 1;
	call(env, class, find(env, class, "main", "([Ljava/lang/String;)V"),
	     make_array(env, n, words));
	return 0;
}

int main(int argc, char **argv)
{
	struct option options[MAX_OPTIONS];
	struct arguments arguments = {.version = VERSION_1_8, .options = options};
	table_of vm, env;
	create_vm create;
	void *library;
	int at, r;

	usleep(300000);
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "no library is named");
		return 2;
	}
	*(void **)&create = dlsym(library, "JNI_CreateJavaVM");
	for (at = 2; at < argc && strcmp(argv[at], "--") && arguments.n_options < MAX_OPTIONS; at++)
		options[arguments.n_options++] = (struct option){.text = argv[at]};
	if (at + 1 >= argc || create(&vm, &env, &arguments))
		return 1;
	r = run_main(env, argv[at + 1], argc - at - 2, argv + at + 2);
	call1(vm, VM_DESTROY, NULL);
	return r;
}
