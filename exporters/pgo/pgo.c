/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of profiles for `go build -pgo`: pprof of one Go program. */
#include "exporters/pgo/encode.h"
#include "exporters/shared/file_exporter.h"

EP_FILE_EXPORTER("pgo", ".pgo", true, pgo_encode, EP_FILE_OPTIONS(".pgo"), EP_FILE_OPTION_LEVEL);
