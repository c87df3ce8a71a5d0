/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/svg/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct growing {
	struct svg_tree *tree;
	const struct ep_batch *batch;
	uint32_t kernel, native, unknown; /* strings of location_kind */
};

static struct svg_node *node_at(const struct svg_tree *tree, uint32_t i)
{
	return ep_vec_at(&tree->nodes, struct svg_node, i);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static uint64_t hash_of(uint32_t parent, uint32_t name, uint32_t color)
{
	uint64_t hash = ((uint64_t)parent << 32 | name) + 0x9e3779b97f4a7c15ull * (color + 1);

	/* The last steps of MurmurHash3: an index keeps the upper half. */
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ull;
	return hash ^ hash >> 33;
}

/* The child of this name and color, maybe a new one, into *node. 0, -E2BIG, -ENOMEM. */
static int go_to(struct svg_tree *tree, uint32_t *node, uint32_t name, uint32_t color)
{
	uint64_t hash = hash_of(*node, name, color);
	struct svg_node child = {.parent = *node, .name = name, .color = color};
	size_t pos;
	int r;

	for (uint32_t at = ep_index_first(&tree->index, hash, &pos); at;
	     at = ep_index_next(&tree->index, hash, &pos)) {
		const struct svg_node *known = node_at(tree, at - 1);

		if (known->parent == *node && known->name == name && known->color == color) {
			*node = at - 1;
			return 0;
		}
	}
	child.depth = node_at(tree, *node)->depth + 1;
	child.next = node_at(tree, *node)->child;
	r = ep_vec_append(&tree->nodes, &child, 1);
	if (r < 0)
		return r;
	node_at(tree, child.parent)->child = *node = (uint32_t)tree->nodes.len - 1;
	return ep_index_add(&tree->index, hash, (uint32_t)tree->nodes.len);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static uint32_t color_of(const struct growing *growing, uint32_t location, bool is_inlined)
{
	const struct ep_batch *batch = growing->batch;
	uint32_t kind = batch->location_kind[location];

	if (batch->location_flags[location] & (EP_LOCATION_ERROR | EP_LOCATION_GAP))
		return SVG_CUT;
	if (kind == growing->kernel)
		return SVG_KERNEL;
	if (is_inlined)
		return SVG_INLINED;
	return kind == growing->native || kind == growing->unknown ? SVG_NATIVE : SVG_LANGUAGE;
}

static int add_location(const struct growing *growing, uint32_t location, uint64_t weight,
			uint32_t *node)
{
	const struct ep_batch *batch = growing->batch;
	uint32_t first = batch->location_line_first[location];
	uint32_t end = batch->location_line_first[location + 1];
	int r = 0;

	for (uint32_t line = end; r == 0 && line-- > first;) {
		uint32_t function = batch->line_function[line];

		r = go_to(growing->tree, node, batch->function_name[function],
			  color_of(growing, location, line + 1 < end));
		if (r == 0)
			node_at(growing->tree, *node)->weight += weight;
	}
	return r;
}

/* A process that was gone before its name was read has its thread's. */
static uint32_t comm_of(const struct ep_batch *batch, uint32_t row)
{
	uint32_t comm = batch->process_comm[batch->sample_process[row]];

	return comm ? comm : batch->sample_thread_name[row];
}

static int add_sample(const struct growing *growing, uint32_t row)
{
	const struct ep_batch *batch = growing->batch;
	uint32_t stack = batch->sample_stack[row], first = batch->stack_location_first[stack];
	uint64_t weight = ep_batch_weight_ns(batch, row);
	uint32_t node = 0;
	int r = 0;

	node_at(growing->tree, 0)->weight += weight;
	/* A file of others may know no program: then its functions come first. */
	if (comm_of(batch, row)) {
		r = go_to(growing->tree, &node, comm_of(batch, row), SVG_PROGRAM);
		if (r == 0)
			node_at(growing->tree, node)->weight += weight;
	}
	for (uint32_t at = batch->stack_location_first[stack + 1]; r == 0 && at-- > first;)
		r = add_location(growing, batch->stack_location[at], weight, &node);
	return r;
}

static uint32_t find_string(const struct ep_batch *batch, const char *text)
{
	for (uint32_t i = 1; i < batch->n_strings; i++) {
		if (strcmp(batch->string_text[i], text) == 0)
			return i;
	}
	return UINT32_MAX;
}

int svg_tree_make(struct svg_tree *tree, const struct ep_batch *batch)
{
	const struct growing growing = {
		.tree = tree,
		.batch = batch,
		.kernel = find_string(batch, "kernel"),
		.native = find_string(batch, "native"),
		.unknown = find_string(batch, "unknown"),
	};
	int r = 0;

	ep_vec_init(&tree->nodes, sizeof(struct svg_node), SVG_MAX_NODES);
	if (!ep_vec_push(&tree->nodes))
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < batch->n_samples; i++) {
		if (ep_batch_weight_ns(batch, i))
			r = add_sample(&growing, i);
	}
	return r;
}

/* --- places ----------------------------------------------------------------------------------- */

struct sorting {
	const struct svg_tree *tree;
	const struct ep_batch *batch;
};

static int compare_nodes(const void *left, const void *right, void *arg)
{
	const struct sorting *sorting = arg;
	const struct svg_node *a = node_at(sorting->tree, *(const uint32_t *)left);
	const struct svg_node *b = node_at(sorting->tree, *(const uint32_t *)right);
	int r = strcmp(sorting->batch->string_text[a->name], sorting->batch->string_text[b->name]);

	return r ? r : (a->color > b->color) - (a->color < b->color);
}

static void place_children(struct svg_tree *tree, uint32_t parent, uint32_t *children, size_t n)
{
	uint64_t at = node_at(tree, parent)->at;
	uint32_t *link = &node_at(tree, parent)->child;

	for (size_t i = 0; i < n; i++) {
		struct svg_node *child = node_at(tree, children[i]);

		*link = children[i];
		link = &child->next;
		child->at = at;
		at += child->weight;
	}
	*link = 0;
}

/* A parent is placed before its children, since its number is lower. */
int svg_tree_place(struct svg_tree *tree, const struct ep_batch *batch)
{
	struct sorting sorting = {.tree = tree, .batch = batch};
	ep_autofree uint32_t *children = malloc(tree->nodes.len * sizeof(*children));

	if (!children)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->nodes.len; i++) {
		size_t n = 0;

		for (uint32_t at = node_at(tree, i)->child; at; at = node_at(tree, at)->next)
			children[n++] = at;
		if (n == 0)
			continue;
		qsort_r(children, n, sizeof(*children), compare_nodes, &sorting);
		place_children(tree, i, children, n);
	}
	return 0;
}

void svg_tree_fini(struct svg_tree *tree)
{
	ep_vec_fini(&tree->nodes);
	ep_index_fini(&tree->index);
}
