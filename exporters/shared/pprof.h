/* SPDX-License-Identifier: Apache-2.0 */
/* What those who write pprof have in common: all of a batch, or one Go program. */
#ifndef EP_EXPORTERS_PPROF_H
#define EP_EXPORTERS_PPROF_H

#include "exporters/shared/proto/pprof_fields.h"

#define PIECE_BYTES   (64 * 1024)	 /* handed to the sink at a time */
#define ELEMENT_BYTES ((size_t)16 << 20) /* one string or sample at most */

#endif
