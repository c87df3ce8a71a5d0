/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/view/tree.h"
#include "core/base/map.h"
#include "ebpf-profiler/batch.h"
#include "reports/view/tally.h"

#define MAX_PATH_NAMES (1u << 20) /* of one stack, inlined ones as well */

struct growing {
	struct ep_tree *tree;
	struct ep_map children; /* (parent, name) to node */
	struct ep_vec path;	/* uint32_t: names of a stack, leaf first */
};

static struct ep_tree_node *node_at(struct ep_tree *tree, uint32_t node)
{
	return ep_vec_at(&tree->nodes, struct ep_tree_node, node);
}

/* 0 with the node; 1 when the tree is full. */
static int find_child(struct growing *growing, uint32_t parent, uint32_t name, uint32_t *ret_node)
{
	uint64_t key = (uint64_t)parent << 32 | name;
	const uint64_t *found = ep_map_find(&growing->children, key);
	struct ep_tree *tree = growing->tree;
	struct ep_tree_node *node;

	if (found) {
		*ret_node = (uint32_t)*found;
		return 0;
	}
	if (tree->nodes.len == EP_TREE_MAX_NODES) {
		tree->full = true;
		return 1;
	}
	node = ep_vec_push(&tree->nodes);
	if (!node)
		return -ENOMEM;
	*ret_node = (uint32_t)tree->nodes.len - 1;
	node->name = name;
	node->parent = parent;
	return ep_map_set(&growing->children, key, *ret_node);
}

static int push_name(struct growing *growing, uint32_t name)
{
	int r = ep_vec_append(&growing->path, &name, 1);

	return r == -E2BIG ? 0 : r;
}

static int push_location(struct growing *growing, uint32_t location)
{
	const struct ep_batch *batch = growing->tree->batch;
	uint32_t first = batch->location_line_first[location],
		 end = batch->location_line_first[location + 1];
	int r = first == end ? push_name(growing, 0) : 0;

	for (uint32_t i = first; i < end && r == 0; i++)
		r = push_name(growing, batch->function_name[batch->line_function[i]]);
	return r;
}

static int make_path(struct growing *growing, uint32_t stack)
{
	const struct ep_batch *batch = growing->tree->batch;
	int r = 0;

	growing->path.len = 0;
	for (uint32_t i = batch->stack_location_first[stack];
	     i < batch->stack_location_first[stack + 1] && r == 0; i++)
		r = push_location(growing, batch->stack_location[i]);
	return r;
}

static void count(struct ep_tree_node *node, uint64_t weight, uint64_t samples)
{
	node->total += weight;
	node->total_samples += samples;
}

/* Names from `from`, `n` of them, in steps of -1 or 1. */
static int add_path(struct growing *growing, const uint32_t *from, size_t n, int step,
		    uint64_t weight, uint64_t samples)
{
	uint32_t node = 0;
	int r = 0;

	count(node_at(growing->tree, 0), weight, samples);
	for (size_t i = 0; i < n; i++, from += step) {
		r = find_child(growing, node, *from, &node);
		if (r != 0)
			break;
		count(node_at(growing->tree, node), weight, samples);
	}
	if (r >= 0 && node) {
		node_at(growing->tree, node)->self += weight;
		node_at(growing->tree, node)->self_samples += samples;
	}
	return r < 0 ? r : 0;
}

static int add_stack(struct growing *growing, const uint8_t *wanted, uint64_t weight,
		     uint64_t samples)
{
	const uint32_t *names = growing->path.data;
	size_t n = growing->path.len, i = 0;

	if (n == 0)
		return 0;
	if (!wanted)
		return add_path(growing, names + n - 1, n, -1, weight, samples);
	while (i < n && !wanted[names[i]])
		i++;
	return i < n ? add_path(growing, names + i, n - i, 1, weight, samples) : 0;
}

/* --- order ----------------------------------------------------------------------------------- */

/* Lightest first, since each is put before its siblings; then the last name. */
static int by_weight(const void *left, const void *right, void *arg)
{
	const struct ep_tree *tree = arg;
	const struct ep_tree_node *a = ep_tree_at(tree, *(const uint32_t *)left);
	const struct ep_tree_node *b = ep_tree_at(tree, *(const uint32_t *)right);

	if (a->total != b->total)
		return a->total < b->total ? -1 : 1;
	return a->name > b->name ? -1 : a->name < b->name;
}

static int link_children(struct ep_tree *tree)
{
	size_t n = tree->nodes.len - 1;
	ep_autofree uint32_t *order = calloc(n + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i + 1;
	if (n > 1)
		qsort_r(order, n, sizeof(*order), by_weight, tree);
	for (size_t i = 0; i < n; i++) {
		struct ep_tree_node *node = node_at(tree, order[i]);
		struct ep_tree_node *parent = node_at(tree, node->parent);

		node->next = parent->first_child;
		parent->first_child = order[i];
	}
	return 0;
}

uint32_t ep_tree_next(const struct ep_tree *tree, uint32_t node, uint64_t least, int *depth)
{
	uint32_t child = ep_tree_at(tree, node)->first_child;

	if (child && ep_tree_at(tree, child)->total >= least) {
		++*depth;
		return child;
	}
	while (node) {
		uint32_t next = ep_tree_at(tree, node)->next;

		if (next && ep_tree_at(tree, next)->total >= least)
			return next;
		node = ep_tree_at(tree, node)->parent;
		--*depth;
	}
	return 0;
}

static void growing_fini(struct growing *growing)
{
	ep_map_fini(&growing->children);
	ep_vec_fini(&growing->path);
}

int ep_tree_make(const struct ep_batch *batch, const uint8_t *wanted, struct ep_tree *ret_tree)
{
	ep_cleanup(ep_tree_fini) struct ep_tree tree = {.batch = batch};
	ep_cleanup(growing_fini) struct growing growing = {.tree = &tree};
	ep_cleanup(ep_stack_weights_fini) struct ep_stack_weights weights = {0};
	int r;

	ep_vec_init(&tree.nodes, sizeof(struct ep_tree_node), EP_TREE_MAX_NODES);
	ep_vec_init(&growing.path, sizeof(uint32_t), MAX_PATH_NAMES);
	ep_map_init(&growing.children, EP_TREE_MAX_NODES);
	if (!ep_vec_push(&tree.nodes))
		return -ENOMEM;
	r = ep_stack_weights_make(batch, &weights);
	for (uint32_t i = 0; i < batch->n_stacks && r == 0; i++) {
		if (!weights.samples[i])
			continue;
		r = make_path(&growing, i);
		if (r == 0)
			r = add_stack(&growing, wanted, weights.weight[i], weights.samples[i]);
	}
	if (r == 0)
		r = link_children(&tree);
	if (r < 0)
		return r;
	*ret_tree = tree;
	tree = (struct ep_tree){0};
	return 0;
}

void ep_tree_fini(struct ep_tree *tree)
{
	ep_vec_fini(&tree->nodes);
}
