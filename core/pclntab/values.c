/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pclntab/layout.h"

#include <errno.h>
#include <string.h>

#define MAX_VARINT 5 /* bytes: values have 32 bits */

int ep_pclntab_values_begin(struct ep_pclntab *tab, const struct ep_pclntab_func *func,
			    uint32_t table, struct ep_pclntab_values *ret_values)
{
	if (table == 0)
		return -ENODATA;
	ret_values->tab = tab;
	ret_values->va = func->start;
	ret_values->end = func->end;
	ret_values->off = table;
	ret_values->limit = tab->bytes - tab->values;
	ret_values->value = -1;
	ret_values->first = true;
	ret_values->pos = ret_values->len = 0;
	return 0;
}

static int refill(struct ep_pclntab_values *v)
{
	uint32_t left = v->off < v->limit ? v->limit - v->off : 0;
	int r;

	v->pos = 0;
	v->len = (uint8_t)EP_MIN(left, (uint32_t)sizeof(v->window));
	if (v->len == 0)
		return -EBADMSG;
	r = ep_pclntab_read(v->tab, (uint64_t)v->tab->values + v->off, v->window, v->len);
	if (r < 0)
		v->len = 0;
	else
		v->off += v->len;
	return r;
}

static inline int read_varint(struct ep_pclntab_values *v, uint32_t *ret)
{
	uint32_t value = 0;
	int r;

	for (unsigned int i = 0; i < MAX_VARINT; i++) {
		uint8_t byte;

		if (v->pos == v->len) {
			r = refill(v);
			if (r < 0)
				return r;
		}
		byte = v->window[v->pos++];
		value |= (uint32_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*ret = value;
			return 0;
		}
	}
	return -EBADMSG;
}

int ep_pclntab_values_next(struct ep_pclntab_values *v, uint64_t *ret_end, int32_t *ret_value)
{
	uint32_t change, bytes;
	bool first;
	int r;

	do {
		r = read_varint(v, &change);
		if (r < 0)
			return r;
		if (change == 0 && !v->first)
			return 1;
		r = read_varint(v, &bytes);
		if (r < 0)
			return r;
		first = v->first;
		v->first = false;
		v->value = (int32_t)((uint32_t)v->value + (change & 1 ? ~(change >> 1) : change >> 1));
		if (bytes > v->end - v->va || (bytes == 0 && !first))
			return -EBADMSG;
	} while (bytes == 0);
	v->va += bytes;
	*ret_end = v->va;
	*ret_value = v->value;
	return 0;
}

int ep_pclntab_value_at(struct ep_pclntab *tab, const struct ep_pclntab_func *func, uint32_t table,
			uint64_t va, int32_t *ret_value)
{
	struct ep_pclntab_values values;
	uint64_t end;
	int32_t value;
	int r = va < func->start ? -ENODATA : ep_pclntab_values_begin(tab, func, table, &values);

	while (r == 0) {
		r = ep_pclntab_values_next(&values, &end, &value);
		if (r == 0 && va < end) {
			*ret_value = value;
			return 0;
		}
	}
	return r == 1 ? -ENODATA : r;
}

/* ---- texts ---- */

/* Names have any letters, but nothing that would do something to a terminal. */
static bool is_text(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if ((uint8_t)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

/* A text of the table, from its header. */
static int read_text(struct ep_pclntab *tab, uint64_t off, char *buf, size_t bytes)
{
	size_t have = 0;

	bytes = EP_MIN(bytes, (size_t)EP_PCLNTAB_MAX_NAME);
	while (have < bytes && off < tab->bytes) {
		size_t part = EP_MIN(EP_MIN(bytes - have, (size_t)64), (size_t)(tab->bytes - off));
		int r = ep_pclntab_read(tab, off, buf + have, part);
		const char *end;

		if (r < 0)
			return r;
		end = memchr(buf + have, 0, part);
		if (end)
			return end > buf && is_text(buf, (size_t)(end - buf)) ? 0 : -EBADMSG;
		have += part;
		off += part;
	}
	return have == bytes ? -E2BIG : -EBADMSG;
}

int ep_pclntab_name(struct ep_pclntab *tab, uint32_t name, char *buf, size_t bytes)
{
	return read_text(tab, (uint64_t)tab->names + name, buf, bytes);
}

int ep_pclntab_file(struct ep_pclntab *tab, const struct ep_pclntab_func *func, int32_t number,
		    char *buf, size_t bytes)
{
	uint64_t list = tab->layout->tables ? tab->units : tab->files;
	uint32_t off;
	int r;

	if (number < 0 || func->cu == UINT32_MAX)
		return -ENODATA;
	/* The oldest layout counts from 1: the list begins with its length. */
	if (!tab->layout->tables && (number == 0 || (uint32_t)number >= tab->n_files))
		return -ENODATA;
	r = ep_pclntab_read(tab, list + 4 * ((uint64_t)func->cu + (uint32_t)number), &off, sizeof(off));
	if (r < 0)
		return r;
	if (off == UINT32_MAX)
		return -ENODATA;
	return read_text(tab, (tab->layout->tables ? (uint64_t)tab->files : 0) + off, buf, bytes);
}

int ep_pclntab_inlined(struct ep_pclntab *tab, const struct ep_pclntab_func *func, int32_t number,
		       struct ep_pclntab_call *ret_call)
{
	const struct ep_pclntab_layout *l = tab->layout;
	uint32_t name, pc, start_line = 0;
	uint8_t bytes[20];
	int r;

	if (number < 0 || func->inline_tree == 0)
		return -ENODATA;
	r = ep_pclntab_read_va(tab, func->inline_tree + (uint64_t)number * l->call_bytes, bytes,
			       l->call_bytes);
	if (r < 0)
		return r;
	memcpy(&name, bytes + l->call_name, 4);
	memcpy(&pc, bytes + l->call_pc, 4);
	if (l->call_start_line != EP_PCLNTAB_ABSENT)
		memcpy(&start_line, bytes + l->call_start_line, 4);
	if (pc >= func->end - func->start || name >= tab->bytes - tab->names)
		return -EBADMSG;
	*ret_call = (struct ep_pclntab_call){
		.parent_va = func->start + pc,
		.name = name,
		.start_line = start_line,
		.role = bytes[l->call_id] == tab->wrapper_id ? EP_PCLNTAB_WRAPPER : EP_PCLNTAB_ORDINARY,
	};
	return 0;
}

/* ---- functions known by name ---- */

#define TOP EP_PCLNTAB_TOP
#define SPW EP_PCLNTAB_SP_WRITE

/*
 * From src/runtime at go1.12 to go1.27, *_amd64.s. The flags are for tables without any: the assembler's
 * rules for them (cmd/internal/obj/x86/obj6.go) applied to the sources of go1.15 and go1.16.
 */
static const struct ep_pclntab_known known_names[] = {
	{ "runtime.goexit", EP_PCLNTAB_ROOT, TOP },
	{ "runtime.mstart", EP_PCLNTAB_ROOT, TOP },
	{ "runtime.rt0_go", EP_PCLNTAB_ROOT, TOP | SPW },
	{ "_rt0_amd64_linux", EP_PCLNTAB_ROOT, 0 },
	{ "_rt0_amd64", EP_PCLNTAB_ROOT, 0 },
	{ "runtime.mcall", EP_PCLNTAB_MCALL, SPW },
	{ "runtime.morestack", EP_PCLNTAB_MORESTACK, SPW },
	{ "runtime.systemstack", EP_PCLNTAB_SYSTEMSTACK, SPW },
	{ "runtime.asmcgocall", EP_PCLNTAB_ASMCGOCALL, SPW },
	{ "runtime.cgocallback", EP_PCLNTAB_CGOCALLBACK, SPW },
	{ "runtime.cgocallback_gofunc", EP_PCLNTAB_CGOCALLBACK, SPW },
	{ "runtime.gogo", EP_PCLNTAB_GOGO, SPW },
	{ "gogo", EP_PCLNTAB_GOGO, SPW },
	{ "runtime.clone", EP_PCLNTAB_CLONE, SPW },
	{ "runtime.gopanic", EP_PCLNTAB_GOPANIC, 0 },
	{ "runtime.sigpanic", EP_PCLNTAB_SIGPANIC, 0 },
	{ "runtime.panicwrap", EP_PCLNTAB_PANICWRAP, 0 },
	{ "runtime.asyncPreempt", EP_PCLNTAB_ASYNC_PREEMPT, 0 },
	{ "runtime.debugCallV1", EP_PCLNTAB_DEBUG_CALL, 0 },
	{ "runtime.debugCallV2", EP_PCLNTAB_DEBUG_CALL, 0 },
	{ "runtime.sigreturn", EP_PCLNTAB_SIGRETURN, 0 },
	{ "runtime.sigreturn__sigaction", EP_PCLNTAB_SIGRETURN, 0 },
	{ "runtime.sigtramp", EP_PCLNTAB_SIGTRAMP, 0 },
	{ "runtime.nanotime1", EP_PCLNTAB_VDSO_CALL, SPW },
	{ "runtime.walltime1", EP_PCLNTAB_VDSO_CALL, SPW },
	{ "time.now", EP_PCLNTAB_VDSO_CALL, SPW },
	{ "runtime.vgetrandom1", EP_PCLNTAB_VDSO_CALL, SPW },
	{ "runtime.callCgoMmap", EP_PCLNTAB_ORDINARY, SPW },
	{ "runtime.callCgoMunmap", EP_PCLNTAB_ORDINARY, SPW },
	{ "runtime.callCgoSigaction", EP_PCLNTAB_ORDINARY, SPW },
	{ "runtime.sigfwd", EP_PCLNTAB_ORDINARY, SPW },
	{ "racecall", EP_PCLNTAB_ORDINARY, SPW },
};

const struct ep_pclntab_known *ep_pclntab_known(struct ep_pclntab *tab, uint32_t name)
{
	char buf[32] = { 0 };
	size_t bytes = EP_MIN(sizeof(buf), (size_t)(tab->bytes - tab->names - name));

	if (ep_pclntab_read(tab, (uint64_t)tab->names + name, buf, bytes) < 0 ||
	    !memchr(buf, 0, bytes))
		return NULL;
	if (memcmp(buf, "runtime.", 8) != 0 && memcmp(buf, "_rt0", 4) != 0 &&
	    strcmp(buf, "gogo") != 0 && strcmp(buf, "time.now") != 0 && strcmp(buf, "racecall") != 0)
		return NULL;
	for (size_t i = 0; i < EP_LEN(known_names); i++)
		if (strcmp(buf, known_names[i].name) == 0)
			return &known_names[i];
	return NULL;
}
