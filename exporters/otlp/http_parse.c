/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/http_parse.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#define MAX_HEAD_BYTES 16384

void otlp_http_parser_init(struct otlp_http_parser *parser)
{
	parser->state = OTLP_HTTP_STATUS;
	parser->answer = (struct otlp_http_answer){0};
	otlp_wire_init(&parser->answer.body, OTLP_MAX_ANSWER);
	parser->left = 0;
	parser->head_bytes = 0;
	parser->has_length = false;
	parser->is_chunked = false;
	parser->keeps_open = true;
	parser->line_len = 0;
}

void otlp_http_parser_fini(struct otlp_http_parser *parser)
{
	otlp_wire_fini(&parser->answer.body);
}

/* --- lines --- */

/* "HTTP/1.x NNN reason" */
static int parse_status(struct otlp_http_parser *p)
{
	const char *line = p->line;

	if (p->line_len < 12 || strncmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ')
		return -EBADMSG;
	for (int i = 9; i < 12; i++)
		if (line[i] < '0' || line[i] > '9')
			return -EBADMSG;
	p->answer.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + line[11] - '0';
	p->keeps_open = line[7] != '0';
	p->state = OTLP_HTTP_HEADERS;
	return 0;
}

static int parse_length(struct otlp_http_parser *p, const char *value)
{
	uint64_t length = 0;

	if (!*value)
		return -EBADMSG;
	for (; *value; value++) {
		if (*value < '0' || *value > '9')
			return -EBADMSG;
		length = length * 10 + (uint64_t)(*value - '0');
		if (length > OTLP_MAX_ANSWER)
			return -E2BIG;
	}
	if (p->has_length && p->left != length)
		return -EBADMSG;
	p->has_length = true;
	p->left = length;
	return 0;
}

static int use_header(struct otlp_http_parser *p, const char *name, const char *value)
{
	struct otlp_http_answer *answer = &p->answer;

	if (strcasecmp(name, "content-length") == 0)
		return parse_length(p, value);
	if (strcasecmp(name, "transfer-encoding") == 0)
		p->is_chunked = strcasecmp(value, "chunked") == 0;
	else if (strcasecmp(name, "connection") == 0)
		p->keeps_open = p->keeps_open && strcasecmp(value, "close") != 0;
	else if (strcasecmp(name, "content-type") == 0)
		answer->is_protobuf = strncasecmp(value, "application/x-protobuf", 22) == 0;
	else if (strcasecmp(name, "content-encoding") == 0)
		answer->is_gzip = strcasecmp(value, "gzip") == 0;
	else if (strcasecmp(name, "retry-after") == 0)
		snprintf(answer->retry_after, sizeof(answer->retry_after), "%s", value);
	return 0;
}

static int parse_header(struct otlp_http_parser *p)
{
	char *colon = strchr(p->line, ':'), *value, *end = p->line + p->line_len;

	if (!colon || colon == p->line)
		return -EBADMSG;
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " \t");
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return use_header(p, p->line, value);
}

/* RFC 9112, 6.3: which of the three forms the body has. */
static void begin_body(struct otlp_http_parser *p)
{
	int status = p->answer.status;

	if (status / 100 == 1) {
		otlp_wire_fini(&p->answer.body);
		otlp_http_parser_init(p);
	} else if (status == 204 || status == 304) {
		p->state = OTLP_HTTP_DONE;
	} else if (p->is_chunked) {
		p->state = OTLP_HTTP_CHUNK_SIZE;
	} else if (p->has_length) {
		p->state = p->left ? OTLP_HTTP_LENGTH_BODY : OTLP_HTTP_DONE;
	} else {
		p->state = OTLP_HTTP_END_BODY;
		p->keeps_open = false;
	}
}

static int parse_chunk_size(struct otlp_http_parser *p)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t size = 0;
	size_t i = 0;

	for (; p->line[i]; i++) {
		const char *digit = strchr(digits, p->line[i] | 0x20);

		if (!digit || p->line[i] < '0')
			break;
		size = size << 4 | (uint64_t)(digit - digits);
		if (size > OTLP_MAX_ANSWER)
			return -E2BIG;
	}
	if (i == 0 || (p->line[i] && !strchr("; \t", p->line[i])))
		return -EBADMSG;
	p->left = size;
	p->state = size ? OTLP_HTTP_CHUNK : OTLP_HTTP_TRAILERS;
	return 0;
}

static int use_line(struct otlp_http_parser *p)
{
	switch (p->state) {
	case OTLP_HTTP_STATUS:
		return parse_status(p);
	case OTLP_HTTP_HEADERS:
		if (p->line_len)
			return parse_header(p);
		begin_body(p);
		return 0;
	case OTLP_HTTP_CHUNK_SIZE:
		return parse_chunk_size(p);
	case OTLP_HTTP_CHUNK_END:
		p->state = OTLP_HTTP_CHUNK_SIZE;
		return p->line_len ? -EBADMSG : 0;
	default: /* trailers mean nothing to us */
		p->state = p->line_len ? OTLP_HTTP_TRAILERS : OTLP_HTTP_DONE;
		return 0;
	}
}

/* Takes bytes up to the end of a line; when it is there, uses it. */
static int take_line(struct otlp_http_parser *p, const uint8_t **pos, const uint8_t *end)
{
	int r;

	while (*pos < end) {
		char c = (char)*(*pos)++;

		if (++p->head_bytes > MAX_HEAD_BYTES && p->state != OTLP_HTTP_CHUNK_SIZE &&
		    p->state != OTLP_HTTP_CHUNK_END)
			return -E2BIG;
		if (c == '\0')
			return -EBADMSG;
		if (c != '\n') {
			if (p->line_len == sizeof(p->line) - 1)
				return -E2BIG;
			p->line[p->line_len++] = c;
			continue;
		}
		if (p->line_len && p->line[p->line_len - 1] == '\r')
			p->line_len--;
		p->line[p->line_len] = '\0';
		r = use_line(p);
		p->line_len = 0;
		return r;
	}
	return 0;
}

/* --- body --- */

static int take_body(struct otlp_http_parser *p, const uint8_t **pos, const uint8_t *end)
{
	size_t n = (size_t)(end - *pos);

	if (p->state != OTLP_HTTP_END_BODY)
		n = (size_t)EP_MIN((uint64_t)n, p->left);
	otlp_put_raw(&p->answer.body, *pos, n);
	*pos += n;
	if (p->answer.body.error)
		return p->answer.body.error;
	if (p->state == OTLP_HTTP_END_BODY)
		return 0;
	p->left -= n;
	if (p->left == 0)
		p->state = p->state == OTLP_HTTP_CHUNK ? OTLP_HTTP_CHUNK_END : OTLP_HTTP_DONE;
	return 0;
}

int otlp_http_parse(struct otlp_http_parser *parser, const uint8_t *data, size_t len)
{
	const uint8_t *pos = data, *end = data + len;
	int r = 0;

	while (r == 0 && pos < end && parser->state != OTLP_HTTP_DONE) {
		if (parser->state == OTLP_HTTP_LENGTH_BODY || parser->state == OTLP_HTTP_END_BODY ||
		    parser->state == OTLP_HTTP_CHUNK)
			r = take_body(parser, &pos, end);
		else
			r = take_line(parser, &pos, end);
	}
	if (r < 0)
		return r;
	if (pos < end)
		parser->keeps_open = false; /* more than was asked for: do not use it again */
	return parser->state == OTLP_HTTP_DONE;
}

int otlp_http_parse_end(struct otlp_http_parser *parser)
{
	if (parser->state == OTLP_HTTP_END_BODY)
		parser->state = OTLP_HTTP_DONE;
	return parser->state == OTLP_HTTP_DONE;
}
