/* SPDX-License-Identifier: Apache-2.0 */
/* Built three times, with LIBRARY as the prefix of its functions. */
#include "manystack.h"

LINK(chain_1e, 24, many_next(many))
LINK(chain_1d, 88, chain_1e(many))
LINK(chain_1c, 8, chain_1d(many))
LINK(chain_1b, 56, chain_1c(many))
LINK_EXPORT(chain_1, 40, chain_1b(many))

LINK(chain_2e, 16, many_next(many))
LINK(chain_2d, 120, chain_2e(many))
LINK(chain_2c, 32, chain_2d(many))
LINK(chain_2b, 8, chain_2c(many))
LINK_EXPORT(chain_2, 72, chain_2b(many))

LINK(chain_3d, 48, many_next(many))
LINK(chain_3c, 8, chain_3d(many))
LINK(chain_3b, 104, chain_3c(many))
LINK_EXPORT(chain_3, 24, chain_3b(many))
/* One frame less, for a stack of 46. */
LINK_EXPORT(chain_3_short, 24, chain_3c(many))
