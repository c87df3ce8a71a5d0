/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/commands/parts/diff_print.h"
#include "core/base/clock.h"
#include "core/cli/parts/text.h"
#include "reports/commands/parts/json.h"
#include "reports/commands/parts/weight.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define DEFAULT_WIDTH 100
#define MIN_WIDTH     60
#define WIDE	      100 /* from here on the whole interval is shown */
#define NAME_COLUMN   67
#define NARROW_COLUMN 55
#define MANY_TIMES    1.1 /* one recording as long as the other is a hint that work was equal */

/* What one unit of a change is in the tables. */
struct scale {
	double times;
	const char *unit;  /* " %" */
	const char *delta; /* of a difference, in sentences */
	const char *what;  /* for the head */
};

static bool is_time(const struct ep_movers *movers)
{
	return strcmp(ep_movers_sum(movers, EP_MOVERS_A).unit, "nanoseconds") == 0;
}

static struct scale scale_of(const struct ep_movers *movers, enum ep_movers_amount amount)
{
	bool time = is_time(movers);

	switch (amount) {
	case EP_MOVERS_PER_SECOND:
		return time ? (struct scale){100.0 / EP_NS_PER_SEC, " %", " % of one CPU",
					     "CPU time per second of recording: 100 % is one CPU"}
			    : (struct scale){1, "", " per second", "per second of recording"};
	case EP_MOVERS_TOTAL:
		return time ? (struct scale){1.0 / EP_NS_PER_SEC, " s", " s",
					     "CPU time of whole recordings, for equal work"}
			    : (struct scale){1, "", "", "sums of whole recordings, for equal work"};
	case EP_MOVERS_SHARE:
		break;
	}
	return (struct scale){100, " %", " points", "shares of each profile"};
}

/* "function", "functions"; of a name that is the name of a process. */
static const char *thing_of(enum ep_tally_by by)
{
	return by == EP_TALLY_COMM ? "process name" : ep_tally_by_name(by);
}

/* --- text ------------------------------------------------------------------------------------ */

static void print_side(FILE *out, const char *letter, const char *title, struct ep_movers_sum sum,
		       unsigned int width)
{
	char buf[EP_TEXT_BYTES];

	fprintf(out, "%s: %s: %" PRIu64 " samples", letter, ep_text_fit(title, width - 50, buf),
		sum.count);
	if (sum.duration_ns)
		fprintf(out, " in %.1f s", (double)sum.duration_ns / (double)EP_NS_PER_SEC);
	if (strcmp(sum.unit, "nanoseconds") == 0)
		fprintf(out, ", %.2f s of %s", (double)sum.weight / (double)EP_NS_PER_SEC,
			ep_text_fit(ep_weight_of_type(sum.type), 64, buf));
	fprintf(out, "\n");
}

static void print_heading(FILE *out, const struct ep_movers *movers,
			  const struct ep_diff_print *print, const char *text)
{
	int unit = (int)strlen(scale_of(movers, print->amount).unit) + 6;
	const char *other = print->amount != EP_MOVERS_SHARE ? "share"
			    : is_time(movers)		     ? "time"
							     : "sum";
	char a[16], b[16];

	snprintf(a, sizeof(a), "A %s", other);
	snprintf(b, sizeof(b), "B %s", other);
	fprintf(out, print->color ? "\n\033[1m" : "\n");
	fprintf(out, "  %*s  %*s  %7s", unit, "A", unit, "B", "B - A");
	if (print->width >= WIDE)
		fprintf(out, "  %-18s", "");
	else
		fprintf(out, " %7s", "certain");
	fprintf(out, "  %8s %8s  %s%s\n", a, b, text, print->color ? "\033[0m" : "");
}

/* What a function has of a side beside what is compared: time beside shares, a share beside time.
 */
static const char *other_amount(const struct ep_movers *movers,
				const struct ep_movers_change *change, enum ep_movers_amount amount,
				enum ep_movers_side side, char *buf, size_t size)
{
	double weight = (double)change->weight[side];

	if (amount != EP_MOVERS_SHARE)
		snprintf(buf, size, "%.2f %%",
			 100 * weight / (double)ep_movers_sum(movers, side).weight);
	else if (!is_time(movers))
		snprintf(buf, size, "%.4g", weight);
	else if (weight >= EP_NS_PER_SEC)
		snprintf(buf, size, "%.2f s", weight / EP_NS_PER_SEC);
	else
		snprintf(buf, size, "%.1f ms", weight * 1000 / EP_NS_PER_SEC);
	return buf;
}

/* The whole interval, or where there is no space for it the least of the difference. */
static void print_interval(FILE *out, struct ep_chance_range range, double times, bool is_wide)
{
	char text[64];

	if (is_wide)
		snprintf(text, sizeof(text), "(%+.2f to %+.2f)", range.low * times,
			 range.high * times);
	else
		snprintf(text, sizeof(text), "%+.2f",
			 (range.low > 0 ? range.low : range.high) * times);
	fprintf(out, is_wide ? "  %-18s" : " %7s", text);
}

static void print_row(FILE *out, const struct ep_movers *movers, const struct ep_diff_print *print,
		      const struct ep_mover *mover, const struct ep_movers_change *change)
{
	struct scale scale = scale_of(movers, print->amount);
	unsigned int column = print->width >= WIDE ? NAME_COLUMN : NARROW_COLUMN;
	char a[32], b[32], name[EP_TEXT_BYTES];

	fprintf(out, "  %6.2f%s  %6.2f%s  %+7.2f", change->a * scale.times, scale.unit,
		change->b * scale.times, scale.unit, (change->b - change->a) * scale.times);
	print_interval(out, change->difference, scale.times, print->width >= WIDE);
	fprintf(out, "  %8s %8s  %s\n",
		other_amount(movers, change, print->amount, EP_MOVERS_A, a, sizeof(a)),
		other_amount(movers, change, print->amount, EP_MOVERS_B, b, sizeof(b)),
		mover->name[0] ? ep_text_fit_name(mover->name,
					     EP_MAX(print->width, column + 12u) - column, name)
		: print->by == EP_TALLY_FUNCTION ? "[no name]"
						 : "[unknown]");
}

static bool shows_nothing(const struct ep_movers_change *change, double times)
{
	return ep_text_is_zero(change->a * times) && ep_text_is_zero(change->b * times) &&
	       ep_text_is_zero((change->b - change->a) * times);
}

/* One table: of what moved, those with this fate. What calls nothing is in the first alone. */
static void print_table(FILE *out, const struct ep_movers *movers,
			const struct ep_diff_print *print, enum ep_mover_fate fate, bool total,
			const char *heading)
{
	struct scale scale = scale_of(movers, print->amount);
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
			print_heading(out, movers, print, heading);
		print_row(out, movers, print, mover, change);
	}
	if (left)
		fprintf(out, "  and %u more (-n 0 for all)\n", left);
}

/* Its share of the samples of A. */
static double largest_share(const struct ep_movers *movers)
{
	const struct ep_mover *mover;
	uint64_t most = 0;

	ep_vec_each(ep_movers_rows(movers), mover)
		most = EP_MAX(most, mover->self.count[EP_MOVERS_A]);
	return (double)most / (double)ep_movers_sum(movers, EP_MOVERS_A).count;
}

static void print_power(FILE *out, const struct ep_movers *movers, const struct ep_diff_print *print)
{
	enum ep_movers_amount amount = print->amount;
	double share = largest_share(movers), least = ep_diff_least_change(movers, amount, 0);
	double more = ep_diff_least_change(movers, amount, share);
	const char *unit = scale_of(movers, amount).delta;

	if (!isfinite(least)) {
		fprintf(out, "these samples are too few to show any change\n");
		return;
	}
	fprintf(out, "the least change that these samples can show: %.2f%s of a new %s", least, unit,
		thing_of(print->by));
	if (isfinite(more))
		fprintf(out, ", %.2f more of one with %.1f %%\n", more, share * 100);
	else
		fprintf(out, ", none of one with %.1f %%\n", share * 100);
}

/* Per second, what was made more expensive shows as nothing where the same work only took longer.
 */
static void print_lengths(FILE *out, const struct ep_movers *movers, enum ep_movers_amount amount)
{
	double a = (double)ep_movers_sum(movers, EP_MOVERS_A).duration_ns;
	double b = (double)ep_movers_sum(movers, EP_MOVERS_B).duration_ns;

	if (amount == EP_MOVERS_PER_SECOND && (b > a * MANY_TIMES || a > b * MANY_TIMES))
		fprintf(out,
			"B took %.2f times as long as A: if both did the same work, compare with --total\n",
			b / a);
}

/* Of functions those that call others are there with what they call as well. */
static void print_tables(FILE *out, struct ep_movers *movers, const struct ep_diff_print *print)
{
	bool calls = print->by == EP_TALLY_FUNCTION;
	const char *with = calls ? ", with what they call" : "";
	char heading[80];

	ep_movers_sort(movers, false);
	snprintf(heading, sizeof(heading), "%ss%s", thing_of(print->by),
		 calls ? " by their own time" : "");
	print_table(out, movers, print, EP_MOVER_STAYS, false, heading);
	ep_movers_sort(movers, true);
	if (calls)
		print_table(out, movers, print, EP_MOVER_STAYS, true,
			    "functions with what they call");
	snprintf(heading, sizeof(heading), "%ss that only B has%s", thing_of(print->by), with);
	print_table(out, movers, print, EP_MOVER_NEW, true, heading);
	snprintf(heading, sizeof(heading), "%ss that only A has%s", thing_of(print->by), with);
	print_table(out, movers, print, EP_MOVER_GONE, true, heading);
}

void ep_diff_print_text(FILE *out, struct ep_movers *movers, const struct ep_diff_print *print)
{
	struct ep_diff_print fixed = *print;
	size_t moved = ep_movers_moved(movers), all = ep_movers_rows(movers)->len;

	fixed.width = EP_MAX(print->width ? print->width : DEFAULT_WIDTH, (unsigned int)MIN_WIDTH);
	print_side(out, "A", print->title_a, ep_movers_sum(movers, EP_MOVERS_A), fixed.width);
	print_side(out, "B", print->title_b, ep_movers_sum(movers, EP_MOVERS_B), fixed.width);
	if (moved == 0)
		fprintf(out,
			"no %s of %zu differs by more than chance explains (95 %% for all of them together)\n",
			thing_of(print->by), all);
	else
		fprintf(out,
			"%zu of %zu %ss differ by more than chance explains (95 %% for all of them "
			"together);\n%s\n",
			moved, all, thing_of(print->by), scale_of(movers, print->amount).what);
	print_power(out, movers, print);
	print_lengths(out, movers, print->amount);
	print_tables(out, movers, &fixed);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_side(FILE *out, const char *key, const char *title, struct ep_movers_sum sum)
{
	fprintf(out, "\"%s\": {\"profile\": ", key);
	ep_json_put_string(out, title);
	fprintf(out, ", \"samples\": %" PRIu64 ", \"weight\": %" PRIu64 ", \"unit\": ", sum.count,
		sum.weight);
	ep_json_put_string(out, sum.unit);
	fprintf(out, ", \"duration_ns\": %" PRIu64 "},\n ", sum.duration_ns);
}

static void put_change(FILE *out, const char *key, const struct ep_movers_change *change)
{
	fprintf(out,
		",\n   \"%s\": {\"a\": %.9g, \"b\": %.9g, \"difference\": %.9g, \"low\": %.9g, \"high\": %.9g",
		key, change->a, change->b, change->b - change->a, change->difference.low,
		change->difference.high);
	fprintf(out,
		", \"moved\": %s, \"samples\": [%" PRIu64 ", %" PRIu64 "], \"weight\": [%" PRIu64
		", %" PRIu64 "]}",
		change->moved ? "true" : "false", change->count[EP_MOVERS_A],
		change->count[EP_MOVERS_B], change->weight[EP_MOVERS_A],
		change->weight[EP_MOVERS_B]);
}

/* Movers alone: of the others nothing is known but that they may be equal. */
void ep_diff_print_json(FILE *out, const struct ep_movers *movers,
			const struct ep_diff_print *print)
{
	static const char *const fates[] = {"stays", "new", "gone"};
	static const char *const amounts[] = {"share", "weight per second",
					      "weight of the recording"};
	double least = ep_movers_least_change(movers, 0);
	const struct ep_mover *mover;
	bool first = true;

	fprintf(out, "{");
	put_side(out, "a", print->title_a, ep_movers_sum(movers, EP_MOVERS_A));
	put_side(out, "b", print->title_b, ep_movers_sum(movers, EP_MOVERS_B));
	fprintf(out,
		"\"amounts\": \"%s\", \"confidence\": 0.95, \"%ss\": %zu, \"least_change\": ",
		amounts[print->amount], ep_tally_by_name(print->by), ep_movers_rows(movers)->len);
	if (isfinite(least))
		fprintf(out, "%.9g,\n \"movers\": [", least);
	else
		fprintf(out, "null,\n \"movers\": [");
	ep_vec_each(ep_movers_rows(movers), mover) {
		if (!mover->self.moved && !mover->total.moved)
			continue;
		fprintf(out, "%s\n  {\"%s\": ", first ? "" : ",", ep_tally_by_name(print->by));
		ep_json_put_string(out, mover->name);
		fprintf(out, ", \"fate\": \"%s\"", fates[ep_mover_fate(mover)]);
		put_change(out, "self", &mover->self);
		put_change(out, "total", &mover->total);
		fprintf(out, "}");
		first = false;
	}
	fprintf(out, "%s]}\n", first ? "" : "\n ");
}

/* --- the exit status ------------------------------------------------------------------------- */

const struct ep_mover *ep_diff_worst(const struct ep_movers *movers, enum ep_movers_amount amount,
				     double limit, double *ret_low)
{
	double times = scale_of(movers, amount).times, self = limit, total = limit;
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

const char *ep_diff_unit(const struct ep_movers *movers, enum ep_movers_amount amount)
{
	return scale_of(movers, amount).delta;
}

double ep_diff_least_change(const struct ep_movers *movers, enum ep_movers_amount amount,
			    double share)
{
	return ep_movers_least_change(movers, share) * scale_of(movers, amount).times;
}
