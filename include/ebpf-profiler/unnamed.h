/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Why the name of a frame is not known. The host says so of each location of a batch, and a language
 * of a text that it gives instead of a name. The texts are in unnamed.def.
 *
 * A sample is fully named when its stack is complete, and each frame of a language has its name. Code
 * of a file that has no symbol for it is no language's: it is counted apart.
 */
#ifndef EP_UNNAMED_H
#define EP_UNNAMED_H

enum ep_unnamed {
	EP_UNNAMED_NONE = 0, /* it is known */
#define EP_UNNAMED(name, text) EP_UNNAMED_##name,
#include "ebpf-profiler/unnamed.def"
#undef EP_UNNAMED
	EP_UNNAMED_COUNT,
};

#endif
