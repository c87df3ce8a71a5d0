/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a loaded library. OpenSSL's handshake runs through most of its code, sending through
 * little: what was mapped for the first needs not stay resident.
 */
#ifndef OTLP_LIBRARY_H
#define OTLP_LIBRARY_H

/*
 * Unmaps the pages of its code and constants, which come back from the page cache one by one as
 * they are used; a probe that somebody set in them (uprobes) is gone with them. Any thread, while
 * others run the library.
 */
void otlp_library_drop_pages(void *handle); /* from dlopen */

#endif
