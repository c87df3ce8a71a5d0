/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin to begin with: a copy of a template in a directory of its own, with another name in its
 * files and symbols. In text and in names of files, `new` takes the place of `toy`:
 *
 *	toy with no letter or digit beside it	toy.c, toy_run, "toy"	new.c, new_run, "new"
 *	TOY, if an underscore follows as well	TOY_VERSION		NEW_VERSION
 */
#ifndef EP_CLI_NEW_PLUGIN_H
#define EP_CLI_NEW_PLUGIN_H

#include <stddef.h>

#define EP_NEW_PLUGIN_ERROR 512

struct ep_vec;

/* Appends to `ret_text` (bytes). 0, -ENOMEM, -E2BIG. */
int ep_new_plugin_rename(const char *text, size_t len, const char *from, const char *to,
			 struct ep_vec *ret_text);

/*
 * Makes the directory `name` in the present one, from the template, whose own name is `from`. 0, or
 * a negative errno and one sentence that says what to do; then no directory is left.
 */
int ep_new_plugin_write(const char *template_dir, const char *from, const char *name,
			char error[EP_NEW_PLUGIN_ERROR]);

#endif
