/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made the seeds of parsers: cc -I. -Iinclude plugins/dotnet/tests/fuzz/seeds/make_parsers.c with the objects of
 * plugins/dotnet, core/base and tests/kit that they need and -lz, run in the source tree.
 */
#include <stdio.h>
#include <zlib.h>
#include "plugins/dotnet/tests/unit/made_pdb.h"
#include "plugins/dotnet/tests/unit/made_signature.h"
static void out(const char *name, int parser, const void *p, size_t n)
{
	char path[200];
	snprintf(path, 200, "plugins/dotnet/tests/fuzz/seeds/%s.bin", name);
	FILE *f = fopen(path, "w");
	fputc(0xfe, f);
	fputc(parser, f);
	fwrite(p, 1, n, f);
	fclose(f);
}
static void info(struct made_bytes *o, int packed)
{
	struct made_bytes b = {0};
	made_nibbles(&b, 3);
	if (packed) {
		made_nibbles(&b, 5);
		made_nibbles(&b, 3);
		made_align(&b);
	}
	for (int i = 0; i < 3; i++) {
		unsigned d = i ? 0x18 : 8, il = i == 2 ? 1 : 3 + i * 3;
		if (packed) {
			made_bits(&b, 0, 2);
			made_bits(&b, d, 6);
			made_bits(&b, il, 4);
		} else {
			made_nibbles(&b, d);
			made_nibbles(&b, il);
			made_nibbles(&b, 1);
		}
	}
	made_nibbles(o, b.n);
	made_nibbles(o, 0);
	made_align(o);
	memcpy(o->at + o->n, b.at, b.n);
	o->n += b.n;
}
int main()
{
	uint8_t id[20] = {1, 2, 3}, file[1024];
	made_pdb(file, id);
	out("pdb", 4, file, 1024);
	struct made_bytes a = {0};
	made_byte(&a, 1);
	a.at[1 + 8] = 2;
	a.n += 32 + 8;
	info(&a, 0);
	out("debug_9", 0, a.at, a.n);
	struct made_bytes r = {0}, b = {0};
	made_nibbles(&r, 2);
	made_nibbles(&r, 2);
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 16; j++)
			made_one_nibble(&r, j);
		made_nibbles_signed(&r, -5);
		made_nibbles_signed(&r, i ? -1 : 1);
		made_nibbles_signed(&r, 0);
	}
	for (int i = 0; i < 2; i++) {
		made_nibbles(&r, 8);
		made_nibbles_signed(&r, i);
		made_nibbles_signed(&r, 5);
		made_nibbles(&r, 0);
	}
	made_byte(&b, 2);
	made_u32(b.at + b.n, r.n);
	b.n += 4;
	memcpy(b.at + b.n, r.at, r.n);
	b.n += r.n;
	info(&b, 1);
	out("debug_10", 1, b.at, b.n);
	struct made_bytes c = {0};
	info(&c, 1);
	out("debug_image", 2, c.at, c.n);
	uint8_t im[0x400] = {0};
	made_u32(im, 0x00525452);
	im[4] = 16;
	made_u32(im + 12, 1);
	made_u32(im + 16, 105);
	made_u32(im + 20, 0x100);
	im[0x100] = 18 << 3;
	im[0x101] = 2;
	im[0x102] = 0x60;
	im[0x103] = 2;
	im[0x104] = 2;
	im[0x105] = (3 | 0x10 << 2) << 1;
	memcpy(im + 0x108, c.at, c.n);
	im[0x115] = 8 << 1;
	im[0x116] = 0x0f << 1;
	im[0x161] = 4 << 1;
	memcpy(im + 0x163, c.at, c.n);
	out("section", 3, im, sizeof im);
	uint8_t p[2048];
	z_stream s = {.next_in = file, .avail_in = 1024, .next_out = p, .avail_out = 2048};
	deflateInit2(&s, 9, 8, -15, 8, 0);
	deflate(&s, 4);
	out("deflated", 5, p, s.total_out);
	out("name", 6, "<<Run>b__0_0>g__Local|1_0", 25);
	/* A generic over arrays, an array with bounds, a reference, a modifier and both kinds of parameters. */
	static const uint8_t signature[] = {0x30, 1, 6, 0x1d, 8, 0x15, 0x12, 4, 2, 0x1d, 14, 0x0f, 8, 0x14, 10, 2, 1, 4, 0,
					    0x10, 0x12, 5, 0x1f, 5, 0x11, 12, 0x13, 0, 0x1e, 1};
	out("signature", 7, signature, sizeof(signature));
	/* A type over a type and an array, its method over the same; of the release that its length says. */
	static struct made_signature of;
	const uint64_t inner[] = {made_table(1)}, both[] = {made_table(2), made_table(3)};
	const size_t n = MADE_METHOD_AT - MADE_TYPES_AT + 0x80;
	made_signature_init(&of, 8 + n % 3);
	made_type(&of, 1, 3);
	made_generic(&of, 2, 2, inner, 1);
	made_array(&of, 3, made_table(1));
	made_generic(&of, 0, 1, both, 2);
	made_instance(&of, made_table(0) + 0x80, 2, 3);
	out("arguments", 8, of.types, n);
}
