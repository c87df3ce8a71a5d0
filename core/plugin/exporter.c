/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plugin/exporter.h"
#include "core/base/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MAX_QUEUE 64

/*
 *	idle ──submit──► exporting ──done──► idle, or the next of the queue
 *	idle, queue empty, flush wanted ──► flushing ──done──► idle, the flusher is informed
 *	idle, close wanted ──► plugin's close, freed
 */
enum state {
	IDLE,
	EXPORTING,
	FLUSHING,
};

struct ep_exporter {
	struct ep_module *module; /* a reference; NULL for a plugin that is linked in */
	const struct ep_plugin *plugin;
	const struct ep_exporter_ops *ops;
	struct ep_options *options;
	void *instance;
	enum state state;
	bool closing;
	bool is_flushed; /* the plugin, for the flush that is wanted */
	bool advancing;	 /* advance is on the stack: what a plugin calls from within only notes the
			    state */
	void (*flushed)(void *arg);
	void *flushed_arg;
	struct ep_log_limit log_limit;
	struct ep_exporter_stats stats;
	const struct ep_batch *current;		 /* under way; a reference */
	const struct ep_batch *queue[MAX_QUEUE]; /* waiting, oldest first; references */
	uint32_t queue_len, queue_max;
};

static void advance(struct ep_exporter *e);

static void exporter_free(struct ep_exporter *e)
{
	for (uint32_t i = 0; i < e->queue_len; i++)
		ep_host_get()->batch_unref(e->queue[i]);
	ep_options_free(e->options);
	ep_module_unload(e->module);
	free(e);
}

int ep_exporter_open(const struct ep_plugin *plugin, struct ep_module *module,
		     struct ep_options *options, uint32_t queue_len,
		     struct ep_exporter **ret_exporter)
{
	struct ep_exporter *e = calloc(1, sizeof(*e));
	int r;

	if (!e) {
		ep_options_free(options);
		return -ENOMEM;
	}
	e->plugin = plugin;
	e->ops = plugin->exporter;
	e->options = options;
	e->queue_max = EP_MIN(EP_MAX(queue_len, 1u), (uint32_t)MAX_QUEUE);
	e->log_limit = (struct ep_log_limit){.rate = {.unit_ns = 20 * EP_NS_PER_SEC, .burst = 3}};
	r = e->ops->open(ep_host_get(), options, &e->instance);
	if (r != 0) {
		exporter_free(e);
		return r < 0 ? r : -EINVAL;
	}
	if (module) {
		e->module = ep_module_ref(module);
		ep_module_keep_mapped(module);
	}
	*ret_exporter = e;
	return 0;
}

static void export_done(void *arg, int result)
{
	struct ep_exporter *e = arg;

	if (e->state != EXPORTING) {
		ep_log(EP_LOG_ERROR, "%s: reported the end of a batch twice", e->plugin->name);
		return;
	}
	if (result < 0)
		e->stats.failed++;
	else
		e->stats.exported++;
	e->stats.last_result = result < 0 ? result : 0;
	ep_host_get()->batch_unref(e->current);
	e->current = NULL;
	e->stats.waiting--;
	e->state = IDLE;
	advance(e);
}

static void export_next(struct ep_exporter *e)
{
	e->current = e->queue[0];
	e->queue_len--;
	memmove(e->queue, e->queue + 1, e->queue_len * sizeof(*e->queue));
	e->state = EXPORTING;
	e->is_flushed = false;
	e->ops->export_batch(e->instance, e->current, export_done, e);
}

static void flush_done(void *arg, int result)
{
	struct ep_exporter *e = arg;

	if (e->state != FLUSHING) {
		ep_log(EP_LOG_ERROR, "%s: reported the end of a flush twice", e->plugin->name);
		return;
	}
	if (result < 0)
		e->stats.last_result = result;
	e->state = IDLE;
	advance(e);
}

/* Starts what is due. False when there is nothing to do now. */
static bool step(struct ep_exporter *e)
{
	if (e->state != IDLE || e->closing)
		return false;
	if (e->queue_len == 0 && !e->flushed)
		return false;
	if (e->queue_len > 0) {
		export_next(e);
	} else if (e->is_flushed) {
		ep_take(e->flushed)(e->flushed_arg); /* who may close the exporter */
	} else {
		e->is_flushed = true;
		if (EP_HAS(e->ops, flush)) {
			e->state = FLUSHING;
			e->ops->flush(e->instance, flush_done, e);
		}
	}
	return true;
}

/* A plugin may call done at once, so the steps are a loop and not a recursion. */
static void advance(struct ep_exporter *e)
{
	if (e->advancing)
		return;
	e->advancing = true;
	while (step(e))
		;
	e->advancing = false;
	if (e->closing && e->state == IDLE) {
		e->ops->close(e->instance);
		exporter_free(e);
	}
}

static void drop_oldest(struct ep_exporter *e)
{
	ep_host_get()->batch_unref(e->queue[0]);
	e->queue_len--;
	memmove(e->queue, e->queue + 1, e->queue_len * sizeof(*e->queue));
	e->stats.waiting--;
	e->stats.dropped++;
	if (ep_log_limit_ok(&e->log_limit))
		ep_log(EP_LOG_WARN,
		       "%s: slower than its interval, %" PRIu64 " batches dropped so far: lengthen "
		       "the interval or look at where it writes",
		       e->plugin->name, e->stats.dropped);
}

void ep_exporter_submit(struct ep_exporter *e, const struct ep_batch *batch)
{
	if (e->closing)
		return;
	if (e->queue_len == e->queue_max)
		drop_oldest(e);
	ep_host_get()->batch_ref(batch);
	e->queue[e->queue_len++] = batch;
	e->stats.waiting++;
	advance(e);
}

void ep_exporter_flush(struct ep_exporter *e, void (*done)(void *arg), void *arg)
{
	assert(!e->flushed && !e->closing);
	e->flushed = done;
	e->flushed_arg = arg;
	e->is_flushed = false;
	advance(e);
}

void ep_exporter_close(struct ep_exporter *e)
{
	if (!e)
		return;
	assert(!e->closing);
	e->closing = true;
	advance(e);
}

const char *ep_exporter_name(const struct ep_exporter *e)
{
	return e->plugin->name;
}

const struct ep_exporter_stats *ep_exporter_stats(const struct ep_exporter *e)
{
	return &e->stats;
}
