/* SPDX-License-Identifier: Apache-2.0 */
/* Code of TurboFan's and Maglev's: which functions are inlined in it, and where (codes.h). */
#ifndef V8_OPTIMIZED_H
#define V8_OPTIMIZED_H

#include "plugins/v8/symbolize/codes.h"

/* As v8_code_stack. */
int v8_optimized_stack(struct v8_heap *heap, const struct v8_code_object *object, uint64_t pc,
		       bool is_return, uint64_t function_info, struct v8_stack *ret);

#endif
