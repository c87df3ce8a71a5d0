/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only C++ of the project: toml++ 3.x (header only, no exceptions, no RTTI) behind C functions.
 * A node of ours is a toml::node by another name. Out of memory ends the process: operator new
 * has no other way without exceptions, and a document is at most EP_TOML_MAX_BYTES.
 */
#include "core/config/toml.h"

/*
 * The library asserts that a key starts well before it reports that it does not (3.3.0, parse_key:
 * "[!]" aborts), and with NDEBUG it lets the compiler assume it. Neither: its own checks decide.
 */
#undef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>

/*
 * Arrays and inline tables are bounded by the library (256 levels); dotted keys are not, and a tree
 * is destroyed by recursion. So a line may hold this many dots outside of strings and comments.
 */
static constexpr size_t max_dots = 16;

struct ep_toml {
	toml::table root;
};

static const toml::node *node_of(const ep_toml_node *node)
{
	return reinterpret_cast<const toml::node *>(node);
}

static const ep_toml_node *from_node(const toml::node *node)
{
	return reinterpret_cast<const ep_toml_node *>(node);
}

static ep_toml_where where_of(const toml::source_region &region)
{
	return {region.begin.line, region.begin.column};
}

static void set_error(ep_toml_error *error, ep_toml_where where, std::string_view text)
{
	error->where = where;
	snprintf(error->message, sizeof(error->message), "%.*s",
		 static_cast<int>(text.size() < 250 ? text.size() : 250), text.data());
}

/* Behind the string that starts at `pos`: "basic", 'literal', or either in three quotes. */
static size_t skip_string(std::string_view text, size_t pos)
{
	char quote = text[pos];
	size_t n = text.size() - pos > 2 && text[pos + 1] == quote && text[pos + 2] == quote ? 3 : 1;
	std::string_view end = text.substr(pos, n);

	for (pos += n; pos < text.size(); pos++) {
		if (quote == '"' && text[pos] == '\\')
			pos++;
		else if (text.substr(pos, n) == end)
			return pos + n;
		else if (n == 1 && text[pos] == '\n')
			return pos; /* not closed: an error that the parser will report */
	}
	return text.size();
}

/* The line (from 1) that has more than max_dots dots outside of strings and comments, or 0. */
static uint32_t find_dotted_line(std::string_view text)
{
	uint32_t line = 1;
	size_t dots = 0, pos = 0, next;

	for (; pos < text.size(); pos = next) {
		next = pos + 1;
		if (text[pos] == '\n')
			dots = 0, line++;
		else if (text[pos] == '#')
			next = std::min(text.find('\n', pos), text.size());
		else if (text[pos] == '"' || text[pos] == '\'')
			next = skip_string(text, pos);
		else if (text[pos] == '.' && ++dots > max_dots)
			return line;
		if (next > pos + 1 && text[pos] != '#')
			line += static_cast<uint32_t>(std::count(&text[pos], &text[pos] + (next - pos), '\n'));
	}
	return 0;
}

int ep_toml_parse(const char *text, size_t len, ep_toml **ret_doc, ep_toml_error *ret_error)
{
	if (len > EP_TOML_MAX_BYTES)
		return -E2BIG;
	std::string_view view{text, len};
	uint32_t dotted = find_dotted_line(view);
	if (dotted) {
		set_error(ret_error, {dotted, 1}, "too many dots in one line");
		return -EBADMSG;
	}
	toml::parse_result result = toml::parse(view);
	if (!result) {
		const toml::parse_error &error = result.error();
		set_error(ret_error, where_of(error.source()), error.description());
		return -EBADMSG;
	}
	ep_toml *doc = new (std::nothrow) ep_toml{std::move(result).table()};
	if (!doc)
		return -ENOMEM;
	*ret_doc = doc;
	return 0;
}

void ep_toml_free(ep_toml *doc)
{
	delete doc;
}

const ep_toml_node *ep_toml_root(const ep_toml *doc)
{
	return from_node(&doc->root);
}

ep_toml_type ep_toml_type_of(const ep_toml_node *node)
{
	switch (node_of(node)->type()) {
	case toml::node_type::table:
		return EP_TOML_TABLE;
	case toml::node_type::array:
		return EP_TOML_ARRAY;
	case toml::node_type::string:
		return EP_TOML_STRING;
	case toml::node_type::integer:
		return EP_TOML_INT;
	case toml::node_type::floating_point:
		return EP_TOML_FLOAT;
	case toml::node_type::boolean:
		return EP_TOML_BOOL;
	default:
		return EP_TOML_DATE;
	}
}

const char *ep_toml_type_name(ep_toml_type type)
{
	static const char *const names[] = {
		"",	      "a table", "an array", "a string", "an integer",
		"a float", "true or false", "a date or time",
	};
	return names[type];
}

ep_toml_where ep_toml_where_of(const ep_toml_node *node)
{
	return where_of(node_of(node)->source());
}

size_t ep_toml_len(const ep_toml_node *node)
{
	if (const toml::table *table = node_of(node)->as_table())
		return table->size();
	if (const toml::array *array = node_of(node)->as_array())
		return array->size();
	return 0;
}

const ep_toml_node *ep_toml_at(const ep_toml_node *array, size_t i)
{
	const toml::array *items = node_of(array)->as_array();

	return items && i < items->size() ? from_node(items->get(i)) : nullptr;
}

int ep_toml_each(const ep_toml_node *table, ep_toml_visit visit, void *arg)
{
	const toml::table *entries = node_of(table)->as_table();

	if (!entries)
		return 0;
	for (auto it = entries->cbegin(); it != entries->cend(); ++it) {
		const toml::key &key = it->first;
		std::string name{key.str()};
		int r = visit(arg, name.c_str(), where_of(key.source()), from_node(&it->second));
		if (r)
			return r;
	}
	return 0;
}

const char *ep_toml_string(const ep_toml_node *node, size_t *ret_len)
{
	const toml::value<std::string> *value = node_of(node)->as_string();

	*ret_len = value ? value->get().size() : 0;
	return value ? value->get().c_str() : "";
}

int64_t ep_toml_int(const ep_toml_node *node)
{
	const toml::value<int64_t> *value = node_of(node)->as_integer();

	return value ? value->get() : 0;
}

double ep_toml_float(const ep_toml_node *node)
{
	const toml::value<double> *value = node_of(node)->as_floating_point();

	return value ? value->get() : 0;
}

bool ep_toml_bool(const ep_toml_node *node)
{
	const toml::value<bool> *value = node_of(node)->as_boolean();

	return value && value->get();
}
