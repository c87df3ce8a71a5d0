/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which programs there are: those that run, by pid, and those that ended in the last minutes, by
 * pid too, the newest first. Loop's thread only.
 */
#ifndef EP_PROCESS_TABLE_H
#define EP_PROCESS_TABLE_H

#include "core/base/map.h"
#include "core/process/process.h"

TAILQ_HEAD(ep_ended_list, ep_process);

struct ep_table {
	struct ep_map live;  /* pid -> struct ep_process * */
	struct ep_map ended; /* pid -> struct ep_process *, linked by `older` */
	/* Those that ended, oldest first: just now; those of them that were sampled, with their
	 * mappings and languages; those of which only the identity is wanted. */
	struct ep_ended_list recent, lingering, kept;
	size_t n_ended;
};

void ep_table_init(struct ep_table *table, size_t max_live);
/* Everything must be out. */
void ep_table_fini(struct ep_table *table);

struct ep_process *ep_table_find_live(const struct ep_table *table, pid_t pid);
/* Running or ended. NULL: none. */
struct ep_process *ep_table_find(const struct ep_table *table, struct ep_program program);
/* The program that a pid ran at a time; NULL: none, or long gone. */
struct ep_process *ep_table_find_at(const struct ep_table *table, pid_t pid, uint64_t time_ns);

/* When the next program under this pid began, after a time; 0: none is known. */
uint64_t ep_table_next_birth(const struct ep_table *table, pid_t pid, uint64_t time_ns);
/* The others by `older`; NULL: none. */
struct ep_process *ep_table_newest_ended(const struct ep_table *table, pid_t pid);

/* Takes the process, whose pid has no other live one. 0, -E2BIG, -ENOMEM: it is not taken. */
int ep_table_add(struct ep_table *table, struct ep_process *process);
/* From live to ended; sets its state and ended_ns. */
void ep_table_end(struct ep_table *table, struct ep_process *process, uint64_t time_ns);

/* Takes one that was heard of when it had ended already. */
void ep_table_add_ended(struct ep_table *table, struct ep_process *process, uint64_t time_ns);

/* The first of a list that ended before a time; NULL: none. */
struct ep_process *ep_table_first_ended(struct ep_ended_list *list, uint64_t before_ns);
/* To the end of another list. */
void ep_table_move(struct ep_process *process, struct ep_ended_list *from,
		   struct ep_ended_list *to);
/* Out of the table: gives it. */
void ep_table_remove_ended(struct ep_table *table, struct ep_process *process,
			   struct ep_ended_list *list);

#endif
