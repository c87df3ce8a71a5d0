/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines are "hierarchy:controllers:path" (cgroups(7)); a path component names a container as
 *
 *	<64 hex>			docker, kubelet with the cgroupfs driver
 *	docker-<64 hex>.scope		and cri-containerd-, crio-, libpod-: the systemd driver
 *	...slice:cri-containerd:<64 hex>	containerd with systemd names under cgroupfs
 *	<32 hex>-<number>		Amazon ECS on Fargate
 *	lxc.payload.NAME, lxc/NAME	LXC 4 and later; before
 *	machine-NAME.scope		systemd-nspawn under machined
 *	systemd-nspawn@NAME.service	the same as a service
 *
 * Not containers, though they look so: the monitors libpod-conmon-<id>, crio-conmon-<id> and
 * lxc.monitor.NAME, and virtual machines (machine-qemu...).
 */
#include "core/proc/container.h"
#include "core/base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LONG_ID		 64
#define ECS_ID		 32

struct span {
	const char *at;
	size_t len;
};

static bool starts_with(struct span s, const char *prefix)
{
	return s.len > strlen(prefix) && memcmp(s.at, prefix, strlen(prefix)) == 0;
}

static bool cut_suffix(struct span *s, const char *suffix)
{
	size_t len = strlen(suffix);

	if (s->len <= len || memcmp(s->at + s->len - len, suffix, len) != 0)
		return false;
	s->len -= len;
	return true;
}

static bool contains(struct span s, const char *word)
{
	return memmem(s.at, s.len, word, strlen(word)) != NULL;
}

static bool equals(struct span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static size_t count_hex(struct span s)
{
	size_t n = 0;

	while (n < s.len && (isdigit((unsigned char)s.at[n]) || (s.at[n] >= 'a' && s.at[n] <= 'f')))
		n++;
	return n;
}

static bool take(struct span s, char id[EP_CONTAINER_ID_BYTES])
{
	if (s.len == 0 || s.len >= EP_CONTAINER_ID_BYTES)
		return false;
	memcpy(id, s.at, s.len);
	id[s.len] = '\0';
	return true;
}

static bool take_long_id(struct span s, char *id)
{
	struct span tail;

	(void)cut_suffix(&s, ".scope");
	if (s.len < LONG_ID || contains(s, "conmon"))
		return false;
	tail = (struct span){s.at + s.len - LONG_ID, LONG_ID};
	if (count_hex(tail) != LONG_ID)
		return false;
	if (s.len > LONG_ID && tail.at[-1] != '-' && tail.at[-1] != ':')
		return false;
	return take(tail, id);
}

static bool take_ecs_id(struct span s, char *id)
{
	if (s.len < ECS_ID + 2 || count_hex(s) != ECS_ID || s.at[ECS_ID] != '-')
		return false;
	for (size_t i = ECS_ID + 1; i < s.len; i++)
		if (!isdigit((unsigned char)s.at[i]))
			return false;
	return take(s, id);
}

static bool take_lxc_name(struct span parent, struct span s, char *id)
{
	static const char payload[] = "lxc.payload.";

	if (starts_with(s, payload))
		return take((struct span){s.at + strlen(payload), s.len - strlen(payload)}, id);
	return (equals(parent, "lxc") || equals(parent, "lxc.payload")) && take(s, id);
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* systemd prints bytes a unit name cannot hold as \xNN (systemd.unit(5)). */
static void unescape_unit(char *name)
{
	char *out = name;

	for (const char *in = name; *in; in++) {
		if (in[0] == '\\' && in[1] == 'x' && in[2] && hex_digit(in[2]) >= 0 &&
		    hex_digit(in[3]) >= 0) {
			*out++ = (char)(hex_digit(in[2]) << 4 | hex_digit(in[3]));
			in += 3;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
}

static bool take_unit_name(struct span s, const char *prefix, const char *suffix, char *id)
{
	if (!starts_with(s, prefix) || !cut_suffix(&s, suffix))
		return false;
	if (!take((struct span){s.at + strlen(prefix), s.len - strlen(prefix)}, id))
		return false;
	unescape_unit(id);
	return true;
}

static bool take_machine_name(struct span s, char *id)
{
	if (starts_with(s, "machine-qemu"))
		return false;
	return take_unit_name(s, "machine-", ".scope", id) ||
	       take_unit_name(s, "systemd-nspawn@", ".service", id);
}

static void take_component(struct span parent, struct span s, char id[EP_CONTAINER_ID_BYTES])
{
	char found[EP_CONTAINER_ID_BYTES];

	if (take_long_id(s, found) || take_ecs_id(s, found) || take_lxc_name(parent, s, found) ||
	    take_machine_name(s, found))
		memcpy(id, found, sizeof(found));
}

static void take_path(const char *path, const char *end, char id[EP_CONTAINER_ID_BYTES])
{
	struct span parent = {path, 0};

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		struct span s = {path, (size_t)((slash ? slash : end) - path)};

		if (s.len > 0) {
			take_component(parent, s, id);
			parent = s;
		}
		path += s.len + 1;
	}
}

static const char *behind_colons(const char *line, const char *end, int colons)
{
	while (line && colons-- > 0) {
		line = memchr(line, ':', (size_t)(end - line));
		line = line ? line + 1 : NULL;
	}
	return line;
}

void ep_container_parse_id(const char *text, size_t bytes, char id[EP_CONTAINER_ID_BYTES])
{
	const char *end = text + bytes;

	memset(id, 0, EP_CONTAINER_ID_BYTES);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *line_end = newline ? newline : end;
		const char *path = behind_colons(text, line_end, 2);

		if (path)
			take_path(path, line_end, id);
		text = line_end + 1;
	}
}
