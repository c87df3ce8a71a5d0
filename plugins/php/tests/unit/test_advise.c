/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor says of processes that are made up. */
#include "plugins/php/php.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#include <sys/mman.h>

#define SAPI	 0x1000u
#define CODE	 0x400000u
#define CODE_END 0x800000u

struct said {
	uint32_t n;
	char text[512];
};

static void say(void *arg, const char *found, const char *fix)
{
	struct said *said = arg;

	assert_in_range(strlen(found), 10, 160);
	assert_in_range(strlen(fix), 10, 160);
	snprintf(said->text, sizeof(said->text), "%s", found);
	said->n++;
}

EP_TEST_EACH(users_are_told_what_costs_names, size_t, i, 9)
{
	const struct ep_target_mapping text = {CODE, CODE_END,		 0, PROT_READ | PROT_EXEC,
					       1,    "/usr/sbin/php-fpm"};
	static const struct {
		const char *sapi, *said;
		struct ep_target_mapping more;
	} rows[] = {
		{"fpm-fcgi", "opcache is off", {0x1000000, 0x1800000, 0, PROT_READ, 0, ""}},
		{"fpm-fcgi",
		 "",
		 {0x1000000, 0x1800000, 0, PROT_READ | PROT_WRITE, 1, "/dev/zero (deleted)"}},
		{"fpm-fcgi",
		 "",
		 {0x1000000, 0x1800000, 0, PROT_READ | PROT_WRITE, 1, "/SYSV00000000 (deleted)"}},
		/* Too small, such as fpm's own. */
		{"fpm-fcgi",
		 "opcache is off",
		 {0x1000000, 0x1001000, 0, PROT_READ, 1, "/dev/zero (deleted)"}},
		{"apache2handler",
		 "opcache is off",
		 {0x1000000, 0x1800000, 0, PROT_READ, 1, "/usr/lib/x.so"}},
		{"cli", "", {0x1000000, 0x1800000, 0, PROT_READ, 0, "[heap]"}},
		{"embed", "", {0x1000000, 0x1800000, 0, PROT_READ, 0, ""}},
		{"cli",
		 "moved out of its file",
		 {CODE + 0x200000, CODE + 0x400000, 0, PROT_READ | PROT_EXEC, 0, ""}},
		{NULL, "", {0x1000000, 0x1800000, 0, PROT_READ, 0, ""}},
	};
	const struct ep_target_mapping mappings[] = {text, rows[i].more};
	struct php_state state = {.code_start = CODE, .code_end = CODE_END};
	struct php_namer namer = {0};
	struct said said = {0};
	struct fake_host host;
	uint64_t words[8] = {SAPI + 8};

	fake_host_init(&host, NULL, 0);
	fake_memory_add(&host.memory, SAPI, words, sizeof(words));
	if (rows[i].sapi)
		snprintf((char *)&words[1], sizeof(words) - 8, "%s", rows[i].sapi);
	host.mappings = mappings;
	host.n_mappings = EP_LEN(mappings);
	namer.host = fake_host_services(&host);
	namer.target = &host.target;
	namer.memory = (struct memory){fake_memory_read, &host.memory};
	assert_int_equal(php_say_advice(&namer, rows[i].sapi ? SAPI : 0, &state, say, &said), 0);
	assert_int_equal(said.n, *rows[i].said != '\0');
	assert_non_null(strstr(said.text, rows[i].said));
}
