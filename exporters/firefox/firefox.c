/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of the Firefox Profiler's processed profile format. */
#include "exporters/firefox/encode.h"
#include "exporters/shared/file_exporter.h"

EP_FILE_EXPORTER("firefox", ".json.gz", true, firefox_encode,
		 EP_FILE_OPTIONS(".json.gz"), EP_FILE_OPTION_LEVEL);
