/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded process: what its stacks were made of, and nothing else. Registers of each thread, all
 * mappings, the pieces of memory that were touched while its stacks were walked and named, and for
 * each executable not the file but the answers it gave: unwind rules of the text pages walked
 * through, names of the functions, and what language plugins asked. So a fixture needs no other
 * file, and has little of what the process keeps in its memory.
 *
 * A fixture owns all it has; strings live as long as it does. One thread. The file's form is in
 * core/replay/fixture_format.c.
 */
#ifndef EP_REPLAY_FIXTURE_H
#define EP_REPLAY_FIXTURE_H

#include "bpf/shared.h"
#include "core/base/map.h"
#include "core/base/strings.h"
#include "core/base/vec.h"
#include "core/elf/file.h"
#include "core/replay/thread.h"
#include "ebpf-profiler/unwinder.h"

#define EP_FIXTURE_BLOCK_BYTES	   256u /* of memory, kept or not as a whole */
#define EP_FIXTURE_MAX_BLOCKS	   (1u << 18)
#define EP_FIXTURE_MAX_THREADS	   4096
#define EP_FIXTURE_MAX_MAPPINGS	   65536
#define EP_FIXTURE_MAX_EXECUTABLES 4096
#define EP_FIXTURE_MAX_ANSWERS	   65536 /* of a file; a language may ask for a name with each of thousands */
#define EP_FIXTURE_MAX_TEXT_PAGES  (1u << 20)	/* of all executables together */
#define EP_FIXTURE_MAX_BYTES	   (128u << 20) /* not compressed */

struct ep_fixture_mapping {
	uint64_t start, end, file_off;
	uint32_t prot; /* PROT_READ | PROT_WRITE | PROT_EXEC */
	uint32_t is_file;
	uint32_t executable; /* its index + 1; 0: not one we know */
	const char *path;    /* "" for anonymous memory */
};

/* A text page whose rules were kept; of others there is nothing but that they exist. */
struct ep_fixture_text_page {
	uint64_t va;
	uint32_t rule;		  /* n_deltas 0: it holds for the whole page */
	uint32_t first, n_deltas; /* in deltas */
};

struct ep_fixture_text { /* as struct ep_unwind_segment: text that has page entries */
	uint64_t va;
	uint32_t n_pages;
};

enum ep_fixture_question {
	EP_FIXTURE_SYMBOL = 1,
	EP_FIXTURE_SECTION = 2,
	EP_FIXTURE_FUNCTION = 3,     /* va */
	EP_FIXTURE_READ = 4,	     /* va, bytes -> data */
	EP_FIXTURE_TLS_VARIABLE = 5, /* va: the offset; bytes: index of the executable */
	EP_FIXTURE_TLS_KEY = 6,	     /* va: the key; bytes: index of the executable */
	/* name: a prefix -> data[data .. data + symbol.bytes): for each, ascending by name, 8 bytes
	 * of va, 8 of its size, the name and a NUL */
	EP_FIXTURE_SYMBOLS = 7,
	EP_FIXTURE_NAMED = 8, /* name: a function's in its file's own table */
	/* Of the process; name: path of a file beside a mapped one, va: offset, bytes -> data, symbol: its content
	 * and size (struct ep_target_file) */
	EP_FIXTURE_BESIDE = 9,
};

/* What a language plugin asked, and was answered. */
struct ep_fixture_answer {
	uint32_t question; /* enum ep_fixture_question */
	int32_t result;
	const char *name;
	uint64_t va;
	uint32_t bytes, data; /* of a read: data[data .. data + bytes) of the fixture */
	struct ep_symbol symbol;
	struct ep_tls tls;
};

struct ep_fixture_name {
	uint64_t va;
	const char *name;
	const char *source; /* a path, "" when it is not known */
	uint32_t line;
};

struct ep_fixture_executable {
	const char *path;
	const char *build_id;	  /* hex, "" when it has none */
	struct ep_vec segments;	  /* struct ep_elf_segment: executable ones */
	struct ep_vec text;	  /* struct ep_fixture_text; none: no unwind tables */
	struct ep_vec text_pages; /* struct ep_fixture_text_page, ascending */
	struct ep_vec deltas;	  /* uint32_t; rules are EP_RULE_FIRST_TABLE + index in rules */
	struct ep_vec rules;	  /* struct ep_rule */
	struct ep_vec answers;	  /* struct ep_fixture_answer */
	struct ep_vec names;	  /* struct ep_fixture_name: of native frames; of one va: inlined
				   * functions, innermost first */
};

struct ep_fixture {
	const struct ep_replay_arch *arch;
	uint32_t pid;
	uint64_t start_ns;
	const char *origin;    /* where it is from: "process", "core file" */
	const char *languages; /* names of the plugins that claimed it, with spaces between */
	struct ep_strings *strings;
	struct ep_vec threads;	   /* struct ep_replay_thread */
	struct ep_vec mappings;	   /* struct ep_fixture_mapping, ascending */
	struct ep_vec executables; /* struct ep_fixture_executable */
	struct ep_vec answers;	   /* struct ep_fixture_answer: of the process (thread storage) */
	struct ep_vec data;	   /* bytes that reads of files gave */
	struct ep_vec block_addrs; /* uint64_t */
	struct ep_vec block_bytes; /* EP_FIXTURE_BLOCK_BYTES for each of them */
	struct ep_map block_index; /* address / EP_FIXTURE_BLOCK_BYTES -> index */
};

int ep_fixture_new(struct ep_fixture **ret_fixture);
void ep_fixture_free(struct ep_fixture *fixture);
static inline void ep_fixture_freep(struct ep_fixture **fixture)
{
	ep_fixture_free(*fixture);
}

/* A copy that lives as long as the fixture; "" when memory is out. */
const char *ep_fixture_string(struct ep_fixture *fixture, const char *text);
/* NULL: no more space. */
struct ep_fixture_executable *ep_fixture_add_executable(struct ep_fixture *fixture);
/* Takes a block in, unless it is there. 0, -E2BIG, -ENOMEM. */
int ep_fixture_add_block(struct ep_fixture *fixture, uint64_t addr, const uint8_t *bytes);
bool ep_fixture_has_block(const struct ep_fixture *fixture, uint64_t addr);
/* Memory of the recorded process. 0, -EFAULT (all or nothing). */
int ep_fixture_read(const struct ep_fixture *fixture, uint64_t addr, void *buf, size_t bytes);
/* A name of the function at va: after `after`, or with NULL the first. NULL: there is none. */
const struct ep_fixture_name *ep_fixture_find_name(const struct ep_fixture_executable *executable,
						   uint64_t va, const struct ep_fixture_name *after);

/*
 * The symbol at *at, from 0 on, of an answer to EP_FIXTURE_SYMBOLS; *at goes to the next one. False:
 * there is none, or no whole one, *at is not at the end then.
 */
bool ep_fixture_next_symbol(const struct ep_fixture *fixture,
			    const struct ep_fixture_answer *answer, uint64_t *at,
			    const char **ret_name, struct ep_symbol *ret_symbol);

/* The whole file. `bytes` are empty. 0, -ENOMEM, -E2BIG. */
int ep_fixture_encode(const struct ep_fixture *fixture, struct ep_vec *bytes);
/* 0, -EBADMSG (no fixture, or a broken one), -ENOTSUP (a newer version), -E2BIG, -ENOMEM. */
int ep_fixture_decode(const void *data, size_t bytes, struct ep_fixture **ret_fixture);
/* Its two steps. `plain` is empty, and has a maximum. */
int ep_fixture_decompress(const void *data, size_t bytes, struct ep_vec *plain);
int ep_fixture_parse(const void *plain, size_t bytes, struct ep_fixture **ret_fixture);
/*
 * Checks all invariants of what was just parsed (fixture_check.c), and finds its memory's place.
 * 0, -EBADMSG, -E2BIG, -ENOMEM.
 */
int ep_fixture_check(struct ep_fixture *fixture);

#endif
