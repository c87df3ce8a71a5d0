/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process of Ruby that is made up: classes, methods and iseqs in an array, as the release has
 * them, and the frames that BPF would push of them.
 */
#ifndef TEST_RUBY_MADE_H
#define TEST_RUBY_MADE_H

#include "plugins/ruby/ruby_shared.h"
#include "plugins/ruby/symbolize/lines.h"
#include "plugins/ruby/symbolize/objects.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#define HEAP	   0x100000u
#define HEAP_BYTES 0x40000u
#define PATH_ID	   0xf01u /* of __classpath__ and __attached__, to 3.1 */
#define ATTACHED_ID 0xf11u
#define LAST_OP	   169u

static const uint32_t made_releases[] = {
	RUBY_RELEASE(2, 5), RUBY_RELEASE(2, 7), RUBY_RELEASE(3, 1), RUBY_RELEASE(3, 2),
	RUBY_RELEASE(3, 3), RUBY_RELEASE(3, 4), RUBY_RELEASE(4, 0),
};
#define MADE_RELEASES (sizeof(made_releases) / sizeof(made_releases[0]))

struct made {
	struct fake_host host;
	struct ruby_layout layout;
	struct ruby_namer namer;
	struct ruby_ids ids;
	uint8_t bytes[HEAP_BYTES];
	uint64_t next;	   /* free memory */
	uint64_t serials;
};

#define MADE_END (HEAP + HEAP_BYTES)
#include "tests/kit/made.h"

/* --- objects ---------------------------------------------------------------------------------- */

static inline uint64_t make_string(struct made *made, const char *text)
{
	size_t len = strlen(text);
	uint64_t string = make(made, 40 + (made->layout.string_in_flags ? 0 : len));

	if (made->layout.string_in_flags ? len < 24 : len < 100) {
		put_word(made, string,
			 RUBY_TYPE_STRING | (made->layout.string_in_flags ? len << 14 : 0));
		if (!made->layout.string_in_flags)
			put_word(made, string + 16, len);
		put(made, string + (made->layout.string_in_flags ? 16 : 24), text, len);
		return string;
	}
	put_word(made, string, RUBY_TYPE_STRING | 1 << 13);
	put_word(made, string + 16, len);
	put_word(made, string + 24, make(made, len));
	put(made, made->next - ((len + 15) & ~15ull), text, len);
	return string;
}

/* With at most three elements they are in it. */
static inline uint64_t make_array(struct made *made, const uint64_t *elements, size_t n)
{
	uint64_t array = make(made, 40), at = n > 3 ? make(made, n * 8) : array + 16;

	put_word(made, array, RUBY_TYPE_ARRAY | (n > 3 ? 0 : 1 << 13 | n << 15));
	if (n > 3) {
		put_word(made, array + 16, n);
		put_word(made, array + 32, at);
	}
	for (size_t i = 0; i < n; i++)
		put_word(made, at + i * 8, elements[i]);
	return array;
}

/* st_table with a deleted entry before this one. */
static inline uint64_t make_variables(struct made *made, uint64_t id, uint64_t value)
{
	uint64_t ext = make(made, 64), table = make(made, 56), entries = make(made, 4 * 24);

	put_word(made, ext + made->layout.class.iv_table, table);
	put_word(made, table + 32, 1);
	put_word(made, table + 40, 4);
	put_word(made, table + 48, entries);
	put_word(made, entries + 24, UINT64_MAX);
	put_word(made, entries + 32, id);
	put_word(made, entries + 48, 7);
	put_word(made, entries + 56, 0x99);
	put_word(made, entries + 64, 3);
	put_word(made, entries + 72, 8);
	put_word(made, entries + 80, id);
	put_word(made, entries + 88, value);
	return ext;
}

/* What has a word at `id` or at the member. */
static inline uint64_t make_class_with(struct made *made, uint64_t flags, uint64_t id,
				       uint32_t member, uint64_t value)
{
	const struct ruby_class_layout *layout = &made->layout.class;
	uint64_t class = make(made, 192);

	put_word(made, class, flags);
	if (layout->ext_is_pointer)
		put_word(made, class + layout->ext,
			 value && layout->iv_table ? make_variables(made, id, value) : 0);
	else
		put_word(made, class + layout->ext + member, value);
	return class;
}

/* name: NULL: it has none. */
static inline uint64_t make_class(struct made *made, uint32_t type, const char *name)
{
	uint64_t string = name ? make_string(made, name) : 0;
	uint64_t class = make_class_with(made, type, PATH_ID, made->layout.class.classpath, string);

	if (made->layout.class.permanent && name)
		put(made, class + made->layout.class.ext + made->layout.class.permanent, "\3", 1);
	return class;
}

static inline uint64_t make_singleton(struct made *made, uint64_t of)
{
	return make_class_with(made, RUBY_TYPE_CLASS | 1ull << made->layout.class.singleton,
			       ATTACHED_ID, made->layout.class.attached, of);
}

/* A class that the runtime has a variable for: the address of that. */
static inline uint64_t make_known(struct made *made, const char *name)
{
	uint64_t class = make_class(made, RUBY_TYPE_CLASS, name), variable = make(made, 8);

	put_word(made, class + 8, make_singleton(made, class));
	put_word(made, variable, class);
	return variable;
}

static inline void make_moved(struct made *made, uint64_t object, uint64_t to)
{
	put_word(made, object, RUBY_TYPE_MOVED);
	put_word(made, object + made->layout.moved, to);
}

/* --- code ------------------------------------------------------------------------------------- */

static inline uint64_t make_entry(struct made *made, uint64_t owner, uint64_t id)
{
	uint64_t entry = make(made, 40), def = make(made, 48);

	put_word(made, entry, RUBY_TYPE_IMEMO | 6 << 12);
	put_word(made, entry + 16, def);
	put_word(made, entry + 24, id + 16);
	put_word(made, entry + 32, owner);
	put_word(made, def + 32, id);
	if (made->layout.def_serial)
		put_word(made, def + made->layout.def_serial, ++made->serials);
	return entry;
}

/* The table of positions: of 2.6 and newer, by setting what looking up reads. */
static inline void make_succ(uint8_t *table, uint32_t positions, const uint32_t *starts, uint32_t n)
{
	uint32_t count = 0;

	memset(table, 0, ruby_succ_bytes(positions));
	for (uint32_t at = 0; at < positions; at++) {
		uint32_t in = at - 54, block = 48 + in / 512 * 80;
		uint64_t word;

		if (at >= 54 && in % 512 == 0)
			memcpy(table + block, &count, sizeof(count));
		if (count < n && starts[count] == at) {
			count++;
			if (at >= 54)
				table[block + 16 + in % 512 / 8] |= (uint8_t)(1u << in % 8);
		}
		if (at < 54) {
			memcpy(&word, table + at / 9 * 8, sizeof(word));
			word |= (uint64_t)count << at % 9 * 7;
			memcpy(table + at / 9 * 8, &word, sizeof(word));
		}
	}
}

static inline void make_lines(struct made *made, uint64_t body, const uint32_t *starts,
			      const uint32_t *lines, uint32_t n, uint32_t positions)
{
	const struct ruby_body_layout *layout = &made->layout.body;
	size_t bytes = layout->succ ? ruby_succ_bytes(positions) : n * sizeof(*starts);
	uint64_t entries = make(made, (size_t)n * layout->entry_bytes), table = make(made, bytes);
	static uint8_t succ[1 << 16];

	make_succ(succ, positions, starts, n);
	put(made, table, layout->succ ? (const void *)succ : (const void *)starts, bytes);
	for (uint32_t i = 0; i < n; i++)
		put_int(made, entries + i * layout->entry_bytes + layout->line_no, lines[i]);
	put_int(made, body + 4, positions);
	put_word(made, body + layout->info, entries);
	put_int(made, body + layout->info_size, n);
	put_word(made, body + (layout->succ ? layout->succ : layout->info + 8), table);
}

/* enum iseq_type of what has such a label. */
static inline uint32_t type_of_label(const char *label)
{
	static const char *const begins[] = {"<top",   "", "block",  "<class",	 "rescue",
					     "ensure", "", "<main>", "singleton"};

	for (uint32_t i = 0; i < EP_LEN(begins); i++) {
		if (*begins[i] && strncmp(label, begins[i], strlen(begins[i])) == 0)
			return i == 8 ? 3 : i;
	}
	return 1;
}

/* Of two lines, 10 and from position 4 on 12; it begins in line 9. */
static inline uint64_t make_body(struct made *made, const char *label, uint64_t pathobj)
{
	uint64_t body = make(made, 256), iseq = make(made, 40);

	put_word(made, body, type_of_label(label));
	put_word(made, iseq, RUBY_TYPE_IMEMO | 7 << 12);
	put_word(made, iseq + 16, body);
	put_word(made, body + made->layout.body.local, iseq);
	put_word(made, body + 8, make(made, 8));
	put_word(made, body + 64, pathobj);
	put_word(made, body + 80, make_string(made, label));
	put_word(made, body + 88, made->layout.lineno_is_value ? 9 << 1 | 1 : 9);
	make_lines(made, body, (uint32_t[]){0, 2, 4}, (uint32_t[]){10, 10, 12}, 3, 8);
	return body;
}

/* As the walk makes it. */
static inline struct ep_raw_frame make_frame(struct made *made, uint64_t body, uint64_t entry,
					     uint32_t index)
{
	__u64 words[RUBY_BODY_BYTES / 8] = {0}, of_body = 0, of_entry = 0, check, def;
	struct fake_host *host = &made->host;

	if (body) {
		memcpy(words, fake_memory_find(&host->memory, body, sizeof(words)), sizeof(words));
		of_body = ruby_check_body(words, made->layout.body.info / 8);
	}
	if (entry) {
		def = fake_host_word(host, entry + 16);
		of_entry = ruby_check_entry(
			fake_host_word(host, entry + 24), fake_host_word(host, def + 32),
			made->layout.def_serial
				? fake_host_word(host, def + made->layout.def_serial)
				: def);
	}
	check = ruby_check_frame(of_body, of_entry);
	return (struct ep_raw_frame){
		.aux = ruby_aux(body ? RUBY_KIND_ISEQ : RUBY_KIND_CFUNC, index),
		.n_words = 2,
		.words = {ruby_word0(body, check), ruby_word1(entry, check)},
	};
}

static inline int name_frame(struct made *made, const struct ep_raw_frame *frame)
{
	made->host.function[0] = made->host.file_name[0] = '\0';
	return ruby_names_add(&made->namer, frame, &made->host.names);
}

/* --- all of it -------------------------------------------------------------------------------- */

static void made_free(void *arg)
{
	struct made *made = arg;

	ruby_namer_fini(&made->namer);
	free(made);
}

static inline int made_read(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	struct made *made = arg;

	return made->namer.host->target_read(&made->host.target, addr, buf, bytes);
}

/* The table of IDs: of one operator, and "each", which is number 600. */
#define EACH (600u << 4 | 1)

static inline void make_ids(struct made *made)
{
	uint64_t symbols = make(made, 32), units[2], *pairs = calloc(1024, sizeof(*pairs));

	assert_non_null(pairs);
	pairs['+' * 2] = make_string(made, "+");
	units[0] = make_array(made, pairs, 1024);
	memset(pairs, 0, 1024 * sizeof(*pairs));
	pairs[(600 - 512) * 2] = make_string(made, "each");
	units[1] = make_array(made, pairs, 1024);
	free(pairs);
	put_int(made, symbols, 700);
	put_word(made, symbols + 16, make_array(made, units, 2));
	made->namer.ids = &made->ids;
	made->namer.symbols_addr = symbols;
	made->namer.last_op_id = LAST_OP;
}

static inline struct made *made_new(uint32_t release)
{
	struct made *made = calloc(1, sizeof(*made));

	assert_non_null(made);
	ep_test_owns(made, made_free);
	fake_host_init(&made->host, NULL, 0);
	fake_memory_add(&made->host.memory, HEAP, made->bytes, HEAP_BYTES);
	made->next = HEAP + 4096;
	assert_true(ruby_layout_find(release / 100, release % 100, &made->layout));
	made->namer = (struct ruby_namer){
		.host = fake_host_services(&made->host),
		.memory = {made_read, made},
		.layout = &made->layout,
	};
	made->namer.object_addr = make_known(made, "Object");
	made->namer.string_addr = make_known(made, "String");
	make_ids(made);
	assert_int_equal(ruby_namer_init(&made->namer), 0);
	return made;
}

#endif
