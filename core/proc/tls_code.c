/* SPDX-License-Identifier: Apache-2.0 */
/*
 * musl, src/thread/pthread_getspecific.c (read at v1.2.3): `return self->tsd[k]`, which is, in some
 * order and with some registers,
 *
 *	x86-64	mov %fs:0,%rax   mov TSD(%rax),%rax   mov %edi,%edi   mov (%rax,%rdi,8),%rax   ret
 *	aarch64	mrs x1,tpidr_el0   ldur x1,[x1,#TSD]   ldr x0,[x1,w0,uxtw #3]   ret
 *
 * glibc, nptl/pthread_getspecific.c (read at glibc-2.31 and 2.36): keys up to 31 are in the struct
 * itself, others after `THREAD_GETMEM_NC (THREAD_SELF, specific, key / 32)`. That is the one
 * instruction `mov %fs:SPECIFIC(,%rax,8),%reg`, and specific[0] leads to the first 32 as well.
 */
#include "core/proc/tls_code.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define MAX_KEYS	 1024  /* PTHREAD_KEYS_MAX of glibc; musl has 128 */
#define MAX_STRUCT_BYTES 65536 /* of struct pthread; glibc's has 2368, musl's 200 */
#define MAX_INSNS	 16    /* musl's function has 5 */

/* glibc nptl/descr.h, struct pthread_key_data { uintptr_t seq; void *data; } and the sizes of
 * both levels (sysdeps/unix/sysv/linux/bits/local_lim.h: 1024 keys in 32 blocks of 32). */
#define GLIBC_BLOCK_KEYS 32
#define GLIBC_KEY_BYTES	 16
#define GLIBC_DATA_OFF	 8

int ep_tls_glibc_key(int64_t specific_off, uint32_t key, struct ep_tls *ret)
{
	if (key >= MAX_KEYS || specific_off > MAX_STRUCT_BYTES || specific_off < -MAX_STRUCT_BYTES)
		return -ENOTSUP;
	*ret = (struct ep_tls){
		.steps = 2,
		.off = {(int32_t)specific_off + 8 * (int32_t)(key / GLIBC_BLOCK_KEYS),
			GLIBC_KEY_BYTES * (int32_t)(key % GLIBC_BLOCK_KEYS) + GLIBC_DATA_OFF},
	};
	return 0;
}

static int musl_key(int64_t tsd_off, uint32_t key, struct ep_tls *ret)
{
	if (key >= MAX_KEYS || tsd_off > MAX_STRUCT_BYTES || tsd_off < -MAX_STRUCT_BYTES)
		return -ENOTSUP;
	*ret = (struct ep_tls){.steps = 2, .off = {(int32_t)tsd_off, 8 * (int32_t)key}};
	return 0;
}

/* What is known of the registers while musl's function is followed. */
struct known {
	uint32_t key_regs, thread_regs, tsd_regs; /* bit n: register n holds it */
	int64_t thread_off[32];			  /* of thread_regs: register - thread pointer */
	int64_t tsd_off;
	bool done;
};

static void forget(struct known *known, unsigned int reg)
{
	known->key_regs &= ~(1u << reg);
	known->thread_regs &= ~(1u << reg);
	known->tsd_regs &= ~(1u << reg);
}

static void set_thread(struct known *known, unsigned int reg, int64_t off)
{
	forget(known, reg);
	known->thread_regs |= 1u << reg;
	known->thread_off[reg] = off;
}

/* reg = *(base + off): tsd, when base holds the thread. */
static bool load_tsd(struct known *known, unsigned int reg, unsigned int base, int64_t off)
{
	int64_t at;

	if (!(known->thread_regs >> base & 1))
		return false;
	at = known->thread_off[base] + off;
	forget(known, reg);
	known->tsd_regs |= 1u << reg;
	known->tsd_off = at;
	return true;
}

/* reg = tsd[key] */
static bool load_value(struct known *known, unsigned int base, unsigned int index)
{
	known->done = known->tsd_regs >> base & 1 && known->key_regs >> index & 1;
	return known->done;
}

/* --- x86-64; encodings: Intel SDM volume 2, chapter 2 --- */

#define RDI 7

static int32_t load_s32(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* mov %edi,%reg, with and without REX.B */
static size_t x86_copy_key(struct known *known, const uint8_t *code, size_t left)
{
	size_t rex = left > 2 && code[0] == 0x41;
	unsigned int from, to;

	if (left < 2 + rex || code[rex] != 0x89 || code[rex + 1] < 0xc0)
		return 0;
	from = code[rex + 1] >> 3 & 7;
	to = (code[rex + 1] & 7) + 8 * (unsigned int)rex;
	if (!(known->key_regs >> from & 1))
		return 0;
	forget(known, to);
	known->key_regs |= 1u << to;
	return 2 + rex;
}

/* mov %fs:0,%reg */
static size_t x86_thread(struct known *known, const uint8_t *code, size_t left)
{
	if (left < 9 || code[0] != 0x64 || (code[1] & 0xfb) != 0x48 || code[2] != 0x8b ||
	    (code[3] & 0xc7) != 0x04 || code[4] != 0x25 || load_s32(code + 5) != 0)
		return 0;
	set_thread(known, (code[3] >> 3 & 7) + (code[1] & 4) * 2u, 0);
	return 9;
}

/* mov DISP(%base),%reg */
static size_t x86_tsd(struct known *known, const uint8_t *code, size_t left)
{
	unsigned int reg, base, mod;

	if (left < 4 || (code[0] & 0xfa) != 0x48 || code[1] != 0x8b || (code[2] & 7) == 4)
		return 0;
	mod = code[2] >> 6;
	reg = (code[2] >> 3 & 7) + (code[0] & 4) * 2u;
	base = (code[2] & 7) + (code[0] & 1) * 8u;
	if (mod == 1)
		return load_tsd(known, reg, base, (int8_t)code[3]) ? 4 : 0;
	if (mod != 2 || left < 7)
		return 0;
	return load_tsd(known, reg, base, load_s32(code + 3)) ? 7 : 0;
}

/* mov (%base,%index,8),%rax */
static size_t x86_value(struct known *known, const uint8_t *code, size_t left)
{
	unsigned int base, index;

	if (left < 4 || (code[0] & 0xfc) != 0x48 || code[1] != 0x8b || code[2] != 0x04 ||
	    (code[3] & 0xc0) != 0xc0 || (code[3] & 7) == 5)
		return 0;
	base = (code[3] & 7) + (code[0] & 1) * 8u;
	index = (code[3] >> 3 & 7) + (code[0] & 2) * 4u;
	return load_value(known, base, index) ? 4 : 0;
}

/* endbr64, and what -fno-omit-frame-pointer adds: push %rbp, mov %rsp,%rbp */
static size_t x86_prologue(const uint8_t *code, size_t left)
{
	if (left >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0)
		return 4;
	if (left >= 3 && memcmp(code, "\x48\x89\xe5", 3) == 0)
		return 3;
	return left >= 1 && code[0] == 0x55;
}

static int x86_musl(const uint8_t *code, size_t bytes, uint32_t key, struct ep_tls *ret)
{
	struct known known = {.key_regs = 1u << RDI};
	size_t at = 0;

	for (int i = 0; i < MAX_INSNS && !known.done; i++) {
		size_t len = x86_prologue(code + at, bytes - at);

		if (!len)
			len = x86_copy_key(&known, code + at, bytes - at);
		if (!len)
			len = x86_thread(&known, code + at, bytes - at);
		if (!len)
			len = x86_value(&known, code + at, bytes - at);
		if (!len)
			len = x86_tsd(&known, code + at, bytes - at);
		if (!len)
			return -ENOTSUP;
		at += len;
	}
	return known.done ? musl_key(known.tsd_off, key, ret) : -ENOTSUP;
}

/* cmp $31,%edi at the start, and somewhere mov %fs:DISP(,%reg,8),%reg */
static int x86_glibc(const uint8_t *code, size_t bytes, uint32_t key, struct ep_tls *ret)
{
	size_t at = bytes >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;

	if (bytes < at + 3 || memcmp(code + at, "\x83\xff\x1f", 3) != 0)
		return -ENOTSUP;
	for (at += 3; at + 9 <= bytes; at++) {
		const uint8_t *insn = code + at;

		if (insn[0] == 0x64 && (insn[1] & 0xf9) == 0x48 && insn[2] == 0x8b &&
		    (insn[3] & 0xc7) == 0x04 && (insn[4] & 0xc7) == 0xc5 && load_s32(insn + 5) > 0)
			return ep_tls_glibc_key(load_s32(insn + 5), key, ret);
	}
	return -ENOTSUP;
}

/* --- aarch64; encodings: Arm ARM DDI 0487, C6.2 --- */

static int64_t sign_extend(uint32_t value, unsigned int bits)
{
	return (int64_t)((uint64_t)value << (64 - bits)) >> (64 - bits);
}

/* False when the instruction has no place in the function. */
static bool arm_step(struct known *known, uint32_t insn)
{
	unsigned int rd = insn & 31, rn = insn >> 5 & 31, rm = insn >> 16 & 31;

	if (insn == 0xd503245f) /* bti c */
		return true;
	if ((insn & 0xffffffe0) == 0xd53bd040) { /* mrs rd, tpidr_el0 */
		set_thread(known, rd, 0);
		return true;
	}
	if ((insn & 0xffc00000) == 0xd1000000 && known->thread_regs >> rn & 1) { /* sub rd, rn, # */
		set_thread(known, rd, known->thread_off[rn] - (insn >> 10 & 0xfff));
		return true;
	}
	if ((insn & 0xffe00c00) == 0xf8400000) /* ldur rd, [rn, #] */
		return load_tsd(known, rd, rn, sign_extend(insn >> 12 & 0x1ff, 9));
	if ((insn & 0xffc00000) == 0xf9400000) /* ldr rd, [rn, #] */
		return load_tsd(known, rd, rn, (insn >> 10 & 0xfff) * 8);
	if ((insn & 0xffe0fc00) == 0xf8605800) /* ldr rd, [rn, rm, uxtw #3] */
		return load_value(known, rn, rm);
	return false;
}

static int arm_musl(const uint8_t *code, size_t bytes, uint32_t key, struct ep_tls *ret)
{
	struct known known = {.key_regs = 1u << 0};
	uint32_t insn;

	for (size_t i = 0; i < MAX_INSNS && !known.done; i++) {
		if (!ep_in_bounds(i * sizeof(insn), sizeof(insn), bytes))
			return -ENOTSUP;
		memcpy(&insn, code + i * sizeof(insn), sizeof(insn));
		if (!arm_step(&known, insn))
			return -ENOTSUP;
	}
	return known.done ? musl_key(known.tsd_off, key, ret) : -ENOTSUP;
}

int ep_tls_decode_getspecific(uint16_t machine, const uint8_t *code, size_t bytes, uint32_t key,
			      struct ep_tls *ret)
{
	int r;

	if (machine == EM_AARCH64)
		return arm_musl(code, bytes, key, ret);
	if (machine != EM_X86_64)
		return -ENOTSUP;
	r = x86_musl(code, bytes, key, ret);
	return r == -ENOTSUP ? x86_glibc(code, bytes, key, ret) : r;
}
