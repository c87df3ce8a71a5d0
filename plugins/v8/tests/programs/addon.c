/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An addon of Node, for natives.js and deep.js. Of N-API only what is called here is declared
 * (Node's documentation, "Node-API"); it needs neither its headers nor a C library, so that what a
 * new compiler makes runs in an old root file system. Which function calls which: ../live/calls.py.
 */
#include <stddef.h>
#include <stdint.h>

typedef struct napi_env_ *napi_env;
typedef struct napi_value_ *napi_value;
typedef struct napi_info_ *napi_info;
typedef napi_value (*napi_function)(napi_env, napi_info);

int napi_create_function(napi_env, const char *, size_t, napi_function, void *, napi_value *);
int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
int napi_get_cb_info(napi_env, napi_info, size_t *, napi_value *, napi_value *, void **);
int napi_get_value_int32(napi_env, napi_value, int32_t *);
int napi_create_int32(napi_env, int32_t, napi_value *);
int napi_get_undefined(napi_env, napi_value *);
int napi_call_function(napi_env, napi_value, napi_value, size_t, const napi_value *, napi_value *);

/* struct napi_module: Node 8 finds a module by what it registers as it is loaded, newer ones by its
 * symbol. */
struct registration {
	int version;
	unsigned flags;
	const char *file;
	napi_value (*init)(napi_env, napi_value);
	const char *name;
	void *private, *reserved[4];
};
void napi_module_register(struct registration *);

#define PUBLIC __attribute__((visibility("default")))
PUBLIC napi_value napi_register_module_v1(napi_env env, napi_value exports);

/*= addon_burn */
__attribute__((noinline)) static int32_t addon_burn(int32_t rounds)
{
	uint32_t x = (uint32_t)rounds | 1;

	for (int32_t i = 0; i < rounds; i++) {
		x = x * 1664525 + (uint32_t)i;
		x ^= x >> 15;
		__asm__ volatile("" : "+r"(x));
	}
	return (int32_t)(x >> 1);
}

/* work(rounds) */
/*= addon_work > addon_burn */
static napi_value addon_work(napi_env env, napi_info info)
{
	napi_value arguments[1], result;
	size_t count = 1;
	int32_t rounds = 0;

	napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
	napi_get_value_int32(env, arguments[0], &rounds);
	napi_create_int32(env, addon_burn(rounds), &result);
	return result;
}

/* Something in the frame, so that sp is not where a frame without locals has it. */
/*= addon_call > hop! spin! */
__attribute__((noinline)) static napi_value addon_call(napi_env env, const napi_value *arguments)
{
	volatile int64_t local[13] = {1};
	napi_value self, result = NULL;

	napi_get_undefined(env, &self);
	napi_call_function(env, self, arguments[0], (size_t)local[0], arguments + 1, &result);
	local[1] = 2;
	return result;
}

/* across(function, argument): calls it */
/*= addon_across > addon_call */
static napi_value addon_across(napi_env env, napi_info info)
{
	napi_value arguments[2], result;
	size_t count = 2;

	napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
	result = addon_call(env, arguments);
	__asm__ volatile("" : "+r"(result));
	return result;
}

static void add(napi_env env, napi_value exports, const char *name, napi_function function)
{
	napi_value made;

	napi_create_function(env, name, SIZE_MAX, function, NULL, &made);
	napi_set_named_property(env, exports, name, made);
}

napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
	add(env, exports, "work", addon_work);
	add(env, exports, "across", addon_across);
	return exports;
}

__attribute__((constructor)) static void register_module(void)
{
	static struct registration module = {
		.version = 1,
		.file = "addon.c",
		.init = napi_register_module_v1,
		.name = "addon",
	};

	napi_module_register(&module);
}
