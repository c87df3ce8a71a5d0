/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of a method:
 *
 *	Method ──► ConstMethod | bytecodes | line table | ...
 *		     └──► ConstantPool | entries	name, signature, from 17 on file: Symbols
 *			     └──► InstanceKlass		the class's name, source map, to 16 file
 *
 * A method that is read is one at an address at some time: the caller knows how to tell that it was
 * the one that is meant, before and after.
 */
#ifndef HOTSPOT_METHODS_H
#define HOTSPOT_METHODS_H

#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/layout.h"
#include "plugins/hotspot/symbolize/lines.h"
#include "plugins/shared/names/cache.h"
#include "plugins/shared/read/memory.h"

#define HOTSPOT_ITEM_METHOD 1
#define HOTSPOT_MAX_CONST   128 /* bytes of struct ConstMethod; 48 to 56 today */

/* All of what a method is named by; other methods that are later at its addresses have another
 * one. */
struct hotspot_identity {
	uint64_t method, word; /* as an interpreted frame has them: hotspot_shared.h */
	struct hotspot_way way;
	uint32_t code_bytes, name, signature, file; /* numbers of the pool's entries */
	uint32_t pool_len;
	uint32_t const_bytes; /* with all that follows it */
	uint64_t debug;	      /* address of the source map, 0: none */
	bool has_lines;
};

struct hotspot_method {
	struct names_item item; /* key: method, word */
	struct hotspot_identity identity;
	const char *function, *system_name;
	const char *const *files; /* files[0]: the class's, maybe NULL */
	const struct hotspot_line *lines;
	size_t n_lines;
	uint32_t start_line;
};

struct hotspot_methods {
	const struct memory *memory;
	const struct hotspot_layout *layout;
	struct names_cache *cache;
	uint32_t *excluded; /* unsigned5.h */
};

/* 0, -EBADMSG, -EFAULT, -ESRCH. Seven reads. */
int hotspot_identity_read(const struct hotspot_methods *methods, uint64_t method,
			  struct hotspot_identity *ret);
/*
 * Is word 1 of a frame this method's? BPF reads no page that the process has not touched, and finds
 * 0 there: such pages are of class data archives, which are never unloaded, so what else is the
 * same is enough.
 */
bool hotspot_identity_is(const struct hotspot_identity *identity, uint64_t word);
bool hotspot_identity_equal(const struct hotspot_identity *a, const struct hotspot_identity *b);

/*
 * The method at an address, from the cache if it is the very same. *ret_read: its names were read
 * now, the caller checks again. With a reference. Also -ENOMEM.
 */
int hotspot_method_get(const struct hotspot_methods *methods,
		       const struct hotspot_identity *identity, struct hotspot_method **ret,
		       bool *ret_read);

/* Where bci -1 is the first bytecode. NULL: not known. */
const struct hotspot_line *hotspot_method_line(const struct hotspot_method *method, int64_t bci);

#endif
