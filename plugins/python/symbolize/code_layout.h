/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the parts of a code object, of a str and of a bytes object are, for one CPython build.
 * LP64; offsets are bytes from the object's address.
 *
 * Up to 3.12 from a table; from 3.13 on the runtime tells most of it itself (_Py_DebugOffsets).
 */
#ifndef PY_CODE_LAYOUT_H
#define PY_CODE_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* As PY_VERSION_HEX >> 16: PY_VERSION(3, 12) is 0x030c. */
#define PY_VERSION(major, minor) ((major) << 8 | (minor))

enum py_line_format {
	PY_LINES_LNOTAB = 1,	/* 3.6 to 3.9: co_lnotab, unsigned offset, signed line increments */
	PY_LINES_RANGES = 2,	/* 3.10: co_linetable, ranges with signed line increments */
	PY_LINES_LOCATIONS = 3, /* 3.11 and newer: co_linetable, with columns */
};

struct py_code_layout {
	uint32_t version;      /* PY_VERSION() */
	uint32_t lines_format; /* enum py_line_format */

	/* PyObject */
	uint16_t ob_refcnt; /* Py_ssize_t, 3.14 and newer: 32 bits and flags */
	uint16_t ob_type;
	uint32_t has_refcnt; /* 0: free-threaded, counts are elsewhere and mean something else */
	/* Target address of PyCode_Type, for the caller to fill in; 0: not compared. */
	uint64_t code_type_addr;

	/* PyCodeObject */
	uint16_t check_off;  /* see check.h */
	uint16_t check_mask; /* bit i: word i counts */
	uint16_t co_firstlineno, co_filename, co_name;
	uint16_t co_qualname;	   /* 0: none, before 3.11 */
	uint16_t co_lines;	   /* co_lnotab or co_linetable */

	/* str: PyASCIIObject, PyCompactUnicodeObject, PyUnicodeObject */
	uint16_t str_length, str_state; /* ssize_t; 32 bits */
	uint16_t str_kind_shift;   /* of `kind` (3 bits) in state; `compact`, `ascii` follow it */
	uint16_t str_ascii_data;   /* characters of a compact ASCII string */
	uint16_t str_compact_data; /* of another compact string */
	uint16_t str_any;	   /* pointer to those of one that is not compact */

	/* bytes */
	uint16_t bytes_size, bytes_data;
};

/*
 * What _Py_DebugOffsets says, CPython 3.13 Include/internal/pycore_runtime.h, 3.14 and newer
 * pycore_debug_offsets.h: pyobject, code_object, bytes_object, unicode_object.
 */
struct py_code_debug_offsets {
	uint32_t version; /* PY_VERSION() */
	bool free_threaded;
	uint64_t ob_type; /* 0: where it is in the known versions */
	uint64_t co_filename, co_name, co_qualname, co_linetable, co_firstlineno;
	uint64_t co_localsplusnames, co_localspluskinds, co_code_adaptive;
	uint64_t bytes_ob_size, bytes_ob_sval;
	uint64_t unicode_size, unicode_state, unicode_length, unicode_asciiobject_size;
};

/*
 * 3.6 to 3.13. `trace_refs`: built with Py_TRACE_REFS, two words more in each object's head; that
 * is every debug build of 3.6 and 3.7, from 3.8 on only one configured --with-trace-refs.
 * 0 or -ENOTSUP.
 */
int py_code_layout_find(uint32_t version, bool trace_refs, struct py_code_layout *ret);

/* 0 or -ENOTSUP: the numbers make no sense. They come from the target: anything may be in them. */
int py_code_layout_from_debug_offsets(const struct py_code_debug_offsets *in,
				      struct py_code_layout *ret);

#endif
