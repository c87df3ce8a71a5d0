/* SPDX-License-Identifier: Apache-2.0 */
/* What is found in the runtime's code by its bytes, in a file that is made up. */
#include "plugins/dotnet/helpers.h"
#include "core/base/util.h"
#include "tests/kit/host.h"
#include "tests/kit/test.h"

#include <string.h>

#define TEXT 0x10000u
#define PAIR 0x5000

/* OnHijackTripThread of 9.0.20, its call's target left out; 10 pushes rcx, too. */
static const uint8_t trip[] =
	"\x50\x55\x53\x41\x57\x41\x56\x41\x55\x41\x54\x52\x50\x48\x89\xe7\x48\x8d\x64\x24\xd8\x66\x0f\x7f\x04\x24"
	"\x66\x0f\x7f\x4c\x24\x10\xe8\0\0\0\0\x66\x0f\x6f\x04\x24\x66\x0f\x6f\x4c\x24\x10\x48\x8d\x64\x24\x28"
	"\x58\x5a\x41\x5c\x41\x5d\x41\x5e\x41\x5f\x5b\x5d\xc3\x90\x90\x90\x90\x90\x90\x90\x90";
static const uint8_t funclet[] = {0x48, 0x89, 0x21, 0xff, 0xd6};

static struct fake_host host;
static uint8_t text[0x180000]; /* more than one piece of a scan */

static int begin(void **state)
{
	static const struct fake_symbol sections[] = {{".text", {TEXT, sizeof(text)}}};

	(void)state;
	memset(text, 0x90, sizeof(text));
	fake_host_init(&host, NULL, 0);
	host.sections = sections;
	host.n_sections = 1;
	fake_memory_add(&host.contents, TEXT, text, sizeof(text));
	return 0;
}

static void put(uint64_t at, const void *bytes, size_t n)
{
	memcpy(text + at, bytes, n);
}

/* data16 lea rdi, [rip + n]; data16 data16 rex.W call */
static void put_use(uint64_t at, uint64_t va)
{
	const int32_t off = (int32_t)(va - (TEXT + at + 8));

	put(at, "\x66\x48\x8d\x3d", 4);
	put(at + 4, &off, 4);
	put(at + 8, "\x66\x66\x48\xe8", 4);
}

static struct dotnet_helpers find(void)
{
	struct dotnet_helpers helpers;

	assert_int_equal(dotnet_helpers_find(fake_host_services(&host), &host.file, &helpers), 0);
	return helpers;
}

EP_TEST_WITH(helpers_are_found_wherever_they_stand, begin, NULL)
{
	struct dotnet_helpers helpers;

	/* Over the end of a piece, and in what two pieces have. */
	put(EP_MAX_FILE_READ - 8, trip, sizeof(trip) - 1);
	put(EP_MAX_FILE_READ - 20, funclet, sizeof(funclet));
	helpers = find();
	assert_int_equal(helpers.trip, TEXT + EP_MAX_FILE_READ - 8);
	assert_int_equal(helpers.funclet, TEXT + EP_MAX_FILE_READ - 15);
	assert_int_equal(helpers.thread.kind, EP_VARIABLE_NONE);
}

EP_TEST_WITH(what_stands_twice_is_not_known, begin, NULL)
{
	struct dotnet_helpers helpers;

	for (uint64_t at = 0x1000; at <= 0x2000; at += 0x1000) {
		put(at, trip, sizeof(trip) - 1);
		put(at + 0x100, funclet, sizeof(funclet));
	}
	helpers = find();
	assert_int_equal(helpers.trip, 0);
	assert_int_equal(helpers.funclet, 0);
}

/* The one that is used most, and often. */
EP_TEST_EACH(the_thread_is_the_variable_that_is_used_most, int, is_often, 2)
{
	struct dotnet_helpers helpers;

	begin(NULL);
	for (uint32_t i = 0; i < (is_often ? 300 : 200); i++)
		put_use(0x1000 + 16 * i, PAIR);
	for (uint32_t i = 0; i < 100; i++)
		put_use(0x8000 + 16 * i, PAIR + 0x20);
	helpers = find();
	assert_int_equal(helpers.thread.kind, is_often ? EP_VARIABLE_PAIR : EP_VARIABLE_NONE);
	assert_int_equal(helpers.thread.value, is_often ? PAIR : 0);
}

EP_TEST_WITH(in_an_executable_it_has_an_offset, begin, NULL)
{
	const int32_t off = -0x140;
	struct dotnet_helpers helpers;

	for (uint32_t i = 0; i < 300; i++) {
		put(0x1000 + 16 * i, "\x64\x48\x8b\x04\x25\0\0\0\0\x48\x8d\x80", 12);
		put(0x1000 + 16 * i + 12, &off, 4);
	}
	helpers = find();
	assert_int_equal(helpers.thread.kind, EP_VARIABLE_POINTER);
	assert_int_equal((int64_t)helpers.thread.value, -0x140);
}

static void check_row(const struct ep_code_row *rows, uint32_t n, uint64_t at, int32_t cfa, int32_t fp)
{
	for (uint32_t i = 0; i < n; i++) {
		if (rows[i].va != TEXT + at)
			continue;
		assert_int_equal(rows[i].cfa_reg, 7);
		assert_int_equal(rows[i].cfa_off, cfa);
		assert_int_equal(rows[i].ra, -8);
		assert_int_equal(rows[i].fp_place, fp ? EP_CODE_AT_CFA : EP_CODE_SAME);
		assert_int_equal(rows[i].fp, fp);
		return;
	}
	fail_msg("no row at %llx", (unsigned long long)at);
}

/* The first word that is pushed is where the return address will be. */
EP_TEST(the_trip_is_walked_at_each_instruction)
{
	struct ep_code_row rows[DOTNET_MAX_TRIP_ROWS];
	uint32_t n = dotnet_helpers_trip_rows(TEXT, trip, sizeof(trip) - 1, rows, DOTNET_MAX_TRIP_ROWS);

	assert_int_equal(n, 25);
	check_row(rows, n, 1, 8, 0);
	check_row(rows, n, 2, 16, -16);
	check_row(rows, n, 32, 72 + 40, -16); /* the call */
	check_row(rows, n, 37, 72 + 40, -16); /* and after it */
	check_row(rows, n, 65, 8, 0);	      /* ret */
	for (uint32_t max = 0; max < n; max++)
		assert_int_equal(dotnet_helpers_trip_rows(TEXT, trip, sizeof(trip) - 1, rows, max), 0);
	for (uint32_t bytes = 1; bytes < 66; bytes++)
		assert_int_equal(dotnet_helpers_trip_rows(TEXT, trip, bytes, rows, DOTNET_MAX_TRIP_ROWS), 0);
}

EP_TEST(a_trip_that_is_another_one_has_no_rules)
{
	static const struct {
		uint32_t at, n;
		const char *bytes;
	} others[] = {
		{53, 1, "\x90"},		   /* pop rax is left out */
		{13, 3, "\xeb\x01\x90"},   /* jmp: for mov rdi, rsp */
		{13, 3, "\x48\x89\xfc"},   /* mov rsp, rdi */
		{16, 5, "\x48\x8d\x65\xd8\x90"}, /* lea rsp, [rbp - 40]; nop */
	};
	struct ep_code_row rows[DOTNET_MAX_TRIP_ROWS];
	uint8_t other[sizeof(trip)];

	for (uint32_t at = 1; at < 65; at++) {
		memcpy(other, trip, sizeof(trip));
		other[at] = 0xf4; /* hlt; within a call's or a move's numbers it is no other instruction */
		(void)dotnet_helpers_trip_rows(TEXT, other, sizeof(trip) - 1, rows, DOTNET_MAX_TRIP_ROWS);
	}
	for (uint32_t i = 0; i < EP_LEN(others); i++) {
		memcpy(other, trip, sizeof(trip));
		memcpy(other + others[i].at, others[i].bytes, others[i].n);
		assert_int_equal(dotnet_helpers_trip_rows(TEXT, other, sizeof(trip) - 1, rows,
							  DOTNET_MAX_TRIP_ROWS),
				 0);
	}
}
