/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that a receiver of profiles sends: the bytes of a gRPC or HTTP connection through the
 * clients of exporters/otlp (whose connection is replaced by the one below), and the parsers after
 * them one by one. The first byte of the input chooses.
 */
#include "exporters/otlp/answer.h"
#include "exporters/otlp/client.h"
#include "exporters/otlp/conn.h"
#include "exporters/shared/otlp/text.h"
#include "tests/kit/fuzz.h"

/* --- a connection whose peer is the fuzzer --- */

struct otlp_conn {
	const struct otlp_conn_ops *ops;
	void *arg;
};

static struct otlp_conn *connection; /* the one that is open, or NULL */

int otlp_conn_open(uv_loop_t *loop, const struct otlp_conn_options *options,
		   const struct otlp_conn_ops *ops, void *arg, struct otlp_conn **ret_conn)
{
	struct otlp_conn *conn = calloc(1, sizeof(*conn));

	if (!conn || connection)
		abort(); /* a client has one at a time */
	conn->ops = ops;
	conn->arg = arg;
	connection = conn;
	*ret_conn = conn;
	return 0;
}

void otlp_conn_close(struct otlp_conn *conn)
{
	if (!conn)
		return;
	if (conn != connection)
		abort(); /* closed twice */
	connection = NULL;
	free(conn);
}

size_t otlp_conn_write(struct otlp_conn *conn, const void *data, size_t len)
{
	if (conn != connection)
		abort();
	return EP_MIN(len, (size_t)1000);
}

void otlp_conn_set_corked(struct otlp_conn *conn, bool corked)
{
}

void otlp_conn_set_busy(struct otlp_conn *conn, bool busy)
{
	if (conn != connection)
		abort();
}

static void lose_connection(void)
{
	struct otlp_conn *conn = connection;

	if (!conn)
		return;
	connection = NULL; /* as conn.c does: closed before it is reported */
	conn->ops->on_lost(conn->arg, -1, "end of input");
	free(conn);
}

/* --- clients --- */

struct calls {
	uint32_t n_done, n_started;
};

static void on_done(void *arg, const struct otlp_outcome *outcome)
{
	struct calls *calls = arg;

	if (strlen(outcome->message) >= sizeof(outcome->message) || outcome->verdict > OTLP_REFUSED)
		abort();
	calls->n_done++;
}

/* In pieces, whose sizes come from the input too, as TCP would have it. */
static void feed(uv_loop_t *loop, const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (at < size && connection) {
		size_t piece = EP_MIN(data[at] % 8 ? (size_t)data[at] * 16 : 1, size - at);

		connection->ops->on_data(connection->arg, data + at, piece);
		if (connection)
			connection->ops->on_room(connection->arg);
		uv_run(loop, UV_RUN_NOWAIT);
		at += piece;
	}
}

static void run_client(const struct otlp_client_ops *ops, const uint8_t *data, size_t size)
{
	static char path[] = "/", agent[] = "fuzz";
	static struct otlp_config config = {
		.authority = "127.0.0.1:4317",
		.path = path,
		.timeout_ms = 60000,
		.user_agent = agent,
	};
	static uint8_t body[3000] = {[4] = 1};
	struct otlp_payload payload = {.data = body, .len = sizeof(body), .is_gzip = true};
	struct otlp_header header = {"x-name", "value"};
	struct calls calls = {0};
	struct otlp_client *client;
	struct otlp_client_options options = {.config = &config};
	uv_loop_t loop;

	if (uv_loop_init(&loop) < 0)
		abort();
	options.loop = &loop;
	if (ops->new (&options, &client) < 0)
		abort();
	for (int i = 0; i < (ops == &otlp_grpc_client ? 2 : 1); i++)
		calls.n_started +=
			ops->call(client, &payload, NULL, &header, 1, on_done, &calls) == 0;
	uv_run(&loop, UV_RUN_NOWAIT);
	for (int i = 0; i < 3 && connection; i++) {
		connection->ops->on_open(connection->arg);
		feed(&loop, data, size);
		if (i < 2)
			lose_connection();
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	if (calls.n_done > calls.n_started)
		abort();
	ops->free(client);
	while (uv_run(&loop, UV_RUN_NOWAIT))
		;
	if (uv_loop_close(&loop) < 0 || connection)
		abort();
}

/* --- parsers --- */

static void run_header(const uint8_t *data, size_t size)
{
	struct otlp_grpc_answer *answer = calloc(1, sizeof(*answer));
	static const char *const names[] = {":status", "grpc-status", "grpc-message",
					    "grpc-status-details-bin", "content-type"};
	struct otlp_outcome outcome;

	if (!answer)
		abort();
	for (size_t i = 0; i < EP_LEN(names); i++)
		otlp_grpc_answer_header(answer, (const uint8_t *)names[i], strlen(names[i]), data,
					size);
	otlp_judge_grpc(answer, &outcome);
	free(answer);
}

static void run_gunzip(const uint8_t *data, size_t size)
{
	struct otlp_wire wire;

	otlp_wire_init(&wire, OTLP_MAX_ANSWER + 4096);
	(void)otlp_gunzip(data, size, &wire);
	otlp_wire_fini(&wire);
}

static void run_pairs(const uint8_t *data, size_t size)
{
	char *text = calloc(size + 1, 1);
	const char *pos = text;
	struct otlp_pair pair;

	if (!text)
		abort();
	memcpy(text, data, size);
	while (otlp_next_pair(&pos, &pair) != 0)
		;
	(void)otlp_is_utf8(text, size);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[512];
	uint64_t ns;

	if (size < 2)
		return 0;
	switch (data[0] % 8) {
	case 0:
		run_client(&otlp_grpc_client, data + 1, size - 1);
		break;
	case 1:
		run_client(&otlp_http_client, data + 1, size - 1);
		break;
	case 2:
		(void)otlp_find_retry_info(otlp_reader_of(data + 1, size - 1), &ns);
		break;
	case 3:
		(void)otlp_base64_decode((const char *)data + 1, size - 1, bytes, sizeof(bytes));
		break;
	case 4:
		run_gunzip(data + 1, size - 1);
		break;
	case 5:
		run_pairs(data + 1, size - 1);
		break;
	default:
		run_header(data + 1, size - 1);
	}
	return 0;
}
