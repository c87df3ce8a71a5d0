/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for people: C++ (Itanium ABI), Rust (legacy and v0) and D demangled by libiberty, with
 * bounds. A symbol table is hostile input: a few hundred bytes of mangled name can stand for a
 * name of many gigabytes, so output stops at a limit and recursion is limited.
 */
#ifndef EP_SYMBOL_DEMANGLE_H
#define EP_SYMBOL_DEMANGLE_H

#define EP_DEMANGLE_MAX_INPUT  4096
#define EP_DEMANGLE_MAX_OUTPUT 8192 /* with "..." in place of what was cut */

/*
 * The readable form of a symbol's name: without "@VERSION", demangled when it can be, clone
 * suffixes as "[clone .cold]", Rust hashes removed, "@plt" kept; otherwise the name itself. UTF-8,
 * no control characters. Gives `ret_name`, from malloc. 0 or -ENOMEM.
 */
int ep_demangle(const char *symbol, char **ret_name);

/* Control characters and what is not UTF-8 become '?', in place. */
void ep_name_clean(char *name);

#endif
