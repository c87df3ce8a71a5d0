/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of text as `perf script` prints it, for the many tools that read that. */
#include "exporters/perf/encode.h"
#include "exporters/shared/file_exporter.h"

EP_FILE_EXPORTER("perf", ".perf.txt", false, perf_encode, EP_FILE_OPTIONS(".perf.txt"));
