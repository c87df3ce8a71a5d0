/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytecodes a place in optimized code stands for, by what the deoptimizer would make of its
 * frame (6.2 to 8.4: deoptimizer/deoptimizer.h, TRANSLATION_OPCODE_LIST; then
 * deoptimizer/translation-opcode.h, translation-array.cc, frame-translation-builder.cc):
 *
 *	BEGIN [back,] frames, frames of JavaScript | instructions: opcode, operands | ...
 *
 * Numbers have 7 bits a byte, lower ones first, and a bit that says whether more follow: up to 8.4
 * the lowest, then the highest. The lowest bit of a signed number is its sign; up to 10.2 all are
 * signed, opcodes too, which are one byte later. From 11.3 on instructions equal to those of an
 * earlier translation, `back` bytes before, are left out: MATCH_PREVIOUS_TRANSLATION n, or a byte
 * beyond the opcodes, by n.
 */
#ifndef V8_TRANSLATIONS_H
#define V8_TRANSLATIONS_H

#include "plugins/v8/layout.h"

#define V8_MAX_TRANSLATED 64

struct v8_translated {
	int32_t bytecode_off;
	int32_t literal; /* of its SharedFunctionInfo */
};

struct v8_translation_form;

/* How this V8 writes them; NULL: not known. Opcodes change with every minor version. */
const struct v8_translation_form *v8_translation_form_of(const struct v8_version *version);

/*
 * Frames of JavaScript, outermost first; how many, 0: none, or not to be read. left: so many
 * instructions may be looked at; less is left.
 */
uint32_t v8_translation_frames(const struct v8_translation_form *form, const uint8_t *bytes,
			       uint32_t n, uint32_t at, uint32_t *left,
			       struct v8_translated ret[V8_MAX_TRANSLATED]);

#endif
