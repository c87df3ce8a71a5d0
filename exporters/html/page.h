/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile as a page: one HTML file that draws the profile it carries, with nothing from elsewhere.
 *
 *	head		script and style of page/, joined by page/build_page.py; ends with
 *			<script type="application/octet-stream" id="profile">
 *	base64		of the gzip bytes of the message of exporters/shared/otlp/file.h
 *	</script>	and, of a page that compares, the same again with id="profile-base"
 *	tail
 *
 * Neither the message nor its text is ever in memory as a whole.
 */
#ifndef HTML_PAGE_H
#define HTML_PAGE_H

#include "ebpf-profiler/batch.h"
#include "exporters/shared/sink.h"

struct html_page_options {
	int level;	  /* gzip's, 1 to 9 */
	const char *base; /* "" or a .otlp.gz file: what the profile is compared with */
};

/* Any thread. 0 or a negative errno, and perhaps a sentence in sink->why. */
int html_page_write(const struct ep_batch *batch, const char *version,
		    const struct html_page_options *options, struct ep_sink *sink);

#endif
