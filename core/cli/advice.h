/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EP_CLI_ADVICE_H
#define EP_CLI_ADVICE_H

#include "core/cli/parts/doctor.h"

/* What the languages of the plugin directory advise about the processes that run; `arg` is the
 * configuration. As `advise` of struct ep_doctor_options. */
void ep_cmd_advise(void *arg, const struct ep_doctor_rows *rows);

#endif
