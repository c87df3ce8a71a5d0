/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ZOO_LIB_H
#define ZOO_LIB_H

#define ZOO_EXPORT __attribute__((visibility("default")))

ZOO_EXPORT int lib_nothing(int x);
/* Calls fn through lib_relay, by the library's own PLT. */
ZOO_EXPORT void lib_call(void (*fn)(void));
ZOO_EXPORT void lib_relay(void (*fn)(void));
/* An indirect function: what it is gets decided by lib_decide, which burns, at its first call. */
ZOO_EXPORT int lib_indirect(int x);

#endif
