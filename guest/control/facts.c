/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/control/facts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fileio.h"

#define NUMBER_LENGTH 20 /* limit of digits of a job or step in the environment */

/* The bytes of a page of the guest's memory. */
static int64_t page_size(const struct guest_plan *plan)
{
	struct statfs fs;

	if (plan->memories && fstatfs(plan->memory_fd[0], &fs) == 0)
		return fs.f_bsize;
	return plan->page ? (int64_t)plan->page : sysconf(_SC_PAGESIZE);
}

static struct json_object *number_of_variable(const char *variable)
{
	const char *text = getenv(variable);

	return text && *text && strspn(text, "0123456789") == strlen(text) &&
			       strlen(text) < NUMBER_LENGTH
		       ? json_object_new_string(text)
		       : NULL;
}

static struct json_object *facts_of(const struct guest_plan *plan)
{
	const struct guest_shape *shape = plan->shape;
	struct json_object *all = json_object_new_object(), *cpus = json_object_new_array(),
			   *nodes = json_object_new_array();

	for (unsigned i = 0; i < shape->cpus; i++)
		json_object_array_add(cpus, json_object_new_int((int)shape->cpu[i].host));
	for (unsigned i = 0; i < shape->nodes; i++) {
		struct json_object *node = json_object_new_object();

		json_object_object_add(node, "host", json_object_new_int((int)shape->node[i].host));
		json_object_object_add(node, "bytes",
				       json_object_new_int64((int64_t)shape->node[i].bytes));
		json_object_array_add(nodes, node);
	}
	json_object_object_add(all, "job", number_of_variable("SLURM_JOB_ID"));
	json_object_object_add(all, "step", number_of_variable("SLURM_STEP_ID"));
	json_object_object_add(all, "cpus", cpus);
	json_object_object_add(all, "nodes", nodes);
	json_object_object_add(all, "page", json_object_new_int64(page_size(plan)));
	json_object_object_add(all, "emulated", json_object_new_boolean(plan->emulated));
	json_object_object_add(all, "disk", json_object_new_boolean(plan->image->disk != NULL));
	return all;
}

int facts_make(const struct guest_plan *plan, unsigned ranks, pid_t qemu, int pipe,
	       struct errbuf *err)
{
	int fd = memfd_create(FACTS_NAME, MFD_CLOEXEC);
	struct json_object *all;
	const char *text;
	int rc;

	if (fd < 0)
		return errprintf(err, "memfd_create: %s", strerror(errno));
	all = facts_of(plan);
	json_object_object_add(all, "ranks", json_object_new_int((int)ranks));
	json_object_object_add(all, "qemu", json_object_new_int(qemu));
	json_object_object_add(all, "pipe", json_object_new_int(pipe));
	text = json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN);
	rc = write_all(fd, text, strlen(text));
	json_object_put(all);
	if (rc == 0)
		return fd;
	close(fd);
	return errprintf(err, "cannot write the guest's facts to memory: %s", strerror(errno));
}

int64_t facts_number(struct json_object *facts, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(facts, key, &value) ? json_object_get_int64(value) : -1;
}

/*
 * Read the facts from the descriptor NAME in DIR_FD, the directory fd of a process in /proc.
 * Returns NULL if the descriptor is not of a file with facts.
 */
static struct json_object *read_facts(int dir_fd, const char *name)
{
	static const char want[] = "/memfd:" FACTS_NAME " (deleted)";
	char link[sizeof(want)], *text;
	struct json_object *facts = NULL;
	ssize_t n = readlinkat(dir_fd, name, link, sizeof(link));
	int fd;

	if (n != (ssize_t)sizeof(want) - 1 || memcmp(link, want, sizeof(want) - 1) != 0)
		return NULL;
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	text = fd < 0 ? NULL : calloc(1, FACTS_MAX);
	if (text && pread(fd, text, FACTS_MAX - 1, 0) > 0)
		facts = json_tokener_parse(text);
	free(text);
	if (fd >= 0)
		close(fd);
	if (json_object_is_type(facts, json_type_object))
		return facts;
	json_object_put(facts);
	return NULL;
}

/* Read the facts of the process PID. Returns NULL if it runs no guest of this user. */
static struct json_object *facts_of_process(const char *pid)
{
	struct json_object *facts = NULL;
	struct dirent *entry;
	struct stat st;
	char path[64];
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* root could read other users' facts, too, but must not trust them */
	dir = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() ? fdopendir(fd) : NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	while (!facts && (entry = readdir(dir)))
		facts = read_facts(dirfd(dir), entry->d_name);
	closedir(dir);
	return facts;
}

void facts_each(void (*fn)(pid_t pid, struct json_object *facts, void *arg), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		struct json_object *facts = isdigit((unsigned char)entry->d_name[0])
						    ? facts_of_process(entry->d_name)
						    : NULL;

		if (facts)
			fn((pid_t)strtol(entry->d_name, NULL, 10), facts, arg);
		json_object_put(facts);
	}
	closedir(dir);
}
