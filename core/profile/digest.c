/* SPDX-License-Identifier: Apache-2.0 */
#include "core/profile/tables.h"

#include <endian.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY /* the streaming state on the stack */
#include <xxhash.h>

static void digest_text(XXH3_state_t *state, const struct ep_profile_builder *b, uint32_t string)
{
	/* with the NUL, so that two strings are not read as one */
	XXH3_128bits_update(state, ep_profile_text(b, string),
			    ep_strings_len_of(b->tables->strings, string) + 1);
}

/* A language has many functions of one name, so it is also where the function is written. */
static bool has_source(const char *kind)
{
	static const char *const without[] = {"native", "kernel", "error", "gap"};

	for (size_t i = 0; i < EP_LEN(without); i++) {
		if (strcmp(kind, without[i]) == 0)
			return false;
	}
	return true;
}

static void digest_function(XXH3_state_t *state, const struct ep_profile_builder *b, uint32_t row,
			    bool with_source)
{
	const struct ep_rows *functions = &b->tables->functions;
	uint32_t little = htole32(ep_rows_u32(functions, FUNCTION_LINE)[row]);

	digest_text(state, b, ep_rows_u32(functions, FUNCTION_NAME)[row]);
	if (!with_source)
		return;
	digest_text(state, b, ep_rows_u32(functions, FUNCTION_FILE)[row]);
	XXH3_128bits_update(state, &little, sizeof(little));
}

/* The build id; of the kernel, and where there is none, the name of the file without directories. */
static void digest_mapping(XXH3_state_t *state, const struct ep_profile_builder *b, uint32_t row)
{
	const struct ep_rows *mappings = &b->tables->mappings;
	const char *path = ep_profile_text(b, ep_rows_u32(mappings, MAPPING_PATH)[row]);
	uint32_t build_id = ep_rows_u32(mappings, MAPPING_BUILD_ID)[row];
	bool is_kernel = ep_rows_u32(mappings, MAPPING_FLAGS)[row] & EP_MAPPING_KERNEL;
	const char *slash = strrchr(path, '/');
	const char *file = build_id && !is_kernel ? ep_profile_text(b, build_id)
			   : slash		  ? slash + 1
						  : path;

	XXH3_128bits_update(state, file, strlen(file) + 1);
}

struct ep_profile_digest ep_profile_digest_location(const struct ep_profile_builder *b,
						    uint32_t row)
{
	const struct ep_rows *locations = &b->tables->locations;
	const uint32_t *functions = ep_rows_u32(&b->tables->lines, LINE_FUNCTION);
	uint32_t kind = ep_rows_u32(locations, LOCATION_KIND)[row];
	bool with_source = has_source(ep_profile_text(b, kind));
	struct ep_profile_digest digest;
	XXH128_canonical_t canonical;
	XXH3_state_t state;

	XXH3_INITSTATE(&state);
	XXH3_128bits_reset(&state);
	digest_text(&state, b, kind);
	digest_mapping(&state, b, ep_rows_u32(locations, LOCATION_MAPPING)[row]);
	for (uint32_t i = ep_rows_u32(locations, LOCATION_LINE_FIRST)[row];
	     i < b->tables->lines.len; i++)
		digest_function(&state, b, functions[i], with_source);
	if (ep_rows_u32(locations, LOCATION_FLAGS)[row] & EP_LOCATION_UNNAMED) {
		uint64_t little = htole64(ep_rows_u64(locations, LOCATION_ADDRESS)[row]);

		XXH3_128bits_update(&state, &little, sizeof(little));
	}
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
	memcpy(digest.bytes, canonical.digest, sizeof(digest.bytes));
	return digest;
}

int ep_profile_digest_stack(struct ep_profile_builder *b, const uint32_t *locations,
			    uint32_t n_locations, uint8_t ret_hash[16])
{
	XXH128_canonical_t canonical;

	int r = ep_vec_reserve(&b->stack_text, EP_MAX(n_locations, 1u));
	struct ep_profile_digest *text = b->stack_text.data;

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n_locations; i++)
		text[i] = *ep_vec_at(&b->digests, struct ep_profile_digest, locations[i]);
	XXH128_canonicalFromHash(&canonical, XXH3_128bits(text, n_locations * sizeof(*text)));
	memcpy(ret_hash, canonical.digest, 16);
	return 0;
}
