/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/symbolize/lines.h"

#include "core/base/util.h"

#include <errno.h>
#include <string.h>

#define MAX_OPS	  512 /* of one statement that are looked at */
#define MAX_DEPTH 48  /* of a statement's tree */

#define OPF_KIDS 4 /* op.h */

/* op.h: BASEOP and UNOP's op_first. The same in v5.28.3 to v5.44.0. */
struct op {
	uint64_t next, sibling, ppaddr, targ;
	uint16_t bits; /* op_type: 9 bits; op_moresib: bit 14 */
	uint8_t flags, private;
	uint32_t line; /* of a COP */
	uint64_t first;
};
_Static_assert(sizeof(struct op) == 48, "BASEOP is 40 bytes");

#define OP_TYPE(op)    ((op)->bits & 0x1ff)
#define OP_MORESIB(op) ((op)->bits >> 14 & 1)

static bool is_statement(const struct pl_reader *reader, const struct op *op)
{
	const struct pl_ops *ops = &reader->layout->ops;
	uint32_t type = OP_TYPE(op);

	if (type == 0) /* OP_NULL: what it was is in op_targ */
		type = (uint32_t)op->targ;
	return type == ops->nextstate || type == ops->dbstate;
}

int pl_read_statement(const struct pl_reader *reader, uint64_t cop, uint32_t *ints)
{
	return pl_read(reader, cop + PL_COP_AT, ints, PL_COP_INTS * sizeof(*ints));
}

/* Without threads a COP has the glob of its file, "_<" and the name (gv.h: CopFILE). */
static int read_file(const struct pl_reader *reader, const uint32_t *ints, struct pl_place *place)
{
	uint64_t file;
	int r;

	memcpy(&file, ints + PL_COP_FILE, sizeof(file));
	if (!file)
		return 0;
	if (reader->layout->threads)
		return pl_read_string(reader, file, place->file, sizeof(place->file));
	r = pl_read_glob_name(reader, file, true, NULL, place->file, sizeof(place->file));
	if (r == 0 && strncmp(place->file, "_<", 2) == 0)
		memmove(place->file, place->file + 2, strlen(place->file) - 1);
	return r;
}

int pl_read_place(const struct pl_reader *reader, uint64_t cop, struct pl_place *ret)
{
	uint32_t ints[PL_COP_INTS];
	int r = pl_read_statement(reader, cop, ints);

	if (r < 0)
		return r;
	ret->file[0] = '\0';
	r = read_file(reader, ints, ret);
	if (r < 0)
		ret->file[0] = '\0';
	ret->line = ints[PL_COP_LINE] == PL_NO_LINE ? 0 : ints[PL_COP_LINE];
	return r;
}

/* A walk through one statement's tree, kids first to last. */
struct walk {
	struct pl_reader *reader;
	uint64_t wanted;
	bool leaf;
	bool lost; /* an op could not be read */
	uint32_t n_ops, depth;
	uint64_t cops[MAX_DEPTH]; /* of each level: the last statement before */
};

static bool is_wanted(const struct walk *walk, uint64_t addr, const struct op *op)
{
	return walk->leaf ? addr == walk->wanted : op->next == walk->wanted;
}

/* The next op after this one that is not below it; 0: there is none in the statement. */
static uint64_t next_beside(struct walk *walk, struct op *op)
{
	while (walk->depth > 0 && !OP_MORESIB(op)) {
		/* Without a sibling it is the parent. */
		if (walk->n_ops++ >= MAX_OPS || !op->sibling)
			return 0;
		walk->lost = pl_read_near(walk->reader, op->sibling, op, sizeof(*op)) < 0;
		if (walk->lost)
			return 0;
		walk->depth--;
	}
	return walk->depth > 0 ? op->sibling : 0;
}

static uint64_t search(struct walk *walk, uint64_t addr)
{
	struct op op;

	while (addr && walk->n_ops++ < MAX_OPS) {
		uint64_t *cop = &walk->cops[walk->depth];

		walk->lost = pl_read_near(walk->reader, addr, &op, sizeof(op)) < 0;
		if (walk->lost)
			return 0;
		/* One that was taken out: only within what is searched, not the statement after
		 * it. */
		if (walk->depth > 0 && OP_TYPE(&op) == 0 && is_statement(walk->reader, &op))
			*cop = addr;
		if (is_wanted(walk, addr, &op))
			return *cop;
		if (op.flags & OPF_KIDS && op.first && walk->depth + 1 < MAX_DEPTH) {
			walk->cops[walk->depth + 1] = *cop;
			walk->depth++;
			addr = op.first;
			continue;
		}
		addr = next_beside(walk, &op);
	}
	return 0;
}

bool pl_closest_statement(struct pl_reader *reader, uint64_t op, bool leaf, uint64_t *cop)
{
	struct walk walk = {.reader = reader, .wanted = op, .leaf = leaf, .cops = {*cop}};
	struct op statement;
	uint64_t found;

	if (!op)
		return true;
	if (pl_read_near(reader, *cop, &statement, sizeof(statement)) < 0)
		return false;
	if (!is_statement(reader, &statement) || !OP_MORESIB(&statement))
		return true;
	found = search(&walk, statement.sibling);
	if (found)
		*cop = found;
	return !walk.lost;
}

/* The root of its tree, which has neither sibling nor parent; 0: not found. */
static uint64_t find_root(struct pl_reader *reader, uint64_t addr, struct op *op)
{
	for (uint32_t i = 0; i < MAX_OPS; i++) {
		if (pl_read_near(reader, addr, op, sizeof(*op)) < 0)
			return 0;
		if (!op->sibling)
			return OP_MORESIB(op) ? 0 : addr;
		addr = op->sibling;
	}
	return 0;
}

/* A sub may begin with other ops, such as those that clone lexical subs. */
uint64_t pl_first_statement(struct pl_reader *reader, uint64_t cop)
{
	struct walk walk = {.reader = reader};
	struct op op;
	uint64_t addr = find_root(reader, cop, &op);

	while (addr && walk.n_ops++ < MAX_OPS) {
		if (is_statement(reader, &op))
			return addr;
		if (op.flags & OPF_KIDS && op.first && walk.depth + 1 < MAX_DEPTH) {
			walk.depth++;
			addr = op.first;
		} else {
			addr = next_beside(&walk, &op);
		}
		if (addr && pl_read_near(reader, addr, &op, sizeof(op)) < 0)
			return 0;
	}
	return 0;
}
