/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_GUEST_QMP_H
#define NODEOS_GUEST_QMP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "guest/shape.h"

/* How a guest ended, as QEMU's events say. */
enum guest_end {
	GUEST_RUNS,
	GUEST_POWEROFF,
	GUEST_RESET,
	GUEST_PANIC,
	GUEST_QUIT, /* QEMU was asked to end, or has another reason */
};

/* How far QEMU is with a save, by its events. */
enum qmp_migration {
	QMP_MIGRATION_NONE,
	QMP_MIGRATION_COMPLETED,
	QMP_MIGRATION_FAILED, /* or cancelled */
};

#define QMP_VERSION_MAX 16 /* bytes of a version such as "10.0" */

/* A connection to QEMU's monitor: a line of JSON for each message. */
struct qmp {
	int fd;
	char *line; /* what has arrived of lines that are not taken yet */
	size_t used, room;
	enum guest_end end;
	enum qmp_migration migration;
	char version[QMP_VERSION_MAX]; /* version of QEMU without its last part */
	long id; /* id of the last command that waited for an answer */
	int limit; /* milliseconds that a command waits for its answer; 0: for ever */
};

struct json_object;

/*
 * Wait for QEMU's greeting at FD, a connected socket, and make it take commands. Returns 0, or -1:
 * QEMU has ended, or did not answer as QEMU. There is no limit of time, because QEMU first
 * populates the guest's memory. The caller calls qmp_close() in both cases.
 */
int qmp_open(struct qmp *q, int fd, struct errbuf *err);

/* Execute COMMAND, which needs no arguments. *ANSWER, if not NULL, is for json_object_put(). */
int qmp_call(struct qmp *q, const char *command, struct json_object **answer, struct errbuf *err);

/* Like qmp_call(), with ARGUMENTS, a JSON object (NULL: none). */
int qmp_call_with(struct qmp *q, const char *command, const char *arguments,
		  struct json_object **answer, struct errbuf *err);

/* Give QEMU a copy of the descriptor FD. Later commands refer to the copy as NAME. */
int qmp_give(struct qmp *q, const char *name, int fd, struct errbuf *err);

/* Send COMMAND; qmp_read() drops its answer. Returns 0, or -1 when QEMU cannot take it. */
int qmp_send(struct qmp *q, const char *command);

/* Take what QEMU has sent; events change END. Returns 0, or -1 at the end of QEMU. */
int qmp_read(struct qmp *q);

void qmp_close(struct qmp *q);

/*
 * Take one message of QEMU, a line of LEN bytes, and note an event in Q. *ANSWER is the answer to
 * the command `id` of Q, for json_object_put(), or NULL. Returns 0, or -1 if that command failed.
 */
int qmp_take(struct qmp *q, const char *line, size_t len, struct json_object **answer,
	     struct errbuf *err);

/*
 * Find the threads of the CPUs of SHAPE in LIST, the answer to query-cpus-fast, and write them to
 * THREAD in the order of SHAPE. Returns 0, or -1 if a CPU is missing.
 */
int qmp_cpu_threads(pid_t thread[GUEST_CPUS_MAX], const struct guest_shape *shape,
		    struct json_object *list, struct errbuf *err);

#endif
