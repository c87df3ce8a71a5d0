/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a batch as one tree of function names with their weight: from the root of each
 * stack to its leaf, or, for the callers of a function, from its frame that is nearest to the leaf
 * towards the root. What is inlined has nodes of its own. Recursion stays visible: f under f is
 * another node, and `total` of a node is what went through it.
 */
#ifndef EP_VIEW_TREE_H
#define EP_VIEW_TREE_H

#include "core/base/util.h"
#include "core/base/vec.h"

struct ep_batch;

/* What would be deeper counts as the time of the node where there was an end to it. */
#define EP_TREE_MAX_NODES (4u << 20)

struct ep_tree_node {
	uint64_t self, total; /* weight of stacks that end here; that go through */
	uint64_t self_samples, total_samples;
	uint32_t name;			    /* row of strings; 0: without a name */
	uint32_t parent, first_child, next; /* nodes; 0: none. Children: the heaviest first */
};

struct ep_tree {
	const struct ep_batch *batch; /* borrowed */
	struct ep_vec nodes; /* struct ep_tree_node; node 0 is above all roots, without a name */
	bool full;
};

/*
 * wanted: NULL for the whole tree; else one byte per row of strings, not 0 for names whose callers
 * are wanted. 0 or -ENOMEM.
 */
int ep_tree_make(const struct ep_batch *batch, const uint8_t *wanted, struct ep_tree *ret_tree);
void ep_tree_fini(struct ep_tree *tree); /* accepts a zeroed one */

static inline const struct ep_tree_node *ep_tree_at(const struct ep_tree *tree, uint32_t node)
{
	return ep_vec_at(&tree->nodes, const struct ep_tree_node, node);
}

/*
 * The next node in the order of printing, parents before children; 0 at the end. Nodes lighter than
 * `least` and what is below them are left out. *depth is the node's, 0 for roots; begin with node 0
 * and depth -1.
 */
uint32_t ep_tree_next(const struct ep_tree *tree, uint32_t node, uint64_t least, int *depth);

#endif
