/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/answer.h"
#include "exporters/shared/otlp/text.h"

#include <errno.h>
#include <inttypes.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <time.h>
#include <zlib.h>

#define NS_PER_SECOND 1000000000ull
#define MAX_WAIT_S    (24 * 3600) /* longer ones are not trusted */

/* google/rpc/code.proto */
static const char *const code_names[OTLP_GRPC_CODES] = {
	"OK",
	"CANCELLED",
	"UNKNOWN",
	"INVALID_ARGUMENT",
	"DEADLINE_EXCEEDED",
	"NOT_FOUND",
	"ALREADY_EXISTS",
	"PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED",
	"FAILED_PRECONDITION",
	"ABORTED",
	"OUT_OF_RANGE",
	"UNIMPLEMENTED",
	"INTERNAL",
	"UNAVAILABLE",
	"DATA_LOSS",
	"UNAUTHENTICATED",
};

/* --- encodings --- */

int otlp_gunzip(const void *data, size_t len, struct otlp_wire *to)
{
	z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)len};
	uint8_t part[4096];
	int r = inflateInit2(&stream, 15 + 16); /* gzip only */

	if (r != Z_OK)
		return -ENOMEM;
	do {
		stream.next_out = part;
		stream.avail_out = sizeof(part);
		r = inflate(&stream, Z_NO_FLUSH);
		if (r == Z_OK || r == Z_STREAM_END)
			otlp_put_raw(to, part, sizeof(part) - stream.avail_out);
	} while (r == Z_OK && !to->error && to->len <= OTLP_MAX_ANSWER);
	inflateEnd(&stream);
	if (to->error || to->len > OTLP_MAX_ANSWER)
		return to->error ? to->error : -E2BIG;
	return r == Z_STREAM_END ? 0 : -EBADMSG;
}

static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	return c == '/' || c == '_' ? 63 : -1;
}

ssize_t otlp_base64_decode(const char *text, size_t len, uint8_t *to, size_t to_len)
{
	uint32_t bits = 0, n_bits = 0;
	size_t n = 0;

	while (len > 0 && text[len - 1] == '=')
		len--;
	if (len % 4 == 1)
		return -EBADMSG;
	for (size_t i = 0; i < len; i++) {
		int digit = base64_digit(text[i]);

		if (digit < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)digit;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		if (n == to_len)
			return -E2BIG;
		to[n++] = (uint8_t)(bits >> n_bits);
	}
	return (ssize_t)n;
}

/* --- google.rpc.Status {1 code, 2 message, 3 details[]}, Any {1 type_url, 2 value} --- */

static bool bytes_are(const struct otlp_reader *bytes, const char *text)
{
	return otlp_reader_len(bytes) == strlen(text) &&
	       memcmp(bytes->pos, text, strlen(text)) == 0;
}

/* RetryInfo {1 retry_delay {1 seconds, 2 nanos}}, google/rpc/error_details.proto. */
static int read_delay(struct otlp_reader info, uint64_t *ret_ns)
{
	struct otlp_field field;
	uint64_t seconds = 0, nanos = 0;
	int r, inner = 0;

	while ((r = otlp_read_field(&info, &field)) == 1) {
		struct otlp_reader delay = field.bytes;

		if (field.number != 1 || field.type != OTLP_BYTES)
			continue;
		while ((inner = otlp_read_field(&delay, &field)) == 1) {
			if (field.number == 1)
				seconds = field.value;
			else if (field.number == 2)
				nanos = field.value;
		}
	}
	if (r < 0 || inner < 0 || nanos >= NS_PER_SECOND || seconds > MAX_WAIT_S)
		return -EBADMSG;
	*ret_ns = seconds * NS_PER_SECOND + nanos;
	return 1;
}

static int read_detail(struct otlp_reader any, uint64_t *ret_ns)
{
	struct otlp_reader type = otlp_reader_of("", 0), value = type;
	struct otlp_field field;
	int r;

	while ((r = otlp_read_field(&any, &field)) == 1) {
		if (field.number == 1 && field.type == OTLP_BYTES)
			type = field.bytes;
		else if (field.number == 2 && field.type == OTLP_BYTES)
			value = field.bytes;
	}
	if (r < 0)
		return r;
	if (!bytes_are(&type, "type.googleapis.com/google.rpc.RetryInfo"))
		return 0;
	return read_delay(value, ret_ns);
}

int otlp_find_retry_info(struct otlp_reader status, uint64_t *ret_ns)
{
	struct otlp_field field;
	int r, found = 0;

	while (found == 0 && (r = otlp_read_field(&status, &field)) != 0) {
		if (r < 0)
			return r;
		if (field.number == 3 && field.type == OTLP_BYTES)
			found = read_detail(field.bytes, ret_ns);
	}
	return found;
}

static void copy_status_message(struct otlp_reader status, struct otlp_outcome *outcome)
{
	struct otlp_field field;

	while (otlp_read_field(&status, &field) == 1)
		if (field.number == 2 && field.type == OTLP_BYTES)
			otlp_printable((const char *)field.bytes.pos, otlp_reader_len(&field.bytes),
				       outcome->message, sizeof(outcome->message));
}

/* --- ExportProfilesServiceResponse {1 partial_success {1 rejected_profiles, 2 error_message}} ---
 */

static void read_partial_success(struct otlp_reader partial, struct otlp_outcome *outcome)
{
	struct otlp_field field;

	outcome->rejected = 0;
	while (otlp_read_field(&partial, &field) == 1) {
		if (field.number == 1 && field.type == OTLP_VARINT)
			outcome->rejected = (int64_t)field.value;
		else if (field.number == 2 && field.type == OTLP_BYTES)
			otlp_printable((const char *)field.bytes.pos, otlp_reader_len(&field.bytes),
				       outcome->message, sizeof(outcome->message));
	}
	if (outcome->rejected == 0 && !outcome->message[0])
		outcome->rejected = -1; /* an empty one says that all is well */
}

static void read_response(struct otlp_reader response, struct otlp_outcome *outcome)
{
	struct otlp_field field;

	while (otlp_read_field(&response, &field) == 1)
		if (field.number == 1 && field.type == OTLP_BYTES)
			read_partial_success(field.bytes, outcome);
}

/* --- gRPC --- */

static bool is_retryable(enum otlp_grpc_code code)
{
	switch (code) {
	case OTLP_GRPC_CANCELLED:
	case OTLP_GRPC_DEADLINE_EXCEEDED:
	case OTLP_GRPC_ABORTED:
	case OTLP_GRPC_OUT_OF_RANGE:
	case OTLP_GRPC_UNAVAILABLE:
	case OTLP_GRPC_DATA_LOSS:
		return true;
	default:
		return false;
	}
}

void otlp_judge_local(enum otlp_grpc_code code, const char *message,
		      struct otlp_outcome *ret_outcome)
{
	*ret_outcome = (struct otlp_outcome){.rejected = -1};
	ret_outcome->verdict = code == OTLP_GRPC_OK ? OTLP_ACCEPTED
			       : is_retryable(code) ? OTLP_RETRY
						    : OTLP_REFUSED;
	snprintf(ret_outcome->name, sizeof(ret_outcome->name), "%s", code_names[code]);
	snprintf(ret_outcome->message, sizeof(ret_outcome->message), "%s", message);
}

/* gRPC's doc/http-grpc-status-mapping.md */
static enum otlp_grpc_code code_of_http(int status)
{
	switch (status) {
	case 400:
		return OTLP_GRPC_INTERNAL;
	case 401:
		return OTLP_GRPC_UNAUTHENTICATED;
	case 403:
		return OTLP_GRPC_PERMISSION_DENIED;
	case 404:
		return OTLP_GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return OTLP_GRPC_UNAVAILABLE;
	default:
		return OTLP_GRPC_UNKNOWN;
	}
}

/* gRPC's doc/PROTOCOL-HTTP2.md, "Errors" */
static enum otlp_grpc_code code_of_reset(uint32_t reset_code)
{
	switch (reset_code) {
	case NGHTTP2_REFUSED_STREAM:
		return OTLP_GRPC_UNAVAILABLE;
	case NGHTTP2_CANCEL:
		return OTLP_GRPC_CANCELLED;
	case NGHTTP2_ENHANCE_YOUR_CALM:
		return OTLP_GRPC_RESOURCE_EXHAUSTED;
	case NGHTTP2_INADEQUATE_SECURITY:
		return OTLP_GRPC_PERMISSION_DENIED;
	default:
		return OTLP_GRPC_INTERNAL;
	}
}

static void judge_without_code(const struct otlp_grpc_answer *answer, struct otlp_outcome *outcome)
{
	char text[OTLP_MESSAGE_BYTES];

	if (answer->http_status && answer->http_status != 200) {
		snprintf(text, sizeof(text), "HTTP status %d instead of gRPC", answer->http_status);
		otlp_judge_local(code_of_http(answer->http_status), text, outcome);
	} else if (answer->is_reset) {
		snprintf(text, sizeof(text), "the stream was reset: %s",
			 nghttp2_http2_strerror(answer->reset_code));
		otlp_judge_local(code_of_reset(answer->reset_code), text, outcome);
		if (answer->reset_code == NGHTTP2_REFUSED_STREAM)
			outcome->verdict = OTLP_RESEND;
	} else if (answer->http_status && !answer->is_grpc) {
		otlp_judge_local(OTLP_GRPC_UNKNOWN, "the answer is not gRPC", outcome);
	} else {
		otlp_judge_local(OTLP_GRPC_UNKNOWN, "no grpc-status came", outcome);
	}
}

/* A frame: compressed or not (1 byte), length (4, big-endian), message. */
static void judge_body(const struct otlp_grpc_answer *answer, struct otlp_outcome *outcome)
{
	const struct otlp_wire *body = &answer->body;
	struct otlp_wire plain;
	size_t len;

	if (body->len < 5)
		return; /* no message is as good as an empty one */
	len = (size_t)body->data[1] << 24 | (size_t)body->data[2] << 16 |
	      (size_t)body->data[3] << 8 | body->data[4];
	len = EP_MIN(len, body->len - 5);
	if (!body->data[0]) {
		read_response(otlp_reader_of(body->data + 5, len), outcome);
		return;
	}
	otlp_wire_init(&plain, OTLP_MAX_ANSWER + 4096);
	if (otlp_gunzip(body->data + 5, len, &plain) == 0)
		read_response(otlp_reader_of(plain.data, plain.len), outcome);
	otlp_wire_fini(&plain);
}

static void apply_details(const struct otlp_grpc_answer *answer, struct otlp_outcome *outcome)
{
	uint8_t status[OTLP_DETAILS_BYTES];
	ssize_t len =
		otlp_base64_decode(answer->details, answer->details_len, status, sizeof(status));
	uint64_t wait_ns;

	if (len <= 0 || otlp_find_retry_info(otlp_reader_of(status, (size_t)len), &wait_ns) != 1)
		return;
	outcome->wait_ns = wait_ns;
	if (answer->code == OTLP_GRPC_RESOURCE_EXHAUSTED)
		outcome->verdict = OTLP_RETRY;
}

void otlp_judge_grpc(const struct otlp_grpc_answer *answer, struct otlp_outcome *ret_outcome)
{
	char message[OTLP_MESSAGE_BYTES];
	size_t len = EP_MIN(answer->message_len, sizeof(message));
	uint32_t code = answer->code < OTLP_GRPC_CODES ? answer->code : OTLP_GRPC_UNKNOWN;

	if (!answer->has_code) {
		judge_without_code(answer, ret_outcome);
		return;
	}
	otlp_judge_local(code, "", ret_outcome);
	memcpy(message, answer->message, len);
	len = otlp_percent_decode(message, len);
	otlp_printable(message, len, ret_outcome->message, sizeof(ret_outcome->message));
	if (code == OTLP_GRPC_OK)
		judge_body(answer, ret_outcome);
	else
		apply_details(answer, ret_outcome);
}

/* --- headers of gRPC --- */

static bool name_is(const uint8_t *name, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(name, text, len) == 0;
}

/* Digits only, at most `max`; -1 when it is no such number. */
static int64_t read_number(const uint8_t *text, size_t len, int64_t max)
{
	int64_t number = 0;

	if (len == 0 || len > 10)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		number = number * 10 + text[i] - '0';
	}
	return number <= max ? number : -1;
}

static size_t keep(char *to, size_t to_len, const uint8_t *value, size_t len)
{
	len = EP_MIN(len, to_len);
	memcpy(to, value, len);
	return len;
}

void otlp_grpc_answer_header(struct otlp_grpc_answer *answer, const uint8_t *name, size_t name_len,
			     const uint8_t *value, size_t value_len)
{
	int64_t number;

	if (name_is(name, name_len, ":status")) {
		number = read_number(value, value_len, 999);
		answer->http_status = number < 0 ? 0 : (int)number;
	} else if (name_is(name, name_len, "content-type")) {
		answer->is_grpc = value_len >= 16 && memcmp(value, "application/grpc", 16) == 0;
	} else if (name_is(name, name_len, "grpc-encoding")) {
		answer->is_gzip = name_is(value, value_len, "gzip");
	} else if (name_is(name, name_len, "grpc-status")) {
		number = read_number(value, value_len, INT32_MAX);
		answer->code = number < 0 ? OTLP_GRPC_UNKNOWN : (uint32_t)number;
		answer->has_code = true;
	} else if (name_is(name, name_len, "grpc-message")) {
		answer->message_len =
			keep(answer->message, sizeof(answer->message), value, value_len);
	} else if (name_is(name, name_len, "grpc-status-details-bin")) {
		answer->details_len =
			value_len > sizeof(answer->details)
				? 0
				: keep(answer->details, sizeof(answer->details), value, value_len);
	}
}

/* --- HTTP --- */

/* Seconds, or a date as in RFC 9110, 5.6.7 (the form that is in use today). */
static uint64_t read_retry_after(const char *text, int64_t now_s)
{
	int64_t seconds = read_number((const uint8_t *)text, strlen(text), MAX_WAIT_S);
	struct tm tm = {0};

	if (seconds >= 0)
		return (uint64_t)seconds * NS_PER_SECOND;
	if (!strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		return 0;
	seconds = (int64_t)timegm(&tm) - now_s;
	return seconds > 0 && seconds <= MAX_WAIT_S ? (uint64_t)seconds * NS_PER_SECOND : 0;
}

static bool is_retryable_http(int status)
{
	return status == 429 || status == 502 || status == 503 || status == 504;
}

/* The message of a failure is a google.rpc.Status, or whatever a proxy on the way says. */
static void read_failure(const struct otlp_http_answer *answer, struct otlp_reader body,
			 struct otlp_outcome *outcome)
{
	if (answer->is_protobuf)
		copy_status_message(body, outcome);
	else
		otlp_printable((const char *)body.pos, EP_MIN(otlp_reader_len(&body), (size_t)120),
			       outcome->message, sizeof(outcome->message));
}

static void judge_http_body(const struct otlp_http_answer *answer, struct otlp_reader body,
			    struct otlp_outcome *outcome)
{
	if (outcome->verdict != OTLP_ACCEPTED)
		read_failure(answer, body, outcome);
	else if (answer->is_protobuf)
		read_response(body, outcome);
}

void otlp_judge_http(const struct otlp_http_answer *answer, int64_t now_s,
		     struct otlp_outcome *ret_outcome)
{
	struct otlp_outcome outcome = {.rejected = -1};
	struct otlp_wire plain;

	snprintf(outcome.name, sizeof(outcome.name), "HTTP %d", answer->status);
	outcome.verdict = answer->status / 100 == 2	      ? OTLP_ACCEPTED
			  : is_retryable_http(answer->status) ? OTLP_RETRY
							      : OTLP_REFUSED;
	if (outcome.verdict == OTLP_RETRY)
		outcome.wait_ns = read_retry_after(answer->retry_after, now_s);
	if (!answer->is_gzip) {
		judge_http_body(answer, otlp_reader_of(answer->body.data, answer->body.len),
				&outcome);
	} else {
		otlp_wire_init(&plain, OTLP_MAX_ANSWER + 4096);
		if (otlp_gunzip(answer->body.data, answer->body.len, &plain) == 0)
			judge_http_body(answer, otlp_reader_of(plain.data, plain.len), &outcome);
		otlp_wire_fini(&plain);
	}
	*ret_outcome = outcome;
}
