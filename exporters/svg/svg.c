/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter of a flame graph as one picture that stands alone. */
#include "exporters/shared/file_exporter.h"
#include "exporters/svg/encode.h"

EP_FILE_EXPORTER("svg", ".svg", false, svg_encode, EP_FILE_OPTIONS(".svg"));
