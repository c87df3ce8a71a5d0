/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request needs from files: headers whose values are there (tokens that somebody rotates),
 * and for a new connection certificates, read again when they have changed. Worker's.
 */
#ifndef OTLP_PREPARE_H
#define OTLP_PREPARE_H

#include "exporters/otlp/client.h"
#include "exporters/otlp/tls.h"

/* What files looked like when they were read. */
struct otlp_signature {
	uint64_t words[3 * 4];
};

struct otlp_prepared {
	char *values[OTLP_MAX_HEADERS];	 /* by header of the config; NULL: not from a file */
	struct otlp_tls *tls;		 /* a new one, or NULL: the present one is good */
	struct otlp_signature signature; /* of tls */
	int error;
	char why[OTLP_WHY_BYTES];
};

bool otlp_needs_prepare(const struct otlp_config *config, bool is_connected);
/*
 * needs_tls: a connection is about to be opened. present: NULL when there is no tls yet. The result
 * is in ret->error and ret->why.
 */
void otlp_prepare(const struct otlp_config *config, bool needs_tls,
		  const struct otlp_signature *present, struct otlp_prepared *ret);
void otlp_prepared_fini(struct otlp_prepared *prepared);

#endif
