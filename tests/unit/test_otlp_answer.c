/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a receiver's answer: verdicts, waits, messages; and the encodings around it. */
#include "exporters/otlp/answer.h"
#include "exporters/otlp/http_parse.h"
#include "exporters/shared/otlp/text.h"
#include "tests/kit/test.h"

#include <nghttp2/nghttp2.h>

#define SECOND 1000000000ull
/* code 14, "busy", RetryInfo of 7 s */
#define BUSY "CA4SBGJ1c3kaMAoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIECgIIBw=="

static void header(struct otlp_grpc_answer *answer, const char *name, const char *value)
{
	otlp_grpc_answer_header(answer, (const uint8_t *)name, strlen(name), (const uint8_t *)value,
				strlen(value));
}

EP_TEST(codes_are_judged_as_specified)
{
	static const enum otlp_verdict verdicts[] = {
		OTLP_ACCEPTED, OTLP_RETRY,   OTLP_REFUSED, OTLP_REFUSED, OTLP_RETRY,  OTLP_REFUSED,
		OTLP_REFUSED,  OTLP_REFUSED, OTLP_REFUSED, OTLP_REFUSED, OTLP_RETRY,  OTLP_RETRY,
		OTLP_REFUSED,  OTLP_REFUSED, OTLP_RETRY,   OTLP_RETRY,	 OTLP_REFUSED};

	for (size_t code = 0; code < EP_LEN(verdicts); code++) {
		struct otlp_grpc_answer answer = {.http_status = 200, .is_grpc = true};
		struct otlp_outcome outcome;
		char text[8];

		snprintf(text, sizeof(text), "%zu", code);
		header(&answer, "grpc-status", text);
		otlp_judge_grpc(&answer, &outcome);
		if (outcome.verdict != verdicts[code])
			fail_msg("code %zu (%s): verdict %d", code, outcome.name, outcome.verdict);
		assert_int_equal(outcome.rejected, -1);
	}
}

EP_TEST(retry_info_makes_throttling_pass)
{
	static const struct {
		const char *status, *details;
		enum otlp_verdict verdict;
		uint64_t wait_ns;
	} rows[] = {
		{"8", BUSY, OTLP_RETRY, 7 * SECOND},
		{"14", BUSY, OTLP_RETRY, 7 * SECOND},
		{"3", BUSY, OTLP_REFUSED, 7 * SECOND},
		{"8", "", OTLP_REFUSED, 0},
		{"8", "!!!", OTLP_REFUSED, 0},
		{"8", "CA4SBGJ1c3k", OTLP_REFUSED, 0}, /* no details */
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct otlp_grpc_answer answer = {.http_status = 200, .is_grpc = true};
		struct otlp_outcome outcome;

		header(&answer, "grpc-status", rows[i].status);
		header(&answer, "grpc-status-details-bin", rows[i].details);
		otlp_judge_grpc(&answer, &outcome);
		assert_int_equal(outcome.verdict, rows[i].verdict);
		assert_int_equal(outcome.wait_ns, rows[i].wait_ns);
	}
}

EP_TEST(answers_without_code_are_mapped)
{
	static const struct {
		struct otlp_grpc_answer answer;
		const char *name;
		enum otlp_verdict verdict;
	} rows[] = {
		{{.http_status = 400}, "INTERNAL", OTLP_REFUSED},
		{{.http_status = 403}, "PERMISSION_DENIED", OTLP_REFUSED},
		{{.http_status = 429}, "UNAVAILABLE", OTLP_RETRY},
		{{.http_status = 418}, "UNKNOWN", OTLP_REFUSED},
		{{.http_status = 200, .is_grpc = true}, "UNKNOWN", OTLP_REFUSED},
		{{.is_reset = true, .reset_code = NGHTTP2_REFUSED_STREAM},
		 "UNAVAILABLE",
		 OTLP_RESEND},
		{{.is_reset = true, .reset_code = NGHTTP2_CANCEL}, "CANCELLED", OTLP_RETRY},
		{{.is_reset = true, .reset_code = NGHTTP2_ENHANCE_YOUR_CALM},
		 "RESOURCE_EXHAUSTED",
		 OTLP_REFUSED},
		{{.is_reset = true, .reset_code = NGHTTP2_INADEQUATE_SECURITY},
		 "PERMISSION_DENIED",
		 OTLP_REFUSED},
		{{.is_reset = true, .reset_code = NGHTTP2_PROTOCOL_ERROR},
		 "INTERNAL",
		 OTLP_REFUSED},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct otlp_outcome outcome;

		otlp_judge_grpc(&rows[i].answer, &outcome);
		assert_string_equal(outcome.name, rows[i].name);
		assert_int_equal(outcome.verdict, rows[i].verdict);
	}
}

EP_TEST(message_is_decoded_and_made_printable)
{
	struct otlp_grpc_answer answer = {.http_status = 200};
	struct otlp_outcome outcome;

	header(&answer, "grpc-status", "13");
	header(&answer, "grpc-message", "100%25 caf%C3%A9%0A%zz");
	otlp_judge_grpc(&answer, &outcome);
	assert_string_equal(outcome.message, "100% caf???%zz");
	header(&answer, "grpc-status", "99");
	otlp_judge_grpc(&answer, &outcome);
	assert_string_equal(outcome.name, "UNKNOWN");
}

EP_TEST(base64_in_all_its_forms)
{
	static const struct {
		const char *text;
		int result;
		const char *bytes;
	} rows[] = {
		{"", 0, ""},
		{"TQ==", 1, "M"},
		{"TQ", 1, "M"},
		{"TWE=", 2, "Ma"},
		{"TWFu", 3, "Man"},
		{"-_-_", 3, "\xfb\xff\xbf"},
		{"+/+/", 3, "\xfb\xff\xbf"},
		{"TWFuT", -EBADMSG, ""},
		{"TW u", -EBADMSG, ""},
	};
	uint8_t bytes[16];

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		ssize_t n = otlp_base64_decode(rows[i].text, strlen(rows[i].text), bytes,
					       sizeof(bytes));

		assert_int_equal(n, rows[i].result);
		if (n > 0)
			assert_memory_equal(bytes, rows[i].bytes, (size_t)n);
	}
	assert_int_equal(otlp_base64_decode("TWFu", 4, bytes, 2), -E2BIG);
}

/* Fed whole, and byte by byte. */
static int parse(struct otlp_http_parser *parser, const char *text, bool whole)
{
	size_t len = strlen(text);
	int r = 0;

	otlp_http_parser_init(parser);
	for (size_t i = 0; i < len && r == 0; i += whole ? len : 1)
		r = otlp_http_parse(parser, (const uint8_t *)text + i, whole ? len : 1);
	return r;
}

EP_TEST(http_answers_are_read)
{
	static const struct {
		const char *text;
		int result, status;
		const char *body;
		bool keeps_open;
	} rows[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 1, 200, "hi", true},
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", 1, 200,
		 "hi", false},
		{"HTTP/1.0 200 OK\nContent-Length: 0\n\n", 1, 200, "", false},
		{"HTTP/1.1 204 \r\n\r\n", 1, 204, "", true},
		{"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", 1, 503,
		 "", true},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x\r\n0123456789"
		 "\r\n0\r\nT: x\r\n\r\n",
		 1, 200, "abc0123456789", true},
		{"HTTP/1.1 200 OK\r\n\r\nuntil the end", 0, 200, "until the end", false},
		{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", 0, 200, "hi", true},
		{"HTTP/2 200\r\n\r\n", -EBADMSG, 0, "", true},
		{"HTTP/1.1 2x0 OK\r\n\r\n", -EBADMSG, 0, "", true},
		{"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", -EBADMSG, 200, "", true},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", -EBADMSG, 200, "", true},
		{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", -EBADMSG, 200,
		 "", true},
		{"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", -E2BIG, 200, "", true},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n", -E2BIG, 200,
		 "", true},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", -EBADMSG, 200, "",
		 true},
	};

	for (size_t i = 0; i < 2 * EP_LEN(rows); i++) {
		size_t row = i / 2;
		struct otlp_http_parser parser;
		int r = parse(&parser, rows[row].text, i % 2);

		if (r != rows[row].result || parser.answer.status != rows[row].status ||
		    parser.keeps_open != rows[row].keeps_open ||
		    parser.answer.body.len != strlen(rows[row].body))
			fail_msg("row %zu: %d, status %d, %zu bytes", row, r, parser.answer.status,
				 parser.answer.body.len);
		if (parser.answer.body.len)
			assert_memory_equal(parser.answer.body.data, rows[row].body,
					    parser.answer.body.len);
		otlp_http_parser_fini(&parser);
	}
}

EP_TEST(retry_after_in_both_forms)
{
	static const struct {
		const char *text;
		uint64_t wait_ns;
	} rows[] = {
		{"7", 7 * SECOND},
		{"Wed, 21 Oct 2015 07:28:10 GMT", 10 * SECOND},
		{"Wed, 21 Oct 2015 07:27:00 GMT", 0},
		{"Fri, 21 Oct 2050 07:27:00 GMT", 0}, /* is not trusted */
		{"soon", 0},
		{"99999999999", 0},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		struct otlp_http_answer answer = {.status = 503};
		struct otlp_outcome outcome;

		snprintf(answer.retry_after, sizeof(answer.retry_after), "%s", rows[i].text);
		otlp_judge_http(&answer, 1445412480, &outcome); /* 07:28:00 of that day */
		assert_int_equal(outcome.verdict, OTLP_RETRY);
		assert_int_equal(outcome.wait_ns, rows[i].wait_ns);
	}
}

EP_TEST(pairs_are_read)
{
	const char *text = " a = b , c=d%20e%2Cf,=x,novalue,g=";
	struct otlp_pair pair;

	assert_int_equal(otlp_next_pair(&text, &pair), 1);
	assert_string_equal(pair.key, "a");
	assert_string_equal(pair.value, "b");
	assert_int_equal(otlp_next_pair(&text, &pair), 1);
	assert_string_equal(pair.value, "d e,f");
	assert_int_equal(otlp_next_pair(&text, &pair), -EBADMSG);
	assert_int_equal(otlp_next_pair(&text, &pair), -EBADMSG);
	assert_int_equal(otlp_next_pair(&text, &pair), 1);
	assert_string_equal(pair.key, "g");
	assert_string_equal(pair.value, "");
	assert_int_equal(otlp_next_pair(&text, &pair), 0);
}

EP_TEST(utf8_is_told_from_other_bytes)
{
	static const char *const good[] = {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	static const char *const bad[] = {"\x80",	  "\xc0\x80",	      "\xc3",
					  "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe0\x80\x80",
					  "\xff"};

	for (size_t i = 0; i < EP_LEN(good); i++)
		assert_true(otlp_is_utf8(good[i], strlen(good[i])));
	for (size_t i = 0; i < EP_LEN(bad); i++)
		assert_false(otlp_is_utf8(bad[i], strlen(bad[i])));
}
