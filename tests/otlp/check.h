/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a request of the Profiles signal by the rules of opentelemetry-proto 1.11.0
 * (profiles.proto) and of its conformance checker, and by more:
 *
 *   structure   at least one resource, scope and profile each; sample type with type and unit; only
 *               fields that exist, of the right wire type; strings are UTF-8
 *   tables      none empty, element 0 is the empty element, no element twice, none unreferenced
 *   indices     all within their tables
 *   attributes  no key twice in a list; resource keys unique; profile.frame.type on each location
 *   mappings    start and limit 0, or start < limit
 *   lines       numbers not negative; a function has a name, a system name or a file
 *   samples     timestamps in [time, time + duration); values and timestamps of equal number, or
 * one of them; the same shape within a profile; no two of equal identity devfiler    frame types of
 * its list, htlhash on a mapping with attributes (if asked for)
 */
#ifndef OTLP_CHECK_H
#define OTLP_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct otlp_check_options {
	bool devfiler;
	size_t max_bytes; /* 0: any */
	FILE *print;	  /* NULL, or where each stack goes, see otlp_check_print in check.c */
};

struct otlp_check_result {
	uint32_t violations;
	char text[4096]; /* the first ones, a line each */
	uint32_t resources, profiles, samples;
	uint64_t events;       /* timestamps, or values without timestamps */
	uint64_t weight_ns;    /* each event times its profile's period */
	uint32_t table_len[8]; /* by field number of ProfilesDictionary */
};

/* 0 when there is no violation, 1 when there is; -ENOMEM. */
int otlp_check(const void *data, size_t len, const struct otlp_check_options *options,
	       struct otlp_check_result *ret_result);

#endif
