/* SPDX-License-Identifier: Apache-2.0 */
/* pprof profiles one after the other, as `cat` makes them: their sum, whatever the order of fields. */
#include "exporters/pprof/encode.h"
#include "exporters/shared/proto.h"
#include "tests/unit/read_profile.h"
#include "tests/unit/writer_batch.h"

/* What a writer writes first: orders that are known of writers. Letters are fields, in groups. */
enum order {
	BY_NUMBER,     /* types samples locations functions strings, then what is there once */
	GO_CPU,	       /* time types period locations functions samples strings */
	GO_HEAP,       /* period types samples time locations functions strings */
	STRINGS_FIRST, /* strings types samples locations functions, then what is there once */
	WITH_TYPES,    /* as by number, strings after the types */
	N_ORDERS,
};

static const char *const groups[N_ORDERS] = {
	[BY_NUMBER] = "tsLFSop", [GO_CPU] = "otpLFsS", [GO_HEAP] = "ptsoLFS", [STRINGS_FIRST] = "StsLFop",
	[WITH_TYPES] = "tSsLFop",
};

struct profile {
	const char *functions[3];
	uint64_t values[3], time_ns, period;
	const char *type; /* of the second value */
	bool has_empty_string; /* once more, where no string is meant */
};

struct message {
	struct pb out, inner, part;
};

static void put_pair(struct message *m, uint32_t field, uint64_t one, uint64_t two)
{
	pb_clear(&m->inner);
	pb_uint(&m->inner, 1, one);
	pb_uint(&m->inner, 2, two);
	pb_message(&m->out, field, &m->inner);
}

static void put_strings(struct message *m, const struct profile *profile)
{
	const char *const strings[] = {"", "samples", "count", profile->type, "nanoseconds"};

	for (size_t i = 0; i < EP_LEN(strings); i++)
		pb_bytes(&m->out, 6, strings[i], strlen(strings[i]));
	for (size_t i = 0; i < 3 && profile->functions[i]; i++)
		pb_bytes(&m->out, 6, profile->functions[i], strlen(profile->functions[i]));
	if (profile->has_empty_string)
		pb_bytes(&m->out, 6, "", 0);
}

static void put_samples(struct message *m, const struct profile *profile)
{
	for (size_t i = 0; i < 3 && profile->functions[i]; i++) {
		pb_clear(&m->inner);
		pb_uint(&m->inner, 1, i + 1);
		pb_clear(&m->part);
		pb_varint(&m->part, 1);
		pb_varint(&m->part, profile->values[i]);
		pb_message(&m->inner, 2, &m->part);
		pb_message(&m->out, 2, &m->inner);
	}
}

static void put_locations(struct message *m, const struct profile *profile)
{
	for (size_t i = 0; i < 3 && profile->functions[i]; i++) {
		pb_clear(&m->part);
		pb_uint(&m->part, 1, i + 1);
		pb_clear(&m->inner);
		pb_uint(&m->inner, 1, i + 1);
		pb_message(&m->inner, 4, &m->part);
		pb_message(&m->out, 4, &m->inner);
	}
}

static void put_group(struct message *m, const struct profile *profile, char group)
{
	switch (group) {
	case 't':
		put_pair(m, 1, 1, 2);
		put_pair(m, 1, 3, 4);
		break;
	case 's':
		put_samples(m, profile);
		break;
	case 'L':
		put_locations(m, profile);
		break;
	case 'F':
		for (size_t i = 0; i < 3 && profile->functions[i]; i++)
			put_pair(m, 5, i + 1, 5 + i);
		break;
	case 'S':
		put_strings(m, profile);
		break;
	case 'o':
		pb_uint(&m->out, 9, profile->time_ns);
		pb_uint(&m->out, 10, 1000);
		break;
	case 'p':
		put_pair(m, 11, 3, 4);
		pb_uint(&m->out, 12, profile->period);
		break;
	}
}

static void append_profile(struct ep_vec *to, const struct profile *profile, enum order order)
{
	struct message m = {0};

	pb_init(&m.out, 1 << 16);
	pb_init(&m.inner, 1 << 16);
	pb_init(&m.part, 1 << 16);
	for (const char *group = groups[order]; *group; group++)
		put_group(&m, profile, *group);
	assert_int_equal(m.out.error, 0);
	assert_int_equal(ep_vec_append(to, m.out.bytes.data, m.out.bytes.len), 0);
	pb_fini(&m.out);
	pb_fini(&m.inner);
	pb_fini(&m.part);
}

static const struct profile first = {
	.functions = {"alpha", "beta"}, .values = {100, 100}, .time_ns = 5000, .period = 10, .type = "cpu"};
static const struct profile second = {
	.functions = {"gamma", "alpha"}, .values = {10, 10}, .time_ns = 9000, .period = 10, .type = "cpu"};
static const struct profile third = {
	.functions = {"beta"}, .values = {7}, .time_ns = 20000, .period = 10, .type = "cpu"};
static const struct profile empty = {.time_ns = 30000, .period = 10, .type = "cpu"};

static uint64_t weight_at(const struct ep_batch *batch, const char *leaf)
{
	return batch->sample_weight_ns[sample_with_leaf(batch, leaf)];
}

static void check_sum(const struct ep_batch *batch)
{
	assert_int_equal(batch->n_samples, 3);
	assert_int_equal(weight_at(batch, "alpha"), 110);
	assert_int_equal(weight_at(batch, "beta"), 107);
	assert_int_equal(weight_at(batch, "gamma"), 10);
	assert_int_equal(batch->start_ns, 5000);
	assert_int_equal(batch->start_ns + batch->duration_ns, 31000);
	assert_int_equal(batch->period_ns, 10);
}

/* Of each order of fields with each: also compressed, each by itself. */
EP_TEST_EACH(joined_profiles_are_their_sum, size_t, orders, (size_t)N_ORDERS * N_ORDERS)
{
	const struct profile *const profiles[] = {&first, &second, &third, &empty};
	ep_cleanup(ep_vec_fini) struct ep_vec plain, packed;

	ep_vec_init(&plain, 1, 1 << 20);
	ep_vec_init(&packed, 1, 1 << 20);
	for (size_t i = 0; i < EP_LEN(profiles); i++) {
		size_t at = plain.len;

		append_profile(&plain, profiles[i], (enum order)(i % 2 ? orders / N_ORDERS : orders % N_ORDERS));
		append_gzip(&packed, (char *)plain.data + at, plain.len - at);
	}
	check_sum(batch_of(plain.data, plain.len));
	check_sum(batch_of(packed.data, packed.len));
}

/* Alone, each order is one profile, also with an empty string more. */
EP_TEST_EACH(one_profile_stays_one, size_t, order, (size_t)N_ORDERS)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct profile profile = third;
	struct ep_batch *batch;

	profile.has_empty_string = true;
	ep_vec_init(&bytes, 1, 1 << 20);
	append_profile(&bytes, &profile, (enum order)order);
	batch = batch_of(bytes.data, bytes.len);
	assert_int_equal(batch->n_samples, 1);
	assert_int_equal(weight_at(batch, "beta"), 7);
}

EP_TEST(our_own_profiles_are_joined)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct ep_batch *batch = writer_batch(), *sum;
	uint64_t weight = 0;
	size_t n;

	ep_vec_init(&bytes, 1, 1 << 20);
	for (int i = 0; i < 3; i++) {
		char *one = written_by(pprof_encode, batch, &n);

		append_gzip(&bytes, one, n);
	}
	for (uint32_t i = 0; i < batch->n_samples; i++)
		weight += ep_batch_weight_ns(batch, i);
	sum = batch_of(bytes.data, bytes.len);
	assert_int_equal(sum->n_samples, batch->n_samples);
	assert_int_equal(weight_in(sum), 3 * weight);
}

EP_TEST(joined_profiles_of_different_things_are_named)
{
	const struct profile other = {.functions = {"alpha"}, .values = {1}, .type = "wall"};
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct ep_batch *batch = NULL;

	ep_vec_init(&bytes, 1, 1 << 20);
	append_profile(&bytes, &first, BY_NUMBER);
	append_profile(&bytes, &other, BY_NUMBER);
	assert_int_equal(read_bytes(bytes.data, bytes.len, &batch), -EINVAL);
	assert_non_null(strstr(read_why, "another profile begins there, which counts something else"));
}

/* The place is one of the file. */
EP_TEST(a_joined_profile_that_is_cut_off_is_named)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	unsigned long place = 0;
	struct ep_batch *batch = NULL;
	const char *at;
	size_t len;

	ep_vec_init(&bytes, 1, 1 << 20);
	append_profile(&bytes, &first, BY_NUMBER);
	len = bytes.len;
	append_profile(&bytes, &second, BY_NUMBER);
	assert_int_equal(read_bytes(bytes.data, bytes.len - 30, &batch), -EBADMSG);
	at = strstr(read_why, "byte ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "byte %lu", &place), 1);
	assert_in_range(place, len, bytes.len);
}
