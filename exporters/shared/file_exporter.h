/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What exporters have in common that write files: each batch becomes one file, in `directory` under a name
 * of its time, or at `path`. Whether they can be written is checked at open. Encoding, compression and files
 * are work for a worker thread; an error becomes one line that says what to do, logged on the loop's thread.
 * A format is a name, a suffix and a function that encodes; the whole plugin is then:
 *
 *	EP_FILE_EXPORTER("folded", ".folded", false, folded_encode, EP_FILE_OPTIONS(".folded"));
 */
#ifndef EP_EXPORTERS_FILE_EXPORTER_H
#define EP_EXPORTERS_FILE_EXPORTER_H

#include "ebpf-profiler/plugin.h"
#include "exporters/shared/sink.h"

struct ep_file_format {
	const char *name;   /* of the plugin, for messages */
	const char *suffix; /* ".pb.gz": of files in a directory, and what -2, -3 stand before */
	bool gzip;	    /* the file is compressed; its options have EP_FILE_OPTION_LEVEL */
	/*
	 * Writes a batch, of which it has no reference of its own. `version` is the profiler's. 0, or a negative
	 * errno and perhaps a sentence in sink->why. On any thread; it shares nothing with other calls.
	 */
	int (*encode)(const struct ep_batch *batch, const char *version, struct ep_sink *sink);
	const void *arg; /* of a format with options of its own: encode finds it in sink->format_arg */
};

/* clang-format off */
#define EP_FILE_OPTIONS(suffix)                                                                    \
	{                                                                                          \
		.name = "path",                                                                    \
		.type = EP_OPTION_STRING,                                                          \
		.fallback = "",                                                                    \
		.help = "file to write; further batches get -2, -3, ... in front of " suffix,      \
	},                                                                                         \
	{                                                                                          \
		.name = "directory",                                                               \
		.type = EP_OPTION_STRING,                                                          \
		.fallback = "",                                                                    \
		.help = "where to put profile-HOST-TIME" suffix ", one file per interval",         \
	},                                                                                         \
	{                                                                                          \
		.name = "keep",                                                                    \
		.type = EP_OPTION_INT,                                                             \
		.fallback = "60",                                                                  \
		.min = 1,                                                                          \
		.max = 1000000,                                                                    \
		.help = "files to keep in the directory; the oldest are removed",                  \
	},                                                                                         \
	{                                                                                          \
		.name = "force",                                                                   \
		.type = EP_OPTION_BOOL,                                                            \
		.fallback = "false",                                                               \
		.help = "replace a file that exists at path",                                      \
	}
#define EP_FILE_OPTION_LEVEL                                                                       \
	{                                                                                          \
		.name = "level",                                                                   \
		.type = EP_OPTION_INT,                                                             \
		.fallback = "1",                                                                   \
		.min = 1,                                                                          \
		.max = 9,                                                                          \
		.help = "gzip level, 1 (fast) to 9",                                               \
	}
/* clang-format on */

/* The operations of struct ep_exporter_ops. `format` must stay. */
int ep_file_exporter_open(const struct ep_file_format *format, const struct ep_host *host,
			  const struct ep_options *given, void **ret_exporter);
void ep_file_exporter_export(void *exporter, const struct ep_batch *batch, ep_export_done done,
			     void *done_arg);
void ep_file_exporter_close(void *exporter);

/* A plugin without options of its own; compressed: also give EP_FILE_OPTION_LEVEL. */
#define EP_FILE_EXPORTER(plugin_name, file_suffix, compressed, encode_batch, ...)                  \
	static const struct ep_file_format format = {                                              \
		.name = plugin_name,                                                               \
		.suffix = file_suffix,                                                             \
		.gzip = compressed,                                                                \
		.encode = encode_batch,                                                            \
	};                                                                                         \
	static const struct ep_option_spec options[] = {__VA_ARGS__, {0}};                         \
                                                                                                   \
	static int open_exporter(const struct ep_host *host, const struct ep_options *given,       \
				 void **ret_exporter)                                              \
	{                                                                                          \
		return ep_file_exporter_open(&format, host, given, ret_exporter);                  \
	}                                                                                          \
                                                                                                   \
	static const struct ep_exporter_ops ops = {                                                \
		.size = sizeof(ops),                                                               \
		.options = options,                                                                \
		.open = open_exporter,                                                             \
		.export_batch = ep_file_exporter_export,                                           \
		.close = ep_file_exporter_close,                                                   \
	};                                                                                         \
                                                                                                   \
	EP_PLUGIN_DEFINE = {                                                                       \
		.size = sizeof(struct ep_plugin),                                                  \
		.abi_major = EP_ABI_MAJOR,                                                         \
		.abi_minor = EP_ABI_MINOR,                                                         \
		.kind = EP_PLUGIN_EXPORTER,                                                        \
		.name = plugin_name,                                                               \
		.version = "1.0",                                                                  \
		.exporter = &ops,                                                                  \
	}

#endif
