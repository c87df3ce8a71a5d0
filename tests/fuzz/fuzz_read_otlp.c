/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as an OTLP file. What is read can be written as a file of ours, and that one is read again; what is
 * refused has a sentence, unless memory or a limit is the reason.
 */
#include "core/base/vec.h"
#include "core/profile/batch.h"
#include "exporters/shared/otlp/file.h"
#include "reports/read/reader.h"
#include "tests/kit/fuzz.h"

static int keep(void *arg, const void *data, size_t len)
{
	return ep_vec_append(arg, data, len);
}

static int read_batch(const uint8_t *data, size_t size, struct ep_batch **ret_batch)
{
	ep_cleanup(ep_profile_builder_freep) struct ep_profile_builder *builder = NULL;
	char why[EP_READ_WHY_BYTES] = "";
	int r = ep_profile_builder_new(&builder);

	assert(r == 0);
	r = ep_otlp_reader.read(data, size, builder, why);
	assert(r == 0 || why[0] || r != -EBADMSG);
	assert(strlen(why) < sizeof(why) && !strchr(why, '\n'));
	return r < 0 ? r : ep_profile_finish(builder, ret_batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ep_cleanup(ep_batch_unrefp) struct ep_batch *batch = NULL, *again = NULL;
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	struct ep_sink sink = {.write = keep, .arg = &bytes};

	ep_vec_init(&bytes, 1, SIZE_MAX / 2);
	(void)ep_otlp_reader.matches(data, size);
	if (read_batch(data, size, &batch) < 0)
		return 0;
	assert(otlp_file_write(batch, "1", &sink) == 0);
	assert(ep_otlp_reader.matches(bytes.data, bytes.len));
	assert(read_batch(bytes.data, bytes.len, &again) == 0);
	assert(again->n_samples == batch->n_samples);
	return 0;
}
