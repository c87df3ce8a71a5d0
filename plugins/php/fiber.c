/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/php/fiber.h"

#include "plugins/php/code.h"
#include "plugins/shared/read/file.h"

#define MAX_CALLS    16
#define FIBER_BYTES  128 /* both functions are shorter */
#define FINISH_BYTES 4
#define RSP	     7 /* of DWARF */
#define R8	     8
#define SAVED_RBP    (-16) /* from the CFA, while the registers are on the stack */

/* A function that has no bounds: to its end, or up to FIBER_BYTES. */
static bool read_bare(const struct ep_unwinder_host *host, const struct ep_file *file, uint64_t va,
		      struct x86_code *ret)
{
	*ret = (struct x86_code){.va = va, .n = FIBER_BYTES};
	return va && host->file_read(file, va, ret->bytes, ret->n) == 0;
}

/* --- where a stack ends ----------------------------------------------------------------------- */

void php_fiber_root(struct php_fiber_code *fiber, uint64_t va, uint32_t bytes)
{
	if (fiber->n_rows < PHP_FIBER_ROWS)
		fiber->rows[fiber->n_rows++] = (struct ep_code_row){.va = va,
								    .bytes = bytes,
								    .cfa_reg = RSP,
								    .cfa_off = 8,
								    .ra_place = EP_CODE_LOST};
}

static bool take_finish(const struct x86_code *code, struct php_fiber_code *fiber)
{
	if (php_code_finish(code, &fiber->finish_va) < 0)
		return false;
	/* The call before it would be the last byte of what is before it. */
	php_fiber_root(fiber, fiber->finish_va - 1, 1 + FINISH_BYTES);
	return true;
}

/* --- jump_fcontext ---------------------------------------------------------------------------- */

static void add_row(struct php_fiber_code *fiber, uint64_t from, uint64_t to,
		    struct ep_code_row row)
{
	if (to <= from || fiber->n_rows >= PHP_FIBER_ROWS)
		return;
	row.va = from;
	row.bytes = (uint32_t)(to - from);
	row.cfa_reg = RSP;
	fiber->rows[fiber->n_rows++] = row;
}

/*
 * Makes space for the registers; they are saved; rsp becomes the other stack's, on which as many
 * are; these are restored; the space is left; a jump to r8. Where rsp changes is where the rules
 * do.
 */
static bool take_jump(const struct x86_code *code, struct php_fiber_code *fiber)
{
	struct x86_reading reading = {.code = code};
	uint64_t made = 0, changed = 0, left = 0;
	int32_t cfa_off = 8;

	while (x86_reading_next(&reading) && reading.insn.kind != X86_JUMP) {
		const struct x86_insn *insn = &reading.insn;
		uint64_t behind = code->va + reading.at;

		if (insn->kind != X86_SET || insn->to != X86_RSP)
			continue;
		if (!made && insn->from == X86_RSP && insn->value < 0 &&
		    insn->value >= -FIBER_BYTES) {
			made = behind;
			cfa_off -= (int32_t)insn->value;
		} else if (made && !changed && insn->from == X86_RDI && !insn->value) {
			changed = behind;
		} else if (changed && !left && insn->from == X86_RSP && insn->value == cfa_off) {
			left = behind;
		} else {
			return false;
		}
	}
	if (!left || reading.insn.kind != X86_JUMP)
		return false;
	add_row(fiber, code->va, made,
		(struct ep_code_row){.cfa_off = 8, .ra_place = EP_CODE_AT_CFA, .ra = -8});
	add_row(fiber, made, changed,
		(struct ep_code_row){.cfa_off = cfa_off, .ra_place = EP_CODE_AT_CFA, .ra = -8});
	add_row(fiber, changed, left,
		(struct ep_code_row){.cfa_off = cfa_off,
				     .ra_place = EP_CODE_AT_CFA,
				     .ra = -8,
				     .fp_place = EP_CODE_AT_CFA,
				     .fp = SAVED_RBP});
	add_row(fiber, left, code->va + reading.at,
		(struct ep_code_row){.cfa_off = 0, .ra_place = EP_CODE_IN_REG, .ra = R8});
	return true;
}

/* --- both ------------------------------------------------------------------------------------- */

void php_fiber_take(const struct ep_unwinder_host *host, const struct ep_file *file,
		    uint64_t make_va, uint64_t jump_va, struct php_fiber_code *ret)
{
	struct x86_code code;

	if (read_bare(host, file, make_va, &code))
		(void)take_finish(&code, ret);
	if (read_bare(host, file, jump_va, &code))
		(void)take_jump(&code, ret);
}

/* By its symbol, or as what another function calls. */
static void find(const struct ep_unwinder_host *host, const struct ep_file *file, const char *name,
		 const char *caller,
		 bool (*take)(const struct x86_code *code, struct php_fiber_code *fiber),
		 struct php_fiber_code *fiber)
{
	uint64_t calls[MAX_CALLS];
	struct x86_code code;
	size_t n = 0;

	if (read_bare(host, file, file_va(host, file, name), &code) && take(&code, fiber))
		return;
	if (x86_code_named(host, file, caller, &code) == 0)
		n = x86_code_leaves(&code, X86_CALL, calls, MAX_CALLS);
	for (size_t i = 0; i < n; i++) {
		if (read_bare(host, file, calls[i], &code) && take(&code, fiber))
			return;
	}
}

void php_fiber_find(const struct ep_unwinder_host *host, const struct ep_file *file,
		    struct php_fiber_code *ret)
{
	find(host, file, "make_fcontext", "zend_fiber_init_context", take_finish, ret);
	find(host, file, "jump_fcontext", "zend_fiber_switch_context", take_jump, ret);
}
