/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodeosd does for users what only root can do. Each process handles one request: systemd starts
 * nodeosd for a connection, with the socket as standard input. nodeosd trusts no client: the kernel
 * gives the user, protocol.c parses the one line of the request, and a request affects only that
 * user's jobs.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/hostname.h"
#include "base/printable.h"
#include "base/proc.h"
#include "config.h"
#include "control/delete.h"
#include "control/owned.h"
#include "control/protocol.h"
#include "control/query.h"
#include "control/resize.h"
#include "report/node_report.h"

/* seconds that the client has to send a piece of its line, or to receive a piece of the answer */
#define SECONDS 10

static const char usage_text[] = "Usage: nodeosd\n"
				 "Answers one request of NodeOS (nodeosctl show, resize, delete, "
				 "exec; nodeos(3)) on the socket that is its standard input;\n"
				 "nodeosd.socket of systemd starts it. See nodeosctl(1).\n"
				 "\n"
				 "  -h, --help     print this\n"
				 "  -V, --version  print the version\n";

/* Read one line, which may come in any number of pieces. Returns 0, or -1 with the reason. */
static int nodeosd_read_line(char line[ASK_LINE_MAX], struct errbuf *err)
{
	size_t len = 0;
	ssize_t n;

	for (;;) {
		n = read(0, line + len, ASK_LINE_MAX - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return errprintf(err, "cannot read the request: %s",
					 n == 0 ? "the line has no end" : strerror(errno));
		len += (size_t)n;
		line[len] = '\0';
		if (memchr(line, '\n', len))
			break;
		if (len == ASK_LINE_MAX - 1)
			return errprintf(err, "request: the line is longer than %d bytes",
					 ASK_LINE_MAX - 2);
	}
	if (strlen(line) != len || line[len - 1] != '\n' || strchr(line, '\n') != line + len - 1)
		return errprintf(err, "request: there must be exactly one line");
	line[len - 1] = '\0';
	return 0;
}

/* Show the containers of the user's own jobs; root sees all containers. */
static int nodeosd_show(FILE *f, const struct ask *a, uid_t uid, struct errbuf *err)
{
	struct machine *m = NULL;
	struct errbuf ignored;
	struct node_state s;
	char node[NODE_NAME_MAX];

	if (node_state_look(&s, uid, a->job, err) < 0)
		return -1;
	if (a->job && !s.n_jobs) {
		node_state_free(&s);
		return errprintf(err,
				 uid == 0 ? "job %u has no containers on this node"
					  : "you have no job %u with containers on this node",
				 a->job);
	}
	/* the ledger does not show whose entry is damaged */
	if (uid != 0)
		errclear(&s.bad);
	node_name_of(node, s.n_jobs ? s.job[0]->cgroup : "");
	if (a->json) {
		machine_load_whole(&m, &ignored);
		node_report_json(f, &s, node, m);
		machine_free(m);
	} else {
		node_report_text(f, &s, node);
	}
	node_state_free(&s);
	return 0;
}

/*
 * Find the job and the node on which srun can start a command beside the ranks of a container. Only
 * Slurm creates processes in jobs; NodeOS moves none there.
 */
static int nodeosd_find(FILE *f, const struct ask *a, uid_t uid, const char *cgroup,
			struct errbuf *err)
{
	char node[NODE_NAME_MAX];
	struct node_state s;
	struct owned found;
	int rc;

	if (node_state_look(&s, uid, a->job, err) < 0)
		return -1;
	rc = owned_find(&found, &s, a, cgroup, err);
	if (rc == 0 && found.own)
		rc = errprintf(err,
			       "container %s was made by the options of step %u.%u, but Slurm "
			       "starts no process beside the ranks of that step: only containers "
			       "of the job's manifest (sbatch --nodeos-manifest) can be joined",
			       a->container, found.job->job_id, found.own->step_id);
	if (rc == 0) {
		node_name_of(node, found.job->cgroup);
		fprintf(f, "job %u\nnode %s\n", found.job->job_id, node);
	}
	node_state_free(&s);
	return rc;
}

static int answer_request(FILE *f, struct errbuf *err)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	char line[ASK_LINE_MAX], cgroup[CGROUP_PATH_MAX];
	struct ask a;

	if (getsockopt(0, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.uid == (uid_t)-1)
		return errprintf(err, "standard input is not a socket connected to a client; "
				      "nodeosd.socket of systemd starts nodeosd");
	if (nodeosd_read_line(line, err) < 0 || ask_parse(&a, line, err) < 0)
		return -1;
	if (process_cgroup_of(cgroup, sizeof(cgroup), peer.pid) < 0)
		cgroup[0] = '\0';
	switch (a.operation) {
	case ASK_SHOW:
		return nodeosd_show(f, &a, peer.uid, err);
	case ASK_QUERY:
		return query_peer(f, peer.pid, peer.uid, err);
	case ASK_RESIZE:
		/* no alarm: a change must be completed, and moving pages takes long */
		alarm(0);
		return resize_container(f, &a, peer.uid, cgroup, NODEOS_LIBEXECDIR "/nodeos-plan",
					err);
	case ASK_DELETE:
		/* no alarm: killed ranks and a buffer's device may take long */
		alarm(0);
		return delete_container(f, &a, peer.uid, cgroup, err);
	case ASK_FIND:
		return nodeosd_find(f, &a, peer.uid, cgroup, err);
	}
	return errprintf(err, "request: the operation is unknown");
}

int main(int argc, char **argv)
{
	struct timeval patience = { .tv_sec = SECONDS };
	struct errbuf err = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int rc;

	if (argc > 1) {
		bool version = strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0,
		     help = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;

		fputs(version ? "nodeosd " VERSION "\n" : usage_text,
		      version || help ? stdout : stderr);
		return version || help ? 0 : 2;
	}
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_DUMPABLE, 0);
	/* end the process even if the client sends single bytes, each within SECONDS */
	alarm(6 * SECONDS);
	setsockopt(0, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(0, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	f = open_memstream(&text, &len);
	if (!f)
		return 1;
	fputs("ok\n", f);
	rc = answer_request(f, &err);
	if (fclose(f) != 0)
		rc = errprintf(&err, "out of memory");
	if (rc < 0) {
		char line[sizeof(err.text) + 16];

		snprintf(line, sizeof(line), "error %s\n", err.text);
		if (write_all(0, line, strlen(line)) < 0)
			fprintf(stderr, "nodeosd: %s\n", printable(line, sizeof(line), err.text));
	} else if (write_all(0, text, len) < 0) {
		rc = -1;
	}
	free(text);
	return rc < 0;
}
