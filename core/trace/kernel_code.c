/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code ranges are sorted by address; those that overlap differ in time. An id is a number and in
 * its lowest two bits what it is, so that 0 is free.
 */
#include "core/trace/kernel_code.h"
#include "core/base/bisect.h"
#include "core/base/vec.h"

#include <errno.h>
#include <string.h>

#define MAX_PIECES 16384
#define MAX_ERAS   64
#define MAX_NAME   511 /* KSYM_NAME_LEN - 1, include/linux/kallsyms.h, Linux 6.1 */
/*
 * The kernel tells of the end of a program that may still run on another CPU; its memory is free
 * after a grace period (kernel/bpf/syscall.c, bpf_prog_put_deferred).
 */
#define STILL_RUNS_NS (1000ull * 1000)

/*
 * Whoever can make the kernel lose records must not make frames without end: each invalidation
 * gives those that it concerns two more ids. So many are given at once, and one more after each
 * wait; else the last invalidation goes on.
 */
#define MAX_DOUBTS    16
#define DOUBT_WAIT_NS (10ull * 1000 * 1000 * 1000)

enum id_kind { ID_PIECE = 1, ID_AFTER, ID_ERA, ID_KIND_BITS = 2, ID_KIND_MASK = 3 };

struct piece {
	uint64_t start, birth_ns; /* 0: before our start */
	uint64_t end_ns;	  /* UINT64_MAX: it is there */
	char *name;		  /* owned; NULL: a snapshot has it */
	const char *module;
	uint32_t bytes, number;
	bool is_doubted; /* a loss ended it: it may be there or not */
};

struct era {
	uint64_t from_ns, since_ns;
	uint32_t number;
	bool is_unsure;
};

struct eras {
	struct ep_vec list; /* struct era, in order of time */
	uint64_t given_ns;  /* when there was one more invalidation to be had */
	uint32_t doubts;
};

struct ep_kernel_code {
	struct ep_vec pieces; /* struct piece, sorted by start */
	struct eras modules;  /* of all that no code range is known of */
	struct eras losses;   /* of code ranges that are invalidated */
	uint64_t own_start, own_end;
	uint64_t max_bytes; /* of a code range */
	uint64_t unsure_until_ns;
	uint32_t last_number;
	bool has_changed;
};

static void init_eras(struct eras *eras)
{
	ep_vec_init(&eras->list, sizeof(struct era), MAX_ERAS);
	eras->doubts = MAX_DOUBTS;
}

int ep_kernel_code_new(struct ep_kernel_code **ret_code)
{
	struct ep_kernel_code *code = calloc(1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	ep_vec_init(&code->pieces, sizeof(struct piece), MAX_PIECES);
	init_eras(&code->modules);
	init_eras(&code->losses);
	*ret_code = code;
	return 0;
}

void ep_kernel_code_free(struct ep_kernel_code *code)
{
	struct piece *piece;

	if (!code)
		return;
	ep_vec_each(&code->pieces, piece)
		free(piece->name);
	ep_vec_fini(&code->pieces);
	ep_vec_fini(&code->modules.list);
	ep_vec_fini(&code->losses.list);
	free(code);
}

void ep_kernel_code_set_own(struct ep_kernel_code *code, uint64_t start_addr, uint64_t end_addr)
{
	code->own_start = start_addr;
	code->own_end = end_addr;
}

bool ep_kernel_code_has_changed(const struct ep_kernel_code *code)
{
	return code->has_changed;
}

uint64_t ep_kernel_code_unsure_until_ns(const struct ep_kernel_code *code)
{
	return code->unsure_until_ns;
}

/* --- finding --------------------------------------------------------------------------------- */

static struct piece *piece_at(const struct ep_kernel_code *code, size_t i)
{
	return ep_vec_at(&code->pieces, struct piece, i);
}

/* How many code ranges begin at or before an address. */
static size_t count_until(const struct ep_kernel_code *code, uint64_t addr)
{
	return ep_bisect(code->pieces.len, i, piece_at(code, i)->start <= addr);
}

/* The one before number i that may reach to an address, itself or one before; NULL: none. */
static struct piece *next_before(const struct ep_kernel_code *code, uint64_t addr, size_t *i)
{
	struct piece *piece;

	if (*i == 0)
		return NULL;
	piece = piece_at(code, --*i);
	return addr - piece->start < code->max_bytes ? piece : NULL;
}

/* Of those that began by then the last one, whether it is still there or not. */
static const struct piece *find_piece(const struct ep_kernel_code *code, uint64_t addr, uint64_t time_ns)
{
	const struct piece *best = NULL, *piece;
	size_t i = count_until(code, addr);

	while ((piece = next_before(code, addr, &i)) != NULL) {
		if (addr - piece->start < piece->bytes && piece->birth_ns <= time_ns &&
		    (!best || piece->birth_ns > best->birth_ns))
			best = piece;
	}
	return best;
}

static const struct era *find_era(const struct eras *eras, uint64_t time_ns)
{
	for (size_t i = eras->list.len; i > 0; i--) {
		const struct era *era = ep_vec_at(&eras->list, struct era, i - 1);

		if (era->from_ns <= time_ns)
			return era;
	}
	return NULL;
}

static bool is_there(const struct piece *piece, uint64_t time_ns)
{
	if (piece->is_doubted)
		return time_ns < piece->end_ns;
	return piece->end_ns == UINT64_MAX || time_ns <= piece->end_ns + STILL_RUNS_NS;
}

static uint32_t make_id(uint32_t number, enum id_kind kind)
{
	return number << ID_KIND_BITS | kind;
}

uint32_t ep_kernel_code_at(const struct ep_kernel_code *code, uint64_t addr, uint64_t time_ns)
{
	const struct piece *piece;
	const struct era *era;

	if (!code->has_changed || (addr >= code->own_start && addr < code->own_end))
		return 0;
	piece = find_piece(code, addr, time_ns);
	era = find_era(piece && piece->is_doubted ? &code->losses : &code->modules, time_ns);
	if (piece && is_there(piece, time_ns))
		return piece->name ? make_id(piece->number, ID_PIECE) : 0;
	if (piece && (!era || (!piece->is_doubted && era->from_ns < piece->end_ns)))
		return make_id(piece->number, ID_AFTER);
	return era ? make_id(era->number, ID_ERA) : 0;
}

static int describe_piece(const struct ep_kernel_code *code, uint64_t addr, uint32_t id,
			  struct ep_kernel_source *ret_source)
{
	const struct piece *piece;
	size_t i = count_until(code, addr);

	while ((piece = next_before(code, addr, &i)) != NULL) {
		if (piece->number != id >> ID_KIND_BITS)
			continue;
		*ret_source = (struct ep_kernel_source){.since_ns = piece->end_ns};
		if ((id & ID_KIND_MASK) == ID_PIECE)
			*ret_source = (struct ep_kernel_source){.name = piece->name, .module = piece->module};
		return 0;
	}
	return -ENODATA;
}

static const struct era *era_of(const struct eras *eras, uint32_t number)
{
	const struct era *era;

	ep_vec_each(&eras->list, era) {
		if (era->number == number)
			return era;
	}
	return NULL;
}

int ep_kernel_code_source(const struct ep_kernel_code *code, uint64_t addr, uint32_t id,
			  struct ep_kernel_source *ret_source)
{
	const struct era *era;

	if (id == 0) {
		*ret_source = (struct ep_kernel_source){0};
		return 0;
	}
	if ((id & ID_KIND_MASK) != ID_ERA)
		return describe_piece(code, addr, id, ret_source);
	era = era_of(&code->modules, id >> ID_KIND_BITS);
	if (!era)
		era = era_of(&code->losses, id >> ID_KIND_BITS);
	if (!era)
		return -ENODATA;
	*ret_source = (struct ep_kernel_source){.since_ns = era->since_ns, .is_unsure = era->is_unsure};
	return 0;
}

bool ep_kernel_code_may_name(const struct ep_kernel_code *code, uint64_t start_addr, uint64_t addr)
{
	for (size_t i = count_until(code, start_addr); i > 0; i--) {
		const struct piece *piece = piece_at(code, i - 1);

		if (piece->start != start_addr)
			return true;
		if (!piece->is_doubted && (piece->birth_ns || addr - start_addr >= piece->bytes))
			return false;
	}
	return true;
}

/* --- changing -------------------------------------------------------------------------------- */

static uint32_t next_number(struct ep_kernel_code *code)
{
	code->last_number = code->last_number < UINT32_MAX >> ID_KIND_BITS ? code->last_number + 1 : 1;
	return code->last_number;
}

static void add_era(struct ep_kernel_code *code, struct eras *eras, uint64_t from_ns, uint64_t since_ns,
		    bool is_unsure)
{
	struct era *all = eras->list.data;
	struct era era = {.from_ns = from_ns, .since_ns = since_ns, .is_unsure = is_unsure};

	era.number = next_number(code);
	code->has_changed = true;
	if (eras->list.len == MAX_ERAS)
		memmove(all, all + 1, --eras->list.len * sizeof(*all));
	(void)ep_vec_append(&eras->list, &era, 1); /* without memory the era before goes on */
}

static struct era *last_era(const struct eras *eras)
{
	return eras->list.len ? ep_vec_at(&eras->list, struct era, eras->list.len - 1) : NULL;
}

static bool take_doubt(struct eras *eras, uint64_t now_ns)
{
	uint64_t given = (now_ns - EP_MIN(now_ns, eras->given_ns)) / DOUBT_WAIT_NS;

	eras->given_ns += given * DOUBT_WAIT_NS;
	eras->doubts = (uint32_t)EP_MIN(eras->doubts + given, (uint64_t)MAX_DOUBTS);
	if (!eras->doubts)
		return false;
	eras->doubts--;
	return true;
}

/* Of what is sampled in the time between, and after that. */
static void doubt(struct ep_kernel_code *code, struct eras *eras, uint64_t from_ns, uint64_t until_ns)
{
	struct era *last = last_era(eras);

	code->unsure_until_ns = EP_MAX(code->unsure_until_ns, until_ns);
	if (last && !take_doubt(eras, until_ns)) {
		last->is_unsure = true;
		last->since_ns = until_ns;
		return;
	}
	add_era(code, eras, from_ns, until_ns, true);
	add_era(code, eras, until_ns, until_ns, false);
}

void ep_kernel_code_doubt(struct ep_kernel_code *code, uint64_t from_ns, uint64_t until_ns)
{
	doubt(code, &code->modules, from_ns, until_ns);
}

void ep_kernel_code_lose(struct ep_kernel_code *code, uint64_t from_ns, uint64_t until_ns)
{
	bool concerns_any = false;
	struct piece *piece;

	ep_vec_each(&code->pieces, piece) {
		if (piece->end_ns == UINT64_MAX) {
			piece->end_ns = EP_MAX(piece->birth_ns, from_ns);
			piece->is_doubted = true;
		}
		concerns_any |= piece->is_doubted;
	}
	if (concerns_any)
		doubt(code, &code->losses, from_ns, until_ns);
}

/* What was where they were is looked for in snapshots from now on. */
static void forget_ended(struct ep_kernel_code *code, uint64_t now_ns)
{
	struct era *last = last_era(&code->modules);
	size_t kept = 0;

	for (size_t i = 0; i < code->pieces.len; i++) {
		struct piece *piece = piece_at(code, i);

		if (piece->end_ns == UINT64_MAX)
			*piece_at(code, kept++) = *piece;
		else
			free(piece->name);
	}
	code->pieces.len = kept;
	if (last && !take_doubt(&code->modules, now_ns))
		last->since_ns = now_ns;
	else
		add_era(code, &code->modules, now_ns, now_ns, false);
}

/* Takes its name. False: there is no space. */
static bool insert_piece(struct ep_kernel_code *code, struct piece piece)
{
	size_t i;

	if (!ep_vec_push(&code->pieces)) {
		free(piece.name);
		return false;
	}
	code->pieces.len--;
	i = count_until(code, piece.start);
	memmove(piece_at(code, i + 1), piece_at(code, i), (code->pieces.len++ - i) * sizeof(piece));
	piece.number = next_number(code);
	*piece_at(code, i) = piece;
	code->max_bytes = EP_MAX(code->max_bytes, (uint64_t)piece.bytes);
	return true;
}

static bool is_free(const struct ep_kernel_code *code, uint64_t addr, uint64_t bytes)
{
	struct piece *piece;

	ep_vec_each(&code->pieces, piece) {
		if (piece->start < addr + bytes && addr < piece->start + piece->bytes)
			return false;
	}
	return true;
}

void ep_kernel_code_add_old(struct ep_kernel_code *code, uint64_t addr, uint64_t bytes)
{
	uint64_t end;

	if (!bytes || bytes > UINT32_MAX || __builtin_add_overflow(addr, bytes, &end) ||
	    code->pieces.len >= MAX_PIECES / 2 || !is_free(code, addr, bytes))
		return;
	(void)insert_piece(code, (struct piece){.start = addr, .end_ns = UINT64_MAX, .bytes = (uint32_t)bytes});
}

static void add_piece(struct ep_kernel_code *code, const struct ep_kernel_change *change)
{
	struct piece piece = {
		.start = change->addr,
		.birth_ns = change->is_gone ? 0 : change->time_ns,
		.end_ns = change->is_gone ? change->time_ns : UINT64_MAX,
		.module = change->module,
		.bytes = (uint32_t)EP_MIN(change->bytes, (uint64_t)UINT32_MAX),
	};

	if (code->pieces.len == MAX_PIECES)
		forget_ended(code, change->time_ns);
	piece.name = strndup(change->name, MAX_NAME);
	if (!piece.name || !insert_piece(code, piece)) /* snapshots have to do */
		ep_kernel_code_lose(code, change->time_ns, change->time_ns);
}

static bool has_name(const struct piece *piece, const char *name)
{
	return !piece->name || strncmp(piece->name, name, MAX_NAME) == 0;
}

/* The last one of this name that begins there. */
static struct piece *find_same(const struct ep_kernel_code *code, const struct ep_kernel_change *change)
{
	struct piece *best = NULL;

	for (size_t i = count_until(code, change->addr); i > 0; i--) {
		struct piece *piece = piece_at(code, i - 1);

		if (piece->start != change->addr)
			break;
		if (has_name(piece, change->name) && (!best || piece->birth_ns > best->birth_ns))
			best = piece;
	}
	return best;
}

/* Their end was not reported: records are lost, or late. */
static void end_overlapped(struct ep_kernel_code *code, const struct ep_kernel_change *change)
{
	uint64_t last_addr = change->addr + change->bytes - 1;

	for (size_t i = count_until(code, last_addr); i > 0; i--) {
		struct piece *piece = piece_at(code, i - 1);

		if (change->addr >= piece->start && change->addr - piece->start >= code->max_bytes)
			return;
		if (piece->start + piece->bytes > change->addr && piece->end_ns == UINT64_MAX &&
		    piece->birth_ns <= change->time_ns)
			piece->end_ns = change->time_ns;
	}
}

/* From here on its name is known without a snapshot, which may be one that has it no more. */
static void end_piece(struct piece *piece, const struct ep_kernel_change *change)
{
	piece->end_ns = change->time_ns;
	if (piece->name)
		return;
	piece->name = strndup(change->name, MAX_NAME);
	piece->module = change->module;
}

void ep_kernel_code_change(struct ep_kernel_code *code, const struct ep_kernel_change *change)
{
	struct piece *same;
	uint64_t end;

	if (!change->bytes || __builtin_add_overflow(change->addr, change->bytes, &end))
		return;
	code->has_changed = true;
	same = find_same(code, change);
	if (change->is_gone) {
		if (!same)
			add_piece(code, change);
		else if (same->end_ns == UINT64_MAX && same->birth_ns <= change->time_ns)
			end_piece(same, change);
		return;
	}
	if (same && same->birth_ns && same->end_ns == UINT64_MAX && same->bytes == change->bytes) { /* two rings say it */
		same->birth_ns = EP_MIN(same->birth_ns, change->time_ns);
		return;
	}
	end_overlapped(code, change);
	add_piece(code, change);
}
