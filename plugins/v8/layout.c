/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/v8/layout.h"

#include "core/base/util.h"

#include <stdio.h>
#include <string.h>

enum sanity {
	OFFSET,
	SLOT,
	TYPE,
	NUMBER,
	SHIFT,
};

static const struct v8_version versions[] = {
#define V8_VERSION(major_, minor_) {.major = major_, .minor = minor_},
#include "plugins/v8/fields_versions.def"
};

#define N_VERSIONS EP_LEN(versions)

static const struct value {
	size_t at; /* in struct v8_layout */
	enum sanity sanity;
	const char *names;
	int32_t by_version[N_VERSIONS];
} values[] = {
#define V8_VALUE(member_, sanity_, names_, ...)                                                    \
	{                                                                                          \
		.at = offsetof(struct v8_layout, member_),                                         \
		.sanity = sanity_,                                                                 \
		.names = names_,                                                                   \
		.by_version = {__VA_ARGS__},                                                       \
	},
#include "plugins/v8/fields.def"
};

static int32_t *member(struct v8_layout *layout, const struct value *value)
{
	return (int32_t *)((char *)layout + value->at);
}

static int32_t value_in(const struct v8_layout *layout, const struct value *value)
{
	return *(const int32_t *)((const char *)layout + value->at);
}

/* --- versions --------------------------------------------------------------------------------- */

/* V8's builds count from 100 on, its majors from 3: an IP address or an OID is none. */
bool v8_version_parse(const char *text, struct v8_version *ret)
{
	unsigned int major, minor, build, patch;
	int n = 0;

	if (*text < '1' || *text > '9' ||
	    sscanf(text, "%2u.%2u.%4u.%4u%n", &major, &minor, &build, &patch, &n) != 4 ||
	    (text[n] != '\0' && text[n] != '-' && text[n] != ' '))
		return false;
	if (major < 3 || build < 10)
		return false;
	*ret = (struct v8_version){
		.major = (uint16_t)major,
		.minor = (uint16_t)minor,
		.build = build,
		.patch = patch,
	};
	return true;
}

static bool is_newer(const struct v8_version *a, const struct v8_version *b)
{
	return a->major != b->major ? a->major > b->major : a->minor > b->minor;
}

/* One that is older than all takes the oldest. */
static size_t column_of(const struct v8_version *version)
{
	size_t column = 0;

	for (size_t i = 1; i < N_VERSIONS && !is_newer(&versions[i], version); i++)
		column = i;
	return column;
}

static size_t best_column(const struct v8_published *published)
{
	size_t best = N_VERSIONS - 1, most = 0;

	for (size_t column = N_VERSIONS; column-- > 0;) {
		size_t n = 0;

		for (size_t i = 0; i < EP_LEN(values); i++) {
			int32_t value = value_in(&published->values, &values[i]);

			n += v8_has(value) && value == values[i].by_version[column];
		}
		if (n > most) {
			most = n;
			best = column;
		}
	}
	return best;
}

/* --- what the file says ----------------------------------------------------------------------- */

static bool is_sane(enum sanity sanity, int32_t value)
{
	switch (sanity) {
	case OFFSET:
		return value >= 0 && value < 4096;
	case SLOT:
		return value <= -8 && value >= -128 && value % 8 == 0;
	case TYPE:
	case NUMBER:
		return value >= 0 && value <= 65535;
	case SHIFT:
		return value >= 0 && value < 32;
	}
	return false;
}

/* `one` is a word of a value's names, `len` long; "class_Map__instance_type__" stands for any type
 * after it. */
static bool is_name(const char *one, size_t len, const char *name)
{
	bool is_prefix = len > 2 && one[len - 1] == '_' && one[len - 2] == '_';

	return strncmp(name, one, len) == 0 && (is_prefix ? name[len] != '\0' : name[len] == '\0');
}

/* Which of a value's names it is, from 0; -1: none. */
static int find_name(const char *names, const char *name)
{
	int rank = 0;

	while (*names) {
		size_t len = strcspn(names, " ");

		if (is_name(names, len, name))
			return rank;
		names += len;
		names += strspn(names, " ");
		rank++;
	}
	return -1;
}

void v8_published_init(struct v8_published *published)
{
	*published = (struct v8_published){0};
	for (size_t i = 0; i < EP_LEN(values); i++)
		*member(&published->values, &values[i]) = V8_NONE;
}

bool v8_published_wants(const char *name)
{
	for (size_t i = 0; i < EP_LEN(values); i++) {
		if (find_name(values[i].names, name) >= 0)
			return true;
	}
	return false;
}

void v8_published_add(struct v8_published *published, const char *name, int32_t value)
{
	for (size_t i = 0; i < EP_LEN(values); i++) {
		int32_t *at = member(&published->values, &values[i]);
		int32_t *rank = member(&published->ranks, &values[i]);
		int found = find_name(values[i].names, name);

		if (found < 0 || !is_sane(values[i].sanity, value) ||
		    (v8_has(*at) && *rank <= found))
			continue;
		published->n += !v8_has(*at);
		*at = value;
		*rank = found;
	}
}

/* --- all -------------------------------------------------------------------------------------- */

void v8_layout_fill(struct v8_layout *ret, const struct v8_version *version,
		    const struct v8_published *published)
{
	size_t column = version->major ? column_of(version) : best_column(published);

	*ret = (struct v8_layout){.version = version->major ? *version : versions[column]};
	for (size_t i = 0; i < EP_LEN(values); i++) {
		int32_t value = value_in(&published->values, &values[i]);

		*member(ret, &values[i]) = v8_has(value) ? value : values[i].by_version[column];
	}
}
