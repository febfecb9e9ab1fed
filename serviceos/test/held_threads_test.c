/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A user can make a thread hang in execve(). provision and its check must still see all threads of
 * this host.
 */
#include <fcntl.h>

#include "base/proc.h"
#include "base/test/fixture.h"
#include "base/test/held.h"
#include "base/test/tap.h"
#include "serviceos/item.h"

#define LIMIT_MS 10000 /* limit for all threads of a busy host */

static struct held held;
static struct service_set set;
static struct conf conf;
static struct service_items in = { .set = &set, .conf = &conf };

/* Return 1 for the thread that hangs, if its item is complete. */
static int find_held(const struct service_item *it, void *arg)
{
	char name[64];
	unsigned *others = arg;

	if (it->kind != ITEM_THREAD || it->pid != held.pid) {
		*others += it->kind == ITEM_THREAD && it->process;
		return 0;
	}
	snprintf(name, sizeof(name), "%d %llu", (int)held.pid,
		 (unsigned long long)process_number(held.pid));
	return it->process == held.pid && !it->fixed && !it->hangs && *it->found &&
			       strcmp(it->name, name) == 0
		       ? 1
		       : 2;
}

static int look_at_threads(void *arg)
{
	unsigned others = 0;
	struct errbuf err;

	(void)arg;
	return service_each_item(&in, find_held, &others, &err) == 1 && others ? 0 : 1;
}

/* Set the affinity of the thread that hangs to its present value. */
static int set_held(void *arg)
{
	struct service_item it = { .kind = ITEM_THREAD, .pid = held.pid, .process = held.pid };
	struct errbuf err;

	(void)arg;
	snprintf(it.name, sizeof(it.name), "%d %llu", (int)held.pid,
		 (unsigned long long)process_number(held.pid));
	return service_item_set(in.root, &it, "0", &err) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	char program[HELD_PATH_MAX];
	const char *why;

	(void)argc;
	set.cpus = set_of("0");
	set.mems = set_of("0");
	in.root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	held_program(program, argv[0]);
	why = held_begin(&held, program);
	if (!why && !process_number(getpid()))
		why = "Linux before 6.9 does not number processes";
	if (why) {
		skip(2, "%s", why);
	} else {
		is_int(held_apart(look_at_threads, NULL, LIMIT_MS), 0,
		       "service_each_item: finds all threads while one hangs in execve");
		is_int(held_apart(set_held, NULL, LIMIT_MS), 0,
		       "service_item_set: sets the affinity of a thread that hangs in execve");
	}
	held_end(&held);
	return tap_done();
}
