/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of frames in a process whose memory is anything: strings, classes, tables of variables,
 * IDs, lines.
 *
 *	input	64 bytes | struct head | memory, from IMAGE on, over and over again
 *
 * Each frame has the check that its body and entry have there: reading goes on.
 */
#include "plugins/ruby/ruby_shared.h"
#include "plugins/ruby/symbolize/names.h"
#include "tests/kit/fuzz.h"
#include "tests/kit/fuzz_process.h"

#define IMAGE  0x101000u
#define FRAMES 16

/* Places are words of the memory. */
struct head {
	uint8_t release, pad[7];
	uint16_t object, string, symbols, last_op;
	struct {
		uint16_t body, entry, index, kind;
	} frames[FRAMES];
};

static int read_memory(void *arg, uint64_t addr, void *buf, size_t bytes)
{
	return bytes > 1 << 20 ? -EFAULT : fuzz_process_read(arg, addr, buf, bytes);
}

static uint64_t at(uint16_t place)
{
	return IMAGE + place * 8ull;
}

static struct ep_raw_frame make_frame(struct fuzz_process *process,
				      const struct ruby_layout *layout, uint64_t body,
				      uint64_t entry, uint32_t kind, uint32_t index)
{
	__u64 words[RUBY_BODY_BYTES / 8], method[5] = {0}, def[6] = {0}, of_body = 0, of_entry = 0,
					  check;

	fuzz_process_read(process, body, words, sizeof(words));
	fuzz_process_read(process, entry, method, sizeof(method));
	(void)fuzz_process_read(process, method[2], def, sizeof(def));
	if (kind == RUBY_KIND_ISEQ)
		of_body = ruby_check_body(words, layout->body.info / 8);
	if (entry)
		of_entry = ruby_check_entry(method[3], def[4],
					    layout->def_serial ? def[5] : method[2]);
	check = ruby_check_frame(of_body, of_entry);
	return (struct ep_raw_frame){
		.aux = ruby_aux(kind, index),
		.n_words = 2,
		.words = {ruby_word0(kind == RUBY_KIND_ISEQ ? body : 0, check),
			  ruby_word1(entry, check)},
	};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t releases[] = {205, 207, 301, 302, 303, 304, 400};
	static const char *const names[FUZZ_SYMBOLS] = {"a"};
	static struct fuzz_process process;
	struct ruby_layout layout;
	struct ruby_ids ids = {0};
	struct ruby_namer namer;
	struct head head;

	if (!fuzz_process_init(&process, names, data, size, NULL, 0) ||
	    process.size <= sizeof(head))
		return 0;
	memcpy(&head, process.bytes, sizeof(head));
	process.bytes += sizeof(head);
	process.size -= sizeof(head);
	process.origin = IMAGE;
	if (!ruby_layout_find(releases[head.release % 7] / 100, releases[head.release % 7] % 100,
			      &layout))
		abort();
	namer = (struct ruby_namer){
		.host = fake_host_services(&process.host),
		.memory = {read_memory, &process},
		.layout = &layout,
		.object_addr = at(head.object),
		.string_addr = at(head.string),
		.ids = &ids,
		.symbols_addr = at(head.symbols),
		.last_op_id = head.last_op,
	};
	if (ruby_namer_init(&namer) < 0)
		abort();
	(void)ruby_names_is_class(&namer, at(head.object), "Object");
	for (size_t i = 0; i < FRAMES; i++) {
		struct ep_raw_frame frame =
			make_frame(&process, &layout, at(head.frames[i].body),
				   head.frames[i].entry ? at(head.frames[i].entry) : 0,
				   head.frames[i].kind % 8, head.frames[i].index);

		if (ruby_names_add(&namer, &frame, &process.host.names) == 0 &&
		    !process.host.function[0] && frame.words[0] && process.host.unnamed)
			abort();
	}
	ruby_namer_fini(&namer);
	return 0;
}
