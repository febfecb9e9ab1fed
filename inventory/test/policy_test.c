/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of numa_maps by the kernel's mm/mempolicy.c (mpol_to_str), and the policies of a live child
 * that sleeps in a system call meanwhile, as its own numa_maps shows them.
 */
#include "inventory/policy.h"

#include <inttypes.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test/tap.h"

static void check_words(void)
{
	static const char *const wrong[] = { "default", "bind", "bind=strange:0", "weighted",
					     "prefer",	"",	"bind:x",	  "bind:5000" };
	struct move_policy p;
	unsigned accepted = 0;

	ok(move_policy_parse(&p, "bind:0-1,64") == 0 && p.mode == MPOL_BIND && p.mask[0] == 3 &&
		   p.mask[1] == 1,
	   "move_policy_parse: reads bind with three nodes");
	ok(move_policy_parse(&p, "interleave=static:1") == 0 &&
		   p.mode == (MPOL_INTERLEAVE | MPOL_F_STATIC_NODES) && p.mask[0] == 2,
	   "move_policy_parse: reads a policy with a flag");
	ok(move_policy_parse(&p, "prefer:2") == 0 && p.mode == MPOL_PREFERRED && p.mask[0] == 4,
	   "move_policy_parse: reads prefer with a node");
	ok(move_policy_parse(&p, "local") == 0 && p.mode == MPOL_LOCAL && p.mask[0] == 0,
	   "move_policy_parse: reads local");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		accepted += move_policy_parse(&p, wrong[i]) == 0;
	is_int(accepted, 0, "move_policy_parse: refuses other words");
}

/* Return whether numa_maps of PID has the policy WORD at AT; AT 0: anywhere. */
static bool has_policy(pid_t pid, uint64_t at, const char *word)
{
	char path[64], line[4096], found[128];
	bool has = false;
	uint64_t from;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/numa_maps", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %127s", &from, found) == 2 && (!at || from == at))
			has |= strcmp(found, word) == 0;
	if (f)
		fclose(f);
	return has;
}

static void check_child(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE) * 4;
	char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)map;
	struct move_record r = { 0 };
	struct errbuf err = { 0 };
	int status;
	pid_t pid;

	memset(map, 7, size);
	pid = fork();
	if (pid == 0) {
		struct timespec t = { .tv_sec = 2 };

		_exit(nanosleep(&t, NULL) == 0 && map[size - 1] == 7 ? 5 : 6);
	}
	usleep(300000);
	if (!has_policy(pid, 0, "default")) {
		skip(3, "the kernel has no numa_maps");
		return;
	}
	move_record_add_thread(&r, &(struct move_thread){ .pid = pid, .tid = pid }, &err);
	move_record_add_policy(&r, &(struct move_mempolicy){ pid, 0, 0, (char *)"interleave:0" },
			       &err);
	move_record_add_policy(&r, &(struct move_mempolicy){ pid, at, at + size, (char *)"bind:0" },
			       &err);
	is_int(move_policies_apply(&r, pid, 10), 0, "move_policies_apply: sets all policies");
	ok(has_policy(pid, at, "bind:0") && has_policy(pid, 0, "interleave:0"),
	   "move_policies_apply: numa_maps has the policies");
	waitpid(pid, &status, 0);
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 5,
	       "move_policies_apply: a sleep that it interrupts goes on to its end");
	move_record_free(&r);
}

int main(void)
{
	check_words();
	check_child();
	return tap_done();
}
