/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of an iseq: insns_info (iseq.h) has an entry for each instruction whose line, events or
 * node differ from those of the one before it, and a table of their positions:
 *
 *	from 2.6 on	struct succ_index_table (iseq.c): of a position the number of entries up to
 *			it. 54 positions of 7 bits, 9 in each of 6 words; then blocks of 512
 *			positions: | rank, 4 bytes | pad | ranks within, 8 bytes | a bit for each
 *			position, 64 bytes |
 *	2.5		an array of 32 bits each
 */
#ifndef RUBY_LINES_H
#define RUBY_LINES_H

#include "plugins/ruby/layout.h"
#include "plugins/shared/names/add.h"
#include "plugins/shared/read/memory.h"

#include <stddef.h>
#include <stdint.h>

#define RUBY_MAX_POSITIONS (1u << 20) /* words of an iseq; instructions after them have no line */
#define RUBY_MAX_ENTRIES   (1u << 16)

struct ruby_lines {
	struct names_run *runs; /* ascending; of two neighbours the line differs */
	size_t len;
};

/*
 * `body`: of an iseq, up to the last member of layout->body. 0, -ENOMEM, or what reading returned:
 * no lines.
 */
int ruby_lines_read(const struct memory *memory, const struct ruby_layout *layout, const void *body,
		    struct ruby_lines *ret);
void ruby_lines_fini(struct ruby_lines *lines);

/* Bytes of the table of so many positions. */
size_t ruby_succ_bytes(uint32_t positions);

/* For tests. As ruby_lines_read; `table` has so many bytes, `entries` so many of layout's. */
int ruby_lines_parse(const struct ruby_body_layout *layout, uint32_t positions,
		     const uint8_t *table, size_t table_bytes, const uint8_t *entries,
		     uint32_t n_entries, struct ruby_lines *ret);

#endif
