/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A language's BPF program, compiled for user space: EP_SHIM_SOURCE, of which EP_SHIM_PROGRAM is
 * the one that unwinds. */
#include "core/replay/shim/names.h"

#define ep_records     EP_SHIM_OWN(records)
#define ep_progs       EP_SHIM_OWN(progs)
#define ep_chunks      EP_SHIM_OWN(chunks)
#define ep_states      EP_SHIM_OWN(states)
#define ep_lang_counts EP_SHIM_OWN(lang_counts)
#define ep_memo        EP_SHIM_OWN(memo)
#define ep_scratch     EP_SHIM_OWN(scratch)
#define LICENSE	       EP_SHIM_OWN(license)
#define ep_self	       EP_SHIM_OWN(self)
#include EP_SHIM_SOURCE

#define OBJECT EP_SHIM_PASTE(ep_shim_object, EP_SHIM_NAME)
extern const struct ep_shim_object OBJECT;
const struct ep_shim_object OBJECT = {
	.name = EP_SHIM_OBJECT,
	.constants = &ep_self,
	.constants_bytes = sizeof(ep_self),
	.n_programs = 1,
	.programs = {{EP_SHIM_TEXT(EP_SHIM_PROGRAM), EP_SHIM_PROGRAM}},
};
