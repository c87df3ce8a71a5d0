/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the kernel about devices. The bytes are a copy of just their size: reads past it are seen. */
#include "core/bpf/uevents.h"
#include "tests/kit/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ep_autofree char *message = malloc(size ? size : 1);
	bool is_cpu;

	if (!message)
		abort();
	memcpy(message, data, size);
	is_cpu = ep_uevent_is_cpu(message, size);
	if (is_cpu && !memmem(message, size, "SUBSYSTEM=cpu", sizeof("SUBSYSTEM=cpu")))
		abort();
	/* Of a message that is cut off nothing is believed. */
	if (size && message[size - 1] != '\0' && is_cpu)
		abort();
	return 0;
}
