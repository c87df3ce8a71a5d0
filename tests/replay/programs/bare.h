/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_REPLAY_BARE_H
#define TESTS_REPLAY_BARE_H

void bare_inner(void (*fn)(void));
void bare_outer(void (*fn)(void));

#endif
