/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of folded stacks, for flamegraph.pl and what else reads them. */
#include "exporters/folded/encode.h"
#include "exporters/shared/file_exporter.h"

EP_FILE_EXPORTER("folded", ".folded", false, folded_encode, EP_FILE_OPTIONS(".folded"));
