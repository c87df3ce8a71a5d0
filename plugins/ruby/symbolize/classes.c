/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To 3.1 a class has its name, and a singleton class its object, among its variables, a table by
 * IDs (st.c: struct st_table). The two IDs differ by build. They are learned from classes whose
 * names are known: in the table of rb_cObject and in that of rb_cString the same ID has the strings
 * "Object" and "String", in those of their singleton classes the classes. From 3.3 on there are
 * members for both.
 */
#include "plugins/ruby/symbolize/classes.h"

#include "core/base/util.h"
#include "plugins/ruby/ruby_shared.h"
#include "plugins/ruby/symbolize/objects.h"

#include <errno.h>
#include <string.h>

#define CLASS_TYPES   (RUBY_TYPE_BIT(RUBY_TYPE_CLASS) | RUBY_TYPE_BIT(RUBY_TYPE_MODULE))
#define ANY_CLASS     (CLASS_TYPES | RUBY_TYPE_BIT(RUBY_TYPE_ICLASS))

struct class {
	uint64_t addr;
	uint8_t bytes[RUBY_CLASS_BYTES]; /* with the classext, where it is a part of it */
};

/* st_table_entry */
struct variable {
	uint64_t hash, id, value;
};

struct variables {
	size_t len;
	struct variable at[RUBY_MAX_VARIABLES];
};

static int class_read(const struct ruby_namer *namer, uint64_t addr, uint32_t types,
		      struct class *ret)
{
	*ret = (struct class){.addr = addr};
	return ruby_object_read(namer, &ret->addr, types, ret->bytes, sizeof(ret->bytes));
}

static bool is_singleton(const struct ruby_layout *layout, const struct class *class)
{
	uint64_t flags = ruby_word(class->bytes, 0);

	return (flags & RUBY_TYPE_MASK) == RUBY_TYPE_CLASS && flags >> layout->class.singleton & 1;
}

/* Of the classext; 0 where the class is too short for it. */
static uint64_t ext_word(const struct ruby_layout *layout, const struct class *class, uint32_t off)
{
	size_t at = layout->class.ext + (size_t)off;

	return at + 8 <= sizeof(class->bytes) ? ruby_word(class->bytes, at) : 0;
}

/* --- to 3.1: variables ------------------------------------------------------------------------ */

/* st.h: struct st_table, words: entries_start, entries_bound, entries. */
enum { ST_START = 4, ST_BOUND = 5, ST_ENTRIES = 6, ST_WORDS = 7 };

static int read_variables(const struct ruby_namer *namer, const struct class *class,
			  struct variables *ret)
{
	uint64_t table = ruby_word(class->bytes, namer->layout->class.ext), words[ST_WORDS];
	int r;

	ret->len = 0;
	if (!table)
		return 0;
	r = memory_read(&namer->memory, table + namer->layout->class.iv_table, &table,
			sizeof(table));
	if (r < 0 || !table)
		return r;
	r = memory_read(&namer->memory, table, words, sizeof(words));
	if (r < 0 || words[ST_BOUND] <= words[ST_START])
		return r;
	ret->len = EP_MIN(words[ST_BOUND] - words[ST_START], (uint64_t)RUBY_MAX_VARIABLES);
	return memory_read(&namer->memory, words[ST_ENTRIES] + words[ST_START] * sizeof(ret->at[0]),
			   ret->at, ret->len * sizeof(ret->at[0]));
}

/* 0: there is none of that ID. */
static uint64_t find_value(const struct variables *variables, uint64_t id)
{
	for (size_t i = 0; i < variables->len; i++) {
		if (variables->at[i].id == id && variables->at[i].hash != UINT64_MAX)
			return variables->at[i].value;
	}
	return 0;
}

/* Its variables, and those of its singleton class. */
struct known_class {
	struct class class, singleton;
	struct variables variables, of_singleton;
};

static int read_known(const struct ruby_namer *namer, uint64_t variable_addr,
		      struct known_class *ret)
{
	uint64_t addr;
	int r = memory_read(&namer->memory, variable_addr, &addr, sizeof(addr));

	if (r == 0)
		r = class_read(namer, addr, CLASS_TYPES, &ret->class);
	if (r == 0)
		r = read_variables(namer, &ret->class, &ret->variables);
	if (r == 0)
		r = class_read(namer, ruby_word(ret->class.bytes, 8), CLASS_TYPES, &ret->singleton);
	return r < 0 ? r : read_variables(namer, &ret->singleton, &ret->of_singleton);
}

static bool is_text(const struct ruby_namer *namer, uint64_t string, const char *want)
{
	char text[RUBY_NAME_BYTES];

	return ruby_is_object(string) && ruby_string_read(namer, string, text, sizeof(text)) == 0 &&
	       strcmp(text, want) == 0;
}

/* 0, or EP_NOT_YET. */
static int learn_from(struct ruby_namer *namer, const struct known_class *object,
		      const struct known_class *string)
{
	uint64_t path = 0, attached = 0;

	for (size_t i = 0; i < object->variables.len && !path; i++) {
		uint64_t id = object->variables.at[i].id;

		if (is_text(namer, object->variables.at[i].value, "Object") &&
		    is_text(namer, find_value(&string->variables, id), "String"))
			path = id;
	}
	for (size_t i = 0; i < object->of_singleton.len && !attached; i++) {
		uint64_t id = object->of_singleton.at[i].id;

		if (object->of_singleton.at[i].value == object->class.addr &&
		    find_value(&string->of_singleton, id) == string->class.addr)
			attached = id;
	}
	if (!path || !attached)
		return EP_NOT_YET;
	namer->ids->attached = attached;
	namer->ids->path = path;
	return 0;
}

/* A function of its own, for its large frame: once for a process. */
static __attribute__((noinline)) int learn_ids(struct ruby_namer *namer)
{
	struct known_class object, string;
	int r = namer->object_addr && namer->string_addr
			? read_known(namer, namer->object_addr, &object)
			: RUBY_NO_CLASS_NAME;

	if (r == 0)
		r = read_known(namer, namer->string_addr, &string);
	return r ? r : learn_from(namer, &object, &string);
}

/* --- all releases ----------------------------------------------------------------------------- */

/* Names that are not permanent begin with "#<", those that programs set (Module#set_temporary_name)
 * are no constant's. */
static bool is_constant(const char *name)
{
	return (name[0] >= 'A' && name[0] <= 'Z') || (name[0] & 0x80);
}

static bool is_permanent(const struct ruby_layout *layout, const struct class *class)
{
	size_t at = layout->class.ext + (size_t)layout->class.permanent;

	return !layout->class.permanent ||
	       (at < sizeof(class->bytes) && class->bytes[at] & 1);
}

/* Words of the class; 0: it has none. `path`: its name, else of a singleton class its object. */
static int member_read(struct ruby_namer *namer, const struct class *class, bool path,
		       uint64_t *ret)
{
	const struct ruby_layout *layout = namer->layout;
	struct variables variables;
	int r;

	*ret = 0;
	if (!layout->class.ext_is_pointer) {
		if (!path || is_permanent(layout, class))
			*ret = ext_word(layout, class, path ? layout->class.classpath
							    : layout->class.attached);
		return 0;
	}
	if (!layout->class.iv_table)
		return 0;
	r = namer->ids->path ? 0 : learn_ids(namer);
	if (r == 0)
		r = read_variables(namer, class, &variables);
	if (r == 0)
		*ret = find_value(&variables, path ? namer->ids->path : namer->ids->attached);
	return r;
}

int ruby_owner_read(struct ruby_namer *namer, uint64_t owner, char *buf, size_t size,
		    bool *ret_singleton)
{
	struct class class;
	uint64_t value;
	int r = class_read(namer, owner, ANY_CLASS, &class);

	/* What a module is included by: of the module itself. */
	if (r == 0 && (ruby_word(class.bytes, 0) & RUBY_TYPE_MASK) == RUBY_TYPE_ICLASS)
		r = class_read(namer, ruby_word(class.bytes, 8), CLASS_TYPES, &class);
	if (r < 0)
		return r;
	*ret_singleton = is_singleton(namer->layout, &class);
	if (*ret_singleton) {
		r = member_read(namer, &class, false, &value);
		if (r)
			return r;
		/* What else there may be has no name before its methods. */
		r = class_read(namer, value, CLASS_TYPES, &class);
		if (r == -EBADMSG || (r == 0 && is_singleton(namer->layout, &class)))
			return RUBY_NO_CLASS_NAME;
	}
	if (r == 0)
		r = member_read(namer, &class, true, &value);
	if (r == 0 && !ruby_is_object(value))
		return RUBY_NO_CLASS_NAME;
	if (r == 0)
		r = ruby_string_read(namer, value, buf, size);
	return r == 0 && !is_constant(buf) ? RUBY_NO_CLASS_NAME : r;
}

int ruby_names_is_class(struct ruby_namer *namer, uint64_t addr, const char *name)
{
	const struct ruby_class_layout *layout = &namer->layout->class;
	char found[RUBY_NAME_BYTES];
	bool singleton;
	int r;

	if (!addr)
		return EP_NOT_YET;
	if (layout->ext_is_pointer && !layout->iv_table) {
		struct class class;

		r = class_read(namer, addr, CLASS_TYPES, &class);
	} else {
		r = ruby_owner_read(namer, addr, found, sizeof(found), &singleton);
		if (r == 0 && (singleton || strcmp(found, name) != 0))
			r = -ENOTSUP;
	}
	return r == RUBY_NO_CLASS_NAME ? EP_NOT_YET : r == -EBADMSG ? -ENOTSUP : r;
}
