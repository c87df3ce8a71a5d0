/* SPDX-License-Identifier: Apache-2.0 */
/* A Script (objects/script.h): the file's name, and lines of its source. */
#ifndef V8_SCRIPTS_H
#define V8_SCRIPTS_H

#include "plugins/shared/names/cache.h"
#include "plugins/v8/symbolize/heap.h"

#define V8_FILE_BYTES 1024

/* What the cache keeps. */
enum v8_item_kind {
	V8_ITEM_FRAME,
	V8_ITEM_FUNCTION,
	V8_ITEM_SCRIPT,
	V8_ITEM_LINES,
	V8_ITEM_CLASS,
	V8_ITEM_MODULE,
	V8_ITEM_WASM,
};

/* Frames, of which there are many that are seldom asked for again, do not push out functions. */
enum v8_item_class {
	V8_CLASS_OTHERS,
	V8_CLASS_FRAMES,
};

struct v8_script {
	struct names_item item; /* key: the Script, its id and the thread */
	uint64_t object;     /* tagged: where it was when it was read */
	int32_t id, line_off, column_off;
	bool is_wasm; /* a module of WebAssembly */
	char file[]; /* as people know it; "": none */
};

struct v8_place {
	uint32_t line, column; /* from 1; 0: unknown */
};

/*
 * The Script of a SharedFunctionInfo, or NULL where it has none (builtins, functions of the
 * embedder's). With a reference. 0, -EBADMSG, or what the memory says.
 */
int v8_script_get(struct v8_heap *heap, struct names_cache *cache, uint64_t function_info,
		  struct v8_script **ret);

/*
 * The line of a position, reading the source where it is not known; object: where the Script is
 * now. Leaves zeros where there is no source to be read.
 */
int v8_script_place(struct v8_heap *heap, struct names_cache *cache, const struct v8_script *script,
		    uint32_t position, struct v8_place *ret);

/* "file:///a%20b" -> "/a b", in place. */
void v8_file_name(char *name);

#endif
