/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EP_REPORTS_JSON_H
#define EP_REPORTS_JSON_H

#include <stdio.h>

/* A string with its quotes. What is no UTF-8 is replaced: names, paths and arguments are hostile.
 */
void ep_json_put_string(FILE *out, const char *text);

#endif
