/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hold [SECONDS [write|exec]]: make a process whose address space the kernel cannot lock. Any user
 * can do so. A thread waits in a page fault for a FUSE server in this program that does not answer;
 * the fault holds the mmap_lock. Prints "held" when the lock is held. With SECONDS 0 the fault
 * never ends; otherwise it ends after SECONDS, and "answered" is printed. Needs user namespaces and
 * /dev/fuse.
 *
 * With "write", another thread then waits for the mmap_lock as a writer, and so do later readers of
 * the lock, such as a read of numa_maps. With "exec", a child that shares the address space then
 * also calls execve(). The call waits for the mmap_lock and holds the child's exec_update_lock
 * meanwhile, for which readers of the child's /proc/PID/stat must wait. Before the call, the child
 * prints "executes PID" with its own PID.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fuse.h>

#define FILE_NODE 2
#define FILE_SIZE 4096

static volatile char *page;

static void die(const char *what)
{
	fprintf(stderr, "hold: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(path);
	close(fd);
}

static void own_namespaces(void)
{
	unsigned uid = getuid(), gid = getgid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		die("unshare");
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
}

static void answer(int fuse, const struct fuse_in_header *in, int error, const void *data,
		   size_t size)
{
	static char out[4096];
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + size),
					.error = -error,
					.unique = in->unique };

	memcpy(out, &head, sizeof(head));
	if (size)
		memcpy(out + sizeof(head), data, size);
	if (write(fuse, out, head.len) < 0 && errno != ENOENT)
		die("answer");
}

static struct fuse_attr attributes(uint64_t node)
{
	bool file = node == FILE_NODE;

	return (struct fuse_attr){ .ino = node,
				   .size = file ? FILE_SIZE : 0,
				   .nlink = 1,
				   .mode = file ? S_IFREG | 0444 : S_IFDIR | 0555 };
}

/*
 * Serve the file. The first read of a page fails: the kernel reads without the lock, and then tries
 * again. The second read gets no answer: during this read the kernel holds the lock.
 */
static void serve(int fuse, unsigned seconds)
{
	static char request[1 << 17];
	struct fuse_in_header in;
	unsigned reads = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		ssize_t n = read(fuse, request, sizeof(request));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)sizeof(in))
			_exit(0); /* the file system has ended */
		memcpy(&in, request, sizeof(in));
		if (in.opcode == FUSE_INIT) {
			struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
						     .minor = 31,
						     .max_readahead = FILE_SIZE,
						     .max_write = FILE_SIZE };

			answer(fuse, &in, 0, &out, sizeof(out));
		} else if (in.opcode == FUSE_LOOKUP) {
			struct fuse_entry_out out = { .nodeid = FILE_NODE,
						      .entry_valid = 9999,
						      .attr_valid = 9999,
						      .attr = attributes(FILE_NODE) };

			answer(fuse, &in, 0, &out, sizeof(out));
		} else if (in.opcode == FUSE_GETATTR) {
			struct fuse_attr_out out = { .attr_valid = 9999,
						     .attr = attributes(in.nodeid) };

			answer(fuse, &in, 0, &out, sizeof(out));
		} else if (in.opcode == FUSE_OPEN) {
			struct fuse_open_out out = { .fh = 1 };

			answer(fuse, &in, 0, &out, sizeof(out));
		} else if (in.opcode == FUSE_READ && ++reads == 2) {
			printf("held\n");
			fflush(stdout);
			while (!seconds)
				pause();
			sleep(seconds);
			answer(fuse, &in, EIO, NULL, 0);
		} else if (in.opcode == FUSE_READ) {
			answer(fuse, &in, EIO, NULL, 0);
		} else if (in.opcode != FUSE_FORGET && in.opcode != FUSE_INTERRUPT) {
			answer(fuse, &in, ENOSYS, NULL, 0);
		}
	}
}

static void answered(int sig)
{
	static const char text[] = "answered\n";

	(void)sig;
	if (write(1, text, sizeof(text) - 1) < 0)
		_exit(1);
	_exit(0);
}

static void *fault(void *unused)
{
	(void)*page;
	return unused;
}

/* Wait for the lock as a writer, so that later readers must wait, too. */
static void *write_lock(void *unused)
{
	mmap(NULL, FILE_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return unused;
}

/*
 * Let a child call execve(). vfork() returns only after this call, so this thread cannot wait for
 * the child.
 */
static void *execute(void *unused)
{
	static char name[] = "true";
	static char *argv[] = { name, NULL };

	if (vfork() == 0) {
		char line[] = "executes           \n";
		unsigned at = sizeof(line) - 3;

		/* after vfork(), call no library function that allocates memory or takes a lock */
		for (pid_t pid = getpid(); pid; pid /= 10)
			line[at--] = (char)('0' + pid % 10);
		if (write(1, line, sizeof(line) - 1) < 0)
			_exit(1);
		execv("/bin/true", argv);
		_exit(1);
	}
	return unused;
}

/* Threads must be created before the lock is held, since mapping their stacks takes the lock. */
static void *execute_later(void *unused)
{
	sleep(1);
	return execute(unused);
}

static void *write_lock_later(void *unused)
{
	usleep(500000);
	return write_lock(unused);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/hold.XXXXXX", text[128];
	unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	bool exec = argc > 2 && strcmp(argv[2], "exec") == 0;
	bool writer = exec || (argc > 2 && strcmp(argv[2], "write") == 0);
	pthread_t thread, others[2];
	int fuse, file;

	if (!mkdtemp(dir))
		die(dir);
	own_namespaces();
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse < 0)
		die("/dev/fuse");
	snprintf(text, sizeof(text), "fd=%d,rootmode=40555,user_id=0,group_id=0", fuse);
	if (mount("hold", dir, "fuse", MS_NOSUID | MS_NODEV, text) < 0)
		die("mount");
	switch (fork()) {
	case -1:
		die("fork");
		break;
	case 0:
		serve(fuse, seconds);
		break;
	}
	/* close the device here, so that the file system and the fault end when the server ends */
	close(fuse);
	snprintf(text, sizeof(text), "%s/file", dir);
	file = open(text, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		die(text);
	/* the open file keeps the file system, so the directory can be removed at once */
	if (umount2(dir, MNT_DETACH) < 0 || rmdir(dir) < 0)
		die(dir);
	page = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, file, 0);
	/* without read-ahead, the kernel reads only the requested page */
	if (page == MAP_FAILED || madvise((void *)page, FILE_SIZE, MADV_RANDOM) < 0)
		die("mmap");
	signal(SIGBUS, answered);
	if ((writer && pthread_create(&others[0], NULL, write_lock_later, NULL) != 0) ||
	    (exec && pthread_create(&others[1], NULL, execute_later, NULL) != 0))
		die("pthread_create");
	if (pthread_create(&thread, NULL, fault, NULL) != 0)
		die("pthread_create");
	for (;;)
		pause();
}
