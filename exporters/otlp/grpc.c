/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over HTTP/2 (gRPC's doc/PROTOCOL-HTTP2.md; RFC 9113), client side, unary calls, on nghttp2.
 *
 *	call ──► WAITING ──connection is open──► SENT ──stream closed──► FINISHED ──► its done
 *	            └───────────── deadline, connection lost ──────────────►┘
 *
 * 1. nghttp2 must not be asked to send from within its own callbacks, nor be deleted there:
 * callbacks only note things, pump() does them.
 * 2. A server that answers early has us stop sending (RST_STREAM), or unread data would eat the
 *    window of the connection.
 * 3. After GOAWAY streams that the server has not seen end with REFUSED_STREAM (nghttp2 does that);
 *    the others go on. New calls wait for the next connection.
 * 4. No PINGs: servers close connections that ping often. The kernel watches the peer (conn.c).
 */
#include "exporters/otlp/client.h"
#include "exporters/otlp/conn.h"

#include <errno.h>
#include <inttypes.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <sys/queue.h>

#define EXPORT_PATH	"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define FIXED_HEADERS	9
#define MAX_HEADER_LIST 16384

enum call_state {
	WAITING,
	SENT,
	FINISHED,
};

struct call {
	struct otlp_client *client;
	TAILQ_ENTRY(call) link;
	uv_timer_t deadline;
	uint64_t deadline_ms; /* of the loop's clock */
	enum call_state state;
	int32_t stream_id;
	const struct otlp_payload *payload;
	size_t sent;		     /* bytes of it */
	struct otlp_header *headers; /* copies, with their texts after */
	size_t n_headers;
	otlp_call_done done;
	void *arg;
	struct otlp_grpc_answer answer;
	struct otlp_outcome outcome;
};

TAILQ_HEAD(calls, call);

struct otlp_client {
	const struct otlp_config *config;
	uv_loop_t *loop;
	struct otlp_conn_options conn_options;
	struct otlp_conn *conn;	  /* NULL: none */
	nghttp2_session *session; /* NULL until the connection is open */
	struct otlp_tls *tls;
	struct calls calls;
	bool is_draining; /* the server sent GOAWAY */
	bool has_peer;	  /* it has spoken HTTP/2 */
	bool is_pumping;
	bool was_used;	  /* a call ended well on this connection */
	uint8_t first[9]; /* bytes of the peer, to tell what it speaks if it is not HTTP/2 */
	size_t first_len;
	bool *freed; /* where to note that the client is freed, while pumping */
};

static void pump(struct otlp_client *client);

/* --- calls --- */

static void on_call_closed(uv_handle_t *handle)
{
	struct call *call = EP_CONTAINER((uv_timer_t *)handle, struct call, deadline);

	otlp_wire_fini(&call->answer.body);
	free(call->headers);
	free(call);
}

static void drop_call(struct call *call)
{
	TAILQ_REMOVE(&call->client->calls, call, link);
	call->client = NULL;
	uv_close((uv_handle_t *)&call->deadline, on_call_closed);
}

static void finish(struct call *call, const struct otlp_outcome *outcome)
{
	if (call->state == FINISHED)
		return;
	call->state = FINISHED;
	call->outcome = *outcome;
	uv_timer_stop(&call->deadline);
}

static void finish_local(struct call *call, enum otlp_grpc_code code, const char *why)
{
	struct otlp_outcome outcome;

	otlp_judge_local(code, why, &outcome);
	finish(call, &outcome);
}

static void on_deadline(uv_timer_t *timer)
{
	struct call *call = EP_CONTAINER(timer, struct call, deadline);
	struct otlp_client *client = call->client;

	if (call->state == SENT && client->session) {
		nghttp2_session_set_stream_user_data(client->session, call->stream_id, NULL);
		(void)nghttp2_submit_rst_stream(client->session, NGHTTP2_FLAG_NONE, call->stream_id,
						NGHTTP2_CANCEL);
	}
	finish_local(call, OTLP_GRPC_DEADLINE_EXCEEDED,
		     call->state == SENT ? "no answer in time" : "no connection in time");
	pump(client);
}

/* --- what nghttp2 tells: each of these only notes --- */

static struct call *call_of(nghttp2_session *session, int32_t stream_id)
{
	return nghttp2_session_get_stream_user_data(session, stream_id);
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *data, size_t len, int flags,
		       void *arg)
{
	struct otlp_client *client = arg;
	size_t n = client->conn ? otlp_conn_write(client->conn, data, len) : 0;

	(void)session;
	(void)flags;
	return n == 0 ? NGHTTP2_ERR_WOULDBLOCK : (ssize_t)n;
}

static ssize_t on_read_payload(nghttp2_session *session, int32_t stream_id, uint8_t *buffer,
			       size_t len, uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	struct call *call = call_of(session, stream_id);
	size_t n;

	(void)source;
	(void)arg;
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* past its deadline */
	n = EP_MIN(len, call->payload->len - call->sent);
	memcpy(buffer, call->payload->data + call->sent, n);
	call->sent += n;
	if (call->sent == call->payload->len)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *arg)
{
	struct call *call = call_of(session, frame->hd.stream_id);

	(void)flags;
	(void)arg;
	if (call)
		otlp_grpc_answer_header(&call->answer, name, name_len, value, value_len);
	return 0;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t stream_id,
			 const uint8_t *data, size_t len, void *arg)
{
	struct call *call = call_of(session, stream_id);

	(void)flags;
	(void)arg;
	if (call && call->answer.body.error == 0)
		otlp_put_raw(&call->answer.body, data, len);
	if (call && call->answer.body.error)
		(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream_id,
						NGHTTP2_CANCEL);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct otlp_client *client = arg;
	struct call *call;

	client->has_peer = true;
	if (frame->hd.type == NGHTTP2_GOAWAY)
		client->is_draining = true;
	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	call = call_of(session, frame->hd.stream_id);
	if (call && call->sent < call->payload->len)
		(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
						NGHTTP2_CANCEL);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t code, void *arg)
{
	struct call *call = call_of(session, stream_id);
	struct otlp_client *client = arg;
	struct otlp_outcome outcome;

	if (!call)
		return 0;
	if (call->answer.body.error) {
		finish_local(call, OTLP_GRPC_INTERNAL, "the answer is longer than 4 MiB");
		return 0;
	}
	call->answer.is_reset = code != NGHTTP2_NO_ERROR;
	call->answer.reset_code = code;
	otlp_judge_grpc(&call->answer, &outcome);
	if (client->is_draining && call->sent == 0 && !call->answer.http_status)
		outcome.verdict = OTLP_RESEND; /* it waited for a stream when GOAWAY came */
	finish(call, &outcome);
	client->was_used |= call->answer.has_code;
	return 0;
}

/* --- session --- */

static int set_callbacks(nghttp2_session_callbacks **ret_callbacks)
{
	nghttp2_session_callbacks *callbacks;

	if (nghttp2_session_callbacks_new(&callbacks) != 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data_chunk);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	*ret_callbacks = callbacks;
	return 0;
}

static int new_session(struct otlp_client *client)
{
	static const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0}, /* those the server may open */
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, MAX_HEADER_LIST},
	};
	nghttp2_session_callbacks *callbacks;
	int r = set_callbacks(&callbacks);

	if (r < 0)
		return r;
	r = nghttp2_session_client_new(&client->session, callbacks, client);
	nghttp2_session_callbacks_del(callbacks);
	if (r == 0)
		r = nghttp2_submit_settings(client->session, NGHTTP2_FLAG_NONE, settings,
					    EP_LEN(settings));
	return r == 0 ? 0 : -ENOMEM;
}

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){
		.name = (uint8_t *)name,
		.value = (uint8_t *)value,
		.namelen = strlen(name),
		.valuelen = strlen(value),
	};
}

static size_t write_headers(const struct call *call, const char *timeout, nghttp2_nv *to)
{
	const struct otlp_config *config = call->client->config;
	size_t n = 0;

	to[n++] = header(":method", "POST");
	to[n++] = header(":scheme", config->is_tls ? "https" : "http");
	to[n++] = header(":path", EXPORT_PATH);
	to[n++] = header(":authority", config->authority);
	to[n++] = header("te", "trailers");
	to[n++] = header("content-type", "application/grpc");
	to[n++] = header("grpc-timeout", timeout);
	to[n++] = header("grpc-accept-encoding", "gzip");
	if (call->payload->is_gzip)
		to[n++] = header("grpc-encoding", "gzip");
	for (size_t i = 0; i < call->n_headers; i++)
		to[n++] = header(call->headers[i].name, call->headers[i].value);
	return n;
}

static void submit(struct call *call)
{
	nghttp2_nv headers[FIXED_HEADERS + OTLP_CALL_HEADERS];
	nghttp2_data_provider provider = {.read_callback = on_read_payload};
	uint64_t now_ms = uv_now(call->client->loop);
	char timeout[32];

	snprintf(timeout, sizeof(timeout), "%" PRIu64 "m",
		 call->deadline_ms > now_ms ? call->deadline_ms - now_ms : 1);
	call->stream_id =
		nghttp2_submit_request(call->client->session, NULL, headers,
				       write_headers(call, timeout, headers), &provider, call);
	if (call->stream_id < 0)
		finish_local(call, OTLP_GRPC_UNAVAILABLE, nghttp2_strerror(call->stream_id));
	else
		call->state = SENT;
}

/* --- connection --- */

static void drop_connection(struct otlp_client *client)
{
	if (client->session)
		nghttp2_session_del(ep_take(client->session));
	otlp_conn_close(ep_take(client->conn));
	client->is_draining = false;
	client->has_peer = false;
	client->was_used = false;
	client->first_len = 0;
}

/*
 * Ends all calls that hang on it. One on a connection that had been good and idle has most likely
 * met a server or balancer that was just closing: it is sent again at once.
 */
static void fail_calls(struct otlp_client *client, const char *why)
{
	struct call *call;

	TAILQ_FOREACH (call, &client->calls, link) {
		bool again = client->was_used && !call->answer.http_status;

		if (call->state == FINISHED)
			continue;
		finish_local(call, OTLP_GRPC_UNAVAILABLE, why);
		if (again)
			call->outcome.verdict = OTLP_RESEND;
	}
}

/* What a peer speaks that does not speak HTTP/2; NULL: who knows. */
static const char *other_language(const struct otlp_client *client)
{
	const uint8_t *first = client->first;

	if (client->has_peer || client->first_len < 5)
		return NULL;
	if (memcmp(first, "HTTP/", 5) == 0)
		return "the server speaks HTTP/1, not HTTP/2: is this the port for OTLP/HTTP "
		       "(protocol = \"http/protobuf\")?";
	if (first[0] == 0x15 && first[1] == 3)
		return "the server wants TLS: write https://";
	return NULL;
}

static void on_open(void *arg)
{
	struct otlp_client *client = arg;

	if (new_session(client) < 0) {
		fail_calls(client, "out of memory");
		drop_connection(client);
	}
	pump(client);
}

static void on_lost(void *arg, int r, const char *why)
{
	struct otlp_client *client = arg;
	const char *language = other_language(client);

	(void)r;
	client->conn = NULL; /* it closed itself */
	fail_calls(client, language ? language : why);
	drop_connection(client);
	pump(client);
}

static void note_first(struct otlp_client *client, const uint8_t *data, size_t len)
{
	size_t n = EP_MIN(len, sizeof(client->first) - client->first_len);

	memcpy(client->first + client->first_len, data, n);
	client->first_len += n;
}

static void on_data(void *arg, const uint8_t *data, size_t len)
{
	struct otlp_client *client = arg;
	ssize_t n;

	note_first(client, data, len);
	n = nghttp2_session_mem_recv(client->session, data, len);
	if (n < 0) {
		const char *language = other_language(client);

		fail_calls(client, language ? language : nghttp2_strerror((int)n));
		drop_connection(client);
	}
	pump(client);
}

static void on_room(void *arg)
{
	pump(arg);
}

static const struct otlp_conn_ops conn_ops = {
	.on_open = on_open,
	.on_data = on_data,
	.on_room = on_room,
	.on_lost = on_lost,
};

/* --- doing what is due --- */

static bool has_calls(const struct otlp_client *client, enum call_state state)
{
	const struct call *call;

	TAILQ_FOREACH (call, &client->calls, link)
		if (call->state == state)
			return true;
	return false;
}

static void submit_waiting(struct otlp_client *client)
{
	struct call *call;

	TAILQ_FOREACH (call, &client->calls, link)
		if (call->state == WAITING && client->session && !client->is_draining)
			submit(call);
}

static void connect_if_needed(struct otlp_client *client)
{
	if (client->conn || !has_calls(client, WAITING))
		return;
	if (otlp_conn_open(client->loop, &client->conn_options, &conn_ops, client, &client->conn) <
	    0)
		fail_calls(client, "out of memory");
}

/* A session whose peer closed it, or broke the protocol, ends when nothing is under way. */
static void end_if_over(struct otlp_client *client)
{
	const char *language = other_language(client);
	bool over = !nghttp2_session_want_read(client->session) &&
		    !nghttp2_session_want_write(client->session);

	if (over)
		fail_calls(client, language ? language : "the server ended the connection");
	if (over || (client->is_draining && !has_calls(client, SENT)))
		drop_connection(client);
}

static int send_frames(struct otlp_client *client)
{
	bool corks = client->conn && nghttp2_session_want_write(client->session);
	int r;

	if (corks)
		otlp_conn_set_corked(client->conn, true);
	r = nghttp2_session_send(client->session);
	if (corks)
		otlp_conn_set_corked(client->conn, false);
	return r;
}

static void send_session(struct otlp_client *client)
{
	submit_waiting(client);
	if (send_frames(client) != 0) {
		fail_calls(client, "HTTP/2 failed while sending");
		drop_connection(client);
		return;
	}
	end_if_over(client);
}

static struct call *next_finished(struct otlp_client *client)
{
	struct call *call;

	TAILQ_FOREACH (call, &client->calls, link)
		if (call->state == FINISHED)
			return call;
	return NULL;
}

/* Tells owners, who may start calls or free the client. False: it is freed. */
static bool tell_finished(struct otlp_client *client)
{
	struct call *call;
	bool freed = false;

	client->freed = &freed;
	while ((call = next_finished(client)) != NULL) {
		struct otlp_outcome outcome = call->outcome;
		otlp_call_done done = call->done;
		void *arg = call->arg;

		drop_call(call);
		done(arg, &outcome);
		if (freed)
			return false;
	}
	client->freed = NULL;
	return true;
}

static void pump(struct otlp_client *client)
{
	if (client->is_pumping)
		return;
	client->is_pumping = true;
	do {
		connect_if_needed(client);
		if (client->session)
			send_session(client);
		if (!tell_finished(client))
			return;
	} while ((!client->conn && has_calls(client, WAITING)) || has_calls(client, FINISHED));
	client->is_pumping = false;
	if (client->conn)
		otlp_conn_set_busy(client->conn, !TAILQ_EMPTY(&client->calls));
}

/* --- the interface --- */

static void copy_headers(struct call *call, const struct otlp_header *headers, size_t n, char *text)
{
	for (size_t i = 0; i < n; i++) {
		size_t name_len = strlen(headers[i].name) + 1;
		size_t value_len = strlen(headers[i].value) + 1;

		call->headers[i].name = memcpy(text, headers[i].name, name_len);
		call->headers[i].value = memcpy(text + name_len, headers[i].value, value_len);
		text += name_len + value_len;
	}
	call->n_headers = n;
}

static int set_headers(struct call *call, const struct otlp_header *headers, size_t n)
{
	size_t bytes = (n + 1) * sizeof(*headers);

	n = EP_MIN(n, (size_t)OTLP_CALL_HEADERS);
	for (size_t i = 0; i < n; i++)
		bytes += strlen(headers[i].name) + strlen(headers[i].value) + 2;
	call->headers = calloc(1, bytes);
	if (!call->headers)
		return -ENOMEM;
	copy_headers(call, headers, n, (char *)(call->headers + n + 1));
	return 0;
}

static void on_start(uv_timer_t *timer);

static int grpc_call(struct otlp_client *client, const struct otlp_payload *payload,
		     struct otlp_tls *tls, const struct otlp_header *headers, size_t n_headers,
		     otlp_call_done done, void *arg)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call || set_headers(call, headers, n_headers) < 0) {
		free(call);
		return -ENOMEM;
	}
	call->client = client;
	call->payload = payload;
	call->done = done;
	call->arg = arg;
	otlp_wire_init(&call->answer.body, OTLP_MAX_ANSWER + OTLP_FRAME_BYTES);
	client->conn_options.tls = tls;
	call->deadline_ms = uv_now(client->loop) + client->config->timeout_ms;
	uv_timer_init(client->loop, &call->deadline);
	uv_timer_start(&call->deadline, on_start, 0, 0); /* not from within this call */
	TAILQ_INSERT_TAIL(&client->calls, call, link);
	return 0;
}

static void on_start(uv_timer_t *timer)
{
	struct call *call = EP_CONTAINER(timer, struct call, deadline);

	uv_timer_start(&call->deadline, on_deadline, call->client->config->timeout_ms, 0);
	pump(call->client);
}

static int grpc_new(const struct otlp_client_options *options, struct otlp_client **ret_client)
{
	struct otlp_client *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->config = options->config;
	client->loop = options->loop;
	client->conn_options = (struct otlp_conn_options){
		.host = options->config->host,
		.port = options->config->port,
		.timeout_ms = options->config->timeout_ms,
	};
	TAILQ_INIT(&client->calls);
	*ret_client = client;
	return 0;
}

static void grpc_free(struct otlp_client *client)
{
	struct call *call;

	if (!client)
		return;
	if (client->freed)
		*client->freed = true;
	drop_connection(client);
	while ((call = TAILQ_FIRST(&client->calls)) != NULL)
		drop_call(call);
	free(client);
}

static bool grpc_is_connected(const struct otlp_client *client)
{
	return client->conn != NULL;
}

static void grpc_disconnect(struct otlp_client *client)
{
	drop_connection(client);
}

const struct otlp_client_ops otlp_grpc_client = {
	.new = grpc_new,
	.free = grpc_free,
	.call = grpc_call,
	.is_connected = grpc_is_connected,
	.disconnect = grpc_disconnect,
};
