/* SPDX-License-Identifier: Apache-2.0 */
/* Fakes and callbacks of tests are given more than they need: that is no mistake there. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
