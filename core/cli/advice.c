/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doctor's rows about processes: what their languages advise, one row for all that are given the
 * same.
 */
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/cli/advice.h"
#include "core/cli/keepers.h"
#include "core/cli/parts/text.h"
#include "core/config/config.h"
#include "core/process/advice.h"
#include "core/replay/plugins.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define MAX_NS	       (5 * EP_NS_PER_SEC)
#define MAX_ROWS       64
#define PIDS_TOLD      5
#define SENTENCE_BYTES 161

struct advised {
	const char *language;
	enum ep_check_status status;
	char found[SENTENCE_BYTES], fix[SENTENCE_BYTES];
	pid_t pids[PIDS_TOLD];
	size_t n_pids;
};

struct collected {
	struct advised rows[MAX_ROWS];
	size_t n, left_out;
};

static const char refused_fix[] = "the line above that names the process says what is not as expected";

/* What comes from a process may hold anything. */
static void put_sentence(char *sentence, const char *text)
{
	char safe[EP_TEXT_BYTES];

	snprintf(sentence, SENTENCE_BYTES, "%s", ep_text_fit(text ? text : "", SENTENCE_BYTES - 1, safe));
}

static void describe(const struct ep_advice *advice, struct advised *ret)
{
	char error[SENTENCE_BYTES];

	*ret = (struct advised){.language = advice->language, .status = EP_CHECK_INFO};
	if (advice->result == 0) {
		ret->status = advice->found ? EP_CHECK_INFO : EP_CHECK_OK;
		put_sentence(ret->found, advice->found ? advice->found : "nothing to advise");
		put_sentence(ret->fix, advice->fix);
	} else if (advice->result == -ENOTSUP) {
		ret->status = EP_CHECK_WARN;
		put_sentence(ret->found, "not as the plugin expects it: its frames will be missing");
		put_sentence(ret->fix, refused_fix);
	} else if (advice->result > 0) {
		put_sentence(ret->found, "is still starting, or only has the runtime's file mapped");
	} else {
		snprintf(error, sizeof(error), "cannot be asked: %s", ep_strerror(advice->result));
		put_sentence(ret->found, error);
	}
}

static bool is_told_the_same(const struct advised *a, const struct advised *b)
{
	return strcmp(a->language, b->language) == 0 && strcmp(a->found, b->found) == 0 &&
	       strcmp(a->fix, b->fix) == 0;
}

static void collect(void *arg, const struct ep_advice *advice)
{
	struct collected *collected = arg;
	struct advised row;
	size_t i = 0;

	if (advice->result == -ESRCH)
		return;
	describe(advice, &row);
	while (i < collected->n && !is_told_the_same(&collected->rows[i], &row))
		i++;
	if (i == MAX_ROWS) {
		collected->left_out++;
		return;
	}
	if (i == collected->n)
		collected->rows[collected->n++] = row;
	if (collected->rows[i].n_pids < PIDS_TOLD)
		collected->rows[i].pids[collected->rows[i].n_pids] = advice->pid;
	collected->rows[i].n_pids++;
}

static void print_row(const struct advised *row, const struct ep_doctor_rows *rows)
{
	struct ep_check_result result = {.status = row->status};
	size_t at = (size_t)snprintf(result.detail, sizeof(result.detail), "pid");

	for (size_t i = 0; i < row->n_pids && i < PIDS_TOLD; i++)
		at += (size_t)snprintf(result.detail + at, sizeof(result.detail) - at, " %d",
				       (int)row->pids[i]);
	if (row->n_pids > PIDS_TOLD)
		at += (size_t)snprintf(result.detail + at, sizeof(result.detail) - at,
				       " and %zu more", row->n_pids - PIDS_TOLD);
	snprintf(result.detail + at, sizeof(result.detail) - at, ": %s", row->found);
	snprintf(result.fix, sizeof(result.fix), "%s", row->fix);
	rows->say(rows, row->language, &result);
}

/*
 * What was not seen is reported, so that no row does not mean no advice. Root cannot read a few
 * either, where it is confined; nothing can be done about these.
 */
static void print_limits(const struct collected *collected, const struct ep_advice_stats *stats,
			 const struct ep_doctor_rows *rows)
{
	struct ep_check_result result = {.status = EP_CHECK_INFO};
	bool is_closed = stats->closed && geteuid() != 0;

	if (!stats->late && !is_closed && !collected->left_out)
		return;
	snprintf(result.detail, sizeof(result.detail),
		 "%zu of %zu were looked at for advice%s%s%s", stats->read, stats->processes,
		 stats->late ? ", then time ran out" : "",
		 is_closed ? ", of others we may not: be root" : "",
		 collected->left_out ? "; there was more advice than is shown" : "");
	rows->say(rows, "processes", &result);
}

/* As `languages` of the configuration says; those that are off are not advised about. */
static size_t choose(const struct ep_config_file *config, const struct ep_replay_plugins *loaded,
		     const struct ep_plugin *chosen[EP_REPLAY_PLUGINS_MAX])
{
	const struct ep_config_strings *wanted = &config->plugins.languages;
	size_t n = 0;

	for (size_t i = 0; i < loaded->n; i++) {
		bool is_wanted = false;

		for (size_t k = 0; k < wanted->len; k++)
			is_wanted |= strcmp(wanted->items[k], "all") == 0 ||
				     strcmp(wanted->items[k], loaded->plugins[i]->name) == 0;
		if (is_wanted)
			chosen[n++] = loaded->plugins[i];
	}
	return n;
}

void ep_cmd_advise(void *arg, const struct ep_doctor_rows *rows)
{
	const struct ep_config_file *config = arg;
	const struct ep_plugin *chosen[EP_REPLAY_PLUGINS_MAX];
	struct ep_replay_plugins loaded = {0};
	struct ep_advice_stats stats = {0};
	ep_autofree struct collected *collected = calloc(1, sizeof(*collected));
	struct ep_advice_question question = {
		.plugins = chosen,
		.max_ns = MAX_NS,
		.say = collect,
		.arg = collected,
	};

	if (!collected)
		return;
	ep_host_init(uv_default_loop(), EP_VERSION);
	/* That there is no such directory is a row of its own. */
	(void)ep_replay_plugins_load(&loaded, config->plugins.dir);
	question.n = choose(config, &loaded, chosen);
	ep_cmd_say_keepers(chosen, question.n, rows);
	if (ep_advice_ask(&question, &stats) == 0) {
		for (size_t i = 0; i < collected->n; i++)
			print_row(&collected->rows[i], rows);
		print_limits(collected, &stats, rows);
	}
	ep_replay_plugins_fini(&loaded);
}
