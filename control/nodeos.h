/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_H
#define NODEOS_H

/*
 * libnodeos: a program queries its own compute container, resizes it at run time, and notices when
 * another process resizes it. nodeos(3) has an example. nodeosd on the caller's node does the work.
 *
 * Only one thread at a time may use a handle. Texts belong to the handle and change with the next
 * call of nodeos_refresh, nodeos_changed or nodeos_resize on it.
 */
#ifdef __cplusplus
extern "C" {
#endif

typedef struct nodeos nodeos_t;

/*
 * Return a handle for the container that the caller is in, or NULL if out of memory. After any
 * other error, nodeos_error gives the reason, and nodeos_cpus returns 0.
 */
nodeos_t *nodeos_open(void);
void nodeos_close(nodeos_t *n); /* NULL does nothing */

/* Return the error of the last call that can fail, as one line; "" if it succeeded. */
const char *nodeos_error(const nodeos_t *n);

/* Query the container again. Returns 0, or -1 with the handle unchanged. */
int nodeos_refresh(nodeos_t *n);

const char *nodeos_container(const nodeos_t *n); /* the container's name */
unsigned nodeos_job(const nodeos_t *n);

/* Hardware threads and memory nodes: a list of the kernel's numbers, as "0-3,8", or how many. */
const char *nodeos_cpulist(const nodeos_t *n); /* of the container */
unsigned nodeos_cpus(const nodeos_t *n);
const char *nodeos_rank_cpulist(const nodeos_t *n); /* of the caller's rank */
unsigned nodeos_rank_cpus(const nodeos_t *n);
const char *nodeos_memlist(const nodeos_t *n);
unsigned nodeos_mems(const nodeos_t *n);

/*
 * Resize the container to CPUS and MEMS, each as "8", "+2" or "-2"; MEMS also as "16G", or as nodes
 * of one kind, "hbm:+1". NULL: unchanged. All ranks of the container on this node follow, with all
 * threads. Returns 0 with the new state in the handle, or -1 with everything unchanged.
 */
int nodeos_resize(nodeos_t *n, const char *cpus, const char *mems);

/*
 * Return a file descriptor that becomes readable (poll(2)) when a container of this node changes;
 * it is readable at first, because of changes before this call. The descriptor belongs to the
 * handle. Returns -1 with nodeos_error on failure.
 */
int nodeos_fd(nodeos_t *n);

/*
 * Returns 1, with the new state in the handle, if the caller's container has changed since the last
 * query; 0 if it has not; -1 with nodeos_error if that is unknown, and then the next call queries
 * again. Never waits for a change.
 */
int nodeos_changed(nodeos_t *n);

/*
 * Let the calling thread allocate memory from all present nodes of the container, and from no
 * others (set_mempolicy(2)). No other process can do this for the thread. Returns 0, or -1 with
 * nodeos_error.
 */
int nodeos_bind_memory(nodeos_t *n);

#ifdef __cplusplus
}
#endif

#endif
