/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a page with a profile in it: read, or refused with a sentence. */
#include "core/profile/batch.h"
#include "reports/read/reader.h"
#include "tests/kit/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	ep_cleanup(ep_batch_unrefp) struct ep_batch *batch = NULL;
	char why[EP_READ_WHY_BYTES] = "";
	int r = ep_profile_builder_new(&builder);

	assert(r == 0);
	(void)ep_page_reader.matches(data, size);
	r = ep_page_reader.read(data, size, builder, why);
	assert(r == 0 || why[0] || r != -EBADMSG);
	assert(strlen(why) < sizeof(why) && !strchr(why, '\n'));
	if (r == 0)
		(void)ep_profile_finish(builder, &batch);
	return 0;
}
