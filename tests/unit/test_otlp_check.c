/* SPDX-License-Identifier: Apache-2.0 */
/* The checker of tests/otlp, judged by vectors. */
#include "core/base/util.h"
#include "tests/kit/test.h"
#include "tests/otlp/check.h"

/* Made by another implementation: one resource, profile and sample, two timestamps. */
static const char vector[] =
	"0a660a130a110a0b70726f636573732e7069641202182a124f0a140a0d656270662d70726f66696c6572"
	"1203302e3112370a040801100212180801120203042a10e803000000000000cf0700000000000019e803"
	"00000000000020e8072a04080310043080e1eb17128a020a000a0b088020108040200b2a01021200120e"
	"08011088271a04080110032201011a001a040806180722002a002a0773616d706c65732a05636f756e74"
	"2a036370752a0b6e616e6f7365636f6e64732a1270726f66696c652e6672616d652e747970652a046d61"
	"696e2a0464656d6f2a2370726f636573732e65786563757461626c652e6275696c645f69642e68746c68"
	"6173682a0b7468726561642e6e616d652a097468726561642e69642a076c6962782e736f3200320c0805"
	"12080a066e61746976653226080812220a20363030646361666534613131303030306632626633386334"
	"393366356662393232"
	"0c080912080a06776f726b65723206080a1202182b3a003a030a0101";

static size_t bytes_of(const char *hex, uint8_t *to)
{
	size_t n = 0;

	for (const char *pos = hex; pos[0] && pos[1]; pos += 2) {
		unsigned int byte;

		assert_int_equal(sscanf(pos, "%2x", &byte), 1);
		to[n++] = (uint8_t)byte;
	}
	return n;
}

EP_TEST(checker_accepts_what_others_make)
{
	uint8_t bytes[512];
	size_t len = bytes_of(vector, bytes);
	struct otlp_check_options options = {.devfiler = true};
	struct otlp_check_result result;

	if (otlp_check(bytes, len, &options, &result) != 0)
		fail_msg("%s", result.text);
	assert_int_equal(result.samples, 1);
	assert_int_equal(result.events, 2);
}

/* One change of the vector each; where the changed bytes are is found by what is there. */
EP_TEST(checker_finds_each_fault)
{
	static const struct {
		const char *label, *from, *to; /* hex, of equal length */
		const char *says;
	} rows[] = {
		{"sample stack", "0801120203042a10", "0805120203042a10", "stack 5"},
		{"sample attribute", "120203042a10", "120203092a10", "attribute 9"},
		{"same key twice", "120203042a10", "120203032a10", "twice"},
		{"early timestamp", "2a10e803", "2a10e703", "outside"},
		{"timestamp at the end", "cf07000000000000", "d007000000000000", "outside"},
		{"mapping upside down", "08802010804020", "08804010802020", "starts behind"},
		{"zero element", "22002a00", "22002a01", ""},
		{"no frame type", "1a0408011003220101", "1a0408011003220102", "frame.type"},
		{"line without function", "1a04080110032201", "1a04080710032201", "function 7"},
		{"equal strings", "2a046d61696e2a0464656d6f", "2a0464656d6f2a0464656d6f", "equal"},
		{"attribute key", "320c080512", "320c084512", "string 69"},
		{"stack location", "3a030a0101", "3a030a0102", "location 2"},
		{"sample type", "0a0408011002", "0a0408011000", "sample type"},
		{"unused string", "1a04080618", "1a04080118", "nothing refers"},
		{"not UTF-8", "046d61696e", "046d61ff6e", "UTF-8"},
		{"not protobuf", "0a660a13", "0bff0a13", "malformed"},
	};

	for (size_t i = 0; i < EP_LEN(rows); i++) {
		char hex[1100];
		char *at;
		uint8_t bytes[512];
		struct otlp_check_result result;
		size_t len;

		snprintf(hex, sizeof(hex), "%s", vector);
		at = strstr(hex, rows[i].from);
		if (!at || strlen(rows[i].from) != strlen(rows[i].to))
			fail_msg("%s: not in the vector", rows[i].label);
		memcpy(at, rows[i].to, strlen(rows[i].to));
		len = bytes_of(hex, bytes);
		if (otlp_check(bytes, len, NULL, &result) != 1 ||
		    !strstr(result.text, rows[i].says))
			fail_msg("%s: %u violations\n%s", rows[i].label, result.violations,
				 result.text);
	}
}
