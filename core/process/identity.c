/* SPDX-License-Identifier: Apache-2.0 */
#include "core/process/identity.h"

#include <string.h>

#define MAX_TEXT_BYTES 65536

static size_t text_bytes(const char *text)
{
	return text ? strnlen(text, MAX_TEXT_BYTES) + 1 : 1;
}

static const char *put(char **at, const char *text, size_t bytes)
{
	char *to = *at;

	if (text)
		memcpy(to, text, bytes - 1);
	to[bytes - 1] = '\0';
	*at += bytes;
	return to;
}

struct ep_identity *ep_identity_new(const struct ep_identity *parts)
{
	size_t comm = text_bytes(parts->comm), path = text_bytes(parts->exe_path);
	size_t container = text_bytes(parts->container_id), cgroup = text_bytes(parts->cgroup_path);
	struct ep_identity *identity = malloc(sizeof(*identity) + comm + path + container + cgroup +
					      parts->environment_bytes);
	char *at = (char *)(identity + 1);

	if (!identity)
		return NULL;
	*identity = *parts;
	identity->refs = 1;
	identity->comm = put(&at, parts->comm, comm);
	identity->exe_path = put(&at, parts->exe_path, path);
	identity->container_id = put(&at, parts->container_id, container);
	identity->cgroup_path = put(&at, parts->cgroup_path, cgroup);
	identity->environment = NULL;
	if (parts->environment_bytes > 0)
		identity->environment = memcpy(at, parts->environment, parts->environment_bytes);
	return identity;
}

struct ep_identity *ep_identity_ref(struct ep_identity *identity)
{
	if (identity)
		identity->refs++;
	return identity;
}

void ep_identity_unref(struct ep_identity *identity)
{
	if (identity && --identity->refs == 0)
		free(identity);
}
