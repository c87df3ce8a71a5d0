/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line tables, source maps, symbols and scopes by themselves: the first byte says which. Whatever
 * the bytes are: lines are found as going through the table pair by pair finds them; chains of
 * scopes end; text is one line.
 */
#include "core/base/util.h"
#include "plugins/hotspot/symbolize/lines.h"
#include "plugins/hotspot/symbolize/scopes.h"
#include "plugins/hotspot/symbolize/smap.h"
#include "plugins/hotspot/symbolize/text.h"
#include "plugins/hotspot/symbolize/unsigned5.h"
#include "tests/kit/fuzz.h"

#define MAX_SLOW 512

/* As the VM does it; 0: none. */
static int64_t slow_line(const uint8_t *bytes, size_t n, uint32_t excluded, int64_t want)
{
	int64_t bci = 0, line = 0, best_bci = 0, best = 0;
	size_t pos = 0;

	while (pos < n && bytes[pos]) {
		uint8_t byte = bytes[pos++];
		int32_t bcis = byte >> 3, lines = byte & 7;

		if (byte == 0xff && (!hotspot_signed5(bytes, n, &pos, excluded, &bcis) ||
				     !hotspot_signed5(bytes, n, &pos, excluded, &lines)))
			return 0;
		bci += bcis;
		line += lines;
		if (bci == want)
			return line;
		if (bci < want && bci >= best_bci) {
			best_bci = bci;
			best = line;
		}
	}
	return best;
}

static void fuzz_lines(const uint8_t *data, size_t size)
{
	struct hotspot_lines lines;
	uint32_t code_bytes, excluded;

	if (size < 3)
		return;
	code_bytes = data[0] | (uint32_t)data[1] << 8;
	excluded = data[2] & 1;
	data += 3;
	size -= 3;
	if (hotspot_lines_parse(data, size, code_bytes, &excluded, &lines) < 0)
		return;
	for (uint32_t bci = 0; size <= MAX_SLOW && bci < EP_MIN(code_bytes, 300u); bci++) {
		const struct hotspot_line *line = hotspot_lines_find(lines.runs, lines.len, bci);

		if ((line ? line->line : 0) != slow_line(data, size, excluded, bci)) {
			fprintf(stderr, "bci %u\n", bci);
			abort();
		}
	}
	hotspot_lines_fini(&lines);
}

static void fuzz_smap(const uint8_t *data, size_t size)
{
	struct hotspot_smap smap;

	if (hotspot_smap_parse((const char *)data, size, &smap) < 0)
		return;
	for (uint32_t line = 0; line < 200; line++) {
		uint32_t source;
		const struct hotspot_smap_file *file = hotspot_smap_find(&smap, line, &source);

		if (file && (file->name < (const char *)data ||
			     file->name + file->name_bytes > (const char *)data + size))
			abort();
	}
	hotspot_smap_fini(&smap);
}

static void fuzz_text(const uint8_t *data, size_t size)
{
	char buf[64];

	hotspot_text_encode(data, size, size & 1, buf, 8 + size % (sizeof(buf) - 8));
	if (strlen(buf) >= 8 + size % (sizeof(buf) - 8))
		abort();
	for (const char *c = buf; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			abort();
	}
	hotspot_class_name(buf);
}

static void check_scopes(const struct hotspot_scopes *scopes)
{
	for (uint32_t i = 0; i < scopes->n_scopes; i++) {
		const struct hotspot_scope *scope = &scopes->scopes[i];

		if ((scope->caller != HOTSPOT_NO_SCOPE && scope->caller >= i) ||
		    scope->method >= scopes->n_methods ||
		    (scope->caller == HOTSPOT_NO_SCOPE && scope->method))
			abort();
	}
	for (uint32_t i = 0; i < scopes->n_pcs; i++) {
		if ((i && scopes->pcs[i].off <= scopes->pcs[i - 1].off) ||
		    (scopes->pcs[i].scope != HOTSPOT_NO_SCOPE &&
		     scopes->pcs[i].scope >= scopes->n_scopes) ||
		    hotspot_pcs_find(scopes->pcs, scopes->n_pcs, scopes->pcs[i].off) != i)
			abort();
	}
}

/* Debug points first, then the scopes' data. */
static void fuzz_scopes(const uint8_t *data, size_t size)
{
	static const uint64_t metadata[] = {0x1000, 0x2000, 0x3000, 0x1000};
	struct hotspot_scopes_input input = {
		.pc_bytes = 16, .pc_scope = 4, .metadata = metadata,
		.n_metadata = EP_LEN(metadata), .method = 0x1000,
	};
	struct hotspot_scopes scopes;
	uint32_t excluded;

	if (size < 2)
		return;
	excluded = data[1] & 1;
	input.n_pcs = EP_MIN((size_t)data[0], (size - 2) / 16);
	input.pcs = data + 2;
	input.data = data + 2 + input.n_pcs * 16;
	input.data_bytes = size - 2 - input.n_pcs * 16;
	if (hotspot_scopes_parse(&input, &excluded, &scopes) < 0)
		return;
	check_scopes(&scopes);
	hotspot_scopes_fini(&scopes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	switch (data[0] & 3) {
	case 0:
		fuzz_lines(data + 1, size - 1);
		break;
	case 1:
		fuzz_smap(data + 1, size - 1);
		break;
	case 2:
		fuzz_text(data + 1, size - 1);
		break;
	default:
		fuzz_scopes(data + 1, size - 1);
	}
	return 0;
}
