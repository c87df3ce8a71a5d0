/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mapped where in a process: /proc/PID/maps, parsed as a stream into a vector with a
 * maximum. The result is sorted by address and disjoint, even when the process changed its
 * mappings between two reads: a line that does not fit in is dropped and counted.
 *
 *	55d0c8a00000-55d0c8a21000 r-xp 00002000 fe:01 1835043      /usr/bin/cat (deleted)
 *	start        end          prot file_off dev   inode        path
 *
 * [vsyscall] is left out: it lies in the kernel's half of the address space and is the same page in
 * every process, so whoever compares addresses may rely on them being below 2^63.
 *
 * 100 000 mappings take about 25 ms on the development machine (kernel 6.18), nearly all of it in
 * the kernel; the PROCMAP_QUERY ioctl of 6.11 took 15 ms for the same, too little to have both.
 *
 * struct ep_maps belongs to its caller; paths in it are valid until the next read or fini.
 */
#ifndef EP_PROC_MAPS_H
#define EP_PROC_MAPS_H

#include "core/base/vec.h"

#include <string.h>
#include <sys/types.h>

enum ep_mapping_kind {
	EP_MAPPING_FILE = 0,  /* a file on some file system */
	EP_MAPPING_MEMFD = 1, /* memfd_create: maybe an ELF file, maybe a JIT's code */
	EP_MAPPING_ANON = 2,  /* no file: [heap], [anon:x], //anon, shared /dev/zero, System V */
	EP_MAPPING_VDSO = 3,
	EP_MAPPING_OTHER = 4, /* [vsyscall], [uprobes], [vvar], ... */
};

/* A 32-bit process has everything below, a 64-bit one its vDSO at the end of its address space. */
#define EP_MAPS_COMPAT_END (1ull << 32)

enum ep_mapping_prot {
	EP_PROT_READ = 1 << 0,
	EP_PROT_WRITE = 1 << 1,
	EP_PROT_EXEC = 1 << 2,
	EP_PROT_SHARED = 1 << 3,
};

struct ep_mapping {
	uint64_t start, end; /* target addresses [start, end) */
	uint64_t file_off;   /* bytes */
	uint64_t inode;	     /* 0: no file */
	uint32_t dev_major, dev_minor;
	uint8_t kind;	     /* enum ep_mapping_kind */
	uint8_t prot;	     /* enum ep_mapping_prot, or-ed */
	bool deleted;	     /* " (deleted)" was cut off the path */
	uint32_t path_bytes; /* without the NUL */
	/*
	 * As the kernel prints it, newlines decoded: seen from the root of the process's mount
	 * namespace if that differs from ours. "" without a name. NUL-terminated in struct ep_maps,
	 * not after ep_maps_parse_line.
	 */
	const char *path;
};

enum ep_maps_filter {
	EP_MAPS_EXECUTABLE,
	EP_MAPS_ALL,
};

struct ep_maps {
	struct ep_vec mappings; /* struct ep_mapping */
	struct ep_vec paths;	/* NUL-terminated strings */
	uint64_t seen;		/* lines read */
	uint64_t dropped;	/* wanted, but over the maximum, out of order or malformed */
	/* Of ep_maps_read, which tells of suspect devices (core/proc/suspects.h): */
	pid_t pid;
	char last_dev[24]; /* as the last line with a file printed it */
	uint8_t last_dev_bytes;
};

/* At most `max` mappings are kept, and 256 bytes of path for each on average. */
void ep_maps_init(struct ep_maps *maps, size_t max);
void ep_maps_fini(struct ep_maps *maps); /* accepts a zeroed struct */

/*
 * Reads the mappings of a process, replacing what was there. A process whose main thread has
 * exited is read through another of its threads; a kernel thread or zombie has no mappings.
 * 0, -ESRCH when it is gone, -EACCES/-EPERM, -ENOMEM.
 */
int ep_maps_read(struct ep_maps *maps, pid_t pid, enum ep_maps_filter filter);
/* The same from a descriptor or from bytes in the format of /proc/PID/maps. */
int ep_maps_read_fd(struct ep_maps *maps, int fd, enum ep_maps_filter filter);
int ep_maps_parse(struct ep_maps *maps, const char *data, size_t bytes, enum ep_maps_filter filter);

/* One line without its newline. Fills all but the decoding of newlines. 0, -EBADMSG. */
int ep_maps_parse_line(const char *line, size_t bytes, struct ep_mapping *ret_mapping);

/* Memory that was given a name (memfd_create): the kernel shows it as "/memfd:NAME (deleted)". */
static inline bool ep_is_memfd_path(const char *path)
{
	return path && strncmp(path, "/memfd:", strlen("/memfd:")) == 0;
}

/* The mapping that holds `addr`, or NULL. */
const struct ep_mapping *ep_maps_find(const struct ep_maps *maps, uint64_t addr);

/*
 * Code in memory of no file between two mappings of one file, where that file's bytes would be: its text was copied there,
 * for huge pages (core/process/moved_text.h). `mapping` is one of `maps`, which has all. *ret_file: the mapping before it.
 */
bool ep_maps_find_moved(const struct ep_maps *maps, const struct ep_mapping *mapping, const struct ep_mapping **ret_file);

#endif
