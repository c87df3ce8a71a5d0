/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fakes and callbacks of tests are given more than they need: that is no mistake there. And no header
 * declares what stands for a function of libc or of ours (-Wl,--wrap).
 */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
