/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/symbolize/frame.h"

bool pl_kind_has_cv(enum pl_kind kind)
{
	return kind == PL_KIND_SUB || kind == PL_KIND_FORMAT;
}

bool pl_kind_is_sub(enum pl_kind kind)
{
	return pl_kind_has_cv(kind) || kind == PL_KIND_CLOSURE;
}

/* As many bits of it as there is space for: of PL_NO_LINE all are set. */
static uint32_t line_in(uint64_t line, uint32_t bits)
{
	return line == (1ull << bits) - 1 ? 0 : (uint32_t)line;
}

static void take_text(const struct ep_raw_frame *raw, struct pl_frame *frame)
{
	uint64_t text = raw->words[0] & PL_ADDRESS_MASK;

	if (pl_kind_is_sub(frame->kind))
		text = raw->n_words > 2 ? raw->words[2] & PL_ADDRESS_MASK : 0;
	frame->line = line_in(text >> PL_TEXT_BITS, PL_ADDRESS_BITS - PL_TEXT_BITS);
	frame->text = (uint32_t)text & ((1u << PL_TEXT_BITS) - 1);
}

static void take_name(uint64_t word, struct pl_frame *frame)
{
	frame->name = word;
	if (frame->kind == PL_KIND_CLOSURE)
		return;
	frame->name = word & PL_ADDRESS_MASK;
	/* Without a statement of its own it is the caller's. */
	frame->line = frame->cop ? line_in(word >> PL_ADDRESS_BITS, 64 - PL_ADDRESS_BITS) : 0;
}

void pl_frame_take(const struct ep_raw_frame *raw, struct pl_frame *frame)
{
	uint64_t check = raw->aux >> PL_OP_BITS, what = raw->words[0] & PL_ADDRESS_MASK;
	int64_t op = raw->aux & PL_OP_MASK;

	check |= raw->words[0] >> PL_CHECK_SHIFT << 8;
	check |= raw->words[1] >> PL_ADDRESS_BITS << 24;
	*frame = (struct pl_frame){
		.kind = (enum pl_kind)(raw->words[0] >> PL_KIND_SHIFT & 0xf),
		.check = check,
		.what = what << 3,
		.cop = (raw->words[1] & PL_ADDRESS_MASK) << 3,
		.op_words = op >> (PL_OP_BITS - 1) ? op - (1 << PL_OP_BITS) : op,
		.flags = raw->flags,
	};
	if (frame->flags & PL_FRAME_FILE && raw->n_words > 2) {
		frame->line = line_in((uint64_t)op, PL_OP_BITS);
		frame->op_words = 0;
		frame->cop = 0;
		frame->check = 0;
		frame->file = raw->words[2];
		frame->file_addr = raw->words[1];
	} else if (frame->flags & PL_FRAME_NAME && raw->n_words > 2) {
		take_name(raw->words[2], frame);
	} else if (frame->flags & PL_FRAME_TEXT) {
		take_text(raw, frame);
	}
}

const char *pl_kind_name(enum pl_kind kind)
{
	switch (kind) {
	case PL_KIND_BLOCK:
	case PL_KIND_TEXT:
		return "(eval)";
	case PL_KIND_FILE:
		return "(require)";
	case PL_KIND_TRY:
		return "(try)";
	case PL_KIND_DEFER:
		return "(defer)";
	case PL_KIND_SORT:
		return "(sort block)";
	case PL_KIND_REGEX:
		return "(regex code)";
	case PL_KIND_BEGIN:
		return "BEGIN";
	case PL_KIND_MAIN:
		return "main";
	default:
		return NULL;
	}
}
