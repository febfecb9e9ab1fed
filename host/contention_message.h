/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_HOST_CONTENTION_MESSAGE_H
#define NODEOS_HOST_CONTENTION_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "manifest/request.h"

/*
 * A datagram to nodeos-contend, and its answer. slurmstepd sends the datagram after it has forked
 * the ranks of a step, before they execute their program. The text is one line, which each release
 * must understand:
 *
 *   nodeos-contend 1 job=41 step=0 uid=1000 gid=1000 het=0 policy=dino ranks=0:5301:sim,1:5302:sim
 *
 * "policy" has the word of --nodeos-contention; without "policy", containers and nodeos.conf
 * decide. A rank is RANK:PID:CONTAINER, with "-" for no container; pids are those of slurmstepd's
 * pid namespace. Unknown words are skipped; each known word may occur once. The socket (SOCK_DGRAM)
 * belongs to root and has mode 0600; the daemon also checks the sender's uid, which it gets from
 * the kernel (SO_PASSCRED). The daemon sends its answer to the sender's address: "ok N", the number
 * of ranks whose counters are open, or "no REASON". The sender waits at most CONTENTION_WAIT_MS and
 * then continues without an answer, because the daemon also finds ranks by the ledger and by
 * contention_record.h.
 */
#define CONTENTION_SOCKET "/run/nodeos-contend/launch"
#define CONTENTION_WAIT_MS 50 /* milliseconds */
/* bytes that the daemon must accept: 4,096 ranks in containers with the longest names */
#define CONTENTION_MESSAGE_MAX (384 * 1024)

struct contention_rank {
	unsigned rank;
	pid_t pid;
	char container[REQUEST_NAME_MAX]; /* "": none */
};

struct contention_message {
	/* slurmstepd sends het_job 0: it could read the number only from the user's environment */
	uint32_t job, step, het_job;
	uid_t uid;
	gid_t gid;
	enum contention_policy
		policy; /* policy of --nodeos-contention; CONTENTION_UNSET: not given */
	unsigned n;
	/* N elements; contention_message_free() frees those of contention_message_parse() */
	struct contention_rank *rank;
};

/*
 * Return the text, which the caller frees; NULL when out of memory, or if the text would be longer
 * than CONTENTION_MESSAGE_MAX.
 */
char *contention_message_print(const struct contention_message *m);
/* Parse the LEN bytes of TEXT. Returns 0, or -1 with the reason; *OUT is then empty. */
int contention_message_parse(struct contention_message *out, const char *text, size_t len,
			     struct errbuf *err);
void contention_message_free(struct contention_message *m);

/*
 * Send M to the daemon at SOCKET, and wait for its answer, at most CONTENTION_WAIT_MS in total.
 * Returns the number of ranks that the daemon counts, or -1 with the reason, such as no daemon or
 * no answer in time. A failure must not stop a launch.
 */
int contention_message_send(const struct contention_message *m, const char *socket,
			    struct errbuf *err);

/* Return whether a daemon listens at SOCKET; also true if the caller may not connect to it. */
bool contention_is_running(const char *socket);

#endif
