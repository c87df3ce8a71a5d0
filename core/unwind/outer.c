/* SPDX-License-Identifier: Apache-2.0 */
#include "core/unwind/outer.h"
#include "core/unwind/build.h"

#include <string.h>

#define MAX_FDES  65536 /* that are looked at: such a file has few */
#define MIN_BYTES 32	/* six stores take more */

/* sub $N,%rsp with 32 and with 8 bits; add $N,%rsp with 8 bits. */
static const uint8_t sub_long[] = {0x48, 0x81, 0xec}, sub_short[] = {0x48, 0x83, 0xec}, add_short[] = {0x48, 0x83, 0xc4};

/* rbx, rbp, r12 to r15, by their numbers in instructions. */
#define SAVED (1u << 3 | 1u << 5 | 0xfu << 12)

static bool makes_room(const uint8_t *code)
{
	int32_t by;

	memcpy(&by, code + sizeof(sub_long), sizeof(by));
	return memcmp(code, sub_long, sizeof(sub_long)) == 0 && by >= EP_OUTER_MIN_FRAME;
}

/* mov %reg,memory: a bit of the register. */
static uint32_t stored(const uint8_t *code)
{
	if ((code[0] & 0xf8) != 0x48 || code[1] != 0x89 || code[2] >> 6 == 3)
		return 0;
	return 1u << ((code[2] >> 3 & 7) | (code[0] & 4) << 1);
}

/* jmp *%reg, or jmp to elsewhere: its length. The function's code at `at`. */
static size_t jump_bytes(const uint8_t *code, size_t at, size_t bytes)
{
	size_t len = code[0] == 0xe9 ? 5 : code[0] == 0xeb ? 2 : 0;
	int64_t to = (int64_t)(at + len);
	int32_t by;

	if (code[0] == 0xff && code[1] >> 3 == 0x1c)
		return 2;
	memcpy(&by, code + 1, sizeof(by));
	to += len == 5 ? by : (int8_t)code[1];
	return to < 0 || to >= (int64_t)bytes ? len : 0;
}

/*
 * Instructions are recognised by their bytes wherever these lie: all of them together are in no
 * other function.
 */
size_t ep_outer_match(const uint8_t *code, size_t bytes)
{
	bool has_room = false;
	uint32_t saved = 0;

	for (size_t i = 0; i + 8 <= bytes; i++) {
		size_t jump = has_room && (saved & SAVED) == SAVED ? jump_bytes(code + i, i, bytes) : 0;

		if (jump)
			return i + jump;
		has_room |= makes_room(code + i);
		saved |= has_room ? stored(code + i) : 0;
	}
	return 0;
}

/* Is the frame still there at the jump? */
static bool has_frame(const struct ep_unwind_table *table, uint64_t va)
{
	uint32_t number = ep_unwind_table_find(table, va);
	const struct ep_rule *rule;

	if (number & EP_RULE_IMMEDIATE)
		return !(number & EP_RULE_BASE_FP) && EP_RULE_CFA_OFF(number) >= EP_OUTER_MIN_FRAME;
	if (number < EP_RULE_FIRST_TABLE || number - EP_RULE_FIRST_TABLE >= table->n_rules)
		return false;
	rule = &table->rules[number - EP_RULE_FIRST_TABLE];
	return rule->cfa_kind == EP_CFA_REG && rule->cfa_reg == 7 && rule->cfa_off >= EP_OUTER_MIN_FRAME &&
	       rule->ra_kind == EP_REG_AT_CFA;
}

/* How much of the function's code there is to be looked at; 0: not of this one. */
static size_t function_bytes(struct ep_fde_list *list, struct ep_fde_ref ref)
{
	struct ep_cfi_entry entry;
	struct ep_fde fde;

	if (ep_cfi_read_entry(&list->sec, ref.off, &entry) != 0 ||
	    ep_cfi_parse_fde(&list->sec, &entry, &list->cies, &fde) != 0 || fde.start != ref.start ||
	    fde.end - fde.start > EP_OUTER_BYTES)
		return 0;
	return (size_t)(fde.end - fde.start);
}

uint64_t ep_outer_find(const struct ep_build_input *input, struct ep_fde_list *list, const struct ep_unwind_table *table)
{
	uint8_t code[EP_OUTER_BYTES];
	uint64_t found = 0;

	for (size_t i = 0; i < list->n && i < MAX_FDES; i++) {
		struct ep_fde_ref ref = ep_fde_list_get(list, i);
		size_t bytes = function_bytes(list, ref), jump;
		uint64_t start = ref.start;

		if (bytes < MIN_BYTES || ep_work_take(input->work, EP_OUTER_BYTES) < 0 ||
		    !input->read_code(input->read_code_arg, start, code, bytes))
			continue;
		jump = ep_outer_match(code, bytes);
		if (!jump || !has_frame(table, start + jump - 1))
			continue;
		if (found || start + jump > UINT32_MAX)
			return 0;
		found = start + jump;
	}
	return found;
}

bool ep_outer_next_call(const uint8_t *code, size_t bytes, size_t from, struct ep_outer_call *ret)
{
	for (size_t i = from; i + 8 <= bytes; i++) {
		size_t last = EP_MIN(i + EP_OUTER_CALL_BYTES, bytes);

		if (memcmp(code + i, sub_short, sizeof(sub_short)) != 0 || code[i + 3] % 8 || code[i + 3] - 8u > 112)
			continue;
		for (size_t j = i + 4; j + 4 <= last && memcmp(code + j, sub_short, sizeof(sub_short)) != 0; j++) {
			if (memcmp(code + j, add_short, sizeof(add_short)) != 0 || code[j + 3] != code[i + 3])
				continue;
			*ret = (struct ep_outer_call){.begin = i + 4, .end = j + 4, .by = code[i + 3]};
			return true;
		}
	}
	return false;
}
