/* SPDX-License-Identifier: Apache-2.0 */
#include "zoo_lib.h"
#include "zoo.h"

ZOO_DEFINE_SPIN(lib_spin)

KEEP int lib_nothing(int x)
{
	return x + 1;
}

KEEP void lib_relay(void (*fn)(void))
{
	fn();
	BARRIER();
}

KEEP void lib_call(void (*fn)(void))
{
	lib_relay(fn);
	BARRIER();
}

typedef int (*indirect_fn)(int);

/* Called by the dynamic linker while it resolves the first call: _dl_runtime_resolve is below. */
__attribute__((used)) KEEP static indirect_fn lib_decide(void)
{
	for (volatile int i = 0; i < 30; i++)
		for (unsigned int n = 0; n < SPINS_PER_MS; n++)
			__asm__ volatile("");
	return lib_nothing;
}

int lib_indirect(int x) __attribute__((ifunc("lib_decide")));

ZOO_EXPORT int lib_first_call(int x);
ZOO_EXPORT int lib_calls_itself(int x);

KEEP int lib_first_call(int x)
{
	int y = lib_indirect(x);

	lib_spin(SPINS_PER_MS * 30);
	BARRIER();
	return y;
}

KEEP int lib_calls_itself(int x)
{
	lib_spin(SPINS_PER_MS * 30);
	BARRIER();
	return x + 1;
}
