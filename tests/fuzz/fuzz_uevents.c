/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the kernel about devices. The bytes are a copy of just their size: reads past it are seen. */
#include "core/bpf/uevents.h"
#include "tests/kit/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ep_autofree char *message = malloc(size ? size : 1);
	unsigned int what;

	if (!message)
		abort();
	memcpy(message, data, size);
	what = ep_uevent_parse(message, size);
	if ((what & EP_UEVENT_CPU) && !memmem(message, size, "SUBSYSTEM=cpu", sizeof("SUBSYSTEM=cpu")))
		abort();
	if ((what & EP_UEVENT_MODULE) && !memmem(message, size, "SUBSYSTEM=module", sizeof("SUBSYSTEM=module")))
		abort();
	/* Of a message that is cut off nothing is trusted. */
	if (size && message[size - 1] != '\0' && what)
		abort();
	return 0;
}
