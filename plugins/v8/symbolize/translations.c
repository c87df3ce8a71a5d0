/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/symbolize/translations.h"

#include "core/base/util.h"

#include <string.h>

#define MAX_OPERANDS	 6
#define MAX_INSTRUCTIONS 100000

enum encoding {
	LOW_BIT,	 /* says that more follow; all are signed */
	HIGH_BIT,	 /* the same */
	HIGH_BIT_OPCODE, /* opcodes are a byte each */
};

/*
 * Each opcode's operands: a digit; of a frame a letter, a for none and so on, a capital one where
 * it is no function's in the interpreter. Those that only builds with WebAssembly have are counted.
 */
struct v8_translation_form {
	uint16_t major, minor;
	enum encoding encoding;
	uint8_t begin;
	bool looks_back; /* BEGIN is two of them; the last opcode is MATCH_PREVIOUS_TRANSLATION */
	const char *opcodes;
};

static const struct v8_translation_form forms[] = {
	{6, 2, LOW_BIT, 0, false, "2dDDDBBC" "1111" "111111111111" "1"},
	{6, 8, LOW_BIT, 0, false, "3dDDDDC" "1111" "111111111111" "12"},
	{7, 8, LOW_BIT, 0, false, "3fDDDDC" "1111" "11111111111111" "12"},
	{8, 4, LOW_BIT, 0, false, "3fDDDDC" "1111" "11111111111111" "12"},
	{9, 4, HIGH_BIT, 3, false, "C10" "3" "11" "D" "1" "D" "111111111" "fDDE" "111112"},
	{10, 2, HIGH_BIT, 3, false, "C10" "3" "11" "D" "1" "D" "111111111" "fDDE" "111112"},
	{11, 3, HIGH_BIT_OPCODE, 2, true,
	 "10" "33" "11" "D" "1" "D" "11111" "C" "11111111" "fdDDE" "01111121"},
	{12, 4, HIGH_BIT_OPCODE, 12, true, "fdDDCBDEDC" "10" "33" "111111111111111111" "01111121"},
	{13, 6, HIGH_BIT_OPCODE, 14, true,
	 "geDDCBDEDDD" "100" "33" "111" "0" "11111111111111111" "01111121"},
	{14, 6, HIGH_BIT_OPCODE, 14, true,
	 "geDDCBDEDDD" "100" "33" "111" "0" "11111111111111111" "01111121"},
};

struct instruction {
	uint32_t opcode;
	uint32_t values[MAX_OPERANDS];
};

struct stream {
	const struct v8_translation_form *form;
	const uint8_t *bytes;
	uint32_t n, at, n_opcodes;
	bool is_bad;
};

const struct v8_translation_form *v8_translation_form_of(const struct v8_version *version)
{
	for (size_t i = 0; i < EP_LEN(forms); i++) {
		if (forms[i].major == version->major && forms[i].minor == version->minor)
			return &forms[i];
	}
	return NULL;
}

static uint32_t get_number(struct stream *stream)
{
	bool is_low = stream->form->encoding == LOW_BIT;
	uint32_t value = 0;

	for (uint32_t shift = 0; shift < 32 && stream->at < stream->n; shift += 7) {
		uint8_t byte = stream->bytes[stream->at++];

		value |= (uint32_t)(is_low ? byte >> 1 : byte & 0x7f) << shift;
		if (!(byte & (is_low ? 1 : 0x80)))
			return value;
	}
	stream->is_bad = true;
	return 0;
}

static int32_t as_signed(uint32_t value)
{
	int32_t magnitude = (int32_t)(value >> 1);

	return value & 1 ? -magnitude : magnitude;
}

static uint32_t get_opcode(struct stream *stream)
{
	if (stream->form->encoding != HIGH_BIT_OPCODE)
		return get_number(stream) >> 1;
	if (stream->at < stream->n)
		return stream->bytes[stream->at++];
	stream->is_bad = true;
	return 0;
}

static uint32_t count_operands(char opcode)
{
	if (opcode >= 'a')
		return (uint32_t)(opcode - 'a');
	return (uint32_t)(opcode >= 'A' ? opcode - 'A' : opcode - '0');
}

static bool is_match(const struct stream *stream, const struct instruction *instruction)
{
	return stream->form->looks_back && instruction->opcode == stream->n_opcodes - 1;
}

static struct instruction get_instruction(struct stream *stream)
{
	struct instruction instruction = {.opcode = get_opcode(stream)};
	uint32_t n;

	if (instruction.opcode >= stream->n_opcodes) { /* a short form */
		stream->is_bad |= !stream->form->looks_back;
		instruction.values[0] = instruction.opcode - stream->n_opcodes;
		instruction.opcode = stream->n_opcodes - 1;
		return instruction;
	}
	n = count_operands(stream->form->opcodes[instruction.opcode]);
	for (uint32_t i = 0; i < n && i < MAX_OPERANDS; i++)
		instruction.values[i] = get_number(stream);
	return instruction;
}

static bool is_begin(const struct stream *stream, const struct instruction *instruction)
{
	return instruction->opcode - stream->form->begin <= stream->form->looks_back;
}

/* Its next instruction, from wherever that is. */
static struct instruction next(struct stream *own, struct stream *basis, uint32_t *n_equal)
{
	struct instruction instruction, passed;

	if (*n_equal == 0) {
		instruction = get_instruction(own);
		if (!is_match(own, &instruction) || own->is_bad) {
			if (basis->bytes && basis->at < basis->n && !basis->is_bad) {
				passed = get_instruction(basis);
				(void)passed;
			}
			return instruction;
		}
		*n_equal = instruction.values[0];
	}
	if (*n_equal == 0 || !basis->bytes) {
		own->is_bad = true;
		return (struct instruction){0};
	}
	(*n_equal)--;
	instruction = get_instruction(basis);
	own->is_bad |= basis->is_bad || is_match(basis, &instruction);
	return instruction;
}

/* How many frames follow a BEGIN; basis: where those are that it does not repeat. */
static uint32_t begin(struct stream *own, struct stream *basis)
{
	uint32_t at = own->at;
	struct instruction first = get_instruction(own), other;

	if (own->is_bad || !is_begin(own, &first))
		return 0;
	if (!own->form->looks_back)
		return (uint32_t)as_signed(first.values[0]);
	if (first.values[0] > at)
		return 0;
	if (first.values[0]) {
		*basis = *own;
		basis->at = at - first.values[0];
		other = get_instruction(basis);
		if (basis->is_bad || !is_begin(basis, &other))
			return 0;
	}
	return (uint32_t)as_signed(first.values[1]);
}

uint32_t v8_translation_frames(const struct v8_translation_form *form, const uint8_t *bytes,
			       uint32_t n, uint32_t at, uint32_t *left,
			       struct v8_translated ret[V8_MAX_TRANSLATED])
{
	struct stream own = {.form = form, .bytes = bytes, .n = n, .at = at,
			     .n_opcodes = (uint32_t)strlen(form->opcodes)};
	struct stream basis = {0};
	uint32_t frames = begin(&own, &basis), n_equal = 0, used = 0;

	for (uint32_t i = 0; i < MAX_INSTRUCTIONS && *left > 0 && frames > 0; i++, --*left) {
		struct instruction instruction = next(&own, &basis, &n_equal);
		char opcode;

		if (own.is_bad || is_begin(&own, &instruction))
			return 0;
		opcode = form->opcodes[instruction.opcode];
		if (opcode < 'A')
			continue;
		frames--;
		if (opcode < 'a')
			continue;
		if (used == V8_MAX_TRANSLATED)
			return 0;
		ret[used++] = (struct v8_translated){as_signed(instruction.values[0]),
						     as_signed(instruction.values[1])};
	}
	return frames == 0 ? used : 0;
}
