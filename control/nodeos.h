/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_H
#define NODEOS_H

/*
 * libnodeos: a program asks for its own compute container, lets it grow or shrink while it runs,
 * and is told when somebody else has done that. nodeos(3) has an example; nodeosd does the work, on
 * the node that the caller is on.
 *
 * A handle is used by one thread at a time. Texts belong to the handle and change with the next
 * call of nodeos_refresh, nodeos_changed or nodeos_resize on it.
 */
#ifdef __cplusplus
extern "C" {
#endif

typedef struct nodeos nodeos_t;

/* The container that the caller is in. NULL when out of memory; where anything else is wrong
 * nodeos_error says so, and nodeos_cpus is 0. */
nodeos_t *nodeos_open(void);
void nodeos_close(nodeos_t *n); /* NULL is fine */

/* What is wrong since the last call that could fail, as one line; "" when nothing is. */
const char *nodeos_error(const nodeos_t *n);

/* Ask again. 0, or -1 and all is as it was. */
int nodeos_refresh(nodeos_t *n);

const char *nodeos_container(const nodeos_t *n); /* its name */
unsigned nodeos_job(const nodeos_t *n);

/* Hardware threads and memory nodes as the kernel numbers them, "0-3,8", and how many these are. */
const char *nodeos_cpulist(const nodeos_t *n); /* of the container */
unsigned nodeos_cpus(const nodeos_t *n);
const char *nodeos_rank_cpulist(const nodeos_t *n); /* of these, the caller's rank's */
unsigned nodeos_rank_cpus(const nodeos_t *n);
const char *nodeos_memlist(const nodeos_t *n);
unsigned nodeos_mems(const nodeos_t *n);

/*
 * Let the container have CPUS and MEMS, each as "8", "+2" or "-2", MEMS also as "16G", or NULL: as
 * it is. All its ranks on this node go along, with their threads. 0 when that is done, and what
 * there is now is known; -1 when it cannot be, and all is as before.
 */
int nodeos_resize(nodeos_t *n, const char *cpus, const char *mems);

/*
 * A file descriptor that can be read (poll(2)) when containers of this node have changed, and once
 * at first, for what changed before anybody watched; the handle's. -1 with nodeos_error.
 */
int nodeos_fd(nodeos_t *n);

/*
 * Has the caller's changed since it was last asked for? 1: yes, and what it has is known; 0: no; -1
 * with nodeos_error: not known, and the next call asks again. Never waits for a change.
 */
int nodeos_changed(nodeos_t *n);

/*
 * Let the calling thread take memory from all nodes that the container has now, and from no others
 * (set_mempolicy(2)): the one thing that nobody else can do for it. 0, or -1 with nodeos_error.
 */
int nodeos_bind_memory(nodeos_t *n);

#ifdef __cplusplus
}
#endif

#endif
