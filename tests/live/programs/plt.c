/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls through the PLT of this program into a library of its own, so many and so short that some
 * samples hit the PLT itself, where the frame changes within a stub; and back through the PLT of
 * the library.
 */
#include "zoo.h"
#include "zoo_lib.h"

ZOO_DEFINE_SPIN(spin)

KEEP void tight_calls(void)
{
	for (int i = 0; i < 300000; i++)
		lib_nothing(i);
	BARRIER();
}

KEEP void called_back(void)
{
	spin(SPINS_PER_MS);
	BARRIER();
}

KEEP void through_library(void)
{
	lib_call(called_back);
	BARRIER();
}

ZOO_MAIN("STACK ?lib_nothing|lib_nothing@plt|*+0x* tight_calls main\n"
	 "STACK spin called_back lib_relay lib_call through_library main\n"
	 "MAY ?lib_relay@plt|*+0x* lib_call through_library main\n",
	 tight_calls(); through_library())
