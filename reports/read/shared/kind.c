/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/read/shared/kind.h"
#include "ebpf-profiler/frame.h"

#include <stdio.h>
#include <string.h>

#define TRUNCATED "[truncated: "
#define GAP	  "[gap: "
#define KERNEL	  "[kernel]+0x"
#define NO_NAME	  ": unknown function]"

/* By the ends of source files; the names are the frame types of the semantic conventions. */
static const struct {
	const char *end, *kind;
} sources[] = {
	{".go", "go"},	  {".s", "native"},  {".py", "cpython"}, {".pyx", "cpython"},
	{".rb", "ruby"},  {".php", "php"},   {".js", "v8js"},	 {".mjs", "v8js"},
	{".cjs", "v8js"}, {".ts", "v8js"},   {".java", "jvm"},	 {".kt", "jvm"},
	{".scala", "jvm"}, {".groovy", "jvm"}, {".clj", "jvm"},	 {".pl", "perl"},
	{".pm", "perl"},  {".cs", "dotnet"}, {".ex", "beam"},	 {".erl", "beam"},
};

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
	size_t bytes = strlen(text), end = strlen(with);

	return bytes > end && strcmp(text + bytes - end, with) == 0;
}

static const char *kind_of_source(const char *file)
{
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; dot && i < EP_LEN(sources); i++) {
		if (strcmp(dot, sources[i].end) == 0)
			return sources[i].kind;
	}
	return NULL;
}

/* [kernel.kallsyms], [guest.kernel.kallsyms], [ext4]; [vdso], [heap] and [unknown] are a process's. */
uint32_t ep_read_mapping_flags(const char *path, uint64_t address)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (strstr(path, "kernel.kallsyms") || starts(name, "vmlinux") || ends(name, ".ko") ||
	    ends(name, ".ko.xz") || ends(name, ".ko.zst") || strcmp(path, "[kernel]") == 0 ||
	    (path[0] == '[' && address >> 63))
		return EP_MAPPING_KERNEL;
	return 0;
}

const char *ep_read_kind(const struct ep_read_frame *frame)
{
	const char *kind = kind_of_source(frame->file);

	if (starts(frame->function, TRUNCATED))
		return "error";
	if (starts(frame->function, GAP))
		return "gap";
	if (kind)
		return kind;
	if (starts(frame->function, KERNEL) || frame->address >> 63 ||
	    ep_read_mapping_flags(frame->path, frame->address))
		return "kernel";
	if (frame->address || frame->path[0])
		return "native";
	return "unknown";
}

static bool is_hex(const char *text)
{
	return text[0] && text[strspn(text, "0123456789abcdef")] == '\0';
}

/* Why a frame with this name has no name of its own: enum ep_unnamed. */
static uint32_t unnamed_of(const char *function)
{
	const char *plus = strrchr(function, '+');

	if (starts(function, TRUNCATED) || starts(function, GAP))
		return EP_UNNAMED_MISSING;
	if (starts(function, "0x") && is_hex(function + 2))
		return EP_UNNAMED_NO_FILE;
	if (plus && plus > function && starts(plus, "+0x") && is_hex(plus + 3))
		return EP_UNNAMED_NO_SYMBOL;
	if (function[0] == '[' && ends(function, NO_NAME))
		return EP_UNNAMED_UNREADABLE; /* why, the file has lost */
	return 0;
}

void ep_read_made_up(const char *function, struct ep_profile_location *location)
{
	location->unnamed = unnamed_of(function);
	if (starts(function, TRUNCATED))
		location->flags |= EP_LOCATION_ERROR;
	else if (starts(function, GAP))
		location->flags |= EP_LOCATION_GAP;
	else if (location->unnamed)
		location->flags |= EP_LOCATION_UNNAMED;
}

static const char *const errors[EP_ERROR_COUNT] = {
#define EP_ERROR(name, text) [EP_ERROR_##name] = text,
#include "ebpf-profiler/errors.def"
#undef EP_ERROR
};

/* Of a language's own error only the text is known here: all have the first number. */
static uint32_t error_of(const char *text, size_t bytes)
{
	for (uint32_t i = 0; i < EP_ERROR_COUNT; i++) {
		if (errors[i] && strlen(errors[i]) == bytes && memcmp(errors[i], text, bytes) == 0)
			return i;
	}
	return EP_ERROR_FIRST_DYNAMIC;
}

static const char *const unnamed_texts[EP_UNNAMED_COUNT] = {
#define EP_UNNAMED(name, text) [EP_UNNAMED_##name] = text,
#include "ebpf-profiler/unnamed.def"
#undef EP_UNNAMED
};

/* "toy: could not be read", of "[toy: unknown function]". */
static int note_unnamed(struct ep_profile_builder *builder, const char *function,
			struct ep_profile_stack *stack, uint32_t unnamed)
{
	bool has_language = unnamed == EP_UNNAMED_UNREADABLE;
	int bytes = has_language ? (int)EP_MIN(strcspn(function + 1, ":"), (size_t)64) : 0;
	char text[128];

	snprintf(text, sizeof(text), "%.*s%s%s", bytes, function + 1, has_language ? ": " : "",
		 unnamed_texts[unnamed]);
	stack->unnamed = unnamed;
	return ep_profile_add_string(builder, text, strlen(text), &stack->unnamed_text);
}

int ep_read_stack_note(struct ep_profile_builder *builder, const char *function,
		       struct ep_profile_stack *stack)
{
	uint32_t unnamed = unnamed_of(function);
	const char *text;
	size_t bytes;
	int r = 0;

	if (unnamed && unnamed != EP_UNNAMED_NO_SYMBOL && !stack->unnamed)
		r = note_unnamed(builder, function, stack, unnamed);
	if (r < 0 || !starts(function, TRUNCATED))
		return r;
	text = function + strlen(TRUNCATED);
	bytes = strlen(text);
	bytes -= bytes && text[bytes - 1] == ']';
	stack->error = error_of(text, bytes);
	return ep_profile_add_string(builder, text, bytes, &stack->error_text);
}
