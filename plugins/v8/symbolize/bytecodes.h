/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which bytecode an address in baseline code belongs to. Its table
 * (baseline/bytecode-offset-iterator.h, 9.4 to 14.6) has the size of the code before the first
 * bytecode, and then of each bytecode in turn, 7 bits a byte, lower ones first; where the bytecodes
 * begin, the bytecodes themselves tell:
 *
 *	[Wide | ExtraWide, or their debug breaks] bytecode operands	interpreter/bytecodes.h
 */
#ifndef V8_BYTECODES_H
#define V8_BYTECODES_H

#include "plugins/v8/layout.h"

struct v8_bytecodes {
	const uint8_t *bytes; /* the bytecodes */
	uint32_t n_bytes;
	const uint8_t *sizes; /* of their code */
	uint32_t n_sizes;
};

#define V8_BEFORE_BYTECODES (-1) /* in what comes before the first */

/*
 * off: in the code; of a return address, after the call. 0; -EBADMSG: the two do not fit each
 * other, or not the address; -ENOTSUP: no table of this V8's bytecodes.
 */
int v8_bytecodes_find(const struct v8_version *version, const struct v8_bytecodes *code,
		      uint32_t off, bool is_return, int32_t *ret);

/* Bytes of the bytecode at `at`, with its prefix and operands; 0: none that ends within. */
uint32_t v8_bytecode_length(const struct v8_version *version, const uint8_t *bytes, uint32_t n,
			    uint32_t at);

#endif
