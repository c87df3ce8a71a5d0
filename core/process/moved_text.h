/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that a program has copied out of its file into memory of no file, for huge pages, at the addresses where it was:
 * Node.js with --use-largepages, HHVM, ClickHouse, Intel's iodlr. What is still mapped of the file tells where its text
 * belongs; where the memory has the same bytes it is that text. While it has zeros where the file has something else,
 * the text is on its way: samples of the program wait, for 1.3 s, since return addresses on its stacks are
 * from before. What they lead to is known when all of it is there.
 *
 * Code of a file that a language has described may be copied to any address: a runtime maps its builtins once more, near to
 * what it generates, and copies them where they are in no file any more. Memory of as many pages, with the same bytes,
 * is that code.
 *
 * And ELF images in memory of no file, as packers and loaders of their own leave them: such an image is copied once, and
 * is an executable from then on (core/proc/image.h); while it is being laid out, a look at it waits. Memory of a file of its own that is no ELF file (memfd) counts as
 * memory of no file. Loop's thread only.
 */
#ifndef EP_PROCESS_MOVED_TEXT_H
#define EP_PROCESS_MOVED_TEXT_H

#include "core/base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct ep_area;
struct ep_mappings;
struct ep_process;
struct ep_processes;

/*
 * Looks for such areas of a process, and has a worker look at one; when it is one, the process is
 * marked. O(areas).
 */
void ep_moved_text_look(struct ep_processes *processes, struct ep_process *process);
/*
 * A sample of a program that runs code of no file. Memory that is mapped writable and executable
 * from the first may be filled at any time, which nobody tells of: all such areas are looked at
 * once more, some times in the life of a program.
 */
void ep_moved_text_on_sample(struct ep_processes *processes, struct ep_process *process, uint64_t time_ns);
/* Those that wait are forgotten. */
void ep_moved_text_stop(struct ep_processes *processes);
/*
 * The kernel has reported the same mapping again: its protection has changed, so it may have been
 * filled by now.
 */
bool ep_moved_text_may_have_changed(struct ep_area *place);
/*
 * The mappings were read anew: what was known of the same memory (`old`, struct ep_area) still
 * holds.
 */
void ep_moved_text_keep(struct ep_mappings *mappings, const struct ep_vec *old);

#endif
