/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of files from which the whole batch can be read again (exporters/shared/otlp/file.h). */
#include "exporters/shared/file_exporter.h"
#include "exporters/shared/otlp/file.h"

EP_FILE_EXPORTER("otlp_file", ".otlp.gz", true, otlp_file_write,
		 EP_FILE_OPTIONS(".otlp.gz"), EP_FILE_OPTION_LEVEL);
