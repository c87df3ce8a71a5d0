/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The caller of an interrupted function that nothing describes: assembly that is short, and has
 * pushed nothing. A part of bpf/native.bpf.h, which includes it.
 */
#ifndef EP_BPF_LEAF_H
#define EP_BPF_LEAF_H

/*
 * 1 when the last `bytes` before an address are ff /2, call through a register or memory, else 0.
 * `forms` has a bit for each mod and r/m (mod << 3 | rm) that makes an instruction of that length
 * (Intel SDM volume 2, table 2-2).
 */
static __always_inline __u64 is_indirect_call(__u64 before, __u32 bytes, __u64 forms)
{
	__u64 code = before >> (64 - 8 * bytes);
	__u64 form = (code >> 14 & 3) << 3 | (code >> 8 & 7);

	return not_above((code & 0x38ff) ^ 0x10ff, 0) & forms >> form;
}

/* Do the eight bytes before an address end with a call? Prefixes may lie before its opcode. */
static __always_inline bool ends_with_call(__u64 before)
{
	__u64 call = not_above((before >> 24 & 0xff) ^ 0xe8, 0); /* e8 rel32 */

	call |= is_indirect_call(before, 2, 0xff0000cf); /* register, [register] */
	call |= is_indirect_call(before, 3, 0x0000ef10); /* [register + disp8], [SIB] */
	call |= is_indirect_call(before, 4, 0x00001000); /* [SIB + disp8] */
	call |= is_indirect_call(before, 6, 0x00ef0020); /* [register + disp32], [rip + disp32] */
	call |= is_indirect_call(before, 7, 0x00100010); /* [SIB + disp32], [disp32 + index] */
	return call & 1;
}

/* Leaves what lies at sp in rec->plan.pc. True when there is a call before the address it is. */
static __always_inline bool read_return(struct ep_core_record *rec, __u64 sp)
{
	__u64 *pc = &rec->plan.pc, before;

	rec->stack_reads += 2;
	return bpf_probe_read_user(pc, sizeof(*pc), (void *)sp) == 0 &&
	       *pc - EP_PAGE_BYTES < USER_LIMIT - EP_PAGE_BYTES &&
	       bpf_probe_read_user(&before, sizeof(before), (void *)(*pc - 8)) == 0 &&
	       ends_with_call(before);
}

/*
 * The interrupted frame has no rule, and no frame pointer led to code. Most such functions are
 * short and in assembly, and have pushed nothing: what lies at sp is taken for the return address
 * when there is a call before it. Whether it is in known code the look-up of the caller tells, as
 * with a frame pointer, and the caller is marked like one that was found by it.
 */
static __always_inline bool guess_caller(struct ep_core_record *rec)
{
	struct ep_walk *walk = &rec->walk;
	bool was_led = rec->place.error == EP_ERROR_NO_MAPPING;
	__u64 sp = was_led ? rec->leaf_sp : walk->regs[EP_REG_SP];

	if (!rec->known || !(was_led ? sp : walk->interrupted) || is_behind_bound(rec, sp + 8))
		return false;
	rec->leaf_sp = 0;
	if (!read_return(rec, sp))
		return false;
	if (was_led)
		walk->regs[EP_REG_FP] = rec->leaf_fp;
	else
		rec->pointer_frames++;
	begin_doubt(rec);
	rec->guessed = 1;
	walk->pc = rec->plan.pc;
	walk->regs[EP_REG_SP] = sp + 8;
	walk->by_pointer = 1;
	walk->return_address = 1;
	walk->interrupted = 0;
	walk->known_regs = EP_KNOWN_ALWAYS;
	return true;
}

#endif
