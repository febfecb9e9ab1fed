/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes as a program sees them through libnodeos. A thread of the test acts as nodeosd, and
 * answers as in query.h.
 */
#include "control/libnodeos_at.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/test/fixture.h"
#include "base/test/tap.h"

static int listener;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *cpus = "0-3"; /* CPUs of the container; NULL: the server answers with an error */
static unsigned asked;

static void *serve_queries(void *arg)
{
	char text[200];
	int fd;

	(void)arg;
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		ssize_t n = read(fd, text, sizeof(text));

		pthread_mutex_lock(&lock);
		asked++;
		if (cpus)
			snprintf(text, sizeof(text),
				 "ok\njob 7\ncontainer sim\ncpus %s\nmems 0\nrank_cpus %s\n", cpus,
				 cpus);
		else
			snprintf(text, sizeof(text), "error out of order\n");
		pthread_mutex_unlock(&lock);
		if (n > 0 && write(fd, text, strlen(text)) < 0)
			perror("write");
		close(fd);
	}
	return NULL;
}

static void set_cpus(const char *list)
{
	pthread_mutex_lock(&lock);
	cpus = list;
	pthread_mutex_unlock(&lock);
}

static unsigned count_queries(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = asked;
	pthread_mutex_unlock(&lock);
	return n;
}

/* Write the number 1 to the file of changes: any write wakes its watchers. */
static void count_change(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || pwrite(fd, "1\n", 2, 0) != 2)
		bail("%s", path);
	close(fd);
}

static bool is_readable(nodeos_t *n)
{
	struct pollfd p = { .fd = nodeos_fd(n), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

int main(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char changes[100];
	pthread_t thread;
	unsigned before;
	nodeos_t *n;

	scratch_make();
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", scratch);
	snprintf(changes, sizeof(changes), "%s/changes", scratch);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(listener, 8) < 0 ||
	    pthread_create(&thread, NULL, serve_queries, NULL) != 0)
		bail("no socket");
	n = nodeos_open_at(at.sun_path, changes);
	ok(n && nodeos_cpus(n) == 4, "nodeos_open: the container has four CPUs: %s",
	   nodeos_error(n));
	is_int(nodeos_fd(n), -1, "nodeos_fd: fails without a file of changes");
	count_change(changes);
	set_cpus("0-1");
	ok(is_readable(n),
	   "nodeos_fd: a change before the first watch makes the descriptor readable");
	is_int(nodeos_changed(n), 1, "nodeos_changed: reports a change before the first watch");
	is_int((int)nodeos_cpus(n), 2, "nodeos_cpus: gives two CPUs after the change to two");
	before = count_queries();
	ok(!is_readable(n), "nodeos_fd: the descriptor is not readable after nodeos_changed()");
	is_int(nodeos_changed(n), 0, "nodeos_changed: returns 0 if nothing has changed");
	is_int((int)(count_queries() - before), 0,
	       "nodeos_changed: sends no query if nothing has changed");
	count_change(changes);
	ok(is_readable(n), "nodeos_fd: a change of any container makes the descriptor readable");
	is_int(nodeos_changed(n), 0, "nodeos_changed: ignores a change of another container");
	set_cpus(NULL);
	count_change(changes);
	is_int(nodeos_changed(n), -1, "nodeos_changed: fails if nodeosd answers with an error: %s",
	       nodeos_error(n));
	is_int((int)nodeos_cpus(n), 2, "nodeos_changed: a failure keeps the old state");
	set_cpus("0-7");
	is_int(nodeos_changed(n), 1,
	       "nodeos_changed: the next call reports a change after a failure");
	is_int((int)nodeos_cpus(n), 8, "nodeos_cpus: gives eight CPUs after the change to eight");
	nodeos_close(n);
	set_cpus("0-3");
	n = nodeos_open_at(at.sun_path, changes);
	set_cpus("0-2");
	is_int(nodeos_changed(n), 1,
	       "nodeos_changed: reports a change if nodeos_fd() was never called");
	nodeos_close(n);
	shutdown(listener, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(listener);
	return tap_done();
}
