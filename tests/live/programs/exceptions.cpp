// SPDX-License-Identifier: Apache-2.0
// Exceptions through frames with destructors: samples are in the C++ runtime while it looks for a
// handler, in destructors that it runs, in the handler, and in code that throws nothing.
#include "zoo.h"

#include <stdexcept>

ZOO_DEFINE_SPIN(spin)

struct Guard {
	unsigned int rounds;
	KEEP ~Guard() noexcept
	{
		spin(rounds);
		BARRIER();
	}
};

extern "C" {

KEEP void thrower(int x)
{
	if (x >= 0)
		throw std::runtime_error("thrown");
	BARRIER();
}

KEEP void guarded(int levels)
{
	Guard guard{levels == 5 ? SPINS_PER_MS / 4 : 10};

	if (levels > 1)
		guarded(levels - 1);
	else
		thrower(levels);
	BARRIER();
}

KEEP void catcher(void)
{
	try {
		guarded(10);
	} catch (const std::exception &e) {
		spin(SPINS_PER_MS / 4);
	}
	BARRIER();
}

}

int main(int argc, char **argv)
{
	// The runtime's own frames are whatever they are; the way from them to the root counts.
	zoo_start(argc, argv, "STACK spin Guard::~Guard guarded{6} catcher main\n"
			      "STACK spin catcher main\n"
			      "STACK ... guarded+ catcher main\n"
			      "MAY ... catcher main\n");
	while (zoo_time_left())
		catcher();
	return 0;
}
