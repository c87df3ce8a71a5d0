/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several BPF objects in one program: what each of them declares under the same name
 * (ebpf-profiler/bpf/unwinder.h) gets the object's name in front. EP_SHIM_NAME comes from the
 * build.
 */
#ifndef EP_REPLAY_SHIM_NAMES_H
#define EP_REPLAY_SHIM_NAMES_H

#define EP_SHIM_PASTE2(a, b) a##_##b
#define EP_SHIM_PASTE(a, b)  EP_SHIM_PASTE2(a, b)
#define EP_SHIM_TEXT2(a)     #a
#define EP_SHIM_TEXT(a)	     EP_SHIM_TEXT2(a)
#define EP_SHIM_OBJECT	     EP_SHIM_TEXT(EP_SHIM_NAME)
#define EP_SHIM_OWN(name)    EP_SHIM_PASTE(EP_SHIM_NAME, name)

#endif
