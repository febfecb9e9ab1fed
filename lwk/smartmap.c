/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/smartmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lwk/machine/host.h"
#include "lwk/machine/window.h"
#include "lwk/memory.h"
#include "lwk/nodeos-smartmap.h"

#define BACKLOG 4096 /* connections are never accepted, and each rank makes one */
#define TEXT_MAX 4096
#define LINK_MAX_NAME 64
#define EXTENT_BEGIN "100000000000-" /* in /proc/PID/maps */
#define EXTENT_LINK "/memfd:nodeos-lwk (deleted)"

static struct {
	bool on;
	struct lock lock;
	struct smartmap_rank self;
	bool attached[NODEOS_SMARTMAP_RANKS];
} smartmap;

/* Names of a step's rank in the environment. */
static const struct {
	const char *step, *more, *rank;
} known[] = {
	{ "PMIX_NAMESPACE", NULL, "PMIX_RANK" },
	{ "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID" },
};

int smartmap_find_rank(struct smartmap_rank *r, char *(*lookup)(const char *), unsigned user,
		       struct errbuf *err)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *step = lookup(known[i].step), *rank = lookup(known[i].rank);
		const char *more = known[i].more ? lookup(known[i].more) : "";
		char *end;
		unsigned long n;

		if (!step || !rank || !more)
			continue;
		n = strtoul(rank, &end, 10);
		if (*rank < '0' || *rank > '9' || *end || n >= NODEOS_SMARTMAP_RANKS)
			return errprintf(err, "--smartmap: %s=%s: not a rank below %d",
					 known[i].rank, rank, NODEOS_SMARTMAP_RANKS);
		r->number = (unsigned)n;
		if ((size_t)snprintf(r->name, sizeof(r->name), "nodeos-lwk/%u/%s.%s/", user, step,
				     more) >= sizeof(r->name))
			return errprintf(err, "--smartmap: %s is too long", known[i].step);
		return 0;
	}
	return errprintf(err, "--smartmap: no rank of a step: neither PMIX_NAMESPACE and PMIX_RANK"
			      " nor SLURM_JOB_ID, SLURM_STEP_ID and SLURM_PROCID are set");
}

const char *smartmap_find_step(const char *cgroups, size_t *length)
{
	const char *step = strstr(cgroups, "/step_"), *line = cgroups, *begin;

	*length = 0;
	if (!step)
		return cgroups;
	for (const char *c = cgroups; c < step; c++)
		if (*c == '\n')
			line = c + 1;
	/* the path begins at the first slash: numbers and names of controllers have none */
	begin = strchr(line, '/');
	*length = (size_t)(step - begin) + strlen("/step_");
	*length += strcspn(begin + *length, "/\n");
	return begin;
}

/* Set A to the address of RANK's socket; returns its length. */
static long make_address(struct sockaddr_un *a, unsigned rank)
{
	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	strcpy(a->sun_path + 1, smartmap.self.name);
	host_append_number(a->sun_path + 1, rank);
	return (long)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a->sun_path + 1));
}

int smartmap_start(int fd, struct errbuf *err)
{
	struct sockaddr_un a;
	long length, s;

	if (smartmap_find_rank(&smartmap.self, getenv, geteuid(), err) < 0)
		return -1;
	length = make_address(&a, smartmap.self.number);
	s = machine_hide_descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (s < 0 || machine_hide_descriptor(fd) < 0)
		return errprintf(err, "--smartmap: socket: %s", strerror(errno));
	if (bind((int)s, (struct sockaddr *)&a, (socklen_t)length) < 0)
		return errprintf(err, "--smartmap: another process is rank %u of this step: %s",
				 smartmap.self.number, strerror(errno));
	if (listen((int)s, BACKLOG) < 0)
		return errprintf(err, "--smartmap: listen: %s", strerror(errno));
	smartmap.on = true;
	return 0;
}

void smartmap_set_child(void)
{
	smartmap.on = false;
}

/* Read the file NAME of process PID, and put a null byte behind it. Returns 0 or -errno. */
static long read_process(int pid, const char *name, char text[TEXT_MAX])
{
	char path[64] = "/proc/";
	long fd, n;

	host_append_number(path, (unsigned)pid);
	strcat(path, name);
	fd = host_call(SYS_open, (long)path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fd;
	n = host_call(SYS_read, fd, (long)text, TEXT_MAX - 1);
	host_call(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? n : 0;
}

/*
 * Return whether the cgroups of process PID and of this process are in the same step of Slurm; true
 * if neither is in a step.
 */
static bool is_of_step(int pid)
{
	char own[TEXT_MAX], other[TEXT_MAX];
	size_t own_length, other_length;
	const char *a, *b;

	if (read_process((int)host_call(SYS_getpid, 0), "/cgroup", own) < 0 ||
	    read_process(pid, "/cgroup", other) < 0)
		return false;
	a = smartmap_find_step(own, &own_length);
	b = smartmap_find_step(other, &other_length);
	return own_length == other_length && memcmp(a, b, own_length) == 0;
}

struct entry { /* struct linux_dirent64 */
	uint64_t inode, offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

uint64_t smartmap_find_inode(const char *maps)
{
	const char *c = strstr(maps, EXTENT_BEGIN);
	uint64_t inode = 0;

	_Static_assert(MEMORY_BASE == 0x100000000000UL, "EXTENT_BEGIN is MEMORY_BASE");
	for (int field = 0; c && field < 4; field++) {
		c = strchr(c, ' ');
		c = c ? c + 1 : NULL;
	}
	while (c && *c >= '0' && *c <= '9')
		inode = inode * 10 + (uint64_t)(*c++ - '0');
	return inode;
}

/*
 * Open the file of INODE, one of the entries of the folder DIR; ENTRIES has N bytes. Returns -ESRCH
 * if it is not there. The inode decides: a rank that attaches has, for a moment, a descriptor of
 * another rank's extent, too.
 */
static long open_among(long dir, const char *entries, long n, uint64_t inode)
{
	char link[LINK_MAX_NAME] = "";

	for (long at = 0; at < n;) {
		const struct entry *e = (const struct entry *)(entries + at);
		long length =
			host_call(SYS_readlinkat, dir, (long)e->name, (long)link, sizeof(link) - 1);
		struct stat s;
		long fd;

		at += e->size;
		if (length != (long)strlen(EXTENT_LINK) ||
		    memcmp(link, EXTENT_LINK, (size_t)length) != 0)
			continue;
		fd = host_call(SYS_openat, dir, (long)e->name, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && host_call(SYS_fstat, fd, (long)&s) == 0 && s.st_ino == inode)
			return fd;
		if (fd >= 0)
			host_call(SYS_close, fd);
	}
	return -ESRCH;
}

/* Open the extent of process PID. Returns a file descriptor or -errno. */
static long open_extent(int pid)
{
	char path[64] = "/proc/", entries[2048] __attribute__((aligned(8))), maps[TEXT_MAX];
	long dir, n, fd = -ESRCH;
	uint64_t inode;

	n = read_process(pid, "/maps", maps);
	if (n < 0)
		return n;
	inode = smartmap_find_inode(maps);
	host_append_number(path, (unsigned)pid);
	strcat(path, "/fd");
	dir = host_call(SYS_open, (long)path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return dir;
	while (fd == -ESRCH &&
	       (n = host_call(SYS_getdents64, dir, (long)entries, sizeof(entries))) > 0)
		fd = open_among(dir, entries, n, inode);
	host_call(SYS_close, dir);
	return fd;
}

/* Map the file FD for RANK, with its windows. Returns 0 or -errno. */
static long map_extent(long fd, unsigned rank)
{
	uint64_t to = (uint64_t)nodeos_smartmap_address((int)rank, (void *)MEMORY_BASE);
	struct statfs fs;
	struct stat s;
	long rc;

	if (host_call(SYS_fstat, fd, (long)&s) < 0 || host_call(SYS_fstatfs, fd, (long)&fs) < 0 ||
	    fs.f_type != HUGETLBFS_MAGIC)
		return -EACCES;
	rc = host_call(SYS_mmap, (long)to, s.st_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_POPULATE, fd, 0);
	if (rc != (long)to)
		return rc == -ENODEV ? rc : -ENOMEM;
	rc = 0;
	for (uint64_t at = to; rc >= 0 && at < to + (uint64_t)s.st_size; at += WINDOW_SIZE)
		rc = window_open(at);
	if (rc < 0)
		host_call(SYS_munmap, (long)to, s.st_size);
	return rc < 0 ? -ENOMEM : 0;
}

/*
 * Attach to the rank that listens at the other end of SOCKET. Linux may give a PID to a new process
 * when its process has ended. So the extent of the PID is used only if the other end is still there
 * after the extent has been opened.
 */
static long attach_peer(long socket, unsigned rank)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	long fd, rc;
	char byte;

	rc = host_call(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&size);
	if (rc < 0)
		return rc;
	if (peer.uid != (uid_t)host_call(SYS_geteuid, 0) || peer.pid <= 0 || !is_of_step(peer.pid))
		return -EACCES;
	fd = open_extent(peer.pid);
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	rc = host_call(SYS_recvfrom, socket, (long)&byte, 1, MSG_PEEK | MSG_DONTWAIT);
	rc = rc == -EAGAIN ? map_extent(fd, rank) : -ESRCH;
	host_call(SYS_close, fd);
	return rc;
}

static long attach_rank(unsigned rank)
{
	struct sockaddr_un a;
	long length = make_address(&a, rank), rc;
	long s = host_call(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (s < 0)
		return s;
	rc = host_call(SYS_connect, s, (long)&a, length);
	rc = rc == 0 ? attach_peer(s, rank) : rc == -ECONNREFUSED ? -ESRCH : rc;
	host_call(SYS_close, s);
	return rc;
}

long smartmap_attach(struct thread *t, const long arg[6])
{
	long rc = 0;

	(void)t;
	if (!smartmap.on)
		return -ENOSYS;
	if (arg[0] < 0 || arg[0] >= NODEOS_SMARTMAP_RANKS)
		return -ERANGE;
	lock_take(&smartmap.lock);
	if (!smartmap.attached[arg[0]])
		rc = attach_rank((unsigned)arg[0]);
	if (rc == 0)
		smartmap.attached[arg[0]] = true;
	lock_release(&smartmap.lock);
	return rc;
}
