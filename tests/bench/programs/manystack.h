/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What coststack and its three libraries share. Each library has fourteen functions on the stack,
 * in three chains, each on a text page of its own that it shares with functions which are never
 * called, as in libraries of some size.
 */
#ifndef MANYSTACK_H
#define MANYSTACK_H

#define KEEP	  __attribute__((noinline, noclone, noipa))
#define EXPORT	  __attribute__((visibility("default"))) KEEP
#define BARRIER() __asm__ volatile("" ::: "memory")

struct many;
typedef long many_link(struct many *many);

/* The chains of all libraries in their order, at last the leaf. */
struct many {
	many_link *links[10];
	unsigned at;
};

static inline long many_next(struct many *many)
{
	return many->links[many->at++](many);
}

/* Functions nobody calls, of about 100 bytes with a prologue and an epilogue of four rows. */
#define FILLER(name)                                                                               \
	__attribute__((used)) static KEEP long name(struct many *many)                             \
	{                                                                                          \
		unsigned at = many->at;                                                            \
		long sum = at;                                                                     \
                                                                                                   \
		__asm__ volatile(".skip 60, 0x90");                                                \
		sum += many_next(many);                                                            \
		return sum * at;                                                                   \
	}
#define FILLERS(name)                                                                              \
	FILLER(name##_1) FILLER(name##_2) FILLER(name##_3) FILLER(name##_4) FILLER(name##_5)       \
	FILLER(name##_6) FILLER(name##_7) FILLER(name##_8)
#define FILL(name)                                                                                 \
	FILLERS(name##_a) FILLERS(name##_b) FILLERS(name##_c) FILLERS(name##_d)

/* A function with `bytes` of locals that calls the next one. Exported ones begin with LIBRARY. */
#define GLUE(a, b)  a##b
#define PASTE(a, b) GLUE(a, b)
#define LINK_EXPORT(name, bytes, call)                                                             \
	FILL(fill_##name)                                                                          \
	LINK_BODY(EXPORT, PASTE(LIBRARY, _##name), bytes, call)
#define LINK(name, bytes, call)                                                                    \
	FILL(fill_##name)                                                                          \
	LINK_BODY(static KEEP, name, bytes, call)
#define LINK_BODY(type, name, bytes, call)                                                         \
	type long name(struct many *many)                                                          \
	{                                                                                          \
		volatile char room[bytes];                                                         \
		long sum;                                                                          \
                                                                                                   \
		room[0] = (char)many->at;                                                          \
		sum = call;                                                                        \
		BARRIER();                                                                         \
		return sum + room[0] + many->at;                                                   \
	}

#endif
