/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/perl/symbolize/objects.h"

#include "core/base/util.h"
#include "plugins/perl/perl_shared.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 1024 /* of a text that are read */
#define MAX_BUCKETS (1ull << 30)

/* The same in v5.28.3 to v5.44.0: hv.h, gv.h. */
#define SVF_OOK	       0x02000000u /* SVphv_HasAUX from 5.38 on */
#define SVPGV_GP       0x00008000u
#define HVHEK_UTF8     0x01
#define HV_MAX	       24 /* xpvhv.xhv_max */
#define HV_BODY_BYTES  32 /* sizeof(struct xpvhv): xhv_aux is after it */
#define AUX_COUNT      28 /* xpvhv_aux.xhv_name_count; xhv_name_u is its first member */
#define GV_NAME_HEK    32 /* xpvgv.xiv_u.xivu_namehek, and xnv_u.xgv_stash */
#define GP_EGV	       56 /* struct gp: gp_egv */

static void move_window(struct pl_reader *reader, uint64_t addr)
{
	uint64_t start = addr > PL_WINDOW_BYTES / 4 ? addr - PL_WINDOW_BYTES / 4 : 0;

	reader->window_bytes = 0;
	if (pl_read(reader, start, reader->window, PL_WINDOW_BYTES) < 0)
		return;
	reader->window_addr = start;
	reader->window_bytes = PL_WINDOW_BYTES;
}

int pl_read_near(struct pl_reader *reader, uint64_t addr, void *buf, size_t bytes)
{
	if (!ep_in_bounds(addr - reader->window_addr, bytes, reader->window_bytes))
		move_window(reader, addr);
	if (!ep_in_bounds(addr - reader->window_addr, bytes, reader->window_bytes))
		return pl_read(reader, addr, buf, bytes);
	memcpy(buf, reader->window + (addr - reader->window_addr), bytes);
	return 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Bytes of the UTF-8 character at text; 0: it is none. */
static size_t character_bytes(const uint8_t *text, size_t n)
{
	size_t bytes = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 :
		       text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;

	if (bytes == 0 || bytes > n)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] >= 0x90))
		return 0;
	return bytes;
}

/* Writes one character of Latin-1; control characters become '?'. */
static size_t put_latin(uint8_t byte, char *buf)
{
	if (byte < 0x80) {
		buf[0] = byte < 0x20 || byte == 0x7f ? '?' : (char)byte;
		return 1;
	}
	if (byte < 0xa0) {
		buf[0] = '?';
		return 1;
	}
	buf[0] = (char)(0xc0 | byte >> 6);
	buf[1] = (char)(0x80 | (byte & 0x3f));
	return 2;
}

void pl_clean_text(const uint8_t *text, size_t n, bool utf8, bool more, char *buf, size_t size)
{
	size_t at = 0, used = 0;

	/* Space for the longest character, "..." and the NUL. */
	while (at < n && used + 8 <= size) {
		size_t bytes = utf8 ? character_bytes(text + at, n - at) : 0;

		if (bytes > 1) {
			memcpy(buf + used, text + at, bytes);
			used += bytes;
			at += bytes;
			continue;
		}
		used += put_latin(text[at++], buf + used);
	}
	if (at < n || more) {
		memcpy(buf + used, "...", 3);
		used += 3;
	}
	buf[used] = '\0';
}

int pl_read_hek(const struct pl_reader *reader, uint64_t addr, char *buf, size_t size)
{
	struct {
		uint32_t hash;
		int32_t len;
	} head;
	uint8_t text[TEXT_BYTES], flags = 0;
	size_t n;
	int r = pl_read(reader, addr, &head, sizeof(head));

	if (r < 0)
		return r;
	if (head.len < 0) /* HEf_SVKEY */
		return -EBADMSG;
	n = EP_MIN((size_t)head.len, sizeof(text) - 2);
	/* The key, a NUL, flags. */
	r = pl_read(reader, addr + sizeof(head), text, n + (n == (size_t)head.len ? 2 : 0));
	if (r < 0)
		return r;
	if (n == (size_t)head.len) {
		if (text[n])
			return -EBADMSG;
		flags = text[n + 1];
	}
	pl_clean_text(text, n, flags & HVHEK_UTF8, n < (size_t)head.len, buf, size);
	return 0;
}

/* In steps that end where a piece that was kept does (perl_keep.bpf.c). */
int pl_read_text(const struct pl_reader *reader, uint64_t addr, char *buf, size_t size)
{
	return memory_read_string(reader->memory, addr, buf, size, PL_TEXT_STEP);
}

int pl_read_string(const struct pl_reader *reader, uint64_t addr, char *buf, size_t size)
{
	char text[TEXT_BYTES];
	int r = pl_read_text(reader, addr, text, sizeof(text));
	size_t n;

	if (r < 0)
		return r;
	n = strlen(text);
	if (!n)
		return -EBADMSG;
	pl_clean_text((const uint8_t *)text, n, true, n == sizeof(text) - 1, buf, size);
	return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static int copy_text(const char *text, char *buf, size_t size)
{
	snprintf(buf, size, "%s", text);
	return 0;
}

/* Where struct xpvhv_aux is; 0, -EBADMSG: it has none, or is no stash. */
static int find_aux(const struct pl_reader *reader, uint64_t stash, uint64_t *ret_aux)
{
	struct pl_sv hv;
	uint64_t max;
	int r = pl_read(reader, stash, &hv, sizeof(hv));

	if (r < 0)
		return r;
	if (PL_SV_TYPE(hv.flags) != PL_SVT_PVHV || !(hv.flags & SVF_OOK))
		return -EBADMSG;
	*ret_aux = hv.any + HV_BODY_BYTES;
	if (reader->layout->aux_in_body)
		return 0;
	/* Before 5.36 it is after the array of buckets: HvAUX, hv.h. */
	r = pl_read(reader, hv.any + HV_MAX, &max, sizeof(max));
	if (r < 0)
		return r;
	*ret_aux = hv.u + 8 * (max + 1);
	return max < MAX_BUCKETS ? 0 : -EBADMSG;
}

/* HvNAME_HEK: of one with several names the first is in an array. */
int pl_read_stash_name(const struct pl_reader *reader, uint64_t stash, char *buf, size_t size)
{
	uint8_t aux[AUX_COUNT + 4];
	uint64_t aux_addr, hek;
	int32_t count;
	int r = find_aux(reader, stash, &aux_addr);

	if (r == 0)
		r = pl_read(reader, aux_addr, aux, sizeof(aux));
	if (r < 0)
		return r;
	memcpy(&hek, aux, sizeof(hek));
	memcpy(&count, aux + AUX_COUNT, sizeof(count));
	if (hek && count)
		r = pl_read(reader, hek, &hek, sizeof(hek));
	if (r < 0)
		return r;
	if (hek)
		return pl_read_hek(reader, hek, buf, size);
	return copy_text("__ANON__", buf, size);
}

static int read_glob(const struct pl_reader *reader, uint64_t gv, struct pl_sv *ret)
{
	int r = pl_read(reader, gv, ret, sizeof(*ret));

	if (r < 0)
		return r;
	return PL_SV_TYPE(ret->flags) == PL_SVT_PVGV && ret->flags & SVPGV_GP ? 0 : -EBADMSG;
}

/* GvEGVx, gv.h; 0: it has none. */
static int read_effective(const struct pl_reader *reader, const struct pl_sv *glob, uint64_t *ret)
{
	return pl_read(reader, glob->u + GP_EGV, ret, sizeof(*ret));
}

int pl_read_glob_name(const struct pl_reader *reader, uint64_t gv, bool effective, char *package,
		      char *name, size_t size)
{
	struct {
		uint64_t hek, stash;
	} names;
	struct pl_sv glob;
	uint64_t other = 0;
	int r = read_glob(reader, gv, &glob);

	if (r == 0 && effective)
		r = read_effective(reader, &glob, &other);
	if (r < 0)
		return r;
	if (other && other != gv)
		r = read_glob(reader, other, &glob);
	if (r == 0)
		r = pl_read(reader, glob.any + GV_NAME_HEK, &names, sizeof(names));
	if (r == 0)
		r = pl_read_hek(reader, names.hek, name, size);
	if (r < 0 || !package)
		return r;
	/* Its stash was freed: gv_fullname4. */
	if (!names.stash)
		return copy_text("__ANON__", package, size);
	return pl_read_stash_name(reader, names.stash, package, size);
}
