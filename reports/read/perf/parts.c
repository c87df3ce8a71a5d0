/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/read/perf/script.h"

#define NS_PER_SEC 1000000000ull

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* The word at the front; what is left of the line is after it and its spaces. */
static struct ep_piece take_word(struct ep_piece *rest)
{
	struct ep_piece word = {rest->text, 0};

	while (word.bytes < rest->bytes && !is_space(rest->text[word.bytes]))
		word.bytes++;
	rest->text += word.bytes;
	rest->bytes -= word.bytes;
	*rest = ep_piece_trim(*rest);
	return word;
}

/* Digits up to `end` or the end of the word; false where there are others. */
static bool take_number(struct ep_piece *word, char end, uint64_t *ret_number)
{
	uint64_t number = 0;
	size_t i = 0;

	for (; i < word->bytes && is_digit(word->text[i]); i++) {
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(word->text[i] - '0'), &number))
			return false;
	}
	if (i == 0 || (i < word->bytes && word->text[i] != end) || (i == word->bytes && end))
		return false;
	i += i < word->bytes;
	word->text += i;
	word->bytes -= i;
	*ret_number = number;
	return true;
}

/* --- the head --- */

/* "-1" as well, of what had ended, or of no CPU: then it is 0, and *is_unknown is set. */
static bool take_id(struct ep_piece *word, char end, uint32_t *ret_id, bool *is_unknown)
{
	struct ep_piece rest = *word;
	bool is_negative = rest.bytes && rest.text[0] == '-';
	uint64_t number;

	rest.text += is_negative;
	rest.bytes -= is_negative;
	if (!take_number(&rest, end, &number) || number > (is_negative ? 1 : UINT32_MAX))
		return false;
	*word = rest;
	*ret_id = is_negative ? 0 : (uint32_t)number;
	*is_unknown |= is_negative;
	return true;
}

/* "12/13" or "13": of a thread whose process is not named, the process is taken to be it. */
static bool read_ids(struct ep_piece word, struct script_head *head)
{
	bool has_no_tid = false;

	if (take_id(&word, '/', &head->pid, &head->is_unknown))
		return take_id(&word, 0, &head->tid, &has_no_tid) && word.bytes == 0;
	if (!take_id(&word, 0, &head->tid, &head->is_unknown))
		return false;
	head->pid = head->tid;
	return word.bytes == 0;
}

static bool read_cpu(struct ep_piece word, struct script_head *head)
{
	bool is_unknown = false;

	if (word.bytes < 3 || word.text[0] != '[' || word.text[word.bytes - 1] != ']')
		return false;
	word = (struct ep_piece){word.text + 1, word.bytes - 2};
	return take_id(&word, 0, &head->cpu, &is_unknown);
}

/* "5.250000:", with 6 digits or 9. */
static bool read_time(struct ep_piece word, struct script_head *head)
{
	uint64_t seconds, part;
	size_t digits;

	if (!take_number(&word, '.', &seconds))
		return false;
	digits = word.bytes ? word.bytes - 1 : 0;
	if (digits == 0 || digits > 9 || !take_number(&word, ':', &part) || word.bytes)
		return false;
	for (; digits < 9; digits++)
		part *= 10;
	head->has_time = true;
	return !__builtin_mul_overflow(seconds, NS_PER_SEC, &head->time_ns) &&
	       !__builtin_add_overflow(head->time_ns, part, &head->time_ns);
}

/*
 * The time, and "10000 cycles:u:" or "cycles:" after it. One of the two numbers is there at least:
 * else a period that comes after ids of an unknown form would be an id.
 */
static bool read_event(struct ep_piece rest, struct script_head *head)
{
	struct ep_piece word = take_word(&rest), period;
	struct script_head ignored = {0};
	bool has_period;

	if (read_cpu(word, head))
		word = take_word(&rest);
	if (read_time(word, head))
		word = take_word(&rest);
	else if (head->has_time)
		return false;
	period = word;
	has_period = take_number(&period, 0, &head->period);
	if (has_period)
		word = take_word(&rest);
	if ((!head->has_time && !has_period) || word.bytes < 2 || word.text[word.bytes - 1] != ':')
		return false;
	/* A time in place of the event: what stands before it is the ids, and ours were of the
	 * name. */
	if (read_time(word, &ignored))
		return false;
	head->event = (struct ep_piece){word.text, word.bytes - 1};
	head->rest = rest;
	return true;
}

/*
 * perf's evsel prints "%s %7d/%-7d [%03d] %5lu.%09llu: %10lu %s: " (tools/perf/builtin-script.c,
 * perf_sample__fprintf_start), the name padded in front to 16 where there are no call chains. The name may have
 * spaces and numbers: it ends before the first word that is ids with the rest after it.
 */
bool script_head(struct ep_piece line, struct script_head *ret_head)
{
	struct ep_piece rest = line = ep_piece_trim(line);

	(void)take_word(&rest);
	while (rest.bytes) {
		struct script_head head = {.comm = {line.text, (size_t)(rest.text - line.text)}};
		struct ep_piece word = take_word(&rest);

		if (read_ids(word, &head) && read_event(rest, &head)) {
			head.comm = ep_piece_trim(head.comm);
			*ret_head = head;
			return true;
		}
	}
	return false;
}

/* --- frames --- */

static int hex_of(char c)
{
	if (is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_address(struct ep_piece word, uint64_t *ret_address)
{
	uint64_t address = 0;

	if (word.bytes == 0 || word.bytes > 16)
		return false;
	for (size_t i = 0; i < word.bytes; i++) {
		int digit = hex_of(word.text[i]);

		if (digit < 0)
			return false;
		address = address << 4 | (uint64_t)digit;
	}
	*ret_address = address;
	return true;
}

/* "name+0x12": only where nothing but hex digits follow. */
static struct ep_piece without_offset(struct ep_piece symbol)
{
	size_t at = symbol.bytes;

	while (at > 0 && hex_of(symbol.text[at - 1]) >= 0)
		at--;
	if (at < symbol.bytes && at > 3 && memcmp(symbol.text + at - 3, "+0x", 3) == 0)
		symbol.bytes = at - 3;
	return symbol;
}

/*
 * Where the parenthesis of the file begins: names have parentheses too, files have few, as in
 * "(/tmp/x (deleted))". `bytes`: nowhere.
 */
static size_t find_dso(struct ep_piece rest)
{
	size_t depth = 0;

	if (!rest.bytes || rest.text[rest.bytes - 1] != ')')
		return rest.bytes;
	for (size_t at = rest.bytes; at-- > 0;) {
		depth += rest.text[at] == ')';
		depth -= rest.text[at] == '(' && depth > 0;
		if (depth == 0 && rest.text[at] == '(' && (at == 0 || is_space(rest.text[at - 1])))
			return at;
	}
	return rest.bytes;
}

bool script_frame(struct ep_piece line, struct script_frame *ret_frame)
{
	struct ep_piece rest = ep_piece_trim(line);
	struct script_frame frame = {.is_inlined = false};
	size_t at;

	if (!read_address(take_word(&rest), &frame.address))
		return false;
	at = find_dso(rest);
	frame.symbol = without_offset(ep_piece_trim((struct ep_piece){rest.text, at}));
	if (at < rest.bytes)
		frame.dso = (struct ep_piece){rest.text + at + 1, rest.bytes - at - 2};
	else
		frame.dso = (struct ep_piece){"", 0};
	frame.is_inlined = ep_piece_is(frame.dso, "inlined");
	if (ep_piece_is(frame.symbol, "[unknown]"))
		frame.symbol.bytes = 0;
	if (ep_piece_is(frame.dso, "[unknown]") || frame.is_inlined)
		frame.dso.bytes = 0;
	*ret_frame = frame;
	return true;
}

/*
 * What perf prints for a source line (tools/perf/util/srcline.c): "app.c:12", with "(discriminator
 * 3)" after it, or, where it knows none, "main+0x12" or "libx.so[1234]".
 */
bool script_source(struct ep_piece line)
{
	size_t at;

	if (line.bytes < 3 || !is_space(line.text[0]) || !is_space(line.text[1]))
		return false;
	line = ep_piece_trim(line);
	if (ep_piece_ends(line, ")")) {
		line.bytes = find_dso(line);
		line = ep_piece_trim(line);
	}
	if (ep_piece_ends(line, "]"))
		return true;
	at = without_offset(line).bytes;
	if (at < line.bytes)
		return true;
	while (at > 0 && is_digit(line.text[at - 1]))
		at--;
	return at > 0 && at < line.bytes && line.text[at - 1] == ':';
}
