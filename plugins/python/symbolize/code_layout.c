/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/python/symbolize/code_layout.h"

#include "core/base/util.h"
#include "plugins/python/check.h"

#include <errno.h>

/* Everything that is read of a code object lies in its first so many bytes. */
#define MAX_OFF 1000

/*
 * struct PyCodeObject. Each row read at the tag's header, and compared with the DWARF of a build of
 * 3.6.15, 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0 (x86-64). The ten words of the
 * check (check.h) are:
 *	3.6, 3.7	co_flags and co_firstlineno, co_code, co_consts, co_names, co_varnames,
 *			co_freevars, co_cellvars, co_cell2arg, co_filename, co_name
 *	3.8 to 3.10	the same, with a hole in place of co_flags
 *	3.11 to 3.13	four words of counts, among them from 3.12 on co_version, which is another
 *			for each code object; co_localsplusnames, co_localspluskinds, co_filename,
 *			co_name, co_qualname, co_linetable
 */
static const struct code_row {
	uint16_t version, format, check, firstlineno, filename, name, qualname, lines;
} code_rows[] = {
	/* Include/code.h v3.6.15, v3.7.16 */
	{PY_VERSION(3, 6), PY_LINES_LNOTAB, 32, 36, 96, 104, 0, 112},
	{PY_VERSION(3, 7), PY_LINES_LNOTAB, 32, 36, 96, 104, 0, 112},
	/* Include/code.h v3.8.18, Include/cpython/code.h v3.9.18, v3.10.13 */
	{PY_VERSION(3, 8), PY_LINES_LNOTAB, 40, 40, 104, 112, 0, 120},
	{PY_VERSION(3, 9), PY_LINES_LNOTAB, 40, 40, 104, 112, 0, 120},
	{PY_VERSION(3, 10), PY_LINES_RANGES, 40, 40, 104, 112, 0, 120},
	/* Include/cpython/code.h v3.11.7, v3.12.1, v3.13.0 */
	{PY_VERSION(3, 11), PY_LINES_LOCATIONS, 64, 72, 112, 120, 128, 136},
	{PY_VERSION(3, 12), PY_LINES_LOCATIONS, 64, 68, 112, 120, 128, 136},
	{PY_VERSION(3, 13), PY_LINES_LOCATIONS, 64, 68, 112, 120, 128, 136},
};

#define PY_CHECK_ALL ((1u << PY_CHECK_WORDS) - 1)

/* Include/object.h: PyObject_HEAD; Include/bytesobject.h, Include/cpython/bytesobject.h. */
static void fill_common(struct py_code_layout *layout)
{
	layout->ob_refcnt = 0;
	layout->has_refcnt = 1;
	layout->ob_type = 8;
	layout->bytes_size = 16;
	layout->bytes_data = 32;
}

/*
 * Include/unicodeobject.h v3.6.15 to Include/cpython/unicodeobject.h v3.13.0. 3.12 dropped wstr of
 * PyASCIIObject and wstr_length of PyCompactUnicodeObject (PEP 623).
 */
static void fill_str(struct py_code_layout *layout)
{
	bool wstr = layout->version < PY_VERSION(3, 12);

	layout->str_length = 16;
	layout->str_state = 32;
	layout->str_kind_shift = 2; /* after `interned` */
	layout->str_ascii_data = wstr ? 48 : 40;
	layout->str_compact_data = layout->str_any = wstr ? 72 : 56;
}

static void fill_code(struct py_code_layout *layout, const struct code_row *row)
{
	layout->lines_format = row->format;
	layout->check_off = row->check;
	layout->check_mask = PY_CHECK_ALL;
	layout->co_firstlineno = row->firstlineno;
	layout->co_filename = row->filename;
	layout->co_name = row->name;
	layout->co_qualname = row->qualname;
	layout->co_lines = row->lines;
}

/* _PyObject_HEAD_EXTRA, Include/object.h: two pointers before everything else. */
static void add_head_extra(struct py_code_layout *layout)
{
	uint16_t *const offs[] = {
		&layout->ob_refcnt,  &layout->ob_type,	      &layout->check_off,
		&layout->co_name,    &layout->co_firstlineno, &layout->co_filename,
		&layout->co_lines,   &layout->str_length,     &layout->str_state,
		&layout->str_any,    &layout->str_ascii_data, &layout->str_compact_data,
		&layout->bytes_size, &layout->bytes_data,
	};

	for (size_t i = 0; i < EP_LEN(offs); i++)
		*offs[i] += 16;
	if (layout->co_qualname)
		layout->co_qualname += 16;
}

int py_code_layout_find(uint32_t version, bool trace_refs, struct py_code_layout *ret)
{
	for (size_t i = 0; i < EP_LEN(code_rows); i++) {
		struct py_code_layout layout = {.version = version};

		if (code_rows[i].version != version)
			continue;
		fill_common(&layout);
		fill_str(&layout);
		fill_code(&layout, &code_rows[i]);
		if (trace_refs)
			add_head_extra(&layout);
		*ret = layout;
		return 0;
	}
	return -ENOTSUP;
}

static bool good_offs(const uint64_t *offs, size_t n, uint64_t align)
{
	for (size_t i = 0; i < n; i++) {
		if (offs[i] == 0 || offs[i] > MAX_OFF || offs[i] % align)
			return false;
	}
	return true;
}

static bool good_debug_offsets(const struct py_code_debug_offsets *in)
{
	const uint64_t pointers[] = {
		in->co_filename,	in->co_name,
		in->co_qualname,	in->co_linetable,
		in->co_localsplusnames, in->co_localspluskinds,
		in->bytes_ob_size,	in->unicode_length,
	};
	const uint64_t others[] = {
		in->co_firstlineno, in->co_code_adaptive,	  in->bytes_ob_sval,
		in->unicode_state,  in->unicode_asciiobject_size, in->unicode_size,
	};

	return good_offs(pointers, EP_LEN(pointers), 8) && good_offs(others, EP_LEN(others), 4) &&
	       in->unicode_size % 8 == 0 &&
	       in->unicode_size >= in->unicode_asciiobject_size + 3 * sizeof(uint64_t);
}

/*
 * The check ends with the last of the pointers that never change. What lies between and before
 * them is known for 3.13 to 3.15 only (Include/cpython/code.h: the counts end with co_version,
 * right before co_localsplusnames); elsewhere just the pointers count.
 */
static void place_check(struct py_code_layout *layout, const struct py_code_debug_offsets *in)
{
	const uint64_t pointers[] = {in->co_localsplusnames, in->co_localspluskinds,
				     in->co_filename,	     in->co_name,
				     in->co_qualname,	     in->co_linetable};
	uint64_t end = 0, start;

	for (size_t i = 0; i < EP_LEN(pointers); i++)
		end = EP_MAX(end, pointers[i] + 8);
	start = end > PY_CHECK_BYTES ? end - PY_CHECK_BYTES : 0;
	layout->check_off = (uint16_t)start;
	layout->check_mask = 0;
	for (size_t i = 0; i < EP_LEN(pointers); i++) {
		if (pointers[i] >= start)
			layout->check_mask |= (uint16_t)(1u << (pointers[i] - start) / 8);
	}
	if (in->version <= PY_VERSION(3, 15) && start + 32 == in->co_localsplusnames &&
	    in->co_localsplusnames == in->co_firstlineno + 28)
		layout->check_mask = PY_CHECK_ALL;
}

/*
 * Only where the structs of str end is known. PyCompactUnicodeObject adds two words to
 * PyASCIIObject, and PyUnicodeObject ends with its data pointer (Include/cpython/unicodeobject.h
 * v3.13.0, v3.15.0b1). In free-threaded builds `interned` has a byte of its own from 3.14 on (same
 * file, v3.14.0).
 */
static void place_str(struct py_code_layout *layout, const struct py_code_debug_offsets *in)
{
	bool wide = in->free_threaded && in->version >= PY_VERSION(3, 14);

	layout->str_length = (uint16_t)in->unicode_length;
	layout->str_state = (uint16_t)in->unicode_state;
	layout->str_kind_shift = wide ? 8 : 2;
	layout->str_ascii_data = (uint16_t)in->unicode_asciiobject_size;
	layout->str_any = (uint16_t)(in->unicode_size - 8);
	layout->str_compact_data = layout->str_any;
}

int py_code_layout_from_debug_offsets(const struct py_code_debug_offsets *in,
				      struct py_code_layout *ret)
{
	/* Include/object.h v3.13.0: a free-threaded object begins with its owner and four counts.
	 */
	uint64_t ob_type = in->ob_type ? in->ob_type : in->free_threaded ? 24 : 8;

	if (!good_debug_offsets(in) || !good_offs(&ob_type, 1, 8))
		return -ENOTSUP;
	*ret = (struct py_code_layout){
		.version = in->version,
		.lines_format = PY_LINES_LOCATIONS,
		.has_refcnt = !in->free_threaded,
		.ob_refcnt = (uint16_t)(ob_type - 8),
		.ob_type = (uint16_t)ob_type,
		.co_firstlineno = (uint16_t)in->co_firstlineno,
		.co_filename = (uint16_t)in->co_filename,
		.co_name = (uint16_t)in->co_name,
		.co_qualname = (uint16_t)in->co_qualname,
		.co_lines = (uint16_t)in->co_linetable,
		.bytes_size = (uint16_t)in->bytes_ob_size,
		.bytes_data = (uint16_t)in->bytes_ob_sval,
	};
	place_check(ret, in);
	place_str(ret, in);
	return 0;
}
