/* SPDX-License-Identifier: Apache-2.0 */
#include "core/config/units.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DIGITS "0123456789"

struct unit {
	const char *name;
	uint64_t factor;
};

/* The first name of a factor is the one that is written. */
static const struct unit duration_units[] = {
	{"h", 3600 * EP_NS_PER_SEC},
	{"m", 60 * EP_NS_PER_SEC},
	{"min", 60 * EP_NS_PER_SEC},
	{"s", EP_NS_PER_SEC},
	{"ms", EP_NS_PER_MS},
	{"us", 1000},
	{"ns", 1},
};
static const struct unit byte_units[] = {
	{"GiB", 1ULL << 30}, {"G", 1ULL << 30},	 {"GB", 1ULL << 30},  {"MiB", 1ULL << 20},
	{"M", 1ULL << 20},   {"MB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"K", 1ULL << 10},
	{"k", 1ULL << 10},   {"kB", 1ULL << 10}, {"KB", 1ULL << 10},  {"B", 1},
};

/* Digits after a decimal point, of a number with this factor: 5 of "1.5s" is half a second. */
static int parse_fraction(const char **pos, const char *end, uint64_t factor, uint64_t *ret_value)
{
	unsigned __int128 value = 0, scale = 1;

	if (*pos == end || **pos < '0' || **pos > '9')
		return -EBADMSG;
	for (; *pos < end && **pos >= '0' && **pos <= '9'; (*pos)++) {
		if (scale >= EP_NS_PER_SEC)
			continue; /* finer than a nanosecond of a second */
		value = value * 10 + (unsigned int)(**pos - '0');
		scale *= 10;
	}
	*ret_value = (uint64_t)(value * factor / scale);
	return 0;
}

static const struct unit *find_unit(const char *name, size_t len, const struct unit *units, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(units[i].name) == len && memcmp(units[i].name, name, len) == 0)
			return &units[i];
	return NULL;
}

/* One number and its unit, "1.5s". `below`: a unit has to be smaller than this. */
static int parse_part(const char **text, const struct unit *units, size_t n, uint64_t plain, uint64_t below,
		      uint64_t *ret_value, uint64_t *ret_factor)
{
	const char *pos = *text, *end = pos + strlen(pos), *name;
	uint64_t value, fraction = 0, factor = plain;
	int r = ep_parse_u64(&pos, end, 10, &value);

	if (r < 0)
		return r;
	name = pos + (*pos == '.' ? 1 + strspn(pos + 1, DIGITS) : 0);
	end = name + strcspn(name, DIGITS);
	if (*name) {
		const struct unit *unit = find_unit(name, (size_t)(end - name), units, n);

		if (!unit || unit->factor >= below)
			return -EBADMSG;
		factor = unit->factor;
	} else if (below != UINT64_MAX) {
		return -EBADMSG; /* "1m30": of what? */
	}
	if (*pos == '.') {
		pos++;
		r = parse_fraction(&pos, end, factor, &fraction);
		if (r < 0)
			return r;
	}
	if (__builtin_mul_overflow(value, factor, &value) ||
	    __builtin_add_overflow(value, fraction, &value) || value > INT64_MAX)
		return -ERANGE;
	*text = end;
	*ret_value = value;
	*ret_factor = factor;
	return 0;
}

/* "90", "1.5s", "1m30s" */
static int parse_number(const char *text, const struct unit *units, size_t n, uint64_t plain,
			uint64_t *ret_value)
{
	uint64_t sum = 0, factor = UINT64_MAX;

	do {
		uint64_t value;
		int r = parse_part(&text, units, n, plain, factor, &value, &factor);

		if (r < 0)
			return r;
		if (__builtin_add_overflow(sum, value, &sum) || sum > INT64_MAX)
			return -ERANGE;
	} while (*text);
	*ret_value = sum;
	return 0;
}

int ep_parse_duration(const char *text, uint64_t *ret_ns)
{
	return parse_number(text, duration_units, EP_LEN(duration_units), EP_NS_PER_SEC, ret_ns);
}

int ep_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	return parse_number(text, byte_units, EP_LEN(byte_units), 1, ret_bytes);
}

static void format_number(uint64_t value, const struct unit *units, size_t n, char *buf,
			  size_t size)
{
	for (size_t i = 0; i < n; i++)
		if (value && value % units[i].factor == 0) {
			snprintf(buf, size, "%" PRIu64 "%s", value / units[i].factor,
				 units[i].name);
			return;
		}
	snprintf(buf, size, "0");
}

void ep_format_duration(uint64_t ns, char *buf, size_t size)
{
	format_number(ns, duration_units, EP_LEN(duration_units), buf, size);
}

void ep_format_bytes(uint64_t bytes, char *buf, size_t size)
{
	format_number(bytes, byte_units, EP_LEN(byte_units), buf, size);
}
