/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter's inside, for tests: what an opened exporter has delivered so far. */
#ifndef OTLP_OTLP_H
#define OTLP_OTLP_H

struct otlp_sender_stats;

const struct otlp_sender_stats *otlp_exporter_stats(const void *exporter);

#endif
