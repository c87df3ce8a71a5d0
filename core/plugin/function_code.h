/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of a function tells, for plugins: struct ep_unwinder_host file_parts, file_variable
 * and file_argument. Made of what struct ep_file_ops gives, so a fixture needs no answers but
 * theirs. x86-64; of other machines nothing is understood.
 */
#ifndef EP_PLUGIN_FUNCTION_CODE_H
#define EP_PLUGIN_FUNCTION_CODE_H

#include "core/plugin/unwinder.h"

uint32_t ep_function_parts(const struct ep_file *file, const struct ep_symbol *function,
			   struct ep_symbol *parts, uint32_t max);
int ep_function_variable(const struct ep_file *file, uint64_t va, struct ep_variable *ret);
int ep_function_argument(const struct ep_file *file, uint64_t va, uint64_t *ret_va);

#endif
