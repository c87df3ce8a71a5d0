/* SPDX-License-Identifier: Apache-2.0 */
/* Files of any format: opened, unfolded, given to the reader that knows them, and sentences for what went wrong. */
#include "core/base/elevated.h"
#include "core/base/vec.h"
#include "reports/read/reader.h"
#include "reports/read/shared/lines.h"
#include "reports/read/unpack.h"
#include "reports/read/utf16.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Those whose beginning is plain come first; of text anything may be one of folded stacks. */
static const struct ep_reader *const readers[] = {
#ifdef EP_HAS_PAGE_READER
	&ep_page_reader,
#endif
#ifdef EP_HAS_SPEEDSCOPE_READER
	&ep_speedscope_reader,
#endif
#ifdef EP_HAS_FIREFOX_READER
	&ep_firefox_reader,
#endif
	&ep_pprof_reader,
#ifdef EP_HAS_OTLP_READER
	&ep_otlp_reader,
#endif
	&ep_perf_script_reader,
	&ep_folded_reader,
};

struct ep_input {
	int fd;
	char path[]; /* as it is shown */
};

/* --- open --- */

static int explain_open(const char *path, int r, char *why)
{
	const char *hint = r == -ENOENT ? "no such file"
			   : r == -EACCES || r == -EPERM
				   ? "it may not be read by this user"
				   : strerror(-r);

	snprintf(why, EP_READ_WHY_BYTES, "%.150s: %s", path, hint);
	return r;
}

static int open_path(const char *path, char *why)
{
	struct stat st;
	int fd;

	if (strcmp(path, "-") == 0) {
		if (isatty(STDIN_FILENO)) {
			snprintf(why, EP_READ_WHY_BYTES,
				 "standard input is a terminal: name a file, or pipe a profile into it");
			return -EINVAL;
		}
		fd = dup(STDIN_FILENO);
		return fd < 0 ? explain_open("standard input", -errno, why) : fd;
	}
	fd = ep_open_as_caller(path, 0);
	if (fd < 0)
		return explain_open(path, fd, why);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		snprintf(why, EP_READ_WHY_BYTES, "%.150s: is a directory, not a profile", path);
		return -EISDIR;
	}
	return fd;
}

int ep_input_open(const char *path, struct ep_input **ret_input, char *why)
{
	const char *shown = strcmp(path, "-") == 0 ? "standard input" : path;
	struct ep_input *input = malloc(sizeof(*input) + strlen(shown) + 1);
	int fd;

	if (!input) {
		snprintf(why, EP_READ_WHY_BYTES, "%.150s: no memory to open it", path);
		return -ENOMEM;
	}
	fd = open_path(path, why);
	if (fd < 0) {
		free(input);
		return fd;
	}
	input->fd = fd;
	strcpy(input->path, shown);
	*ret_input = input;
	return 0;
}

void ep_input_close(struct ep_input *input)
{
	if (!input)
		return;
	ep_closep(&input->fd);
	free(input);
}

/* --- what it is --- */

/* Files that people have and nobody here reads: what they are, and what helps. */
static const struct {
	const char *magic, *what;
} others[] = {
	{"PERFILE2", "is perf's own file: write it with `perf script -i FILE > x.perf.txt`, and read that"},
	{"FLR", "is a Java Flight Recorder file: convert it to collapsed stacks (jfrconv), and read those"},
	{"\x7f" "ELF", "is a program, not a profile"},
	{"\x28\xb5\x2f\xfd", "is compressed by zstd: unfold it with `zstd -d`, and read that"},
	{"\xfd" "7zXZ", "is compressed by xz: unfold it with `xz -d`, and read that"},
	{"BZh", "is compressed by bzip2: unfold it with `bzip2 -d`, and read that"},
	{"PK\x03\x04", "is a zip archive: unpack it, and read the profile in it"},
	{"{", "is JSON of no profile that is known: speedscope's and our own .json.gz are; or give pprof"},
};

static const char *name_other(const struct ep_vec *bytes)
{
	const char *data = bytes->data;
	size_t mark = strlen(EP_TEXT_MARK);

	if (!bytes->len)
		return "is empty";
	mark = bytes->len >= mark && memcmp(data, EP_TEXT_MARK, mark) == 0 ? mark : 0;
	for (size_t i = 0; i < EP_LEN(others); i++) {
		size_t n = strlen(others[i].magic);

		if (bytes->len - mark >= n && memcmp(data + mark, others[i].magic, n) == 0)
			return others[i].what;
	}
	if (ep_utf16_is_likely(bytes))
		return "is text in UTF-16 without a byte order mark: write it anew in UTF-8 (iconv), and read that";
	return "is no profile that is known: OTLP, pprof, folded stacks, speedscope, `perf script` text or a page are";
}

static const struct ep_reader *find_reader(const struct ep_vec *bytes)
{
	for (size_t i = 0; i < EP_LEN(readers); i++) {
		if (readers[i]->matches(bytes->data, bytes->len))
			return readers[i];
	}
	return NULL;
}

/* --- read --- */

static const char *default_why(int r)
{
	switch (r) {
	case -ENOMEM:
		return "there is not enough memory to read it";
	case -E2BIG:
		return "it is larger than what can be read";
	case -EINVAL:
		return "it counts something else than the files before it: read it alone";
	case -EBADMSG:
		return "it is damaged";
	default:
		return strerror(-r);
	}
}

static int fail(const struct ep_input *input, int r, const char *what, char *why)
{
	snprintf(why, EP_READ_WHY_BYTES, "%.120s: %.120s", input->path, what);
	return r;
}

int ep_input_read(struct ep_input *input, struct ep_profile_builder *builder, char *why)
{
	ep_cleanup(ep_vec_fini) struct ep_vec bytes;
	const struct ep_reader *reader;
	char detail[EP_READ_WHY_BYTES] = "";
	const char *what = NULL;
	int r;

	ep_vec_init(&bytes, 1, EP_READ_MAX_BYTES);
	r = ep_unpack(input->fd, &bytes, &what);
	if (r == 0)
		r = ep_utf16_decode(&bytes, &what);
	ep_closep(&input->fd);
	input->fd = -1;
	if (r < 0)
		return fail(input, r, what ? what : default_why(r), why);
	reader = bytes.len ? find_reader(&bytes) : NULL;
	if (!reader)
		return fail(input, -EBADMSG, name_other(&bytes), why);
	r = reader->read(bytes.data, bytes.len, builder, detail);
	return r < 0 ? fail(input, r, detail[0] ? detail : default_why(r), why) : 0;
}
