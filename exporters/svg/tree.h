/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All stacks of a batch as one tree from the root on. A node is a function under its callers: those of
 * one name and color are one. Nodes are numbered as they come, so a parent has a lower number than its
 * children; number 0 is the root.
 */
#ifndef SVG_TREE_H
#define SVG_TREE_H

#include "core/base/index.h"
#include "core/base/vec.h"
#include "ebpf-profiler/batch.h"

/* What a box is colored by; in the order of svg_colors (encode.c). */
enum svg_color { SVG_PROGRAM, SVG_NATIVE, SVG_INLINED, SVG_LANGUAGE, SVG_KERNEL, SVG_CUT, SVG_COLORS };

struct svg_node {
	uint32_t parent, name; /* string of the batch */
	uint32_t color;	       /* enum svg_color */
	uint32_t depth;	       /* the root's is 0 */
	uint32_t child, next;  /* first child, next sibling; 0: none */
	uint64_t weight;       /* with all that it called */
	uint64_t at;	       /* weight to the left of it: svg_tree_place */
};

#define SVG_MAX_NODES (1u << 22)

struct svg_tree {
	struct ep_vec nodes; /* struct svg_node */
	struct ep_index index; /* number + 1 */
};

/* 0, -E2BIG, -ENOMEM. */
int svg_tree_make(struct svg_tree *tree, const struct ep_batch *batch);
/* Siblings are put in the order of their names, and each node beside the ones before it. 0, -ENOMEM. */
int svg_tree_place(struct svg_tree *tree, const struct ep_batch *batch);
void svg_tree_fini(struct svg_tree *tree); /* accepts a zeroed one */

#endif
