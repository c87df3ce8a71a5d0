/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct _Py_DebugOffsets is a sequence of 64-bit numbers:
 *
 *	cookie "xdebugpy" | PY_VERSION_HEX | free_threaded | runtime_state | interpreter_state | ...
 *
 * Each part but one begins with the size of the struct it describes. Between minor versions parts
 * and members are added anywhere; within a minor version nothing changes.
 */
#include "plugins/python/layout.h"

#include <errno.h>
#include <string.h>

/* --- 3.6 to 3.12 ------------------------------------------------------------------------------ */

/*
 * Read from DWARF of CPython's own builds (gdb: ptype /o) of 3.6.15, 3.7.16, 3.8.18, 3.9.18,
 * 3.10.13, 3.11.7, 3.12.1. In the sources: struct _ts in Include/pystate.h (Include/cpython/ from
 * 3.8), struct _frame in Include/frameobject.h (Include/cpython/), struct _is and struct
 * pyruntimestate in Include/internal/pycore_*.h, from 3.11 struct _PyInterpreterFrame in
 * Include/internal/pycore_frame.h, struct PyCodeObject in Include/cpython/code.h. 3.6 has no
 * _PyRuntime: its globals have symbols of their own.
 */
/* clang-format off */
#define ROW(minor, interpreters, holder, key, threads, frame, id, cframe, previous, code,         \
	    instruction, owner, entry, bytes)                                                      \
	.version = PY_VERSION(3, minor), .runtime_interpreters = interpreters,                     \
	.runtime_holder = holder, .runtime_key = key, .interp_next = 0, .interp_threads = threads, \
	.thread_next = 8, .thread_frame = frame, .thread_id = id, .cframe_frame = cframe,          \
	.frame_previous = previous, .frame_code = code, .frame_instruction = instruction,          \
	.frame_owner = owner, .frame_entry = entry, .frame_bytes = bytes
#define NONE PY_NONE

static const struct py_layout table[] = {
	/*    _PyRuntime: interpreters, holder, key; threads
	 *			    thread: frame, id; cframe
	 *				frame: previous, code, instruction, owner, entry, bytes */
	{ROW(6,  NONE, NONE, NONE,  8,	24, 152, NONE,	24, 32, 120, NONE, NONE, 128)},
	{ROW(7,  24,   1480, 1504,  8,	24, 176, NONE,	24, 32, 104, NONE, NONE, 112)},
	{ROW(8,  32,   1368, 1392,  8,	24, 176, NONE,	24, 32, 104, NONE, NONE, 112)},
	{ROW(9,  32,   568,  584,   8,	24, 176, NONE,	24, 32, 104, NONE, NONE, 112)},
	{ROW(10, 32,   568,  584,   8,	24, 176, NONE,	24, 32, 96,  NONE, NONE, 104)},
	{ROW(11, 40,   576,  592,   16, 56, 152, 8,	48, 32, 56,  69,   68,	 72),
	 .code_first_traceable = 168, .code_instructions = 184},
	{ROW(12, 40,   NONE, 1544,  72, 56, 136, 0,	8,  0,	56,  70,   NONE, 72),
	 .first_shim = 3, .code_first_traceable = 176, .code_instructions = 192},
};
/* clang-format on */

/* PyObject_HEAD: with Py_TRACE_REFS, _ob_next and _ob_prev come first (Include/object.h). */
#define TRACE_REFS_BYTES 16

static void shift_objects(struct py_layout *offsets)
{
	offsets->object_type += TRACE_REFS_BYTES;
	if (offsets->version < PY_VERSION(3, 11)) {
		/* Frames are objects. */
		offsets->frame_previous += TRACE_REFS_BYTES;
		offsets->frame_code += TRACE_REFS_BYTES;
		offsets->frame_instruction += TRACE_REFS_BYTES;
		offsets->frame_bytes += TRACE_REFS_BYTES;
	} else {
		offsets->code_first_traceable += TRACE_REFS_BYTES;
		offsets->code_instructions += TRACE_REFS_BYTES;
	}
}

int py_layout_find(uint32_t version, bool trace_refs, struct py_layout *ret)
{
	struct py_layout found;
	int r;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if (table[i].version != version)
			continue;
		found = table[i];
		found.object_type = 8;
		found.frame_copy = PY_NONE;
		found.code_copies = PY_NONE;
		if (trace_refs)
			shift_objects(&found);
		r = py_code_layout_find(version, trace_refs, &found.code);
		if (r < 0)
			return r;
		*ret = found;
		return 0;
	}
	return -ENOTSUP;
}

/* --- 3.13 and newer --------------------------------------------------------------------------- */

#define N_WORDS (PY_DEBUG_OFFSETS_BYTES / 8)

/* Index of the first word (the size) of each part, and of members that have moved within one. */
struct arrangement {
	uint32_t version;
	uint8_t interp, thread, frame, code, object, type, bytes, unicode;
	uint8_t thread_id;	 /* in its part */
	uint8_t n_frame, n_code; /* members, the size counted */
};

/* struct _Py_DebugOffsets: 3.13 Include/internal/pycore_runtime.h at v3.13.0; 3.14 and 3.15
 * Include/internal/pycore_debug_offsets.h of 3.14.10 and 3.15.2. Newest first. */
/* clang-format off */
static const struct arrangement arrangements[] = {
	/*		    interp thread frame code object type bytes unicode id */
	{ PY_VERSION(3, 15), 6,    22,    39,   47,  58,    60,  86,   89,     8, 8, 11 },
	{ PY_VERSION(3, 14), 6,    22,    31,   39,  50,    52,  74,   77,     5, 8, 11 },
	{ PY_VERSION(3, 13), 6,    19,    28,   34,  44,    46,  64,   67,     5, 6, 10 },
};
/* clang-format on */

/* Members, by their number in the part: the same in all of them so far. */
enum interp_member { INTERP_NEXT = 2, INTERP_THREADS = 3 };

enum thread_member { THREAD_NEXT = 2, THREAD_FRAME = 4 };

enum frame_member {
	FRAME_PREVIOUS = 1,
	FRAME_CODE,
	FRAME_INSTRUCTION,
	FRAME_LOCALS,
	FRAME_OWNER,
	FRAME_COPY = 7,
};

enum code_member {
	CODE_FILENAME = 1,
	CODE_NAME,
	CODE_QUALNAME,
	CODE_LINES,
	CODE_FIRSTLINE,
	CODE_ARGS,
	CODE_LOCAL_NAMES,
	CODE_LOCAL_KINDS,
	CODE_INSTRUCTIONS,
	CODE_COPIES,
};

#define VERSION_HEX	     1
#define FREE_THREADED	     2
#define RUNTIME_SIZE	     3
#define RUNTIME_INTERPRETERS 5

/* _PyRuntime.autoTSSkey, which they do not tell; gone in 3.15. From DWARF of 3.13.0, and from
 * PyGILState_GetThisThreadState of 3.13.5 and 3.14.10. */
static uint32_t key_offset(uint32_t version)
{
	return version == PY_VERSION(3, 13) ? 2160 : version == PY_VERSION(3, 14) ? 2336 : PY_NONE;
}

/* Members of a part must lie in the struct whose size it begins with. */
static bool part_holds(const uint64_t *part, const uint8_t *members, size_t n, uint64_t max_bytes)
{
	if (part[0] < 8 || part[0] > max_bytes)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (part[members[i]] >= part[0])
			return false;
	}
	return true;
}

static bool makes_sense(const uint64_t *words, const struct arrangement *at, uint64_t runtime_bytes)
{
	static const uint8_t interp[] = {INTERP_NEXT, INTERP_THREADS};
	static const uint8_t frame[] = {FRAME_PREVIOUS, FRAME_CODE, FRAME_INSTRUCTION, FRAME_LOCALS,
					FRAME_OWNER};
	static const uint8_t code[] = {CODE_FILENAME,  CODE_NAME, CODE_QUALNAME,    CODE_LINES,
				       CODE_FIRSTLINE, CODE_ARGS, CODE_INSTRUCTIONS};
	const uint8_t thread[] = {THREAD_NEXT, THREAD_FRAME, at->thread_id};
	const uint64_t *object = words + at->object, *type = words + at->type;

	if (runtime_bytes && words[RUNTIME_SIZE] != runtime_bytes)
		return false;
	return words[RUNTIME_INTERPRETERS] < words[RUNTIME_SIZE] &&
	       part_holds(words + at->interp, interp, sizeof(interp), 16u << 20) &&
	       part_holds(words + at->thread, thread, sizeof(thread), 1u << 16) &&
	       part_holds(words + at->frame, frame, sizeof(frame), 256) &&
	       part_holds(words + at->code, code, sizeof(code), 512) && object[0] >= 16 &&
	       object[0] <= 64 && object[1] + 8 <= object[0] && type[0] > 200 && type[0] < 4096 &&
	       words[at->bytes] < 256 && words[at->unicode] < 256;
}

static void fill_frame(struct py_layout *out, const uint64_t *part, const struct arrangement *at)
{
	bool copies = out->free_threaded && at->n_frame > FRAME_COPY && part[FRAME_COPY];

	out->frame_previous = (uint32_t)part[FRAME_PREVIOUS];
	out->frame_code = (uint32_t)part[FRAME_CODE];
	out->frame_instruction = (uint32_t)part[FRAME_INSTRUCTION];
	out->frame_owner = (uint32_t)part[FRAME_OWNER];
	out->frame_entry = PY_NONE;
	out->frame_copy = copies ? (uint32_t)part[FRAME_COPY] : PY_NONE;
	/* Up to the locals: after them the thread's memory may end. */
	out->frame_bytes = (uint32_t)part[FRAME_LOCALS];
	/* enum _frameowner: FRAME_OWNED_BY_CSTACK, from 3.14 on FRAME_OWNED_BY_INTERPRETER */
	out->first_shim = 3;
}

static void fill_code(struct py_layout *out, const uint64_t *part, const struct arrangement *at)
{
	bool copies = out->frame_copy != PY_NONE && at->n_code > CODE_COPIES;

	out->code_instructions = (uint32_t)part[CODE_INSTRUCTIONS];
	out->code_copies = copies ? (uint32_t)part[CODE_COPIES] : PY_NONE;
	/* "int _co_firsttraceable; void *co_extra; [co_tlbc;] char co_code_adaptive[]",
	 * Include/cpython/code.h, _PyCode_DEF: the same in 3.11 to 3.15. */
	out->code_first_traceable = out->code_instructions - (copies ? 24 : 16);
}

static int fill_layout(struct py_layout *out, const uint64_t *words, const struct arrangement *at)
{
	const uint64_t *code = words + at->code;
	struct py_code_debug_offsets in = {
		.version = out->version,
		.free_threaded = out->free_threaded,
		.co_filename = code[CODE_FILENAME],
		.co_name = code[CODE_NAME],
		.co_qualname = code[CODE_QUALNAME],
		.co_linetable = code[CODE_LINES],
		.co_firstlineno = code[CODE_FIRSTLINE],
		.co_localsplusnames = code[CODE_LOCAL_NAMES],
		.co_localspluskinds = code[CODE_LOCAL_KINDS],
		.co_code_adaptive = code[CODE_INSTRUCTIONS],
		.bytes_ob_size = words[at->bytes + 1],
		.bytes_ob_sval = words[at->bytes + 2],
		.unicode_size = words[at->unicode],
		.unicode_state = words[at->unicode + 1],
		.unicode_length = words[at->unicode + 2],
		.unicode_asciiobject_size = words[at->unicode + 3],
	};

	return py_code_layout_from_debug_offsets(&in, &out->code);
}

static int fill(const uint64_t *words, const struct arrangement *at, uint32_t version,
		struct py_layout *ret)
{
	const uint64_t *interp = words + at->interp, *thread = words + at->thread;
	bool free_threaded = words[FREE_THREADED] != 0;
	struct py_layout out = {
		.version = version,
		.free_threaded = free_threaded,
		.runtime_interpreters = (uint32_t)words[RUNTIME_INTERPRETERS],
		.runtime_holder = PY_NONE,
		.runtime_key = free_threaded ? PY_NONE : key_offset(version),
		.interp_next = (uint32_t)interp[INTERP_NEXT],
		.interp_threads = (uint32_t)interp[INTERP_THREADS],
		.thread_next = (uint32_t)thread[THREAD_NEXT],
		.thread_frame = (uint32_t)thread[THREAD_FRAME],
		.thread_id = (uint32_t)thread[at->thread_id],
		.cframe_frame = PY_NONE,
		.object_type = (uint32_t)words[at->object + 1],
	};
	int r;

	fill_frame(&out, words + at->frame, at);
	fill_code(&out, words + at->code, at);
	r = fill_layout(&out, words, at);
	if (r < 0)
		return r;
	*ret = out;
	return 0;
}

int py_layout_from_debug(const void *bytes, size_t n, uint64_t runtime_bytes,
			  struct py_layout *ret)
{
	uint64_t words[N_WORDS] = {0};
	uint32_t version;

	memcpy(words, bytes, n < sizeof(words) ? n : sizeof(words));
	if (n < 8 * (FREE_THREADED + 1) || memcmp(bytes, "xdebugpy", 8) != 0 ||
	    words[VERSION_HEX] > UINT32_MAX)
		return -ENODATA;
	version = (uint32_t)words[VERSION_HEX] >> 16;
	for (size_t i = 0; i < sizeof(arrangements) / sizeof(*arrangements); i++) {
		const struct arrangement *at = &arrangements[i];

		/* A known version has its own arrangement; only newer ones are guessed at. */
		if (version <= arrangements[0].version && version != at->version)
			continue;
		if (makes_sense(words, at, runtime_bytes) && fill(words, at, version, ret) == 0)
			return 0;
	}
	return -ENOTSUP;
}
