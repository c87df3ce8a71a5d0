/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP/HTTP over HTTP/1.1 (opentelemetry-proto, docs/specification.md, "OTLP/HTTP"): one request at
 * a time on a connection that is kept. An answer that comes while the body is still being sent ends
 * the call; the connection is not used again then.
 */
#include "exporters/otlp/client.h"
#include "exporters/otlp/conn.h"
#include "exporters/otlp/http_parse.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define MAX_HEAD_BYTES 65536

struct otlp_client {
	const struct otlp_config *config;
	uv_loop_t *loop;
	struct otlp_conn_options conn_options;
	struct otlp_conn *conn;
	bool is_open;	      /* the connection */
	bool was_used;	      /* an answer came on it before */
	uv_timer_t *deadline; /* outlives the client until libuv lets go of it */
	/* the call */
	bool is_calling, has_outcome;
	struct otlp_outcome outcome;
	const struct otlp_payload *payload;
	struct otlp_wire head;
	size_t head_sent, body_sent;
	otlp_call_done done;
	void *arg;
	struct otlp_http_parser parser;
};

/* --- the end of a call --- */

static void drop_connection(struct otlp_client *client)
{
	otlp_conn_close(ep_take(client->conn));
	client->is_open = false;
	client->was_used = false;
}

static void on_tell(uv_timer_t *timer)
{
	struct otlp_client *client = timer->data;
	struct otlp_outcome outcome = client->outcome;

	client->is_calling = false;
	client->has_outcome = false;
	otlp_http_parser_fini(&client->parser);
	otlp_wire_fini(&client->head);
	if (client->conn)
		otlp_conn_set_busy(client->conn, false);
	client->done(client->arg, &outcome); /* may free the client */
}

/* The owner hears of it from the loop. */
static void finish(struct otlp_client *client, const struct otlp_outcome *outcome)
{
	if (!client->is_calling || client->has_outcome)
		return;
	client->has_outcome = true;
	client->outcome = *outcome;
	uv_timer_start(client->deadline, on_tell, 0, 0);
}

static void fail(struct otlp_client *client, enum otlp_grpc_code code, const char *why)
{
	bool again = code == OTLP_GRPC_UNAVAILABLE && client->was_used &&
		     client->parser.state == OTLP_HTTP_STATUS && client->parser.line_len == 0;
	struct otlp_outcome outcome;

	otlp_judge_local(code, why, &outcome);
	if (again)
		outcome.verdict = OTLP_RESEND;
	drop_connection(client);
	finish(client, &outcome);
}

static void on_deadline(uv_timer_t *timer)
{
	struct otlp_client *client = timer->data;

	fail(client, OTLP_GRPC_DEADLINE_EXCEEDED,
	     client->is_open ? "no answer in time" : "no connection in time");
}

static void finish_answer(struct otlp_client *client)
{
	bool all_sent = client->body_sent == client->payload->len - OTLP_FRAME_BYTES;
	struct otlp_outcome outcome;

	otlp_judge_http(&client->parser.answer, (int64_t)time(NULL), &outcome);
	if (client->parser.keeps_open && all_sent)
		client->was_used = true;
	else
		drop_connection(client);
	finish(client, &outcome);
}

/* --- sending --- */

/* Writes what is left of [data, len). False when there is no space, or the connection is broken. */
static bool write_part(struct otlp_client *client, const uint8_t *data, size_t len, size_t *sent)
{
	while (*sent < len) {
		size_t n = otlp_conn_write(client->conn, data + *sent, len - *sent);

		if (n == 0)
			return false; /* on_room or on_lost will come */
		*sent += n;
	}
	return true;
}

static void send_request(struct otlp_client *client)
{
	const struct otlp_payload *payload = client->payload;

	if (!client->is_calling || client->has_outcome || !client->is_open)
		return;
	if (write_part(client, client->head.data, client->head.len, &client->head_sent))
		(void)write_part(client, payload->data + OTLP_FRAME_BYTES,
				 payload->len - OTLP_FRAME_BYTES, &client->body_sent);
}

static void put_header(struct otlp_wire *head, const char *name, const char *value)
{
	otlp_put_raw(head, name, strlen(name));
	otlp_put_raw(head, ": ", 2);
	otlp_put_raw(head, value, strlen(value));
	otlp_put_raw(head, "\r\n", 2);
}

static int write_head(struct otlp_client *client, const struct otlp_payload *payload,
		      const struct otlp_header *headers, size_t n_headers)
{
	const struct otlp_config *config = client->config;
	struct otlp_wire *head = &client->head;
	char length[24];

	otlp_wire_init(head, MAX_HEAD_BYTES);
	otlp_put_raw(head, "POST ", 5);
	otlp_put_raw(head, config->path, strlen(config->path));
	otlp_put_raw(head, " HTTP/1.1\r\n", 11);
	snprintf(length, sizeof(length), "%zu", payload->len - OTLP_FRAME_BYTES);
	put_header(head, "Host", config->authority);
	put_header(head, "Content-Type", "application/x-protobuf");
	put_header(head, "Content-Length", length);
	if (payload->is_gzip)
		put_header(head, "Content-Encoding", "gzip");
	for (size_t i = 0; i < n_headers; i++)
		put_header(head, headers[i].name, headers[i].value);
	otlp_put_raw(head, "\r\n", 2);
	return head->error;
}

/* --- connection --- */

static void on_open(void *arg)
{
	struct otlp_client *client = arg;

	client->is_open = true;
	send_request(client);
}

static void on_room(void *arg)
{
	send_request(arg);
}

/* What a peer speaks that does not speak HTTP/1. */
static const char *language_of(const uint8_t *data, size_t len)
{
	if (len >= 2 && data[0] == 0x15 && data[1] == 3)
		return "the server wants TLS: write https://";
	if (len >= 9 && data[3] == 4) /* a SETTINGS frame */
		return "the server speaks HTTP/2 only: is this the port for gRPC "
		       "(protocol = \"grpc\")?";
	return "the answer is not HTTP";
}

static void on_data(void *arg, const uint8_t *data, size_t len)
{
	struct otlp_client *client = arg;
	bool is_first = client->parser.state == OTLP_HTTP_STATUS && client->parser.line_len == 0;
	int r;

	if (!client->is_calling || client->has_outcome) {
		drop_connection(client); /* nobody asked */
		return;
	}
	r = otlp_http_parse(&client->parser, data, len);
	if (r == -E2BIG)
		fail(client, OTLP_GRPC_INTERNAL, "the answer is too long");
	else if (r < 0)
		fail(client, OTLP_GRPC_UNAVAILABLE,
		     is_first ? language_of(data, len) : "the answer is not HTTP");
	else if (r == 1)
		finish_answer(client);
}

static void on_lost(void *arg, int r, const char *why)
{
	struct otlp_client *client = arg;

	(void)r;
	client->conn = NULL;
	client->is_open = false;
	if (!client->is_calling || client->has_outcome)
		return;
	if (otlp_http_parse_end(&client->parser))
		finish_answer(client);
	else
		fail(client, OTLP_GRPC_UNAVAILABLE, why);
}

static const struct otlp_conn_ops conn_ops = {
	.on_open = on_open,
	.on_data = on_data,
	.on_room = on_room,
	.on_lost = on_lost,
};

/* --- the interface --- */

static void on_start(uv_timer_t *timer)
{
	struct otlp_client *client = timer->data;

	uv_timer_start(client->deadline, on_deadline, client->config->timeout_ms, 0);
	if (client->conn)
		otlp_conn_set_busy(client->conn, true);
	else if (otlp_conn_open(client->loop, &client->conn_options, &conn_ops, client,
				&client->conn) < 0)
		fail(client, OTLP_GRPC_UNAVAILABLE, "out of memory");
	else
		otlp_conn_set_busy(client->conn, true);
	send_request(client);
}

static int http_call(struct otlp_client *client, const struct otlp_payload *payload,
		     struct otlp_tls *tls, const struct otlp_header *headers, size_t n_headers,
		     otlp_call_done done, void *arg)
{
	int r = client->is_calling ? -EBUSY : write_head(client, payload, headers, n_headers);

	if (r < 0)
		return r;
	client->is_calling = true;
	client->has_outcome = false;
	client->payload = payload;
	client->head_sent = 0;
	client->body_sent = 0;
	client->done = done;
	client->arg = arg;
	client->conn_options.tls = tls;
	otlp_http_parser_init(&client->parser);
	uv_timer_start(client->deadline, on_start, 0, 0);
	return 0;
}

static int http_new(const struct otlp_client_options *options, struct otlp_client **ret_client)
{
	struct otlp_client *client = calloc(1, sizeof(*client));

	if (client)
		client->deadline = calloc(1, sizeof(*client->deadline));
	if (!client || !client->deadline) {
		free(client);
		return -ENOMEM;
	}
	client->config = options->config;
	client->loop = options->loop;
	client->conn_options = (struct otlp_conn_options){
		.host = options->config->host,
		.port = options->config->port,
		.timeout_ms = options->config->timeout_ms,
	};
	uv_timer_init(client->loop, client->deadline);
	client->deadline->data = client;
	*ret_client = client;
	return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle);
}

static void http_free(struct otlp_client *client)
{
	if (!client)
		return;
	drop_connection(client);
	uv_close((uv_handle_t *)client->deadline, on_timer_closed);
	if (client->is_calling) {
		otlp_http_parser_fini(&client->parser);
		otlp_wire_fini(&client->head);
	}
	free(client);
}

static bool http_is_connected(const struct otlp_client *client)
{
	return client->conn != NULL;
}

static void http_disconnect(struct otlp_client *client)
{
	drop_connection(client);
}

const struct otlp_client_ops otlp_http_client = {
	.new = http_new,
	.free = http_free,
	.call = http_call,
	.is_connected = http_is_connected,
	.disconnect = http_disconnect,
};
