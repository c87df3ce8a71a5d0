/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/source.h"
#include "core/base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_LINES (4u << 20)
#define TAB	  8
#define SCHEME	  "file://" /* of runtimes that name files as URLs */

int ep_source_add_replacement(struct ep_source_rules *rules, const char *text)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return -EINVAL;
	if (rules->n == EP_LEN(rules->rules))
		return -E2BIG;
	rules->rules[rules->n++] =
		(struct ep_source_rule){text, equals + 1, (size_t)(equals - text)};
	return 0;
}

int ep_source_add_directory(struct ep_source_rules *rules, const char *path)
{
	if (rules->n == EP_LEN(rules->rules))
		return -E2BIG;
	rules->rules[rules->n++] = (struct ep_source_rule){.new = path};
	return 0;
}

/* 0; 1 when there is no such file, or none that can be read. */
static int read_file(const char *path, struct ep_source *source)
{
	/* Not blocking: a profile may name a FIFO. */
	ep_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 && errno == EACCES)
		source->is_denied = true;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 1;
	source->bytes.len = 0;
	r = ep_read_fd(fd, &source->bytes);
	if (r < 0)
		return r == -ENOMEM ? r : 1;
	source->path = strdup(path);
	return source->path ? 0 : -ENOMEM;
}

static int read_joined(const char *directory, const char *path, struct ep_source *source)
{
	char joined[PATH_MAX];
	int n = snprintf(joined, sizeof(joined), "%s/%s", directory, path);

	return n > 0 && (size_t)n < sizeof(joined) ? read_file(joined, source) : 1;
}

/* "com.example.Main.run(int)" and "Main.xy" is com/example/Main.xy; with slashes in the name as
 * well. */
static int read_of_package(const char *directory, const char *file, const char *function,
			   struct ep_source *source)
{
	char package[PATH_MAX];
	size_t bytes = strcspn(function, "(<$ :");

	if (bytes + strlen(file) + 2 > sizeof(package))
		return 1;
	memcpy(package, function, bytes);
	package[bytes] = '\0';
	for (char *c = package; *c; c++)
		*c = *c == '.' ? '/' : *c;
	for (char *slash = strrchr(package, '/'); slash; slash = strrchr(package, '/')) {
		int r;

		memcpy(slash + 1, file, strlen(file) + 1); /* fits: see above */
		r = read_joined(directory, package, source);
		if (r <= 0)
			return r;
		*slash = '\0';
	}
	return 1;
}

/* The path below the directory, then without its first part, and so on. */
static int read_tails(const char *directory, const char *file, struct ep_source *source)
{
	for (const char *tail = file; *tail;) {
		int r = *tail == '/' ? 1 : read_joined(directory, tail, source);

		if (r <= 0)
			return r;
		tail = strchrnul(tail, '/');
		tail += *tail == '/';
	}
	return 1;
}

static int look_by_rule(const struct ep_source_rule *rule, const char *file, const char *function,
			struct ep_source *source)
{
	char replaced[PATH_MAX];
	int n, r;

	if (rule->old) {
		if (strncmp(file, rule->old, rule->old_bytes) != 0)
			return 1;
		n = snprintf(replaced, sizeof(replaced), "%s%s", rule->new, file + rule->old_bytes);
		return n > 0 && (size_t)n < sizeof(replaced) ? read_file(replaced, source) : 1;
	}
	r = strchr(file, '/') ? 1 : read_of_package(rule->new, file, function, source);
	return r == 1 ? read_tails(rule->new, file, source) : r;
}

static int look(const struct ep_source_rules *rules, const char *file, const char *function,
		struct ep_source *source)
{
	int r = 1;

	if (strncmp(file, SCHEME, strlen(SCHEME)) == 0)
		file += strlen(SCHEME);
	for (size_t i = 0; i < rules->n && r == 1; i++)
		r = look_by_rule(&rules->rules[i], file, function, source);
	return r == 1 ? read_file(file, source) : r;
}

static int find_lines(struct ep_source *source)
{
	const char *bytes = source->bytes.data;
	uint32_t start = 0;
	int r = 0;

	while (start < source->bytes.len && r == 0) {
		const char *end = memchr(bytes + start, '\n', source->bytes.len - start);

		r = ep_vec_append(&source->lines, &start, 1);
		start = end ? (uint32_t)(end - bytes) + 1 : (uint32_t)source->bytes.len;
	}
	return r == -E2BIG ? 0 : r;
}

int ep_source_read(const struct ep_source_rules *rules, const char *file, const char *function,
		   struct ep_source *ret_source)
{
	ep_cleanup(ep_source_fini) struct ep_source source = {0};
	int r;

	ep_vec_init(&source.bytes, 1, EP_SOURCE_MAX_BYTES);
	ep_vec_init(&source.lines, sizeof(uint32_t), MAX_LINES);
	r = file[0] ? look(rules, file, function, &source) : 1;
	r = r == 0 ? find_lines(&source) : r;
	if (r != 0)
		return r < 0 ? r : source.is_denied ? -EACCES : -ENOENT;
	*ret_source = source;
	source = (struct ep_source){0};
	return 0;
}

void ep_source_fini(struct ep_source *source)
{
	free(source->path);
	ep_vec_fini(&source->bytes);
	ep_vec_fini(&source->lines);
}

const char *ep_source_line(const struct ep_source *source, uint32_t line, char *buf, size_t size)
{
	const char *bytes = source->bytes.data;
	size_t n = 0, column = 0;

	buf[0] = '\0';
	if (line == 0 || line > source->lines.len)
		return buf;
	for (uint32_t i = *ep_vec_at(&source->lines, uint32_t, line - 1);
	     i < source->bytes.len && n + TAB < size; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\0')
			break;
		do
			buf[n++] = bytes[i] == '\t' ? ' ' : bytes[i];
		while (bytes[i] == '\t' && ++column % TAB != 0);
		column += bytes[i] != '\t';
	}
	while (n && (buf[n - 1] == ' ' || buf[n - 1] == '\r'))
		n--;
	buf[n] = '\0';
	return buf;
}
