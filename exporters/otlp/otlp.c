/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OTLP exporter: each batch becomes one or more requests of the Profiles signal (encode.c), is
 * compressed (gzip.c), both on a worker, and goes to the sender's queue (sender.c). A batch is done
 * when it is in the queue: a receiver that is slow or away holds up neither batches nor others.
 */
#include "exporters/otlp/otlp.h"
#include "core/base/vec.h"
#include "ebpf-profiler/plugin.h"
#include "exporters/otlp/config.h"
#include "exporters/otlp/gzip.h"
#include "exporters/otlp/sender.h"

#include <errno.h>
#include <inttypes.h>

#define MAX_REQUESTS 1024 /* of one batch */

struct otlp {
	const struct ep_host *host;
	struct otlp_config config;
	struct otlp_sender *sender;
	ep_export_done flushed;
	void *flushed_arg;
};

/* One batch on its way through a worker. */
struct job {
	struct otlp *otlp;
	const struct ep_batch *batch; /* a reference */
	ep_export_done done;
	void *done_arg;
	int result;
	uint64_t too_big; /* samples */
	struct ep_vec payloads;
};

/* --- open and close --- */

static int otlp_open(const struct ep_host *host, const struct ep_options *options,
		     void **ret_exporter)
{
	struct otlp *otlp = calloc(1, sizeof(*otlp));
	int r;

	if (!otlp)
		return -ENOMEM;
	otlp->host = host;
	r = otlp_config_init(&otlp->config, host, options);
	if (r == 0)
		r = otlp_sender_new(host, &otlp->config, &otlp->sender);
	if (r < 0) {
		otlp_config_fini(&otlp->config);
		free(otlp);
		return r;
	}
	*ret_exporter = otlp;
	return 0;
}

static void on_sender_gone(void *arg)
{
	struct otlp *otlp = arg;

	otlp_config_fini(&otlp->config);
	free(otlp);
}

static void otlp_close(void *exporter)
{
	struct otlp *otlp = exporter;

	otlp_sender_free(otlp->sender, on_sender_gone, otlp);
}

/* --- export --- */

static int take_request(void *arg, const struct otlp_request *request)
{
	struct job *job = arg;
	struct otlp_payload payload;
	int r = otlp_payload_make(request, job->otlp->config.is_gzip, &payload);

	if (r < 0)
		return r;
	r = ep_vec_append(&job->payloads, &payload, 1);
	if (r < 0)
		free(payload.data);
	return r;
}

static void job_run(void *arg)
{
	struct job *job = arg;
	struct otlp_sink sink = {.take = take_request, .arg = job};

	job->result = otlp_encode(job->batch, &job->otlp->config.encode, &sink, &job->too_big);
}

static void log_failure(const struct otlp *otlp, int r)
{
	const char *text = strerrordesc_np(-r);

	otlp->host->log(EP_HOST_ERROR,
			"otlp: %s: a batch cannot be encoded: %s: this batch is lost",
			otlp->config.authority, text ? text : "unknown error");
}

/* What was made before a failure is a whole request: it is sent all the same. */
static void job_after(void *arg)
{
	struct job *job = arg;
	struct otlp *otlp = job->otlp;
	const struct otlp_payload *payload;

	ep_vec_each (&job->payloads, payload)
		otlp_sender_push(otlp->sender, payload);
	ep_vec_fini(&job->payloads);
	if (job->result < 0)
		log_failure(otlp, job->result);
	if (job->too_big)
		otlp->host->log(EP_HOST_WARN,
				"otlp: %s: %" PRIu64 " samples with stacks longer than "
				"max_request_bytes left out",
				otlp->config.authority, job->too_big);
	otlp->host->batch_unref(job->batch);
	job->done(job->done_arg, job->result);
	free(job);
}

static void otlp_export(void *exporter, const struct ep_batch *batch, ep_export_done done,
			void *done_arg)
{
	struct otlp *otlp = exporter;
	struct job *job = calloc(1, sizeof(*job));
	int r = -ENOMEM;

	if (job) {
		*job = (struct job){
			.otlp = otlp, .batch = batch, .done = done, .done_arg = done_arg};
		ep_vec_init(&job->payloads, sizeof(struct otlp_payload), MAX_REQUESTS);
		otlp->host->batch_ref(batch);
		r = otlp->host->run(job_run, job_after, job);
	}
	if (r == 0)
		return;
	log_failure(otlp, r);
	if (job)
		otlp->host->batch_unref(batch);
	free(job);
	done(done_arg, r);
}

static void on_flushed(void *arg, int result)
{
	struct otlp *otlp = arg;

	otlp->flushed(otlp->flushed_arg, result);
}

static void otlp_flush(void *exporter, ep_export_done done, void *done_arg)
{
	struct otlp *otlp = exporter;

	otlp->flushed = done;
	otlp->flushed_arg = done_arg;
	otlp_sender_flush(otlp->sender, on_flushed, otlp);
}

const struct otlp_sender_stats *otlp_exporter_stats(const void *exporter)
{
	return otlp_sender_stats(((const struct otlp *)exporter)->sender);
}

static const struct ep_exporter_ops ops = {
	.size = sizeof(ops),
	.options = otlp_option_specs,
	.open = otlp_open,
	.export_batch = otlp_export,
	.flush = otlp_flush,
	.close = otlp_close,
};

EP_PLUGIN_DEFINE = {
	.size = sizeof(struct ep_plugin),
	.abi_major = EP_ABI_MAJOR,
	.abi_minor = EP_ABI_MINOR,
	.kind = EP_PLUGIN_EXPORTER,
	.name = "otlp",
	.version = "1.0",
	.exporter = &ops,
};
