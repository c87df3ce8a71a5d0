/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/ruby/symbolize/names.h"

#include "core/base/util.h"
#include "plugins/ruby/ruby_shared.h"
#include "plugins/ruby/symbolize/classes.h"
#include "plugins/ruby/symbolize/lines.h"
#include "plugins/ruby/symbolize/objects.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CACHE_BYTES	((size_t)2 << 20)
#define FUNCTION_BYTES	(2 * RUBY_NAME_BYTES + 8)
#define BODY_PATHOBJ	64 /* rb_iseq_location_t: pathobj, base_label, label, first_lineno */
#define BODY_LABEL	80
#define BODY_LINENO	88
/* enum imemo_type: imemo_ment, imemo_iseq; in bits 12 to 15 of the flags */
#define IMEMO_METHOD 6
#define IMEMO_ISEQ   7
/* vm_core.h: enum iseq_type (to 3.0 in rb_iseq_constant_body itself) */
enum {
	TYPE_TOP,
	TYPE_METHOD,
	TYPE_BLOCK,
	TYPE_CLASS,
	TYPE_RESCUE,
	TYPE_ENSURE,
	TYPE_EVAL,
	TYPE_MAIN
};
#define MAX_EVALS	8
#define C_WITHOUT_NAME	"(function in C)"

/* rb_method_entry_t, words; the same in 2.5 to 4.0. */
enum { ENTRY_FLAGS = 0, ENTRY_DEF = 2, ENTRY_CALLED = 3, ENTRY_OWNER = 4, ENTRY_WORDS = 5 };
/* rb_method_definition_t: method.h. */
#define DEF_ORIGINAL 32
#define DEF_BYTES    48

/* Of what is kept: names_function.table. */
struct place {
	uint32_t n_runs, label_bytes; /* with the NUL; 0: this release calls it so, too */
	struct names_run runs[];	      /* then the label */
};

/* A frame that is being named. */
struct finding {
	struct ruby_namer *namer;
	uint64_t body_addr, entry_addr; /* 0: none */
	uint64_t check;
	size_t body_bytes;
	__u64 body[RUBY_MAX_BODY_BYTES / 8];
	uint64_t entry[ENTRY_WORDS];
	uint64_t original_id;
	char label[RUBY_NAME_BYTES], owner[RUBY_NAME_BYTES], file[RUBY_PATH_BYTES];
	bool has_owner, singleton;
	char function[FUNCTION_BYTES];
	struct ruby_lines lines;
};

int ruby_namer_init(struct ruby_namer *namer)
{
	return names_cache_new(
		&(struct names_budget){.classes = {CACHE_BYTES}, .oversized = CACHE_BYTES},
		&namer->cache);
}

void ruby_namer_fini(struct ruby_namer *namer)
{
	names_cache_free(namer->cache);
	namer->cache = NULL;
}

void ruby_names_state(const struct ruby_namer *namer, struct ruby_state *state)
{
	const struct ruby_body_layout *body = &namer->layout->body;
	const struct ruby_class_layout *class = &namer->layout->class;

	state->symbols_addr = namer->symbols_addr;
	state->last_op_id = namer->last_op_id;
	state->path_id = namer->ids->path;
	state->attached_id = namer->ids->attached;
	state->body_bytes = (uint16_t)ruby_body_bytes(body);
	state->body_info_size = (uint16_t)body->info_size;
	state->body_succ = (uint16_t)body->succ;
	state->body_parent = (uint16_t)body->parent;
	state->body_local = (uint16_t)body->local;
	state->info_bytes = (uint16_t)body->entry_bytes;
	state->string_in_flags = namer->layout->string_in_flags;
	state->class_ext = (uint16_t)class->ext;
	state->class_variables = (uint16_t)class->iv_table;
	state->class_singleton = (uint16_t)class->singleton;
	if (!class->ext_is_pointer) {
		state->class_path = (uint16_t)(class->ext + class->classpath);
		state->class_attached = (uint16_t)(class->ext + class->attached);
	}
}

/* --- is it what the frame saw? ---------------------------------------------------------------- */

/*
 * While it compacts, the collector protects the pages that it takes objects from, until all
 * references to them are written anew (gc.c of 3.4.5: lock_page_body, gc_compact_finish). What is
 * there is not gone.
 */
static int in_a_moment(int r)
{
	return r == -EFAULT ? EP_NOT_YET : r;
}

static int read_entry(struct finding *finding)
{
	uint64_t addr = finding->entry_addr;
	int r = ruby_object_read(finding->namer, &addr, RUBY_TYPE_BIT(RUBY_TYPE_IMEMO),
				 finding->entry, sizeof(finding->entry));

	return r == 0 && (finding->entry[ENTRY_FLAGS] >> 12 & 15) != IMEMO_METHOD ? -EBADMSG : r;
}

static int check_entry(struct finding *finding, uint64_t *ret_check)
{
	const struct ruby_layout *layout = finding->namer->layout;
	uint8_t def[DEF_BYTES];
	uint64_t serial;
	int r = read_entry(finding);

	if (r == 0)
		r = memory_read(&finding->namer->memory, finding->entry[ENTRY_DEF], def,
				sizeof(def));
	if (r < 0)
		return r;
	finding->original_id = ruby_word(def, DEF_ORIGINAL);
	serial =
		layout->def_serial ? ruby_word(def, layout->def_serial) : finding->entry[ENTRY_DEF];
	*ret_check = ruby_check_entry(finding->entry[ENTRY_CALLED], finding->original_id, serial);
	return 0;
}

/* What the body is of, or is in. iseq.c: set_relation; rb_iseq_t: its body. */
static bool is_own_local(uint32_t type)
{
	return type == TYPE_TOP || type == TYPE_METHOD || type == TYPE_CLASS || type == TYPE_MAIN;
}

/*
 * A body that was freed may be as it was, while what it points to is not. Without a method, which
 * the collector clears, it says so by the iseq: its own one, or that of the code around.
 */
static int check_alive(const struct finding *finding)
{
	uint64_t local = ruby_word(finding->body, finding->namer->layout->body.local), iseq[3];
	int r;

	if (!local) /* what is compiled by itself, to be run later */
		return 0;
	r = ruby_object_read(finding->namer, &local, RUBY_TYPE_BIT(RUBY_TYPE_IMEMO), iseq,
			     sizeof(iseq));

	if (r == 0 && ((iseq[0] >> 12 & 15) != IMEMO_ISEQ ||
		       (is_own_local((uint32_t)finding->body[0]) && iseq[2] != finding->body_addr)))
		r = -EBADMSG;
	return r;
}

static int read_body(struct finding *finding)
{
	if (!finding->body_addr)
		return 0;
	return memory_read(&finding->namer->memory, finding->body_addr, finding->body,
			   finding->body_bytes);
}

/* What its name is made of. */
static int read_parts(struct finding *finding)
{
	uint64_t check;
	int r = read_body(finding);

	if (r == 0 && finding->entry_addr)
		r = in_a_moment(finding->body_addr ? read_entry(finding)
						   : check_entry(finding, &check));
	return memory_frame_gone(r);
}

/*
 * 0; EP_FRAME_GONE: there is something else; EP_NOT_YET. What is there now and is what the frame
 * saw was there all the time between, so this is asked after all else was read. A method's body
 * lives as long as its entry.
 */
static int check_parts(struct finding *finding)
{
	const struct ruby_namer *namer = finding->namer;
	bool is_method = finding->entry_addr && (uint32_t)finding->body[0] == TYPE_METHOD;
	uint64_t of_body, of_entry = 0;
	int r = is_method ? 0 : read_body(finding);

	if (r == 0)
		r = in_a_moment(finding->entry_addr ? check_entry(finding, &of_entry)
						    : check_alive(finding));
	of_body = finding->body_addr ? ruby_check_body(finding->body, namer->layout->body.info / 8)
				     : 0;
	if (r == 0 && ruby_check_frame(of_body, of_entry) != finding->check)
		r = EP_FRAME_GONE;
	return memory_frame_gone(r);
}

/* --- its name --------------------------------------------------------------------------------- */

static const char *skip(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

/* Without "rescue in ", "ensure in ": its method's. */
static const char *label_of_method(const char *label)
{
	for (;;) {
		const char *rest = skip(label, "rescue in ");

		if (!rest)
			rest = skip(label, "ensure in ");
		if (!rest)
			return label;
		label = rest;
	}
}

/* Where the method begins in "block (2 levels) in m". */
static const char *method_in(const char *label)
{
	const char *rest = skip(label, "block in "), *end;

	if (!rest && skip(label, "block (")) {
		end = strstr(label, " levels) in ");
		rest = end ? end + strlen(" levels) in ") : NULL;
	}
	return rest ? rest : label;
}

/* "<class:A>", "<main>" and their like are no methods; "<=>" is. */
static bool is_of_method(const char *name)
{
	return strcmp(name, "singleton class") != 0 &&
	       !(name[0] == '<' && ((name[1] >= 'a' && name[1] <= 'z') || name[1] == '('));
}

static void write_function(struct finding *finding)
{
	const char *label = label_of_method(finding->label), *method = method_in(label);

	if (!finding->has_owner || !is_of_method(method))
		snprintf(finding->function, sizeof(finding->function), "%s", label);
	else
		snprintf(finding->function, sizeof(finding->function), "%.*s%s%c%s",
			 (int)(method - label), label, finding->owner,
			 finding->singleton ? '.' : '#', method);
}

static int read_owner(struct finding *finding)
{
	int r = ruby_owner_read(finding->namer, finding->entry[ENTRY_OWNER], finding->owner,
				sizeof(finding->owner), &finding->singleton);

	finding->has_owner = r == 0;
	return r == RUBY_NO_CLASS_NAME ? 0 : r;
}

/* A method in C. Without the table of IDs, and where it does not say, its class is all that is
 * known. */
static int read_c(struct finding *finding)
{
	int r = ruby_id_read(finding->namer, finding->original_id, finding->label,
			     sizeof(finding->label));

	if (r == -EBADMSG) {
		snprintf(finding->label, sizeof(finding->label), "%s", C_WITHOUT_NAME);
		return 0;
	}
	return r;
}

static bool begins_with_one_of(const char *text, const char *const *begins)
{
	for (; *begins; begins++) {
		if (skip(text, *begins))
			return true;
	}
	return false;
}

/*
 * Code that nothing refers to is whole until the collector's sweep comes to it, which may have come
 * to its label before: there is another string then. So it must be one that such code has
 * (compile.c, parse.y).
 */
static bool is_label_of(uint32_t type, const char *label)
{
	static const char *const begins[][4] = {
		[TYPE_TOP] = {"<"},
		[TYPE_BLOCK] = {"block in ", "block ("},
		[TYPE_CLASS] = {"<class:", "<module:", "singleton class"},
		[TYPE_RESCUE] = {"rescue in "},
		[TYPE_ENSURE] = {"ensure in "},
		[TYPE_MAIN] = {"<main>"},
	};

	if (type == TYPE_METHOD)
		return !strpbrk(label, " \n\t()\"',;");
	return type >= EP_LEN(begins) || !begins[type][0] ||
	       begins_with_one_of(label, begins[type]);
}

/*
 * The same of its path: another string, most often a label or a piece of text. A file's is
 * absolute; what is eval'ed, often at each request, has one that looks like it, too: "(erb)",
 * "a.rb", "-e", "<main>".
 */
static bool may_be_path(const char *path)
{
	static const char *const labels[] = {"block in ", "block (",	"<class:",    "<module:",
					     "<top (",	  "rescue in ", "ensure in ", NULL};

	return !begins_with_one_of(path, labels) && strpbrk(path, "/.(<-");
}

/*
 * What is eval'ed is called as the code around (vm_eval.c: eval_make_iseq), which 3.4 only says
 * when it is asked (vm_backtrace.c: calculate_iseq_label).
 */
static int read_label_around(struct finding *finding)
{
	const struct ruby_namer *namer = finding->namer;
	uint64_t body[RUBY_MAX_BODY_BYTES / 8], iseq[3];
	int r = 0;

	memcpy(body, finding->body, sizeof(body));
	for (int i = 0; i < MAX_EVALS && r == 0 && (uint32_t)body[0] == TYPE_EVAL; i++) {
		uint64_t parent = ruby_word(body, namer->layout->body.parent);

		r = ruby_object_read(namer, &parent, RUBY_TYPE_BIT(RUBY_TYPE_IMEMO), iseq,
				     sizeof(iseq));
		if (r == 0)
			r = memory_read(&namer->memory, iseq[2], body, finding->body_bytes);
	}
	return r < 0 ? r
		     : ruby_string_read(namer, ruby_word(body, BODY_LABEL), finding->label,
					sizeof(finding->label));
}

static int read_iseq(struct finding *finding)
{
	const struct ruby_namer *namer = finding->namer;
	int r = ruby_string_read(namer, ruby_word(finding->body, BODY_LABEL), finding->label,
				 sizeof(finding->label));

	if (r == 0 && (uint32_t)finding->body[0] == TYPE_EVAL &&
	    strcmp(finding->label, "<compiled>") == 0)
		r = read_label_around(finding);
	if (r == 0 && !is_label_of((uint32_t)finding->body[0], finding->label))
		return -EBADMSG;
	if (r == 0)
		r = ruby_path_read(namer, ruby_word(finding->body, BODY_PATHOBJ), finding->file,
				   sizeof(finding->file));
	if (r == 0 && !may_be_path(finding->file))
		return -EBADMSG;
	if (r == 0)
		r = ruby_lines_read(&namer->memory, namer->layout, finding->body, &finding->lines);
	return r;
}

static uint32_t first_line(const struct finding *finding)
{
	uint64_t word = ruby_word(finding->body, BODY_LINENO);
	int32_t line =
		finding->namer->layout->lineno_is_value ? (int32_t)(word >> 1) : (int32_t)word;

	return finding->body_addr && line > 0 ? (uint32_t)line : 0;
}

static int make_function(const struct finding *finding, struct names_function **ret)
{
	size_t runs_bytes = finding->lines.len * sizeof(*finding->lines.runs);
	/* From 3.4 on that is what it is called there. */
	bool other = finding->namer->layout->release < RUBY_RELEASE(3, 4) &&
		     strcmp(finding->label, finding->function) != 0;
	size_t label_bytes = other ? strlen(finding->label) + 1 : 0;
	size_t bytes = sizeof(struct place) + runs_bytes + label_bytes;
	ep_autofree struct place *place = malloc(bytes);
	int r;

	if (!place)
		return -ENOMEM;
	*place = (struct place){(uint32_t)finding->lines.len, (uint32_t)label_bytes};
	if (runs_bytes)
		memcpy(place->runs, finding->lines.runs, runs_bytes);
	memcpy((char *)place->runs + runs_bytes, finding->label, label_bytes);
	r = names_function_new(finding->function, finding->file, place, bytes, ret);
	if (r == 0)
		(*ret)->start_line = first_line(finding);
	return r;
}

/* The order of reads makes it true (names.h). 0 with what the caller owns, EP_FRAME_GONE,
 * EP_NOT_YET, or an errno. */
static int find_new(struct finding *finding, struct names_function **ret)
{
	int r = read_parts(finding), gone;

	if (r != 0)
		return r;
	r = finding->body_addr ? read_iseq(finding) : read_c(finding);
	if (r == 0 && finding->entry_addr)
		r = read_owner(finding);
	if (r == -ESRCH || r == -ENOMEM)
		return r;
	gone = check_parts(finding);
	if (gone != 0)
		return gone;
	if (r != 0)
		return in_a_moment(r);
	write_function(finding);
	return make_function(finding, ret);
}

/* --- what is known ---------------------------------------------------------------------------- */

static int add_function(const struct ruby_namer *namer, const struct names_function *function,
			uint32_t index, struct ep_names *names)
{
	const struct place *place = (const void *)function->table;
	struct ep_name more = {.system_name = place->label_bytes ?
						      (const char *)(place->runs + place->n_runs) :
						      NULL};

	if (index != RUBY_NO_INDEX)
		more.line = names_find_line(place->runs, place->n_runs, index ? index - 1 : 0);
	return names_add(namer->host, names, function, more);
}

static int add_collector(const struct ruby_namer *namer, uint64_t mode, struct ep_names *names)
{
	static const char *const texts[] = {
		[RUBY_COLLECTING] = "(garbage collection)",
		[RUBY_MARKING] = "(garbage collection: marking)",
		[RUBY_SWEEPING] = "(garbage collection: sweeping)",
		[RUBY_COMPACTING] = "(garbage collection: compacting)",
	};

	return names_add_text(namer->host, names, texts[mode < EP_LEN(texts) ? mode : 0],
			      EP_UNNAMED_NONE, 0);
}

/* A function of its own, for its large frame. The key has no address of the entry, which moves
 * (ruby_names_add). */
static __attribute__((noinline)) int add_new(struct ruby_namer *namer, const uint64_t key[3],
					     uint64_t body, uint64_t entry, uint32_t index,
					     struct ep_names *names)
{
	struct finding finding = {
		.namer = namer,
		.body_addr = body,
		.entry_addr = entry,
		.check = ruby_check(key[0], key[1]),
		.body_bytes = ruby_body_bytes(&namer->layout->body),
	};
	struct names_function *function = NULL;
	int r = find_new(&finding, &function);

	ruby_lines_fini(&finding.lines);
	if (r != 0)
		return r;
	memcpy(function->item.key, key, sizeof(function->item.key));
	names_cache_put(namer->cache, &function->item);
	r = add_function(namer, function, index, names);
	names_item_unref(&function->item);
	return r;
}

int ruby_names_add(struct ruby_namer *namer, const struct ep_raw_frame *frame,
		   struct ep_names *names)
{
	uint32_t kind = ruby_kind(frame->aux), index = ruby_index(frame->aux);
	const struct names_function *known;
	uint64_t key[3], body, entry;

	if (frame->n_words < 1)
		return -EBADMSG;
	if (kind == RUBY_KIND_COLLECTOR)
		return add_collector(namer, frame->words[0], names);
	if (kind == RUBY_KIND_UNREADABLE)
		return names_add_text(namer->host, names, "(unreadable)", EP_UNNAMED_UNREADABLE, 0);
	body = ruby_address(frame->words[0]);
	entry = frame->n_words > 1 ? ruby_address(frame->words[1]) : 0;
	if (kind > RUBY_KIND_CFUNC || frame->n_words < 2 ||
	    !(kind == RUBY_KIND_CFUNC ? entry : body))
		return -EBADMSG;
	if (kind == RUBY_KIND_CFUNC)
		body = 0;
	/* Whether it has an entry changes what is read. */
	key[0] = frame->words[0];
	key[1] = frame->words[1] & ~RUBY_ADDRESS_MASK;
	key[2] = kind << 1 | (entry != 0);
	known = names_cache_peek(namer->cache, 0, key[0], key[1], key[2]);
	if (known)
		return add_function(namer, known, index, names);
	return add_new(namer, key, body, entry, index, names);
}
