/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed sections (SHF_COMPRESSED, gABI "Section Compression") and .gnu_debugdata (xz).
 *
 *	| Elf64_Chdr: ch_type, reserved, ch_size, ch_addralign | compressed bytes |
 *
 * The output size that a file claims is trusted only up to a limit, and only if the compressed
 * bytes give exactly that. Memory is touched as output arrives, so a false claim costs none.
 */
#include "core/base/vec.h"
#include "core/elf/internal.h"

#include <errno.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* gABI; in glibc's elf.h from 2.37 on */
#endif

#define MAX_INFLATED_BYTES  EP_ELF_MAX_SECTION
#define MAX_DEBUGDATA_BYTES ((size_t)64 << 20)
#define INFLATE_STEPS	    4 /* for a byte that comes out; xz is the slowest */
/* A dictionary of `xz -9` needs 65 MiB by xz(1); it is touched only as far as there is output. */
#define XZ_MEMORY_BYTES ((uint64_t)72 << 20)
#define XZ_STEP_BYTES	((size_t)256 << 10)

static int inflate_all(const uint8_t *in, size_t in_bytes, uint8_t *out, size_t out_bytes)
{
	z_stream stream = {
		.next_in = (Bytef *)(uintptr_t)in,
		.avail_in = (uInt)in_bytes, /* both at most EP_ELF_MAX_SECTION */
		.next_out = out,
		.avail_out = (uInt)out_bytes,
	};
	int r;

	if (inflateInit(&stream) != Z_OK)
		return -ENOMEM;
	r = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	if (r == Z_MEM_ERROR)
		return -ENOMEM;
	return r == Z_STREAM_END && !stream.avail_out ? 0 : -EBADMSG;
}

static int unzstd_all(const uint8_t *in, size_t in_bytes, uint8_t *out, size_t out_bytes)
{
	size_t got = ZSTD_decompress(out, out_bytes, in, in_bytes);

	return !ZSTD_isError(got) && got == out_bytes ? 0 : -EBADMSG;
}

int ep_elf_decompress(struct ep_work *work, const struct ep_elf_bytes *stored,
		      struct ep_elf_bytes *ret_bytes)
{
	struct ep_elf_bytes bytes = {0};
	const uint8_t *in = stored->data + sizeof(Elf64_Chdr);
	size_t in_bytes = stored->bytes - sizeof(Elf64_Chdr);
	Elf64_Chdr header;
	int r;

	if (stored->bytes < sizeof(header))
		return -EBADMSG;
	memcpy(&header, stored->data, sizeof(header));
	if (header.ch_type != ELFCOMPRESS_ZLIB && header.ch_type != ELFCOMPRESS_ZSTD)
		return -ENOTSUP;
	if (header.ch_size > MAX_INFLATED_BYTES)
		return -E2BIG;
	r = ep_work_take(work, header.ch_size * INFLATE_STEPS);
	if (r == 0)
		r = ep_elf_bytes_new(work, header.ch_size, &bytes);
	if (r < 0)
		return r;
	r = (header.ch_type == ELFCOMPRESS_ZLIB ? inflate_all : unzstd_all)(
		in, in_bytes, (uint8_t *)(uintptr_t)bytes.data, bytes.bytes);
	if (r < 0) {
		ep_elf_bytes_fini(&bytes);
		return r;
	}
	*ret_bytes = bytes;
	return 0;
}

/* ---- .gnu_debugdata ---- */

/* What comes out, and what is charged for it. */
struct unpacked {
	struct ep_vec bytes;
	struct ep_work *work;
	size_t held; /* of its budget */
};

static struct ep_memory_budget *unpacked_budget(const struct unpacked *out)
{
	return out->work ? out->work->memory : NULL;
}

/* Output, and a dictionary that is as large. */
static int xz_pay(struct unpacked *out, size_t bytes)
{
	int r = ep_work_take(out->work, bytes * INFLATE_STEPS);

	if (r == 0)
		r = ep_memory_budget_take(unpacked_budget(out), 2 * bytes);
	if (r == 0)
		out->held += 2 * bytes;
	return r;
}

/* Makes space and points the stream at it. 0, -E2BIG at the limit, -ENOMEM, and those of work. */
static int xz_more_room(struct unpacked *unpacked, lzma_stream *stream)
{
	struct ep_vec *out = &unpacked->bytes;
	size_t had = out->len;
	size_t more = EP_MIN(EP_MAX(XZ_STEP_BYTES, had / 2), out->max - had);
	int r = more ? xz_pay(unpacked, more) : -E2BIG;

	if (r == 0)
		r = ep_vec_append(out, NULL, more);
	if (r < 0)
		return r;
	stream->next_out = ep_vec_at(out, uint8_t, had);
	stream->avail_out = out->len - had;
	return 0;
}

static int xz_result(lzma_ret r)
{
	switch (r) {
	case LZMA_OK:
	case LZMA_STREAM_END:
		return 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -E2BIG;
	default:
		return -EBADMSG;
	}
}

static int xz_run(lzma_stream *stream, struct unpacked *out)
{
	lzma_ret state = LZMA_OK;
	int r;

	while (state != LZMA_STREAM_END) {
		if (!stream->avail_out) {
			r = xz_more_room(out, stream);
			if (r < 0)
				return r;
		}
		/* without progress it answers LZMA_BUF_ERROR the second time: no endless loop */
		state = lzma_code(stream, LZMA_FINISH);
		r = xz_result(state);
		if (r < 0)
			return r;
	}
	out->bytes.len -= stream->avail_out;
	ep_vec_shrink(&out->bytes);
	return 0;
}

static int xz_decompress(const struct ep_elf_bytes *in, struct unpacked *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	int r;

	r = xz_result(lzma_stream_decoder(&stream, XZ_MEMORY_BYTES, 0));
	if (r < 0)
		return r;
	stream.next_in = in->data;
	stream.avail_in = in->bytes;
	r = xz_run(&stream, out);
	lzma_end(&stream);
	return r;
}

static void unpacked_fini(struct unpacked *out)
{
	ep_memory_budget_give(unpacked_budget(out), out->held);
	ep_vec_fini(&out->bytes);
}

int ep_elf_open_debugdata(const struct ep_elf *elf, struct ep_elf **ret_elf)
{
	ep_cleanup(unpacked_fini) struct unpacked out = {.work = elf->work};
	struct ep_elf_bytes in = {0};
	struct ep_elf_section section;
	size_t bytes, held;
	int r;

	ep_vec_init(&out.bytes, 1, MAX_DEBUGDATA_BYTES);
	r = ep_elf_find_section(elf, ".gnu_debugdata", &section);
	if (r < 0)
		return r;
	r = ep_elf_read_section(elf, &section, &in);
	if (r < 0)
		return r;
	r = xz_decompress(&in, &out);
	ep_elf_bytes_fini(&in);
	if (r < 0)
		return r;
	bytes = out.bytes.len;
	held = out.held;
	out.held = 0;
	return ep_elf_open_image(ep_take(out.bytes.data), bytes, elf->work, held, ret_elf);
}
