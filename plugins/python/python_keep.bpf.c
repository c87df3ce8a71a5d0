/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the names of a recently started program's code are made of, as symbolize/names.c reads it:
 * the code object, its qualified name, its file's and its table of lines. Where that table is
 * longer than one piece, as those of functions of some hundred lines are, a frame has its
 * function's first line alone.
 */
#include "ebpf-profiler/bpf/keeper.h"
#include "plugins/python/python_shared.h"

EP_KEEPER();

#define PY_KEEP_FRAMES 96

/* Bytes of a str that are read at once, nearly always all of it; and at most. Not less than its
 * head. */
#define PY_NAME_BYTES	 96
#define PY_PATH_BYTES	 128
#define PY_STR_MAX_BYTES 320
#define PY_LINES_BYTES	 192
_Static_assert(PY_CODE_BYTES + 2 * PY_STR_MAX_BYTES + EP_KEPT_PIECE_BYTES +
			       4 * sizeof(struct ep_kept_piece) <= EP_KEEP_ITEM_BYTES,
	       "room for one code object");

static __always_inline __u64 str_bytes(const struct py_state *state, const __u8 *str)
{
	__u64 length = *(const __u64 *)(str + (state->str_length & 0x38));
	__u32 bits =
		*(const __u32 *)(str + (state->str_state & 0x3c)) >> (state->str_kind_shift & 31);
	__u64 data = bits & 16 ? state->str_ascii_data : state->str_compact_data;

	if (length > PY_STR_MAX_BYTES)
		return PY_STR_MAX_BYTES;
	return data + length * (bits & 7);
}

static __always_inline void keep_str(const struct py_state *state, struct ep_keep *keep, __u64 addr,
				     __u64 at_once)
{
	const __u8 *str = ep_keep_memory(keep, addr, at_once);
	__u64 bytes;

	if (!str)
		return;
	bytes = str_bytes(state, str);
	if (bytes > at_once)
		ep_keep_longer(keep, addr, at_once,
			       bytes < PY_STR_MAX_BYTES ? bytes : PY_STR_MAX_BYTES);
}

static __always_inline void keep_lines(const struct py_state *state, struct ep_keep *keep,
				       __u64 addr)
{
	const __u8 *lines = ep_keep_memory(keep, addr, PY_LINES_BYTES);
	__u64 bytes;

	if (!lines)
		return;
	bytes = state->bytes_data + *(const __u64 *)(lines + (state->bytes_size & 0x38));
	if (bytes > PY_LINES_BYTES && bytes <= EP_KEPT_PIECE_BYTES)
		ep_keep_longer(keep, addr, PY_LINES_BYTES, bytes);
}

static __always_inline void keep_code(const struct py_state *state, struct ep_keep *keep,
				      __u64 code)
{
	__u64 bytes = state->head_bytes;
	const __u8 *head;
	__u64 name, file, lines;

	if (bytes > PY_CODE_BYTES)
		return;
	head = ep_keep_memory(keep, code, bytes);
	if (!head)
		return;
	name = *(const __u64 *)(head + (state->code_name & (PY_CODE_BYTES - 8)));
	file = *(const __u64 *)(head + (state->code_file & (PY_CODE_BYTES - 8)));
	lines = *(const __u64 *)(head + (state->code_lines & (PY_CODE_BYTES - 8)));
	keep_str(state, keep, name, PY_NAME_BYTES);
	keep_str(state, keep, file, PY_PATH_BYTES);
	keep_lines(state, keep, lines);
}

static __always_inline __u64 code_of(const __u64 *frame)
{
	return EP_FRAME_WORDS(frame[0]) == 1 ? frame[1] & PY_ADDRESS_MASK : frame[1];
}

SEC("perf_event")
int python_keep(struct bpf_perf_event_data *ctx)
{
	struct ep_record *rec = ep_get_record();
	struct ep_keep *keep = rec ? ep_keep_begin(rec) : NULL;
	const struct py_state *state = rec ? ep_get_state(rec) : NULL;

	for (__u64 i = 0; keep && state && i < PY_KEEP_FRAMES; i++) {
		const __u64 *frame = ep_keep_next(rec, keep);
		__u64 code;

		if (!frame)
			break;
		code = code_of(frame);
		if (ep_keep_is_mine(frame) && code != PY_FRAME_CLEANUP &&
		    ep_keep_is_new(rec, keep, code, EP_FRAME_AUX(frame[0])))
			keep_code(state, keep, code);
	}
	if (keep)
		ep_keep_send(rec, keep);
	ep_keep_end(ctx, rec);
	return 0;
}
