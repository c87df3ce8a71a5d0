/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent/chooser.h"
#include "core/base/log.h"
#include "core/base/map.h"
#include "core/base/parse.h"
#include "core/base/vec.h"
#include "core/bpf/cpus.h"
#include "core/bpf/programs.h"
#include "core/proc/cgroups.h"
#include "core/proc/container.h"
#include "core/proc/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define STATUS_MAX_BYTES 16384

/* How terms about cgroups are held against the tree; shared by the check and the real thing. */
struct tree {
	const struct ep_filter *filter;
	char mount[EP_CGROUP_PATH_BYTES];
	bool met[EP_FILTER_MAX_TERMS];
};

struct ep_chooser {
	const struct ep_filter *filter;
	struct ep_bpf *bpf;
	uint32_t need, used; /* bits but those of pids */
	struct ep_glob *globs[EP_GLOB_COUNT]; /* NULL: no such key */
	struct tree tree;
	struct ep_map cgroups; /* number to bits, of those that have some */
	struct ep_map known; /* while it looks: the same before */
	bool is_new; /* there is one that was not known so */
	uint32_t seen; /* cgroups that BPF had counted when we looked */
};

/* --- cgroups ----------------------------------------------------------------------------------- */

/* A unit's type may be left out, as with systemctl. */
static bool is_unit(const struct ep_filter_term *term, const char *name)
{
	static const char *const types[] = {".service", ".slice", ".scope"};
	size_t len = strlen(name), type_len = strlen(types[0]);

	if (len == term->len && memcmp(name, term->text, len) == 0)
		return true;
	for (size_t i = 0; i < EP_LEN(types); i++) {
		size_t n = strlen(types[i]);

		if (term->len > n && memcmp(term->text + term->len - n, types[i], n) == 0)
			return false;
	}
	return len == term->len + type_len && memcmp(name, term->text, term->len) == 0 &&
	       strcmp(name + term->len, types[0]) == 0;
}

/* "/sys/fs/cgroup/a/b", "/a/b", "a/b" and "a/b/" are one. */
static bool is_cgroup(const struct tree *tree, const struct ep_filter_term *term, const char *path)
{
	const char *text = term->text, *end = term->text + term->len;
	size_t mount_len = strlen(tree->mount);

	if (term->len >= mount_len && memcmp(text, tree->mount, mount_len) == 0 &&
	    (text + mount_len == end || text[mount_len] == '/'))
		text += mount_len;
	while (text < end && *text == '/')
		text++;
	while (end > text && end[-1] == '/')
		end--;
	return strlen(path + 1) == (size_t)(end - text) &&
	       memcmp(path + 1, text, (size_t)(end - text)) == 0;
}

static bool is_container(const struct ep_filter_term *term, const char *path)
{
	char line[EP_CGROUP_PATH_BYTES + 8], id[EP_CONTAINER_ID_BYTES];

	snprintf(line, sizeof(line), "0::%s", path);
	ep_container_parse_id(line, strlen(line), id);
	return strlen(id) >= term->len && memcmp(id, term->text, term->len) == 0;
}

static bool is_met(const struct tree *tree, const struct ep_filter_term *term,
		   const struct ep_cgroup *cgroup)
{
	switch (term->key) {
	case EP_FILTER_CGROUP:
		return is_cgroup(tree, term, cgroup->path);
	case EP_FILTER_CONTAINER:
		return is_container(term, cgroup->path);
	case EP_FILTER_UNIT:
		return is_unit(term, cgroup->name);
	default:
		return false;
	}
}

/* What is below a chosen cgroup is chosen. */
static uint32_t tree_bits(struct tree *tree, const struct ep_cgroup *cgroup)
{
	uint32_t bits = cgroup->above;

	for (size_t i = 0; i < tree->filter->n_terms; i++) {
		const struct ep_filter_term *term = &tree->filter->terms[i];

		if (!is_met(tree, term, cgroup))
			continue;
		tree->met[i] = true;
		bits |= term->is_excluded ? EP_FILTER_OUT(term->key) : EP_FILTER_IN(term->key);
	}
	return bits;
}

static uint32_t look_at(void *arg, const struct ep_cgroup *cgroup)
{
	struct ep_chooser *chooser = arg;
	uint32_t bits = tree_bits(&chooser->tree, cgroup);
	const uint64_t *known = ep_map_find(&chooser->known, cgroup->id);

	if (bits != (known ? *known : 0))
		chooser->is_new = true;
	if (bits && (ep_map_set(&chooser->cgroups, cgroup->id, bits) < 0 ||
		     ep_bpf_add_choice(chooser->bpf, EP_CHOICE(EP_FILTER_CGROUP, cgroup->id), bits) < 0))
		ep_log(EP_LOG_WARN, "filter: too many cgroups: %s is left out", cgroup->path);
	return bits;
}

int ep_chooser_look(struct ep_chooser *chooser)
{
	int r;

	if (!(chooser->used & EP_FILTER_CGROUPS))
		return 0;
	chooser->known = chooser->cgroups;
	chooser->is_new = false;
	ep_map_init(&chooser->cgroups, EP_CGROUP_MAX);
	r = ep_cgroups_walk(chooser->tree.mount, look_at, chooser);
	ep_map_fini(&chooser->known);
	if (chooser->is_new)
		ep_bpf_judge_again(chooser->bpf);
	return r;
}

void ep_chooser_follow(struct ep_chooser *chooser, uint32_t cgroups)
{
	int r;

	if (cgroups == chooser->seen)
		return;
	chooser->seen = cgroups;
	r = ep_chooser_look(chooser);
	if (r < 0)
		ep_log(EP_LOG_DEBUG, "filter: cannot look at cgroups: %s", ep_strerror(r));
}

/*
 * --- what is published to BPF
 * --------------------------------------------------------------------------
 */

static uint32_t bits_of(const struct ep_filter_term *term)
{
	return term->is_excluded ? EP_FILTER_OUT(term->key) : EP_FILTER_IN(term->key);
}

/* Of one number: its values may be asked for and excluded. */
static int tell_number(struct ep_chooser *chooser, const struct ep_filter_term *term)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < chooser->filter->n_terms; i++) {
		const struct ep_filter_term *other = &chooser->filter->terms[i];

		if (other->key == term->key && other->number == term->number)
			bits |= bits_of(other);
	}
	return ep_bpf_add_choice(chooser->bpf, EP_CHOICE(term->key, term->number), bits);
}

static int tell_unit_name(struct ep_chooser *chooser, const struct ep_filter_term *term,
			  const char *type)
{
	uint64_t words[EP_UNIT_WORDS] = {0};
	char name[512];
	int len = snprintf(name, sizeof(name), "%.*s%s", (int)term->len, term->text, type);

	if (len >= (int)sizeof(words))
		return 0;
	memcpy(words, name, (size_t)len);
	return ep_bpf_add_choice(chooser->bpf, EP_CHOICE(EP_FILTER_UNIT, ep_unit_hash((const __u64 *)words)),
				 bits_of(term));
}

static int tell_unit(struct ep_chooser *chooser, const struct ep_filter_term *term)
{
	char as_service[512];
	int r = tell_unit_name(chooser, term, "");

	snprintf(as_service, sizeof(as_service), "%.*s.service", (int)term->len, term->text);
	return r == 0 && is_unit(term, as_service) ? tell_unit_name(chooser, term, ".service") : r;
}

static int tell_term(struct ep_chooser *chooser, const struct ep_filter_term *term)
{
	switch (term->key) {
	case EP_FILTER_TID:
	case EP_FILTER_USER:
		return tell_number(chooser, term);
	case EP_FILTER_UNIT:
		return tell_unit(chooser, term);
	default:
		return 0;
	}
}

static int tell_glob(struct ep_chooser *chooser, enum ep_filter_key key, enum ep_glob_of which)
{
	int r;

	if (!ep_filter_has(chooser->filter, key))
		return 0;
	chooser->globs[which] = malloc(sizeof(*chooser->globs[which]));
	if (!chooser->globs[which])
		return -ENOMEM;
	r = ep_filter_compile(chooser->filter, key, chooser->globs[which]);
	return r < 0 ? r : ep_bpf_set_glob(chooser->bpf, which, chooser->globs[which]);
}

static int tell_all(struct ep_chooser *chooser)
{
	int r = tell_glob(chooser, EP_FILTER_COMM, EP_GLOB_COMM);

	if (r == 0)
		r = tell_glob(chooser, EP_FILTER_EXE, EP_GLOB_EXE);
	for (size_t i = 0; r == 0 && i < chooser->filter->n_terms; i++)
		r = tell_term(chooser, &chooser->filter->terms[i]);
	return r;
}

int ep_chooser_new(const struct ep_filter *filter, struct ep_bpf *bpf, struct ep_chooser **ret_chooser)
{
	struct ep_chooser *chooser = calloc(1, sizeof(*chooser));
	int r;

	if (!chooser)
		return -ENOMEM;
	chooser->filter = chooser->tree.filter = filter;
	chooser->bpf = bpf;
	chooser->need = ep_filter_need(filter) & ~EP_FILTER_BOTH(EP_FILTER_PID);
	chooser->used = chooser->need | (ep_filter_never(filter) & ~EP_FILTER_BOTH(EP_FILTER_PID));
	ep_map_init(&chooser->cgroups, EP_CGROUP_MAX);
	r = chooser->used & EP_FILTER_CGROUPS ? ep_cgroup_find_mount(chooser->tree.mount) : 0;
	if (r == 0)
		r = tell_all(chooser);
	if (r < 0) {
		ep_chooser_free(chooser);
		return r;
	}
	*ret_chooser = chooser;
	return 0;
}

void ep_chooser_free(struct ep_chooser *chooser)
{
	if (!chooser)
		return;
	for (size_t i = 0; i < EP_LEN(chooser->globs); i++)
		free(chooser->globs[i]);
	ep_map_fini(&chooser->cgroups);
	free(chooser);
}

/* --- processes that are there already ---------------------------------------------------------- */

/* A line of /proc/PID/status: its numbers come after the name. */
static const char *find_line(const struct ep_vec *text, const char *name)
{
	const char *at = memmem(text->data, text->len, name, strlen(name));

	return at ? at + strlen(name) : NULL;
}

static bool read_field(const struct ep_vec *text, const char *name, int field, uint64_t *ret)
{
	const char *pos = find_line(text, name), *end = (const char *)text->data + text->len;

	for (int i = 0; pos; i++) {
		while (pos < end && (*pos == '\t' || *pos == ' '))
			pos++;
		if (ep_parse_u64(&pos, end, 10, ret) < 0)
			return false;
		if (i == field)
			return true;
	}
	return false;
}

static bool read_status(pid_t pid, const char *name, int field, uint64_t *ret)
{
	ep_cleanup(ep_vec_fini) struct ep_vec text;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ep_vec_init(&text, 1, STATUS_MAX_BYTES);
	return ep_read_file(path, &text) == 0 && read_field(&text, name, field, ret);
}

static uint32_t name_bits(const struct ep_chooser *chooser, pid_t pid)
{
	struct ep_process_info info;
	char link[64], path[PATH_MAX];
	uint32_t bits = 0;
	ssize_t n;

	if (chooser->globs[EP_GLOB_COMM] && ep_process_read_stat(pid, &info) == 0)
		bits |= ep_filter_match(chooser->globs[EP_GLOB_COMM], EP_FILTER_COMM, info.comm);
	if (!chooser->globs[EP_GLOB_EXE])
		return bits;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, path, sizeof(path) - 1);
	path[EP_MAX(n, 0)] = '\0';
	return bits | ep_filter_match(chooser->globs[EP_GLOB_EXE], EP_FILTER_EXE, path);
}

static uint32_t user_bits(const struct ep_chooser *chooser, pid_t pid)
{
	uint32_t bits = 0;
	uint64_t user;

	if (!(chooser->used & EP_FILTER_BOTH(EP_FILTER_USER)) ||
	    !read_status(pid, "\nUid:", 1, &user)) /* real, effective, ... */
		return 0;
	for (size_t i = 0; i < chooser->filter->n_terms; i++) {
		const struct ep_filter_term *term = &chooser->filter->terms[i];

		if (term->key == EP_FILTER_USER && term->number == user)
			bits |= bits_of(term);
	}
	return bits;
}

/* Of any of its threads: one that is excluded has others that are not. */
static uint32_t thread_bits(const struct ep_chooser *chooser, pid_t pid)
{
	for (size_t i = 0; i < chooser->filter->n_terms; i++) {
		const struct ep_filter_term *term = &chooser->filter->terms[i];
		uint64_t group;

		if (term->key == EP_FILTER_TID && !term->is_excluded &&
		    read_status((pid_t)term->number, "\nTgid:", 0, &group) && group == (uint64_t)pid)
			return bits_of(term);
	}
	return 0;
}

static uint32_t cgroup_bits(const struct ep_chooser *chooser, pid_t pid)
{
	const uint64_t *bits;
	uint64_t id;

	if (!(chooser->used & EP_FILTER_CGROUPS) ||
	    ep_cgroup_read_id(chooser->tree.mount, pid, &id) < 0)
		return 0;
	bits = ep_map_find(&chooser->cgroups, id);
	return bits ? (uint32_t)*bits : 0;
}

bool ep_chooser_may_be_named(const struct ep_chooser *chooser, pid_t pid)
{
	uint32_t mask = EP_FILTER_BOTH(EP_FILTER_COMM), bits;
	struct ep_process_info info;

	if (!chooser->globs[EP_GLOB_COMM] || ep_process_read_stat(pid, &info) < 0)
		return true;
	bits = ep_filter_match(chooser->globs[EP_GLOB_COMM], EP_FILTER_COMM, info.comm);
	return (bits & chooser->used & mask) == (chooser->need & mask);
}

bool ep_chooser_wants(const struct ep_chooser *chooser, pid_t pid)
{
	uint32_t bits = user_bits(chooser, pid) | thread_bits(chooser, pid) |
			name_bits(chooser, pid) | cgroup_bits(chooser, pid);

	return (bits & chooser->used) == chooser->need;
}

/* --- can it be? -------------------------------------------------------------------------------- */

static uint32_t check_at(void *arg, const struct ep_cgroup *cgroup)
{
	(void)tree_bits(arg, cgroup);
	return 0;
}

static int check_term(const struct tree *tree, size_t i, char *sentence, size_t bytes)
{
	const struct ep_filter_term *term = &tree->filter->terms[i];
	struct ep_process_info info;
	int len = (int)term->len;

	if (tree->met[i] || term->is_excluded)
		return 0;
	switch (term->key) {
	case EP_FILTER_CGROUP:
		snprintf(sentence, bytes, "there is no cgroup '%.*s' in %s: see `systemd-cgls`",
			 len, term->text, tree->mount);
		return -EINVAL;
	case EP_FILTER_CONTAINER:
		snprintf(sentence, bytes, "no container's id begins with '%.*s' now: it is recorded when "
			 "it starts", len, term->text);
		return 0;
	case EP_FILTER_UNIT:
		snprintf(sentence, bytes, "unit '%.*s' does not run now: it is recorded when it starts; "
			 "see `systemctl list-units`", len, term->text);
		return 0;
	case EP_FILTER_TID:
		if (ep_process_read_stat((pid_t)term->number, &info) == 0)
			return 0;
		snprintf(sentence, bytes, "there is no thread %.*s: see `ps -eL`", len, term->text);
		return -EINVAL;
	default:
		return 0;
	}
}

static int check_cpus(const struct ep_filter *filter, char *sentence, size_t bytes)
{
	struct ep_cpus online;

	if (!ep_filter_has(filter, EP_FILTER_CPU) || ep_cpus_read_online(&online) < 0)
		return 0;
	for (uint32_t cpu = 0; cpu < EP_MAX_CPUS; cpu++) {
		if (ep_cpus_has(&online, cpu) && ep_filter_takes_number(filter, EP_FILTER_CPU, cpu))
			return 0;
	}
	snprintf(sentence, bytes, "none of the chosen CPUs is online: see `lscpu`");
	return -EINVAL;
}

int ep_chooser_check(const struct ep_filter *filter, char *sentence, size_t bytes)
{
	struct tree tree = {.filter = filter};
	uint32_t used = ep_filter_need(filter) | ep_filter_never(filter);
	int r = check_cpus(filter, sentence, bytes);

	if (r == 0 && used & EP_FILTER_CGROUPS) {
		r = ep_cgroup_find_mount(tree.mount);
		if (r < 0)
			snprintf(
				sentence, bytes,
				"cgroups, containers and units go by cgroup v2, which is "
				"not mounted here: use -p, or boot with systemd.unified_cgroup_hierarchy=1");
		else
			(void)ep_cgroups_walk(tree.mount, check_at, &tree);
	}
	for (size_t i = 0; r == 0 && i < filter->n_terms; i++)
		r = check_term(&tree, i, sentence, bytes);
	return r < 0 ? -EINVAL : 0;
}
