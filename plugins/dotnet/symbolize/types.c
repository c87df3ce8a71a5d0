/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/dotnet/symbolize/types.h"

#include "core/base/util.h"
#include "plugins/dotnet/symbolize/friendly.h"
#include "plugins/shared/search.h"

#include <errno.h>
#include <string.h>

#define MAX_PARAMETERS 16 /* of a type or method */

#define TYPE_VISIBILITY 7u /* ECMA-335, II.23.1.15: from 2 on it is nested */
#define TYPE_NESTED	2u
#define SCOPE_TYPE_REF	3u /* the tag of ResolutionScope: it is nested in another one */

/* Is the first column of a row below `key`? Else it is given. *r: the first failure. */
static bool is_below(const struct dotnet_reader *reader, const struct dotnet_table *table, size_t i,
		     uint32_t key, struct dotnet_row *ret, int *r)
{
	struct dotnet_row row;

	if (*r == 0)
		*r = dotnet_metadata_row(reader, table, (uint32_t)i + 1, &row);
	if (*r == 0 && row.columns[0] >= key)
		*ret = row;
	return *r == 0 && row.columns[0] < key;
}

/* The row of a sorted table whose first column is `key`, the first of them: its number, or 0. */
static int find_sorted(const struct dotnet_reader *reader, const struct dotnet_table *table,
		       uint32_t key, struct dotnet_row *ret, uint32_t *ret_rid)
{
	int r = 0;
	uint32_t rid =
		1 + (uint32_t)search_sorted(table->n, i, is_below(reader, table, i, key, ret, &r));

	*ret_rid = r == 0 && rid <= table->n && ret->columns[0] == key ? rid : 0;
	return r;
}

/* --- type parameters ------------------------------------------------------------------------ */

/* TypeOrMethodDef: its tag is one bit. */
#define OWNER_TYPE(rid)	  ((rid) << 1)
#define OWNER_METHOD(rid) ((rid) << 1 | 1)

/* <T,U>: of all type parameters of an owner the last `n`; a nested type has those of the outer ones
 * first. */
static int put_parameters(const struct dotnet_reader *reader,
			  const struct dotnet_metadata *metadata, uint32_t owner, uint32_t n,
			  struct text_writer *writer)
{
	struct dotnet_row rows[MAX_PARAMETERS];
	char name[DOTNET_NAME_BYTES];
	uint32_t first, total;
	int r = find_sorted(reader, &metadata->generics, owner, &rows[0], &first);

	if (r < 0 || !first)
		return r;
	for (total = 1; total < MAX_PARAMETERS && first + total <= metadata->generics.n; total++) {
		r = dotnet_metadata_row(reader, &metadata->generics, first + total, &rows[total]);
		if (r < 0)
			return r;
		if (rows[total].columns[0] != owner)
			break;
	}
	n = EP_MIN(n, total);
	for (uint32_t i = total - n; i < total; i++) {
		r = dotnet_metadata_string(reader, metadata, rows[i].columns[1], name,
					   sizeof(name));
		if (r < 0)
			return r;
		text_put(writer, i == total - n ? '<' : ',');
		text_put_string(writer, name);
	}
	if (n)
		text_put(writer, '>');
	return 0;
}

/* How many a type's name says that it has, Outer`1; *ret_len: of the name without it. */
static uint32_t name_arity(const char *name, size_t *ret_len)
{
	const char *tick = strrchr(name, '`');
	uint32_t n = 0;

	*ret_len = strlen(name);
	if (!tick || !tick[1] || strlen(tick) > 4 ||
	    strspn(tick + 1, "0123456789") != strlen(tick + 1))
		return 0;
	for (const char *digit = tick + 1; *digit; digit++)
		n = n * 10 + (uint32_t)(*digit - '0');
	*ret_len = (size_t)(tick - name);
	return n;
}

/* --- types ---------------------------------------------------------------------------------- */

#define RESERVE                                                                                    \
	(2 * DOTNET_MAX_NESTED + 1) /* each text ends, also where there is no space for more */

static size_t room(const struct dotnet_type *type, size_t most)
{
	size_t end = sizeof(type->texts) - RESERVE;

	return type->bytes < end ? EP_MIN(end - type->bytes, most) : 1;
}

static int add_string(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
		      uint32_t index, struct dotnet_type *type)
{
	char *to = type->texts + type->bytes;
	int r = 0;

	*to = '\0';
	if (index)
		r = dotnet_metadata_string(reader, metadata, index, to,
					   room(type, DOTNET_NAME_BYTES));
	type->bytes += (uint32_t)strlen(to) + 1;
	return r;
}

/* Of a type whose name was added last. */
static int add_parameters(const struct dotnet_reader *reader,
			  const struct dotnet_metadata *metadata, const char *name, uint32_t rid,
			  struct dotnet_type *type)
{
	struct text_writer writer = {.buf = type->texts + type->bytes,
				     .size = room(type, SIZE_MAX)};
	size_t len;
	uint32_t arity = name_arity(name, &len);
	int r = 0;

	*writer.buf = '\0';
	if (arity && writer.size >= 8) {
		r = put_parameters(reader, metadata, OWNER_TYPE(rid), arity, &writer);
		text_end(&writer, false);
	}
	type->bytes += (uint32_t)strlen(writer.buf) + 1;
	return r;
}

/* The rows of a type and those that it is in, innermost first. */
struct chain {
	uint32_t n;
	uint32_t rids[DOTNET_MAX_NESTED];
	struct dotnet_row rows[DOTNET_MAX_NESTED];
};

static int read_chain(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
		      uint32_t rid, struct chain *chain)
{
	struct dotnet_row row;
	uint32_t found;
	int r;

	for (chain->n = 0;;) {
		chain->rids[chain->n] = rid;
		r = dotnet_metadata_row(reader, &metadata->types, rid, &chain->rows[chain->n]);
		if (r < 0)
			return r;
		if ((chain->rows[chain->n++].flags & TYPE_VISIBILITY) < TYPE_NESTED)
			return 0;
		if (chain->n == DOTNET_MAX_NESTED)
			return -EBADMSG;
		r = find_sorted(reader, &metadata->nested, rid, &row, &found);
		if (r < 0 || !found)
			return r < 0 ? r : -EBADMSG;
		rid = row.columns[1];
	}
}

int dotnet_type_read(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
		     uint32_t rid, bool has_parameters, struct dotnet_type *ret)
{
	struct chain chain;
	int r = read_chain(reader, metadata, rid, &chain);

	if (r < 0)
		return r;
	ret->n = chain.n;
	ret->bytes = 0;
	r = add_string(reader, metadata, chain.rows[chain.n - 1].columns[1], ret);
	for (uint32_t i = chain.n; r == 0 && i-- > 0;) {
		const char *name = ret->texts + ret->bytes;

		r = add_string(reader, metadata, chain.rows[i].columns[0], ret);
		if (r == 0)
			r = add_parameters(reader, metadata, has_parameters ? name : "",
					   chain.rids[i], ret);
	}
	return r;
}

int dotnet_type_read_ref(const struct dotnet_reader *reader, const struct dotnet_metadata *metadata,
			 uint32_t rid, struct dotnet_type *ret)
{
	struct dotnet_row rows[DOTNET_MAX_NESTED];
	uint32_t n = 0;
	int r;

	do {
		if (n == DOTNET_MAX_NESTED)
			return -EBADMSG;
		r = dotnet_metadata_row(reader, &metadata->refs, rid, &rows[n]);
		if (r < 0)
			return r;
		rid = rows[n].columns[0] >> 2;
	} while ((rows[n++].columns[0] & 3) == SCOPE_TYPE_REF);
	ret->n = n;
	ret->bytes = 0;
	r = add_string(reader, metadata, rows[n - 1].columns[2], ret);
	for (uint32_t i = n; r == 0 && i-- > 0;) {
		r = add_string(reader, metadata, rows[i].columns[1], ret);
		ret->texts[ret->bytes++] = '\0'; /* no parameters */
	}
	return r;
}

/* --- as text -------------------------------------------------------------------------------- */

static const char *next_text(const char *text)
{
	return text + strlen(text) + 1;
}

/* Returns the first type's name. */
static const char *put_namespace(const struct dotnet_type *type, struct text_writer *writer)
{
	text_put_string(writer, type->texts);
	if (*type->texts)
		text_put(writer, '.');
	return next_text(type->texts);
}

void dotnet_type_put(const struct dotnet_type *type, struct text_writer *writer)
{
	const char *name = put_namespace(type, writer);

	for (uint32_t i = 0; i < type->n; i++, name = next_text(next_text(name))) {
		if (i)
			text_put(writer, '+');
		text_put_string(writer, name);
	}
}

/* --- names as their author wrote them ------------------------------------------------------- */

/* A type's name without the number of its parameters. */
static void take_name(const char *name, char ret[DOTNET_NAME_BYTES])
{
	size_t len;

	(void)name_arity(name, &len);
	memcpy(ret, name, len);
	ret[len] = '\0';
}

/* The types of a method, without what is there for its lambdas alone. True: the last one is of one
 * method. */
static bool put_types(const struct dotnet_type *type, bool is_local, struct text_writer *writer)
{
	const char *name = next_text(type->texts);
	char text[DOTNET_NAME_BYTES];
	bool is_machine;
	uint32_t n = 0;

	for (uint32_t i = 1; i < type->n; i++)
		name = next_text(next_text(name));
	take_name(name, text);
	is_machine = dotnet_friendly_is(DOTNET_PART_MACHINE, text);
	name = put_namespace(type, writer);
	for (uint32_t i = 0; i < type->n; i++, name = next_text(next_text(name))) {
		take_name(name, text);
		if ((is_local || is_machine) && dotnet_friendly_is(DOTNET_PART_CLOSURE, text))
			continue;
		if (n++)
			text_put(writer, '.');
		if (is_machine && i == type->n - 1)
			dotnet_friendly_put(DOTNET_PART_MACHINE, text, writer);
		else
			text_put_string(writer, text);
		text_put_string(writer, next_text(name));
	}
	return is_machine;
}

int dotnet_definition_read(const struct dotnet_reader *reader,
			   const struct dotnet_metadata *metadata, uint32_t rid,
			   struct dotnet_definition *ret)
{
	struct dotnet_row row;
	int r = dotnet_metadata_row(reader, &metadata->methods, rid, &row);

	if (r == 0)
		r = dotnet_metadata_string(reader, metadata, row.columns[0], ret->name,
					   sizeof(ret->name));
	if (r < 0)
		return r;
	ret->rid = rid;
	r = dotnet_metadata_blob(reader, metadata, row.columns[1], &ret->signature);
	if (r < 0)
		ret->signature = (struct dotnet_bytes){.result = r};
	return 0;
}

#define SIGNATURE_GENERIC 0x10 /* II.23.2.1 */

int dotnet_definition_put(const struct dotnet_reader *reader,
			  const struct dotnet_metadata *metadata, const struct dotnet_type *type,
			  const struct dotnet_definition *method, struct text_writer *writer)
{
	struct dotnet_bytes signature = method->signature; /* of which its first byte is read */
	bool is_local = dotnet_friendly_is(DOTNET_PART_METHOD, method->name);
	bool is_machine = put_types(type, is_local, writer);

	if (is_machine && dotnet_friendly_is(DOTNET_PART_STEP, method->name))
		return 0;
	text_put(writer, '.');
	if (is_local)
		dotnet_friendly_put(DOTNET_PART_METHOD, method->name, writer);
	else
		text_put_string(writer, method->name);
	return dotnet_byte(&signature) & SIGNATURE_GENERIC
		       ? put_parameters(reader, metadata, OWNER_METHOD(method->rid), MAX_PARAMETERS,
					writer)
		       : 0;
}
