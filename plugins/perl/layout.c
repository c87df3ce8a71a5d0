/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read at the tags that are named, and computed by the compiler from their headers (docs/perl.md
 * says how); 5.32.1, 5.36.0, 5.40.1, 5.42.3 and 5.44.0 from those Debian ships.
 */
#include "plugins/perl/layout.h"

#include "core/base/util.h"
#include "plugins/shared/release.h"

/* intrpvar.h, struct interpreter of a build with threads: Iop, Icurcop, Icurstackinfo, Idefstash,
 * IDBsub, Icompiling, Iincgv, Iorigfilename. */
static const struct {
	uint32_t release; /* minor, the first one */
	struct pl_members members;
} members[] = {
	/* minor      op  cop stack defstash dbsub compiling incgv origfile */
	{28, {8, 224, 240, 208, 1672, 1952, 1472, 1488}}, /* v5.28.3, v5.30.3, v5.32.1 */
	{33, {8, 208, 224, 192, 1656, 1936, 1456, 1472}}, /* v5.34.3, v5.36.0 */
	{37, {8, 208, 224, 192, 1440, 1720, 1224, 1240}}, /* v5.38.2, v5.40.1, v5.42.3, v5.44.0 */
};

/* cop.h, struct context: size, blk_sub.cv (as blk_format.cv), blk_eval.cv, blk_eval.cur_top_env. */
static const struct {
	uint32_t release; /* minor */
	struct pl_contexts contexts;
} contexts[] = {
	{28, {96, 64, 80, 88}},	 /* v5.28.3, v5.30.3 */
	{31, {104, 72, 88, 96}}, /* v5.32.1 to v5.44.0: old_cxsubix */
};

/* opnames.h: OP_ENTERSUB, OP_REQUIRE, OP_ENTEREVAL, OP_NEXTSTATE, OP_DBSTATE. */
static const struct {
	uint32_t release; /* minor */
	struct pl_ops ops;
} ops[] = {
	{28, {184, 342, 345, 195, 196}}, /* v5.28.3 to v5.36.0 */
	{37, {187, 345, 348, 198, 199}}, /* v5.38.2, v5.40.1 */
	{41, {191, 349, 352, 202, 203}}, /* v5.42.3, v5.44.0 */
};

bool pl_layout_find(uint32_t minor, struct pl_layout *ret)
{
	if (minor < PL_MINOR_MIN)
		return false;
	*ret = (struct pl_layout){.minor = minor, .aux_in_body = minor >= 35};
	ret->members = release_row(members, minor)->members;
	ret->contexts = release_row(contexts, minor)->contexts;
	ret->ops = release_row(ops, minor)->ops;
	return true;
}
