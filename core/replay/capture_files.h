/* SPDX-License-Identifier: Apache-2.0 */
/* The executables of a process that is being recorded: opened, with unwind tables and names. */
#ifndef EP_REPLAY_CAPTURE_FILES_H
#define EP_REPLAY_CAPTURE_FILES_H

#include "core/base/vec.h"
#include "core/replay/fixture.h"
#include "core/replay/snapshot.h"

struct ep_capture_files;
struct ep_lines;
struct ep_unwinder_ops;

int ep_capture_files_new(struct ep_snapshot *snapshot, struct ep_fixture *fixture,
			 struct ep_capture_files **ret_files);
void ep_capture_files_free(struct ep_capture_files *files);

/*
 * Adds what the snapshot maps now: executables that are new are opened and analysed, and the
 * fixture's mappings replaced. 0, -E2BIG, -ENOMEM.
 */
int ep_capture_files_update(struct ep_capture_files *files);

/* What ep_replay_source asks. */
const struct ep_unwind_table *ep_capture_files_table(struct ep_capture_files *files, uint32_t i);
const struct ep_file *ep_capture_files_file(struct ep_capture_files *files, uint32_t i);
/* Bytes of a file beside a mapped one: as ep_target_ops. */
int ep_capture_files_beside(struct ep_capture_files *files, struct ep_target_file *file, uint64_t off, void *buf,
			    size_t bytes);
/* A language describes each file once: what it reported holds for the next replay, too. */
void ep_capture_files_describe(struct ep_capture_files *files, uint32_t i,
			       const struct ep_unwinder_ops *ops, void *claim);
int ep_capture_files_tls(struct ep_capture_files *files, uint32_t question, uint32_t i,
			 uint64_t bias, uint64_t value, struct ep_tls *ret);
int ep_capture_files_names(struct ep_capture_files *files, uint32_t i, uint64_t va,
			   struct ep_lines *lines);

#endif
