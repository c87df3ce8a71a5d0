/* SPDX-License-Identifier: Apache-2.0 */
/* Names that compilers make, and what their authors wrote. */
#include "core/base/util.h"
#include "plugins/dotnet/symbolize/friendly.h"
#include "tests/kit/test.h"

struct row {
	enum dotnet_part part;
	const char *name;
	const char *written; /* NULL: it has no such form */
};

static const struct row rows[] = {
	{DOTNET_PART_METHOD, "<Run>b__0_0", "Run.lambda"},
	{DOTNET_PART_METHOD, "<Run>b__1", "Run.lambda"},
	{DOTNET_PART_METHOD, "<Run>g__Local|1_0", "Run.Local"},
	{DOTNET_PART_METHOD, "<<Main>$>g__Local|0_0", "Main.Local"},
	{DOTNET_PART_METHOD, "<<Run>b__0_0>g__Local|1", "Run.lambda.Local"},
	{DOTNET_PART_METHOD, "<Main>$", "Main"},
	{DOTNET_PART_METHOD, "<.ctor>b__4_0", ".ctor.lambda"},
	{DOTNET_PART_METHOD, "<I<T>.Get>b__2_1", "I<T>.Get.lambda"},
	{DOTNET_PART_METHOD, "_Lambda$__5-0", "lambda"},
	{DOTNET_PART_METHOD, "Run", NULL},
	{DOTNET_PART_METHOD, "<>b__0", NULL},
	{DOTNET_PART_METHOD, "<Run", NULL},
	{DOTNET_PART_METHOD, "<Run>x__0", NULL},
	{DOTNET_PART_METHOD, "<Run>g__Local", NULL},
	{DOTNET_PART_METHOD, "<Clone>$", "Clone"},
	{DOTNET_PART_METHOD, "", NULL},
	{DOTNET_PART_CLOSURE, "<>c", ""},
	{DOTNET_PART_CLOSURE, "<>c__DisplayClass1_0", ""},
	{DOTNET_PART_CLOSURE, "<>c__3", ""},
	{DOTNET_PART_CLOSURE, "_Closure$__", ""},
	{DOTNET_PART_CLOSURE, "<>cx", NULL},
	{DOTNET_PART_CLOSURE, "Closure", NULL},
	{DOTNET_PART_MACHINE, "<LoadAsync>d__3", "LoadAsync"},
	{DOTNET_PART_MACHINE, "<<Run>b__0_0>d", "Run.lambda"},
	{DOTNET_PART_MACHINE, "<<Run>g__Local|0_1>d", "Run.Local"},
	{DOTNET_PART_MACHINE, "<<<Run>b__0_0>g__Local|1>d", "Run.lambda.Local"},
	{DOTNET_PART_MACHINE, "<System.Collections.Generic.IEnumerable<T>.GetEnumerator>d__9",
	 "System.Collections.Generic.IEnumerable<T>.GetEnumerator"},
	{DOTNET_PART_MACHINE, "VB$StateMachine_12_LoadAsync", "LoadAsync"},
	{DOTNET_PART_MACHINE, "run@12", "run"},
	{DOTNET_PART_MACHINE, "run@12-3", "run"},
	{DOTNET_PART_MACHINE, "run@", NULL},
	{DOTNET_PART_MACHINE, "run@home", NULL},
	{DOTNET_PART_MACHINE, "<LoadAsync>d_3", NULL},
	{DOTNET_PART_STEP, "MoveNext", ""},
	{DOTNET_PART_STEP, "Invoke", ""},
	{DOTNET_PART_STEP, "MoveNextAsync", NULL},
};

EP_TEST(names_are_as_they_were_written)
{
	for (size_t i = 0; i < EP_LEN(rows); i++) {
		const struct row *row = &rows[i];
		char buf[128];
		struct text_writer writer = {.buf = buf, .size = sizeof(buf)};

		if (dotnet_friendly_is(row->part, row->name) != (row->written != NULL))
			fail_msg("%s", row->name);
		if (!row->written || !*row->written)
			continue;
		dotnet_friendly_put(row->part, row->name, &writer);
		text_end(&writer, false);
		assert_string_equal(buf, row->written);
	}
}

/* Names in names are followed to some depth; what is deeper stands as it is. */
EP_TEST(names_in_names_have_an_end)
{
	char name[2 * 40 + 1], buf[256];
	struct text_writer writer = {.buf = buf, .size = sizeof(buf)};
	size_t n = 0;

	for (int i = 0; i < 10; i++)
		name[n++] = '<';
	name[n++] = 'x';
	for (int i = 0; i < 10; i++) {
		memcpy(name + n, ">b__0", 5);
		n += 5;
	}
	name[n] = '\0';
	dotnet_friendly_put(DOTNET_PART_METHOD, name, &writer);
	text_end(&writer, false);
	assert_string_equal(buf, "<<<<<<x>b__0>b__0>b__0>b__0>b__0>b__0.lambda.lambda.lambda.lambda");
}
