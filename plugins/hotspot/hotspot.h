/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the plugin that belong to a process and to an executable.
 *
 *	probe.c		an ELF file: is it a HotSpot VM? where are its tables, which names do they hold
 *	tables.c	a process: its tables, read once ──► layout.h
 *	heaps.c		its heaps of code ──► ranges
 *	code/		code at fixed places: interpreter and stubs ──► names, and rules of each instruction
 *	attach.c	state and ranges for BPF; looks again when heaps or stubs have come
 *	symbolize/	names of frames
 *	hotspot.c	the descriptor
 */
#ifndef HOTSPOT_H
#define HOTSPOT_H

#include "ebpf-profiler/unwinder.h"
#include "plugins/hotspot/hotspot_shared.h"
#include "plugins/hotspot/layout.h"

int hotspot_probe(const struct ep_unwinder_host *host, const struct ep_file *file,
		  void **ret_executable);
void hotspot_unload(void *executable);

int hotspot_attach(void *executable, struct ep_target *target, void **ret_instance);
int hotspot_refresh(void *instance);
int hotspot_symbolize(void *instance, const struct ep_raw_frame *frame, struct ep_names *names);
void hotspot_detach(void *instance);

#endif
