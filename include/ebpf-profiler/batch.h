/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batch: what was sampled in one interval, names resolved, ready to be written. It is immutable
 * and reference counted (struct ep_host: batch_ref, batch_unref); exporters share it.
 *
 * Tables are columns: arrays of equal length, so that a table can gain a column without changing
 * the others. Row 0 of every table but samples means "none". Columns named *_first have one entry
 * more than the table has rows: row i owns [first[i], first[i + 1]) of the array they index.
 *
 *   samples ──► stacks ──► locations ──► lines ──► functions ──► strings
 *          └──► processes            └──► mappings
 */
#ifndef EP_BATCH_H
#define EP_BATCH_H

#include "ebpf-profiler/abi.h"
#include "ebpf-profiler/unnamed.h"

#include <stdbool.h>
#include <stdint.h>

enum ep_mapping_flag {
	EP_MAPPING_KERNEL = 1 << 0,
	EP_MAPPING_HAS_FUNCTIONS = 1 << 1, /* its locations were given names where it has any */
};

enum ep_location_flag {
	EP_LOCATION_POINTER_WALK = 1 << 0, /* found by frame pointer, no unwind rule vouches for it */
	EP_LOCATION_ERROR = 1 << 1,	   /* not code: says why the stack ends here */
	EP_LOCATION_UNNAMED = 1 << 2,	   /* its function is a made-up "libx.so+0x1234" */
	EP_LOCATION_GAP = 1 << 3,	   /* not code: says why frames are missing here, and the
					    * stack goes on after them */
};

struct ep_batch {
	uint32_t size; /* of this struct, see abi.h */
	uint32_t period_hz;

	uint64_t start_ns; /* wall clock, Unix epoch */
	uint64_t duration_ns;
	uint64_t period_ns;	 /* CPU time one sample stands for, in the mean of all CPUs */
	const char *host_name;	 /* NUL-terminated, never NULL */
	const char *sample_type; /* "cpu" */

	/* strings: row 0 is "". Each is UTF-8 and NUL-terminated. */
	uint32_t n_strings;
	const char *const *string_text;
	const uint32_t *string_bytes; /* without the NUL */

	uint32_t n_functions;
	const uint32_t *function_name;	      /* string: demangled */
	/* String: as the symbol table or the runtime has it: mangled, or with a signature. */
	const uint32_t *function_system_name;
	const uint32_t *function_file;	      /* string: source file, "" when unknown */
	const uint32_t *function_line;	      /* where it starts, 0 when unknown */

	/* mappings: one executable (or the kernel), not one mapping of one process */
	uint32_t n_mappings;
	const uint64_t *mapping_start_va; /* page-aligned ELF virtual address */
	const uint64_t *mapping_limit_va;
	const uint64_t *mapping_file_off; /* of start_va, page-aligned */
	const uint32_t *mapping_path;	  /* string: path, or [kernel.kallsyms], [vdso] */
	const uint32_t *mapping_build_id; /* string: GNU build id in hex, "" when absent */
	const uint32_t *mapping_go_build_id; /* string: Go's own build id, "" when it is none */
	const uint32_t *mapping_file_id;  /* string: file id in hex (first 16 bytes of SHA-256) */
	const uint32_t *mapping_flags;	  /* enum ep_mapping_flag */

	uint32_t n_locations;
	/*
	 * ELF virtual address; kernel: the address itself. Where its name was looked up: of a frame
	 * that called, the last byte of the call, not the address it returns to. 0: a frame of a
	 * language.
	 */
	const uint64_t *location_address;
	const uint32_t *location_mapping;   /* row of mappings */
	/*
	 * String: "kernel", "native", "error", "gap", or a language's frame_type: "cpython". Native
	 * code can be a language's as well: "go".
	 */
	const uint32_t *location_kind;
	const uint32_t *location_flags;	    /* enum ep_location_flag */
	const uint32_t *location_line_first; /* into lines, innermost (inlined) first */

	uint32_t n_lines;
	const uint32_t *line_function; /* row of functions, never 0 */
	const uint32_t *line_line;     /* 0 when unknown */
	const uint32_t *line_column;

	uint32_t n_stacks;
	const uint32_t *stack_location_first; /* into stack_location, leaf first */
	const uint8_t (*stack_hash)[16];      /* equal on two machines for an equal stack */
	const uint32_t *stack_error;	      /* 0 for a stack walked to its root, else enum ep_error, or
					       * from EP_ERROR_FIRST_DYNAMIC on a language's error:
					       * the text is in the stack's error frame */
	const uint32_t *stack_error_text;    /* string: why the stack is incomplete, "" if it is not */
	uint32_t n_stack_locations;
	const uint32_t *stack_location; /* row of locations */

	uint32_t n_processes;
	const uint32_t *process_pid;
	const uint64_t *process_start_ns; /* wall clock */
	const uint32_t *process_comm;	  /* string: of its main thread */
	const uint32_t *process_exe_path; /* string: as the process sees it, "" when unknown */
	const uint32_t *process_container_id; /* string, "" outside a container */
	/* Another number after each exec: a process is (pid, start, image), and one row each. */
	const uint32_t *process_image;
	/* Variables of a process's environment that an exporter asked for (want_environment). */
	uint32_t n_process_env;
	uint32_t pad;
	const uint32_t *process_env_first; /* into process_env_*: per process, with an end mark */
	const uint32_t *process_env_name;  /* string */
	const uint32_t *process_env_value; /* string */

	/* samples: equal stack, thread and CPU are one row. Row 0 is a sample like any other. */
	uint32_t n_samples;
	const uint32_t *sample_stack;
	const uint32_t *sample_process;
	const uint32_t *sample_tid;
	const uint32_t *sample_thread_name; /* string */
	const uint32_t *sample_cpu;
	const uint32_t *sample_count;
	/* Into sample_time_ns; count times each, or none where a file has lost them. */
	const uint32_t *sample_time_first;
	const uint64_t *sample_time_ns;	   /* wall clock */
	/*
	 * CPU time each row stands for: its count times the period of its CPU's sampling clock.
	 * These periods differ from CPU to CPU, and period_ns is their mean, so that shares and
	 * times are sums of weights; counts say how many samples they rest on.
	 */
	const uint64_t *sample_weight_ns;

	/* what is missing */
	uint64_t lost_samples; /* dropped in the kernel or by a limit: they have no row */

	/* Names that are not known. Frames that are missing count: nobody could name them. */
	const uint32_t *location_unnamed; /* enum ep_unnamed, 0: its name is known */
	/*
	 * 0: every frame of the stack is there, and those of languages have their names. Else enum
	 * ep_unnamed of that frame without a name that is nearest to the leaf; never
	 * EP_UNNAMED_NO_SYMBOL, see ep_batch_has_no_symbol.
	 */
	const uint32_t *stack_unnamed;
	const uint32_t *stack_unnamed_text; /* string: "toy: gone before it was named"; "": none */

	/*
	 * What sample_weight_ns counts: "nanoseconds" where it is missing, and in all that is recorded here.
	 * A file of others may be read that counts "bytes" or "count": then no weight is a time.
	 */
	const char *weight_unit;

	/*
	 * Of the sampling clocks: how many samples would have been taken had no CPU been idle and none been
	 * lost. lost_samples is a share of these. Where only some processes are recorded, as many of all ticks
	 * as theirs were among those of programs. 0: not known.
	 */
	uint64_t due_samples;

	/* What the profiler itself used meanwhile: of all its threads; in BPF, on all CPUs. 0: not known. */
	uint64_t agent_cpu_ns, bpf_ns;
	uint32_t n_cpus; /* that were sampled; 0: not known */
	uint32_t pad2;

	/*
	 * Whose a process is. Strings: its effective user by name, or by number where there is no name;
	 * its cgroup in the tree of cgroup v2, "/system.slice/nginx.service", and the innermost unit of
	 * systemd in that, "nginx.service", or the same path where there is none. "": not known.
	 */
	const uint32_t *process_user;
	const uint32_t *process_cgroup;
	const uint32_t *process_unit;

	/*
	 * What it is a recording of, for people: the command that was given, cut where it is long;
	 * of each side of a difference its files. "": not known.
	 */
	const char *title;
};

/* The weight of a row, of a batch that any host made. */
static inline uint64_t ep_batch_weight_ns(const struct ep_batch *batch, uint32_t row)
{
	return EP_HAS(batch, sample_weight_ns) ? batch->sample_weight_ns[row]
					       : batch->sample_count[row] * batch->period_ns;
}

/* How many samples the lost ones are to be compared with: `taken` and the lost where nobody counted. */
static inline uint64_t ep_batch_due_samples(const struct ep_batch *batch, uint64_t taken)
{
	uint64_t least = taken + batch->lost_samples;

	return EP_HAS(batch, due_samples) && batch->due_samples > least ? batch->due_samples : least;
}

/* True for a stack with code of a file, or of the kernel, that has no symbol for it. */
static inline bool ep_batch_has_no_symbol(const struct ep_batch *batch, uint32_t stack)
{
	if (!EP_HAS(batch, location_unnamed))
		return false;
	for (uint32_t i = batch->stack_location_first[stack];
	     i < batch->stack_location_first[stack + 1]; i++) {
		if (batch->location_unnamed[batch->stack_location[i]] == EP_UNNAMED_NO_SYMBOL)
			return true;
	}
	return false;
}

/* True for a stack with an address in code of no file, as a JIT makes it, that nobody could name. */
static inline bool ep_batch_has_raw_code(const struct ep_batch *batch, uint32_t stack)
{
	for (uint32_t i = batch->stack_location_first[stack];
	     i < batch->stack_location_first[stack + 1]; i++) {
		uint32_t location = batch->stack_location[i];

		if (EP_HAS(batch, location_unnamed)) {
			if (batch->location_unnamed[location] == EP_UNNAMED_NO_FILE)
				return true;
			continue; /* what has no mapping may be a frame of a language */
		}
		if ((batch->location_flags[location] & EP_LOCATION_UNNAMED) &&
		    batch->location_mapping[location] == 0)
			return true;
	}
	return false;
}

/*
 * True for a stack that reached its root, but passes code of no file whose unwind rules nobody knows: its
 * callers are what frame pointers say, which may be right or wrong. Not complete, and not incomplete.
 */
static inline bool ep_batch_is_unverified(const struct ep_batch *batch, uint32_t stack)
{
	return batch->stack_error[stack] == 0 && ep_batch_has_raw_code(batch, stack);
}

#endif
