/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native code for Natives.java. Of the Java Native Interface only what is called here is declared:
 * its functions have fixed places in a table (JNI specification, chapter 4, "Interface Function
 * Table").
 *
 * Needs no C library, so that what a new one is built against runs in an old root file system. With
 * -DBARE the names are those of the library without unwind rules.
 */
#include <stdint.h>

#ifdef BARE
#define NAME(name) Java_Natives_##name##Bare
#define DOWN	   "downBare"
#else
#define NAME(name) Java_Natives_##name
#define DOWN	   "down"
#endif

enum {
	JNI_GET_STATIC_METHOD_ID = 113,
	JNI_CALL_STATIC_LONG_METHOD = 132,
};
typedef const void *const *jni_table;
typedef jni_table *jni_env;
typedef void *(*jni_get_static_method_id)(jni_env, void *class, const char *, const char *);
typedef int64_t (*jni_call_static_long_method)(jni_env, void *class, void *method, ...);

int64_t NAME(across)(jni_env env, void *class, int32_t left);
int64_t NAME(work)(jni_env env, void *class, int32_t rounds);
int64_t foreign_work(int32_t rounds);
int64_t foreign_call(int64_t (*function)(int32_t), int32_t rounds);

__attribute__((noinline)) static int64_t burn(int32_t rounds)
{
	uint64_t x = (uint64_t)rounds | 1;

	for (int32_t i = 0; i < rounds; i++) {
		x = x * 6364136223846793005u + (uint64_t)i;
		x ^= x >> 29;
		__asm__ volatile("" : "+r"(x));
	}
	return (int64_t)x;
}

/* Something in the frame, so that sp is not where a frame without locals has it. */
__attribute__((noinline)) static int64_t call_back(jni_env env, void *class, int32_t left)
{
	volatile int64_t local[13] = {left};
	jni_get_static_method_id find = (jni_get_static_method_id)(*env)[JNI_GET_STATIC_METHOD_ID];
	jni_call_static_long_method call =
		(jni_call_static_long_method)(*env)[JNI_CALL_STATIC_LONG_METHOD];

	return call(env, class, find(env, class, DOWN, "(I)J"), (int32_t)local[0] - 1) + local[12];
}

int64_t NAME(across)(jni_env env, void *class, int32_t left)
{
	return call_back(env, class, left) + 1;
}

int64_t NAME(work)(jni_env env, void *class, int32_t rounds)
{
	(void)env;
	(void)class;
	return burn(rounds) + 1;
}

int64_t foreign_work(int32_t rounds)
{
	return burn(rounds) + 2;
}

int64_t foreign_call(int64_t (*function)(int32_t), int32_t rounds)
{
	return function(rounds) + 3;
}
