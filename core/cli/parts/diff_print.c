/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/parts/diff_print.h"
#include "core/base/clock.h"
#include "core/cli/parts/report.h"
#include "core/cli/parts/text.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_WIDTH 100
#define MIN_WIDTH     60
#define NAME_COLUMN   48

/* What one unit of a change is in the tables: per cent of all, per cent of one CPU, or as it is. */
struct scale {
	double times;
	const char *unit; /* " %" */
	const char *what; /* for the head */
};

static struct scale scale_of(const struct ep_movers *movers, bool absolute)
{
	struct ep_movers_sum sum = ep_movers_sum(movers, EP_MOVERS_A);

	if (!absolute)
		return (struct scale){100, " %", "shares of each profile"};
	if (strcmp(sum.unit, "nanoseconds") == 0)
		return (struct scale){100.0 / EP_NS_PER_SEC, " %",
				      "CPU time per second of recording: 100 % is one CPU"};
	return (struct scale){1, "", "per second of recording"};
}

/* --- text ------------------------------------------------------------------------------------ */

static void print_side(FILE *out, const char *letter, const char *title, struct ep_movers_sum sum, unsigned int width)
{
	char buf[EP_TEXT_BYTES];

	fprintf(out, "%s: %s: %" PRIu64 " samples", letter, ep_text_fit(title, width - 50, buf), sum.count);
	if (sum.duration_ns)
		fprintf(out, " in %.1f s", (double)sum.duration_ns / (double)EP_NS_PER_SEC);
	if (strcmp(sum.unit, "nanoseconds") == 0)
		fprintf(out, ", %.2f s of CPU time", (double)sum.weight / (double)EP_NS_PER_SEC);
	fprintf(out, "\n");
}

static void print_heading(FILE *out, const struct ep_diff_print *print, const char *text)
{
	fprintf(out, print->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

static void print_row(FILE *out, const struct ep_mover *mover, const struct ep_movers_change *change,
		      struct scale scale, unsigned int width)
{
	char interval[64], name[EP_TEXT_BYTES];

	snprintf(interval, sizeof(interval), "(%+.2f to %+.2f)", change->difference.low * scale.times,
		 change->difference.high * scale.times);
	fprintf(out, "  %6.2f%s  %6.2f%s  %+7.2f  %-18s  %s\n", change->a * scale.times, scale.unit,
		change->b * scale.times, scale.unit, (change->b - change->a) * scale.times, interval,
		mover->name[0] ? ep_text_fit(mover->name, EP_MAX(width, NAME_COLUMN + 12u) - NAME_COLUMN, name)
			       : "[no name]");
}

static bool shows_nothing(const struct ep_movers_change *change, double times)
{
	return ep_text_is_zero(change->a * times) && ep_text_is_zero(change->b * times) &&
	       ep_text_is_zero((change->b - change->a) * times);
}

/* One table: of what moved, those with this fate. What calls nothing is in the first alone. */
static void print_table(FILE *out, const struct ep_movers *movers, const struct ep_diff_print *print,
			enum ep_mover_fate fate, bool total, const char *heading)
{
	struct scale scale = scale_of(movers, print->absolute);
	const struct ep_mover *mover;
	uint32_t rows = 0, left = 0;

	ep_vec_each(ep_movers_rows(movers), mover) {
		const struct ep_movers_change *change = total ? &mover->total : &mover->self;

		if (!change->moved || ep_mover_fate(mover) != fate ||
		    (fate == EP_MOVER_STAYS && total && ep_mover_is_leaf(mover)))
			continue;
		if (print->rows && (rows == print->rows || shows_nothing(change, scale.times))) {
			left++;
			continue;
		}
		if (rows++ == 0)
			print_heading(out, print, heading);
		print_row(out, mover, change, scale, print->width);
	}
	if (left)
		fprintf(out, "  and %u more (-n 0 for all)\n", left);
}

void ep_diff_print_text(FILE *out, struct ep_movers *movers, const struct ep_diff_print *print)
{
	struct ep_diff_print fixed = *print;
	size_t moved = ep_movers_moved(movers), all = ep_movers_rows(movers)->len;

	fixed.width = EP_MAX(print->width ? print->width : DEFAULT_WIDTH, (unsigned int)MIN_WIDTH);
	print_side(out, "A", print->title_a, ep_movers_sum(movers, EP_MOVERS_A), fixed.width);
	print_side(out, "B", print->title_b, ep_movers_sum(movers, EP_MOVERS_B), fixed.width);
	if (moved == 0) {
		fprintf(out, "no function of %zu differs by more than chance explains (95 %% for all of them together)\n",
			all);
		return;
	}
	fprintf(out, "%zu of %zu functions differ by more than chance explains (95 %% for all of them together);\n%s\n",
		moved, all, scale_of(movers, print->absolute).what);
	ep_movers_sort(movers, false);
	print_table(out, movers, &fixed, EP_MOVER_STAYS, false,
		    "         A         B    B - A                      functions by their own time");
	ep_movers_sort(movers, true);
	print_table(out, movers, &fixed, EP_MOVER_STAYS, true,
		    "         A         B    B - A                      functions with what they call");
	print_table(out, movers, &fixed, EP_MOVER_NEW, true,
		    "         A         B    B - A                      functions that only B has, with what they call");
	print_table(out, movers, &fixed, EP_MOVER_GONE, true,
		    "         A         B    B - A                      functions that only A has, with what they call");
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_side(FILE *out, const char *key, const char *title, struct ep_movers_sum sum)
{
	fprintf(out, "\"%s\": {\"profile\": ", key);
	ep_report_json_string(out, title);
	fprintf(out, ", \"samples\": %" PRIu64 ", \"weight\": %" PRIu64 ", \"unit\": ", sum.count, sum.weight);
	ep_report_json_string(out, sum.unit);
	fprintf(out, ", \"duration_ns\": %" PRIu64 "},\n ", sum.duration_ns);
}

static void put_change(FILE *out, const char *key, const struct ep_movers_change *change)
{
	fprintf(out, ",\n   \"%s\": {\"a\": %.9g, \"b\": %.9g, \"difference\": %.9g, \"low\": %.9g, \"high\": %.9g", key,
		change->a, change->b, change->b - change->a, change->difference.low, change->difference.high);
	fprintf(out, ", \"moved\": %s, \"samples\": [%" PRIu64 ", %" PRIu64 "]}", change->moved ? "true" : "false",
		change->count[EP_MOVERS_A], change->count[EP_MOVERS_B]);
}

/* Movers alone: of the others nothing is known but that they may be equal. */
void ep_diff_print_json(FILE *out, const struct ep_movers *movers, const struct ep_diff_print *print)
{
	static const char *const fates[] = {"stays", "new", "gone"};
	const struct ep_mover *mover;
	bool first = true;

	fprintf(out, "{");
	put_side(out, "a", print->title_a, ep_movers_sum(movers, EP_MOVERS_A));
	put_side(out, "b", print->title_b, ep_movers_sum(movers, EP_MOVERS_B));
	fprintf(out, "\"amounts\": \"%s\", \"confidence\": 0.95, \"functions\": %zu,\n \"movers\": [",
		print->absolute ? "weight per second" : "share", ep_movers_rows(movers)->len);
	ep_vec_each(ep_movers_rows(movers), mover) {
		if (!mover->self.moved && !mover->total.moved)
			continue;
		fprintf(out, "%s\n  {\"function\": ", first ? "" : ",");
		ep_report_json_string(out, mover->name);
		fprintf(out, ", \"fate\": \"%s\"", fates[ep_mover_fate(mover)]);
		put_change(out, "self", &mover->self);
		put_change(out, "total", &mover->total);
		fprintf(out, "}");
		first = false;
	}
	fprintf(out, "%s]}\n", first ? "" : "\n ");
}

/* --- the exit status ------------------------------------------------------------------------- */

const struct ep_mover *ep_diff_worst(const struct ep_movers *movers, bool absolute, double percent, double *ret_low)
{
	double times = scale_of(movers, absolute).times, self = percent, total = percent;
	const struct ep_mover *mover, *by_self = NULL, *by_total = NULL;

	ep_vec_each(ep_movers_rows(movers), mover) {
		if (mover->self.moved && mover->self.difference.low * times > self) {
			by_self = mover;
			self = mover->self.difference.low * times;
		}
		if (mover->total.moved && mover->total.difference.low * times > total) {
			by_total = mover;
			total = mover->total.difference.low * times;
		}
	}
	*ret_low = by_self ? self : total;
	return by_self ? by_self : by_total;
}
