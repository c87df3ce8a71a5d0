/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an HTTP/1.1 answer piece by piece (RFC 9112):
 *
 *	HTTP/1.1 200 OK CRLF (NAME ":" VALUE CRLF)* CRLF BODY
 *	BODY: content-length bytes; or chunks, (HEX [;...] CRLF bytes CRLF)* 0 CRLF trailers CRLF;
 *	      or all up to the end of the connection
 *
 * 1xx answers are skipped. Headers and trailers together have 16 KiB at most, a line 4 KiB.
 */
#ifndef OTLP_HTTP_PARSE_H
#define OTLP_HTTP_PARSE_H

#include "exporters/otlp/answer.h"

#define OTLP_HTTP_LINE_BYTES 4096

enum otlp_http_state {
	OTLP_HTTP_STATUS,
	OTLP_HTTP_HEADERS,
	OTLP_HTTP_LENGTH_BODY,
	OTLP_HTTP_END_BODY, /* until the connection ends */
	OTLP_HTTP_CHUNK_SIZE,
	OTLP_HTTP_CHUNK,
	OTLP_HTTP_CHUNK_END,
	OTLP_HTTP_TRAILERS,
	OTLP_HTTP_DONE,
};

struct otlp_http_parser {
	enum otlp_http_state state;
	struct otlp_http_answer answer;
	uint64_t left;	   /* bytes of the body or of the chunk */
	size_t head_bytes; /* of status line, headers and trailers so far */
	bool has_length, is_chunked, keeps_open;
	size_t line_len;
	char line[OTLP_HTTP_LINE_BYTES];
};

void otlp_http_parser_init(struct otlp_http_parser *parser);
void otlp_http_parser_fini(struct otlp_http_parser *parser);
/* 1 when the answer is complete, 0 when more is needed, -EBADMSG, -E2BIG. */
int otlp_http_parse(struct otlp_http_parser *parser, const uint8_t *data, size_t len);
/* The connection has ended: 1 when that completes the answer, else 0. */
int otlp_http_parse_end(struct otlp_http_parser *parser);

#endif
