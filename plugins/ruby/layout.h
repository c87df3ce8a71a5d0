/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What differs between the releases of Ruby. Offsets are bytes; x86-64; 0: there is none. What is
 * the same in all of 2.5 to 4.0 stands where it is used.
 */
#ifndef RUBY_LAYOUT_H
#define RUBY_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define RUBY_RELEASE(major, minor) ((major)*100u + (minor))
#define RUBY_OLDEST		   RUBY_RELEASE(2, 5)
#define RUBY_NEWEST_KNOWN	   RUBY_RELEASE(4, 0)

/* rb_control_frame_t (vm_core.h). */
struct ruby_frame_layout {
	uint32_t bytes, jit_return;
};

/* rb_iseq_constant_body (vm_core.h) and its table of lines (iseq.h: struct
 * iseq_insn_info_entry). */
struct ruby_body_layout {
	uint32_t info, info_size;      /* insns_info.body, .size */
	uint32_t succ;		       /* insns_info.succ_index_table; 0: .positions, at info + 8 */
	uint32_t parent, local;	       /* parent_iseq, local_iseq */
	uint32_t entry_bytes, line_no; /* of an entry of the table */
};

/* Classes: struct RClass and rb_classext (internal/class.h), enum ruby_fl_type. */
struct ruby_class_layout {
	uint32_t ext;	      /* the classext: a part of the class, */
	bool ext_is_pointer;  /* or a pointer to it */
	uint32_t iv_table; /* in it: st_table of variables, with __classpath__ and __attached__ */
	uint32_t classpath;   /* in it: the name's string */
	uint32_t permanent;   /* in it: the byte with permanent_classpath in bit 0; 0: not known */
	uint32_t attached;    /* in it: of a singleton class its object */
	uint32_t singleton;   /* bit of the flags: FL_SINGLETON */
};

struct ruby_layout {
	uint32_t release; /* RUBY_RELEASE: of the process, may be newer than what is known */
	struct ruby_frame_layout frame;
	struct ruby_body_layout body;
	struct ruby_class_layout class;
	bool lineno_is_value;  /* location.first_lineno: a Fixnum, else an int */
	bool string_in_flags;  /* an embedded string: length in bits 14 to 18, bytes at 16; else 16
				  and 24 */
	uint32_t moved;	       /* where an object that was moved (T_MOVED) says its new address */
	uint32_t def_serial;   /* rb_method_definition_struct: method_serial */
	uint32_t thread_id;    /* rb_thread_t: thread_id, where the ec is a global */
};

/* Newer releases get the newest layout: attach checks it. False: older than RUBY_OLDEST. */
bool ruby_layout_find(uint32_t major, uint32_t minor, struct ruby_layout *ret);

/* Of a body, up to the last member that names are made of: at most RUBY_MAX_BODY_BYTES. */
#define RUBY_MAX_BODY_BYTES 256
uint32_t ruby_body_bytes(const struct ruby_body_layout *layout);

#endif
