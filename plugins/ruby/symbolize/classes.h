/* SPDX-License-Identifier: Apache-2.0 */
/* Names of classes and modules (docs/ruby.md says where they are in which release). */
#ifndef RUBY_CLASSES_H
#define RUBY_CLASSES_H

#include "plugins/ruby/symbolize/names.h"

#include <stdbool.h>
#include <stddef.h>

#define RUBY_NO_CLASS_NAME 100 /* it has no permanent one */

/*
 * What stands before a method of this owner: its name, and of a singleton class that of its object,
 * if that is a class or module. 0, RUBY_NO_CLASS_NAME, EP_NOT_YET (how classes have names is not
 * known yet), -EBADMSG (no class), or what reading returned.
 */
int ruby_owner_read(struct ruby_namer *namer, uint64_t owner, char *buf, size_t size,
		    bool *ret_singleton);

#endif
