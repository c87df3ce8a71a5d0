/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/svg/encode.h"
#include "exporters/shared/text_out.h"
#include "exporters/svg/tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "flame_js.inc.h" /* flame_js: the bytes of flame.js */

/* In pixels; flame.js knows some of them. */
#define WIDTH	   1180 /* of the root */
#define LEFT	   10
#define ROW	   17
#define TOP	   62
#define BOTTOM	   10
#define CHAR_WIDTH 6.6
#define TITLE_CHARS 80 /* of the command; the title's letters are larger */
/* What is narrower is left out: such boxes are in the widths of their callers. */
#define MIN_WIDTH  0.1
#define NS_PER_SEC 1000000000ull

struct drawing {
	const struct ep_batch *batch;
	const struct svg_tree *tree;
	struct ep_text_out *out;
	uint32_t rows;	    /* that are shown */
	uint64_t n_left_out; /* boxes */
};

static const struct svg_node *node_at(const struct drawing *drawing, uint32_t i)
{
	return ep_vec_at(&drawing->tree->nodes, struct svg_node, i);
}

/* Three shades of each, so that neighbours of one kind do not run into each other. */
static const char *const svg_colors[SVG_COLORS][3] = {
	[SVG_PROGRAM] = {"#d4d8dd", "#cad0d6", "#dde1e5"},
	[SVG_NATIVE] = {"#a9cbe8", "#9dc2e2", "#b6d4ed"},
	[SVG_INLINED] = {"#a2dadd", "#96d0d3", "#b0e2e4"},
	[SVG_LANGUAGE] = {"#93cfb5", "#87c6aa", "#a1d8c0"},
	[SVG_KERNEL] = {"#eba98a", "#e59c7a", "#f0b79c"},
	[SVG_CUT] = {"#c4c4c4", "#bababa", "#cecece"},
};

/* --- text ------------------------------------------------------------------------------------- */

/* Text of others in XML: no markup, and none of the characters that XML has not. */
static void put_text(struct ep_text_out *out, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '<')
			ep_text_out_str(out, "&lt;");
		else if (c == '>')
			ep_text_out_str(out, "&gt;");
		else if (c == '&')
			ep_text_out_str(out, "&amp;");
		else if (c == '"')
			ep_text_out_str(out, "&quot;");
		else
			ep_text_out_char(out, c < ' ' || c == 0x7f ? '?' : (char)c);
	}
}

static void put_string(const struct drawing *drawing, uint32_t string)
{
	if (drawing->batch->string_bytes[string])
		put_text(drawing->out, drawing->batch->string_text[string],
			 drawing->batch->string_bytes[string]);
	else
		ep_text_out_str(drawing->out, "[unknown]");
}

/* At most `chars` of it; of less than all the last is an ellipsis, with three it is nothing. */
static void put_cut(struct ep_text_out *out, const char *text, size_t bytes, size_t chars)
{
	size_t n = 0, at = 0, cut = 0;

	for (; at < bytes && n <= chars; at++) {
		if (((unsigned char)text[at] & 0xc0) == 0x80)
			continue;
		if (n + 1 == chars)
			cut = at;
		n++;
	}
	if (n <= chars) {
		put_text(out, text, bytes);
	} else if (chars > 3) {
		put_text(out, text, cut);
		ep_text_out_str(out, "…");
	}
}

static void put_label(const struct drawing *drawing, uint32_t string, size_t chars)
{
	const struct ep_batch *batch = drawing->batch;

	if (!batch->string_bytes[string])
		put_string(drawing, string);
	else
		put_cut(drawing->out, batch->string_text[string],
			batch->string_bytes[string], chars);
}

static bool is_time(const struct drawing *drawing)
{
	return strcmp(drawing->batch->weight_unit, "nanoseconds") == 0;
}

static void put_amount(const struct drawing *drawing, uint64_t weight)
{
	uint64_t all = node_at(drawing, 0)->weight;
	double percent = all ? 100.0 * (double)weight / (double)all : 0;

	if (!is_time(drawing))
		ep_text_out_printf(drawing->out, "%" PRIu64 " %.20s, %.2f %%", weight,
				   drawing->batch->weight_unit, percent);
	else if (weight >= NS_PER_SEC)
		ep_text_out_printf(drawing->out, "%.2f s, %.2f %%", (double)weight / 1e9, percent);
	else
		ep_text_out_printf(drawing->out, "%.1f ms, %.2f %%", (double)weight / 1e6, percent);
}

/* --- boxes ------------------------------------------------------------------------------------ */

static double scaled(const struct drawing *drawing, uint64_t weight)
{
	uint64_t all = node_at(drawing, 0)->weight;

	return all ? WIDTH * ((double)weight / (double)all) : 0;
}

static const char *shade_of(const struct svg_node *node)
{
	return svg_colors[node->color][(node->name * 2654435761u >> 16) % 3];
}

static void put_box(const struct drawing *drawing, const struct svg_node *node)
{
	double x = scaled(drawing, node->at), w = scaled(drawing, node->weight);
	uint32_t y = TOP + node->depth * ROW;
	bool is_root = node->depth == 0;

	ep_text_out_printf(drawing->out, "<g class=\"box\" data-x=\"%.3f\" data-w=\"%.3f\" data-y=\"%u\">\n<title>",
			   x, w, node->depth);
	if (is_root)
		ep_text_out_str(drawing->out, "all");
	else
		put_string(drawing, node->name);
	ep_text_out_str(drawing->out, " (");
	put_amount(drawing, node->weight);
	ep_text_out_printf(drawing->out,
			   ")</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"%s\"/>",
			   LEFT + x, y, w, ROW - 1, shade_of(node));
	if (w >= 4 + CHAR_WIDTH) { /* space for a letter; of most boxes there is none */
		ep_text_out_printf(drawing->out, "<text x=\"%.2f\" y=\"%u\">", LEFT + x + 3,
				   y + 12);
		if (is_root)
			ep_text_out_str(drawing->out, "all");
		else
			put_label(drawing, node->name, (size_t)((w - 4) / CHAR_WIDTH));
		ep_text_out_str(drawing->out, "</text>");
	}
	ep_text_out_str(drawing->out, "</g>\n");
}

/*
 * The node after this one in a walk that goes to children first, if it is shown, then to siblings;
 * 0: that was the last. Nodes know their parents, so no stack is needed, however deep they are.
 */
static uint32_t next_of(const struct drawing *drawing, uint32_t at, bool is_shown)
{
	const struct svg_node *node = node_at(drawing, at);

	if (is_shown && node->child)
		return node->child;
	while (at && !node->next) {
		at = node->parent;
		node = node_at(drawing, at);
	}
	return at ? node->next : 0;
}

/* Draws all boxes, or only finds how many rows they take. */
static void walk(struct drawing *drawing, bool draws)
{
	uint32_t at = 0;

	do {
		const struct svg_node *node = node_at(drawing, at);
		bool is_shown = at == 0 || scaled(drawing, node->weight) >= MIN_WIDTH;

		if (is_shown && draws)
			put_box(drawing, node);
		else if (is_shown)
			drawing->rows = EP_MAX(drawing->rows, node->depth + 1);
		drawing->n_left_out += !is_shown && !draws;
		at = next_of(drawing, at, is_shown);
	} while (at);
}

/* --- around them ------------------------------------------------------------------------------ */

static void put_title(const struct drawing *drawing)
{
	const struct ep_batch *batch = drawing->batch;
	time_t start = (time_t)(batch->start_ns / NS_PER_SEC);
	char when[32] = "";
	struct tm tm;

	if (batch->start_ns && gmtime_r(&start, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm);
	if (EP_HAS(batch, title) && *batch->title) {
		put_cut(drawing->out, batch->title, strlen(batch->title), TITLE_CHARS);
		ep_text_out_str(drawing->out, ": ");
	}
	put_text(drawing->out, batch->host_name, strlen(batch->host_name));
	ep_text_out_printf(drawing->out, "%s%s", *batch->host_name && *when ? ", " : "", when);
	if (batch->duration_ns)
		ep_text_out_printf(drawing->out, "%s%.1f s", *batch->host_name || *when ? ", " : "",
				   (double)batch->duration_ns / 1e9);
	ep_text_out_printf(drawing->out, "%s", is_time(drawing) ? ", CPU time" : "");
}

static void put_head(const struct drawing *drawing)
{
	uint32_t height = TOP + drawing->rows * ROW + BOTTOM;

	ep_text_out_printf(drawing->out,
			   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
			   "viewBox=\"0 0 %d %u\">\n",
			   WIDTH + 2 * LEFT, height, WIDTH + 2 * LEFT, height);
	/* A browser looks for the file's title at each title of a box: it finds it at once. */
	ep_text_out_str(drawing->out, "<title>");
	put_title(drawing);
	ep_text_out_str(drawing->out, "</title>\n");
	ep_text_out_str(drawing->out,
			"<style>text { font: 11px monospace; fill: #1c2126; }\n"
			".box text { pointer-events: none; }\n"
			".box:hover rect { stroke: #1c2126; }\n"
			".hit rect { fill: #e05aa8; }\n"
			".button { cursor: pointer; text-decoration: underline; }\n"
			"#title { font-size: 14px; }</style>\n"
			"<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
	ep_text_out_printf(drawing->out, "<text id=\"title\" x=\"%d\" y=\"24\">", LEFT);
	put_title(drawing);
	ep_text_out_printf(drawing->out,
			   "</text>\n<text id=\"all\" class=\"button\" x=\"%d\" y=\"46\">all</text>\n"
			   "<text id=\"search\" class=\"button\" x=\"%d\" y=\"46\">search</text>\n"
			   "<text id=\"status\" x=\"%d\" y=\"46\">",
			   LEFT, LEFT + 40, LEFT + 110);
	if (drawing->n_left_out)
		ep_text_out_printf(drawing->out, "%" PRIu64 " boxes are too narrow to be shown",
				   drawing->n_left_out);
	ep_text_out_str(drawing->out, "</text>\n");
}

/* In CDATA: flame.js has no "]]>" in it. */
static void put_end(const struct drawing *drawing)
{
	ep_text_out_str(drawing->out, "<script><![CDATA[\n");
	ep_text_out_put(drawing->out, (const char *)flame_js, sizeof(flame_js));
	ep_text_out_str(drawing->out, "]]></script>\n</svg>\n");
}

static int draw(const struct ep_batch *batch, const struct svg_tree *tree, struct ep_sink *sink)
{
	struct drawing drawing = {.batch = batch, .tree = tree, .out = ep_text_out_new(sink)};

	if (!drawing.out)
		return -ENOMEM;
	walk(&drawing, false);
	put_head(&drawing);
	walk(&drawing, true);
	put_end(&drawing);
	return ep_text_out_end(drawing.out);
}

int svg_encode(const struct ep_batch *batch, const char *version, struct ep_sink *sink)
{
	ep_cleanup(svg_tree_fini) struct svg_tree tree = {0};
	int r = svg_tree_make(&tree, batch);

	(void)version;
	if (r == 0)
		r = svg_tree_place(&tree, batch);
	if (r == 0)
		r = draw(batch, &tree, sink);
	if (r == -E2BIG)
		snprintf(sink->why, sizeof(sink->why),
			 "more than %u boxes: choose a part, by --comm or --from and --to", SVG_MAX_NODES);
	return r;
}
