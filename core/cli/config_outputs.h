/* SPDX-License-Identifier: Apache-2.0 */
/* From the configuration's [[exporter]] tables to exporters. */
#ifndef EP_CLI_CONFIG_OUTPUTS_H
#define EP_CLI_CONFIG_OUTPUTS_H

#include "core/cli/outputs.h"
#include "core/config/config.h"

/* Checks every [[exporter]] against its plugin. 0 or the first error, all of them printed. */
int ep_config_outputs_check(const struct ep_config_file *config);
/* The same of the directories that they write to: are they there? */
int ep_config_outputs_check_places(const struct ep_config_file *config);
/* The names in [plugins] enable and languages: are there such plugins? 0 or -EINVAL, all that are
 * not printed. */
int ep_config_outputs_check_names(const struct ep_config_file *config);
/* Opens one; see ep_outputs_open. */
int ep_config_outputs_open(struct ep_outputs *outputs, const struct ep_config_file *config,
			   const struct ep_config_exporter *exporter);

#endif
