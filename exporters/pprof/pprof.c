/* SPDX-License-Identifier: Apache-2.0 */
/* The pprof exporter: files in the format of `go tool pprof`. */
#include "exporters/pprof/encode.h"
#include "exporters/shared/file_exporter.h"

EP_FILE_EXPORTER("pprof", ".pb.gz", true, pprof_encode,
		 EP_FILE_OPTIONS(".pb.gz"), EP_FILE_OPTION_LEVEL);
