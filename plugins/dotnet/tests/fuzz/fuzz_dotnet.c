/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose structures are anything: the range map, heaps, methods, images, metadata, the data
 * contract.
 *
 *	input	u8 release (8, 9, 10, 11) | u8 0 | records {u32 at, u64 word}
 *	or	u8 0xff | text of a data contract
 *
 * A record changes a word of the made process; one of its upper bits says whether it becomes the address of
 * another place of it.
 */
#include "plugins/dotnet/tests/unit/made_dotnet.h"
#include "tests/kit/fuzz.h"

#include <stdlib.h>

#define RECORD	    12
#define MAX_RECORDS 64
#define IS_ADDR	    0x80000000u
#define MAX_READS   4000000u

static struct made_dotnet made;

static void change(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < MAX_RECORDS && size >= RECORD; i++, data += RECORD, size -= RECORD) {
		uint32_t at;
		uint64_t word;

		memcpy(&at, data, sizeof(at));
		memcpy(&word, data + 4, sizeof(word));
		if (at & IS_ADDR)
			word = MADE_DATA + (word & (MADE_BYTES - 1));
		made_put(&made, at % (MADE_BYTES - 8), &word, 8);
	}
}

static void name(void *instance, uint32_t what, uint64_t word0, uint64_t word1)
{
	const struct ep_raw_frame frame = {
		.n_words = what == DOTNET_FRAME_COLLECTIBLE ? 2 : 1,
		.flags = what << DOTNET_FRAME_SHIFT,
		.aux = 5,
		.words = {word0, word1},
	};

	(void)dotnet_symbolize(instance, &frame, &made.host.names);
}

static void name_all(void *instance)
{
	const struct dotnet_reader reader = {{fake_memory_read, &made.host.memory}, &made.layout, made.state.range_map};

	for (uint32_t i = 0; i < 3; i++) {
		name(instance, DOTNET_FRAME_JIT, i ? MADE_OTHER : MADE_START, 0);
		name(instance, DOTNET_FRAME_COLLECTIBLE, i ? MADE_OTHER : MADE_START,
		     dotnet_method_check(&reader, made_method(&made, i)));
	}
	name(instance, DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCTION, 0);
	name(instance, DOTNET_FRAME_R2R, MADE_IMAGE + MADE_FUNCLET + 4, 0);
	name(instance, DOTNET_FRAME_STUB, MADE_OTHER, 0);
}

static void read_contract(const uint8_t *data, size_t size)
{
	struct dotnet_layout layout;

	if (!dotnet_layout_find(10, &layout))
		abort();
	if (dotnet_layout_publish(&layout, (const char *)data, size, NULL) == 0 &&
	    (layout.table_module > 24 || layout.chunk_table > 16 || layout.token_bits > 15))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *instance = NULL;

	if (size < 2)
		return 0;
	if (data[0] == 0xff) {
		read_contract(data + 1, size - 1);
		return 0;
	}
	made_init(&made, 8 + data[0] % 4);
	made.exe.is_host = data[1] & 1;
	if (data[1] & 2) { /* it is changed after it was attached to */
		if (dotnet_attach(&made.exe, &made.host.target, &instance) != 0)
			abort();
		change(data + 2, size - 2);
	} else {
		change(data + 2, size - 2);
		(void)dotnet_attach(&made.exe, &made.host.target, &instance);
	}
	if (instance) {
		name_all(instance);
		(void)dotnet_refresh(instance);
		name_all(instance);
		dotnet_detach(instance);
	}
	if (made.host.memory.n_reads > MAX_READS)
		abort();
	return 0;
}
