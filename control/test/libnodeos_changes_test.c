/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes as a program sees them through libnodeos. nodeosd is a thread of the test, which answers
 * as in query.h and in the guest. */
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
static const char *cpus = "0-3"; /* CPUs of the container; NULL: nodeosd fails */
static unsigned asked;

static void *serve(void *arg)
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

static void set(const char *list)
{
	pthread_mutex_lock(&lock);
	cpus = list;
	pthread_mutex_unlock(&lock);
}

static unsigned times(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = asked;
	pthread_mutex_unlock(&lock);
	return n;
}

/* Count one change, as nodeosd does. */
static void count(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || pwrite(fd, "1\n", 2, 0) != 2)
		bail("%s", path);
	close(fd);
}

static bool readable(nodeos_t *n)
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
	    pthread_create(&thread, NULL, serve, NULL) != 0)
		bail("no socket");
	n = nodeos_open_at(at.sun_path, changes);
	ok(n && nodeos_cpus(n) == 4, "nodeos_open: the container has four CPUs: %s",
	   nodeos_error(n));
	is_int(nodeos_fd(n), -1, "nodeos_fd: fails without a file of changes");
	count(changes);
	set("0-1");
	ok(readable(n), "nodeos_fd: a change before the first watch makes the descriptor readable");
	is_int(nodeos_changed(n), 1, "nodeos_changed: reports a change before the first watch");
	is_int((int)nodeos_cpus(n), 2, "two CPUs");
	before = times();
	ok(!readable(n), "nodeos_fd: the descriptor is quiet after the change");
	is_int(nodeos_changed(n), 0, "nodeos_changed: reports no change");
	is_int((int)(times() - before), 0, "nodeos_changed: needs no query without a change");
	count(changes);
	ok(readable(n), "nodeos_fd: a change of any container makes the descriptor readable");
	is_int(nodeos_changed(n), 0, "nodeos_changed: ignores a change of another container");
	set(NULL);
	count(changes);
	is_int(nodeos_changed(n), -1, "nodeos_changed: fails if nodeosd does not answer: %s",
	       nodeos_error(n));
	is_int((int)nodeos_cpus(n), 2, "nodeos_changed: a failure keeps the old state");
	set("0-7");
	is_int(nodeos_changed(n), 1,
	       "nodeos_changed: the next call reports a change after a failure");
	is_int((int)nodeos_cpus(n), 8, "eight CPUs");
	nodeos_close(n);
	set("0-3");
	n = nodeos_open_at(at.sun_path, changes);
	set("0-2");
	is_int(nodeos_changed(n), 1, "nodeos_changed: works without nodeos_fd before it");
	nodeos_close(n);
	shutdown(listener, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(listener);
	return tap_done();
}
