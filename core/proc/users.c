/* SPDX-License-Identifier: Apache-2.0 */
#include "core/proc/users.h"
#include "core/base/clock.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_USERS  65536
#define MAX_BYTES  (4u << 20)
#define LINE_BYTES 4096
#define LOOK_NS	   EP_NS_PER_SEC

void ep_users_init(struct ep_users *users, const char *path)
{
	*users = (struct ep_users){.path = path};
	ep_map_init(&users->by_number, MAX_USERS);
}

void ep_users_fini(struct ep_users *users)
{
	ep_map_fini(&users->by_number);
	ep_strings_free(users->strings);
	users->strings = NULL;
}

/* The first line of a number counts, as for getpwuid(3). */
static void add(struct ep_users *users, const struct passwd *entry)
{
	uint32_t id;

	if (ep_map_find(&users->by_number, entry->pw_uid))
		return;
	if (ep_strings_add(users->strings, entry->pw_name, strlen(entry->pw_name), &id) == 0)
		(void)ep_map_set(&users->by_number, entry->pw_uid, id);
}

static void read_file(struct ep_users *users, const struct stat *st)
{
	FILE *file = fopen(users->path, "re");
	struct passwd entry, *found;
	char line[LINE_BYTES];

	ep_users_fini(users);
	ep_map_init(&users->by_number, MAX_USERS);
	users->written = st->st_mtim;
	if (file && ep_strings_new(MAX_BYTES, &users->strings) == 0) {
		for (size_t n = 0;
		     n < MAX_USERS && fgetpwent_r(file, &entry, line, sizeof(line), &found) == 0;
		     n++)
			add(users, &entry);
	}
	if (file)
		fclose(file);
}

static void look(struct ep_users *users, uint64_t now_ns)
{
	struct stat st;

	if (users->looked_ns && now_ns - users->looked_ns < LOOK_NS)
		return;
	users->looked_ns = now_ns;
	if (stat(users->path, &st) == 0 &&
	    (!users->strings || memcmp(&st.st_mtim, &users->written, sizeof(st.st_mtim)) != 0))
		read_file(users, &st);
}

const char *ep_users_name(struct ep_users *users, uint32_t user, uint64_t now_ns,
			  char name[EP_USER_NAME_BYTES])
{
	const uint64_t *id = ep_map_find(&users->by_number, user);

	if (!id) {
		look(users, now_ns);
		id = ep_map_find(&users->by_number, user);
	}
	if (id)
		snprintf(name, EP_USER_NAME_BYTES, "%s",
			 ep_strings_get(users->strings, (uint32_t)*id));
	else
		snprintf(name, EP_USER_NAME_BYTES, "%u", user);
	return name;
}
