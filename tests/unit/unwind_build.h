/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of unwind rules, made of hand-assembled call frame information (unwind_asm.h). */
#ifndef EP_TESTS_UNWIND_BUILD_H
#define EP_TESTS_UNWIND_BUILD_H

#include "tests/kit/test.h"
#include "tests/unit/unwind_asm.h"

#define CIE_REST                                                                                   \
	.insns = BYTES("\x0c\x07\x08\x90\x01"), .code_align = 1, .data_align = 0x78, .ra_reg = 16

#define FDE_VA	  0x1010ull
#define FDE_BYTES 0x80

#define SP(off)	      EP_RULE_IMM(0, 0, off)
#define SP_FP(off, k) EP_RULE_IMM(0, k, off)
#define FP(off, k)    EP_RULE_IMM(1, k, off)
#define LOST(rule)    ((rule) & ~EP_RULE_KEEPS)
#define TABLE	      EP_RULE_FIRST_TABLE /* the file's first table rule */
#define NONE	      EP_RULE_NONE
#define UNSUPPORTED   EP_RULE_UNSUPPORTED

/* A section, which the test owns. */
static inline struct image *new_image(bool eh)
{
	struct image *image = calloc(1, sizeof(*image));

	assert_non_null(image);
	ep_test_owns(image, free);
	image->eh = eh;
	return image;
}

/* An .eh_frame that begins with gcc's CIE, which add_fde is about. */
static inline struct image *new_eh_frame(void)
{
	struct cie cie = CIE_GCC;
	struct image *image = new_image(true);

	asm_cie(image, &cie);
	return image;
}

static inline size_t add_fde(struct image *image, uint64_t start, uint64_t bytes,
			     struct bytes insns)
{
	return asm_fde(image, 0, start, bytes, &insns);
}

EP_TEST_RELEASES(ep_unwind_table_free)

/* Builds a table over the sections, first one first; the test owns it. */
static inline struct ep_unwind_table *build_input(struct ep_build_input *input,
						  struct image **images, size_t n)
{
	ep_autofree struct ep_fde_list *lists = calloc(EP_MAX(n, 1), sizeof(*lists));
	struct ep_unwind_table *table = NULL;

	assert_non_null(lists);
	for (size_t i = 0; i < n; i++) {
		struct ep_cfi_section sec = asm_section(images[i]);

		assert_int_equal(ep_fde_list_init_scan(&lists[i], &sec), 0);
		input->lists[i] = &lists[i];
	}
	input->n_lists = n;
	assert_int_equal(ep_build(input, &table), 0);
	for (size_t i = 0; i < n; i++)
		ep_fde_list_fini(&lists[i]);
	ep_test_owns(table, ep_unwind_table_free_made);
	return table;
}

static inline struct ep_unwind_table *build_image(struct image *image)
{
	struct ep_build_input input = asm_input();

	return build_input(&input, &image, 1);
}

/* Of one FDE, of gcc's CIE or another one. */
static inline struct ep_unwind_table *build_fde(const struct bytes *insns)
{
	struct image *image = new_eh_frame();

	asm_fde(image, 0, FDE_VA, FDE_BYTES, insns);
	return build_image(image);
}

static inline struct ep_unwind_table *build_one(const struct cie *cie, const struct bytes *insns)
{
	struct image *image = new_image(true);

	asm_fde(image, asm_cie(image, cie), FDE_VA, FDE_BYTES, insns);
	return build_image(image);
}

#define NOTHING_KEPT 0x80 /* of `others`, which says everything where it is 0 */

/* Most cases mention no other registers: their table rules say so without saying so here. */
static inline bool is_first_rule(const struct ep_unwind_table *table, struct ep_rule want)
{
	if (!want.others)
		want.others = EP_OTHERS_KEEPS;
	want.others &= EP_OTHERS_KEEPS | 0xf;
	return memcmp(&table->rules[0], &want, sizeof(want)) == 0;
}

#endif
