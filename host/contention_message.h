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
 * The datagram of slurmstepd to nodeos-contend when the ranks of a step are forked and not yet
 * executed, and its answer. Text of one line, so that releases understand each other:
 *
 *   nodeos-contend 1 job=41 step=0 uid=1000 gid=1000 het=0 policy=dino ranks=0:5301:sim,1:5302:sim
 *
 * (policy: of --nodeos-contention, none: as containers and nodeos.conf say; rank:pid:container;
 * "-" for no container; pids are those of slurmstepd's pid namespace). Unknown
 * words are skipped; a word is given once. The socket (SOCK_DGRAM) is root's, mode 0600, and the
 * daemon checks SO_PASSCRED's uid, too. It answers to the sender's address: "ok N", ranks whose
 * counters are open, or "no REASON". The sender waits CONTENTION_WAIT_MS at most, and goes on
 * without an answer: the daemon finds ranks by the ledger and by contention_record.h, too.
 */
#define CONTENTION_SOCKET "/run/nodeos-contend/launch"
#define CONTENTION_WAIT_MS 50
/* bytes: 4,096 ranks in containers of the longest names; what the daemon has to take */
#define CONTENTION_MESSAGE_MAX (384 * 1024)

struct contention_rank {
	unsigned rank;
	pid_t pid;
	char container[REQUEST_NAME_MAX]; /* "": none */
};

struct contention_message {
	/* het_job is 0 from slurmstepd, whose environment is the user's */
	uint32_t job, step, het_job;
	uid_t uid;
	gid_t gid;
	enum contention_policy policy; /* CONTENTION_UNSET: the option was not given */
	unsigned n;
	/* n of them; the caller's, or see contention_message_free() */
	struct contention_rank *rank;
};

/* Returns a text to free(), NULL: out of memory or longer than CONTENTION_MESSAGE_MAX. */
char *contention_message_print(const struct contention_message *m);
/* Parse LEN bytes. Returns 0, or -1 with the reason; *OUT is then empty. */
int contention_message_parse(struct contention_message *out, const char *text, size_t len,
			     struct errbuf *err);
void contention_message_free(struct contention_message *m);

/*
 * Send M to the daemon at SOCKET and wait for its answer, CONTENTION_WAIT_MS at most in all.
 * Returns how many ranks it counts, or -1 with the reason (no daemon, no answer in time): never a
 * reason to stop a launch.
 */
int contention_message_send(const struct contention_message *m, const char *socket,
			    struct errbuf *err);

/* Return whether a daemon listens at SOCKET, or one that the caller may not ask. */
bool contention_is_running(const char *socket);

#endif
