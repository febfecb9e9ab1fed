/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "container/enter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "container/buffer.h"
#include "container/node_state.h"
#include "container/owned.h"
#include "container/process.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* The cgroup of a rank that has this container's CPUs and no others. */
static int find_task(char path[CGROUP_PATH_MAX + 300], const struct node_state *s, const struct owned *f, struct errbuf *err)
{
	struct errbuf ignored;
	struct idset cpus;
	struct dirent *e;
	bool good = false;
	DIR *d;
	int fd;

	snprintf(path, CGROUP_PATH_MAX + 300, "%s/user", f->step->cgroup);
	fd = openat(s->cgroup_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	while (d && !good && (e = readdir(d))) {
		if (strncmp(e->d_name, "task_", 5) != 0)
			continue;
		snprintf(path, CGROUP_PATH_MAX + 300, "%s/user/%s", f->step->cgroup, e->d_name);
		good = !cgroup_is_empty(s->cgroup_fd, path) && cgroup_read_set(s->cgroup_fd, path, "cpuset.cpus.effective", &cpus, &ignored) == 0 &&
		       !idset_empty(&cpus) && idset_subset(&cpus, &f->container->reserved);
	}
	if (d)
		closedir(d);
	return good ? 0 : errprintf(err, "no rank is in container %s of job %u any more, or none yet", f->container->name, f->job->job_id);
}

/* Slurm counts, signals and waits for what is in a step; that of ssh sessions (step_extern) waits for nobody. */
static int check_outside(pid_t peer, uid_t uid, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX], name[32];
	struct stat st;
	const char *at;

	if (process_cgroup_of(path, sizeof(path), peer) < 0)
		return errprintf(err, "the process that asks is not to be seen in /proc (another pid namespace?)");
	/* it may have become somebody else's since it asked */
	snprintf(name, sizeof(name), "/proc/%ld", (long)peer);
	if (stat(name, &st) < 0 || st.st_uid != uid)
		return errprintf(err, "the process that asks is not yours any more");
	at = strstr(path, "/step_");
	if (at && strncmp(at, "/step_extern", 12) != 0)
		return errprintf(err, "this shell or program is of a step of Slurm, which would lose it: srun --overlap --nodeos-container=NAME COMMAND runs one there; exec is for sessions by ssh");
	return 0;
}

/* A handle of the process, which no other one with its number can be taken for. */
static int open_peer(int socket, pid_t peer)
{
	socklen_t len = sizeof(int);
	int fd = -1;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) < 0)
		fd = (int)syscall(SYS_pidfd_open, peer, 0);
	return fd;
}

static bool is_alive(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static int move(int socket, const struct node_state *s, const char *path, pid_t peer, uid_t uid, struct errbuf *err)
{
	char text[24];
	int pidfd = open_peer(socket, peer), rc;

	if (pidfd < 0)
		return errprintf(err, "the process that asks has ended");
	snprintf(text, sizeof(text), "%ld", (long)peer);
	rc = is_alive(pidfd) ? check_outside(peer, uid, err) : errprintf(err, "the process that asks has ended");
	if (rc == 0)
		rc = cgroup_write(s->cgroup_fd, path, "cgroup.procs", text, err);
	/* it was alive all the time, so it was this one */
	if (rc == 0 && !is_alive(pidfd))
		rc = errprintf(err, "the process that asks has ended meanwhile");
	close(pidfd);
	return rc;
}

static void tell(FILE *out, const struct node_state *s, const struct owned *f)
{
	static struct request r;
	char list[IDSET_LIST_MAX], buffer[BUFFER_PATH_MAX];
	struct errbuf ignored;

	fprintf(out, "container %s\n", f->container->name);
	idset_format(&f->container->cpus, list, sizeof(list));
	fprintf(out, "cpus %s\n", list);
	idset_format(&f->container->mems, list, sizeof(list));
	fprintf(out, "mems %s\n", list);
	if (f->container->confined)
		fputs("bind yes\n", out);
	for (unsigned i = 0; request_parse(&r, f->request, &ignored) == 0 && i < r.n; i++)
		if (strcmp(r.container[i].name, f->container->name) == 0 && r.container[i].dimmap.size) {
			buffer_path(buffer, s->conf.state_dir, f->inode, i);
			fprintf(out, "buffer %s\n", buffer);
			break;
		}
}

int enter_peer(FILE *out, int socket, const struct ask *a, pid_t peer, uid_t uid, struct errbuf *err)
{
	char path[CGROUP_PATH_MAX + 300];
	struct node_state s;
	struct owned f;
	int rc;

	/* first what no answer to another question could change; again when it cannot become another process any more */
	if (check_outside(peer, uid, err) < 0 || node_state_load(&s, err) < 0)
		return -1;
	node_state_keep(&s, uid == 0 ? (uid_t)-1 : uid, a->job);
	rc = owned_find(&f, &s, a, "", err);
	if (rc == 0 && !f.step)
		rc = errprintf(err, "no step of job %u has ranks in container %s here: srun --jobid=%u --nodeos-container=%s starts one", f.job->job_id, a->container,
			       f.job->job_id, a->container);
	if (rc == 0)
		rc = find_task(path, &s, &f, err);
	if (rc == 0)
		rc = move(socket, &s, path, peer, uid, err);
	if (rc == 0)
		tell(out, &s, &f);
	node_state_free(&s);
	return rc;
}
