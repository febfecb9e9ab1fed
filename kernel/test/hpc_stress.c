/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stress SECONDS SEED: worker processes change themselves and each other at random, in all ways
 * that SCHED_HPC must survive: policies, affinity, priorities, fork, exec, threads, PI mutexes,
 * cgroups, cpuset partitions, core scheduling, signals, death. Another process turns CPUs off and
 * on, except CPUs 0 to 3.
 *
 * Meanwhile a fair process on each CPU must make progress, thanks to the guard, and two HPC tasks
 * that no process changes must stay on their CPUs. All processes must end. TAP on stdout.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SCHED_HPC 48
#define RESET_ON_FORK 1
#define WORKERS 24
#define GROUPS 3
#define LOCKS 3
#define CPUS_MAX 64
#define STAYS 4 /* CPUs that are never turned off */
#define STEADY 2 /* number of HPC tasks that no process changes, on CPUs 2 and 3 */
#define PATIENCE 60 /* seconds in which each fair task must run at least once */

enum {
	POLICY,
	AFFINITY,
	FORK,
	THREADS,
	EXEC,
	LOCK,
	NICE,
	KILL,
	STOP,
	MOVE,
	CPUSET,
	PARTITION,
	COOKIE,
	LOOK,
	YIELD,
	SLEEP,
	SPIN,
	OPS,
	HOTPLUG = OPS,
	DEATHS,
	KINDS
};
static const char *const name[KINDS] = { "policy", "affinity",	"fork",	   "threads", "exec",
					 "lock",   "nice",	"kill",	   "stop",    "move",
					 "cpuset", "partition", "cookie",  "look",    "yield",
					 "sleep",  "spin",	"hotplug", "deaths" };
/* percentage of each action among all actions of a worker */
static const int weight[OPS] = {
	[POLICY] = 15, [AFFINITY] = 13, [FORK] = 7,  [THREADS] = 4, [EXEC] = 3,	  [LOCK] = 10,
	[NICE] = 3,    [KILL] = 1,	[STOP] = 3,  [MOVE] = 5,    [CPUSET] = 2, [PARTITION] = 2,
	[COOKIE] = 3,  [LOOK] = 5,	[YIELD] = 8, [SLEEP] = 9,   [SPIN] = 7
};

/* the argument of sched_setattr(2), which the C library does not declare */
struct attr {
	unsigned int size, policy;
	unsigned long long flags;
	int nice;
	unsigned int priority;
	unsigned long long runtime, deadline, period;
};

static struct shared {
	atomic_bool stop, all_cpus;
	atomic_int pid[WORKERS];
	atomic_long done[KINDS], refused[KINDS];
	atomic_long beat[CPUS_MAX];
	atomic_long moved, changed;
	pthread_mutex_t lock[LOCKS];
	pthread_mutex_t phase; /* protects all_cpus */
} * sh;

static int cpus, tests, failures;
static unsigned int seed;
static __thread unsigned long long state;

static unsigned int rnd(unsigned int n)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(state >> 33) % n;
}

static void begin(unsigned int stream)
{
	state = ((unsigned long long)seed << 32) ^ (stream * 2654435761U);
	for (int i = 0; i < 4; i++)
		rnd(2);
}

static void ok(bool good, const char *what, long got)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++tests, what);
	if (!good)
		printf("# got %ld\n", got);
	failures += !good;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void nap(long us)
{
	struct timespec t = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

static void spin(long us)
{
	double end = now() + us / 1e6;

	while (now() < end)
		;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	close(fd);
	return n < 0 ? -1 : 0;
}

static void count(int what, bool good)
{
	atomic_fetch_add(good ? &sh->done[what] : &sh->refused[what], 1);
}

/* Return the pid of a random worker, or 0, which means the caller. */
static pid_t someone(void)
{
	return rnd(2) ? 0 : atomic_load(&sh->pid[rnd(WORKERS)]);
}

static int set_policy(pid_t pid, int policy, int priority, unsigned long long quantum)
{
	struct attr a = {
		.size = sizeof(a), .policy = policy, .priority = priority, .runtime = quantum
	};

	if (rnd(8) == 0)
		a.flags = RESET_ON_FORK;
	return syscall(SYS_sched_setattr, pid, &a, 0);
}

static int random_policy(pid_t pid)
{
	static const int policies[] = { SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO,
					SCHED_RR };
	static const unsigned long long quanta[] = { 0, 0, 1000000, 10000000 };
	unsigned int i = rnd(10);

	if (i >= 5)
		return set_policy(pid, SCHED_HPC, rnd(3), quanta[rnd(4)]);
	return set_policy(pid, policies[i],
			  policies[i] == SCHED_FIFO || policies[i] == SCHED_RR ? 1 + rnd(5) : 0, 0);
}

static void random_cpus(cpu_set_t *set)
{
	CPU_ZERO(set);
	for (int i = rnd(cpus) / 2 + 1; i; i--)
		CPU_SET(rnd(cpus), set);
}

/*
 * Write to TEXT a random list of CPUs that a partition may take: not those of the steady HPC tasks.
 */
static void random_list(char *text)
{
	*text = 0;
	for (int i = 1 + rnd(cpus / 2); i; i--) {
		unsigned int cpu = rnd(cpus - STEADY);

		sprintf(text + strlen(text), "%s%u", *text ? "," : "",
			cpu < STAYS - STEADY ? cpu : cpu + STEADY);
	}
}

/* Lock M, whose owner may be dead. */
static int hold(pthread_mutex_t *m)
{
	int err = pthread_mutex_lock(m);

	if (err == EOWNERDEAD)
		err = pthread_mutex_consistent(m);
	return err ? -1 : 0;
}

static void lock(void)
{
	pthread_mutex_t *m = &sh->lock[rnd(LOCKS)];

	if (hold(m) < 0) {
		count(LOCK, false);
		return;
	}
	spin(rnd(500));
	if (rnd(4) == 0)
		nap(rnd(500));
	count(LOCK, pthread_mutex_unlock(m) == 0);
}

static void *thread(void *arg)
{
	begin((unsigned int)(unsigned long)arg);
	if (rnd(2))
		random_policy(0);
	if (rnd(2))
		lock();
	spin(rnd(2000));
	return NULL;
}

/* Fork children that work briefly and end. */
static void breed(void)
{
	pid_t pid[4];
	int n = 1 + rnd(4);

	for (int i = 0; i < n; i++) {
		unsigned int stream = rnd(1 << 30);

		pid[i] = fork();
		if (pid[i] == 0) {
			begin(stream);
			if (rnd(4) == 0)
				setsid();
			for (int k = rnd(4); k; k--) {
				cpu_set_t set;

				random_cpus(&set);
				if (rnd(2))
					random_policy(0);
				else
					sched_setaffinity(0, sizeof(set), &set);
				spin(rnd(1000));
				sched_yield();
			}
			_exit(0);
		}
	}
	for (int i = 0; i < n; i++) {
		if (pid[i] > 0 && rnd(8) == 0)
			kill(pid[i], SIGKILL);
		count(FORK, pid[i] > 0 && waitpid(pid[i], NULL, 0) == pid[i]);
	}
}

static void threads(void)
{
	pthread_t id[4];
	int n = 1 + rnd(4), made = 0;

	for (int i = 0; i < n; i++)
		made += pthread_create(&id[made], NULL, thread,
				       (void *)(unsigned long)rnd(1 << 30)) == 0;
	for (int i = 0; i < made; i++)
		pthread_join(id[i], NULL);
	count(THREADS, made == n);
}

static void execute(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/proc/self/exe", "stress", "short", (char *)NULL);
		_exit(127);
	}
	count(EXEC, pid > 0 && waitpid(pid, &status, 0) == pid &&
			    (WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
}

static void group_file(char *path, size_t size, const char *file)
{
	snprintf(path, size, "/cg/stress%u/%s", rnd(GROUPS), file);
}

static void look(void)
{
	char path[64], text[4096];
	struct attr a;
	pid_t pid = atomic_load(&sh->pid[rnd(WORKERS)]);
	int fd;

	syscall(SYS_sched_getattr, pid, &a, sizeof(a), 0);
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, rnd(2) ? "sched" : "stat");
	fd = open(path, O_RDONLY);
	count(LOOK, fd >= 0 && read(fd, text, sizeof(text)) > 0);
	if (fd >= 0)
		close(fd);
}

static void operation(int what)
{
	/*
	 * never "isolated": the task that writes it holds cpuset_mutex and waits for kthreadd;
	 * kthreadd's fork() waits for a task that moves to another cgroup; that task waits for
	 * cpuset_mutex
	 */
	static const char *const partition[] = { "member", "root" };
	char path[64], text[512];
	cpu_set_t set;
	pid_t pid;

	switch (what) {
	case POLICY:
		count(what, random_policy(someone()) == 0);
		break;
	case AFFINITY:
		random_cpus(&set);
		count(what, sched_setaffinity(someone(), sizeof(set), &set) == 0);
		break;
	case FORK:
		breed();
		break;
	case THREADS:
		threads();
		break;
	case EXEC:
		execute();
		break;
	case LOCK:
		lock();
		break;
	case NICE:
		count(what, setpriority(PRIO_PROCESS, someone(), (int)rnd(40) - 20) == 0);
		break;
	case KILL:
	case STOP:
		pid = atomic_load(&sh->pid[rnd(WORKERS)]);
		if (pid > 1)
			count(what, kill(pid, what == KILL ? SIGKILL : SIGSTOP) == 0);
		if (pid > 1 && what == STOP) {
			nap(rnd(2000));
			kill(pid, SIGCONT);
		}
		break;
	case MOVE:
		hold(&sh->phase);
		snprintf(text, sizeof(text), "%d", someone());
		/*
		 * the stock kernel warns if a task returns to the root cgroup and its affinity has
		 * no online CPU
		 */
		if (rnd(3) == 0 && atomic_load(&sh->all_cpus))
			snprintf(path, sizeof(path), "/cg/cgroup.procs");
		else
			group_file(path, sizeof(path), "cgroup.procs");
		count(what, put(path, text) == 0);
		pthread_mutex_unlock(&sh->phase);
		break;
	case CPUSET:
	case PARTITION:
		hold(&sh->phase);
		/* the stock kernel warns if a change would make the CPUs of partitions overlap */
		if (atomic_load(&sh->all_cpus)) {
			group_file(path, sizeof(path), "cpuset.cpus.partition");
			count(PARTITION, put(path, partition[rnd(2)]) == 0);
		} else {
			group_file(path, sizeof(path), "cpuset.cpus");
			random_list(text);
			count(CPUSET, put(path, text) == 0);
		}
		pthread_mutex_unlock(&sh->phase);
		break;
	case COOKIE:
		count(what, prctl(62 /* PR_SCHED_CORE */, 1 + rnd(2) /* create, share to */,
				  someone(), 0, 0) == 0);
		break;
	case LOOK:
		look();
		break;
	case YIELD:
		count(what, sched_yield() == 0);
		break;
	case SLEEP:
		nap(rnd(5000));
		count(what, true);
		break;
	case SPIN:
		spin(rnd(10000));
		count(what, true);
		break;
	}
}

static void worker(unsigned int stream)
{
	begin(stream);
	while (!atomic_load(&sh->stop)) {
		int dice = rnd(100), what = 0;

		while (dice >= weight[what])
			dice -= weight[what++];
		operation(what);
		/*
		 * sleep: without a tick, an HPC task that never sleeps would keep other HPC tasks
		 * waiting for ever
		 */
		nap(rnd(500));
	}
	_exit(0);
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A fair task bound to one CPU. While the CPU is offline, the task runs on other CPUs. */
static void canary(int cpu)
{
	while (!atomic_load(&sh->stop)) {
		on_cpu(cpu);
		atomic_fetch_add(&sh->beat[cpu], 1);
		nap(100000);
	}
	_exit(0);
}

static void steady(int cpu)
{
	on_cpu(cpu);
	if (set_policy(0, SCHED_HPC, 0, 0) < 0)
		atomic_fetch_add(&sh->changed, 1);
	while (!atomic_load(&sh->stop)) {
		double end = now() + 0.02;

		while (now() < end)
			if (sched_getcpu() != cpu)
				atomic_fetch_add(&sh->moved, 1);
		if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_HPC)
			atomic_fetch_add(&sh->changed, 1);
		nap(2000);
	}
	_exit(0);
}

static void turn_on(void)
{
	char path[64];

	for (int i = STAYS; i < cpus; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", i);
		put(path, "1");
	}
}

/*
 * Alternate between two phases: in one, CPUs go offline and come back; in the other, partitions
 * come and go. Both at once make the stock kernel 6.12 warn in cpuset.c and hang, with any kind of
 * tasks.
 */
static void hotplug(void)
{
	char path[64];

	begin(99);
	while (!atomic_load(&sh->stop)) {
		for (int i = 5 + rnd(20); i && !atomic_load(&sh->stop); i--) {
			snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online",
				 STAYS + rnd(cpus - STAYS));
			count(HOTPLUG, put(path, rnd(2) ? "1" : "0") == 0);
			nap(rnd(500000));
		}
		turn_on();
		hold(&sh->phase);
		atomic_store(&sh->all_cpus, true);
		pthread_mutex_unlock(&sh->phase);
		nap(rnd(5000000));
		hold(&sh->phase);
		atomic_store(&sh->all_cpus, false);
		for (int i = 0; i < GROUPS; i++) {
			snprintf(path, sizeof(path), "/cg/stress%d/cpuset.cpus.partition", i);
			put(path, "member");
		}
		pthread_mutex_unlock(&sh->phase);
	}
	_exit(0);
}

static void prepare(void)
{
	pthread_mutexattr_t a;
	char path[64];
	struct rlimit core = { 0 };

	setrlimit(RLIMIT_CORE, &core);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&sh->lock[i], &a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_NONE);
	pthread_mutex_init(&sh->phase, &a);
	/* never reuse a pid: a kernel thread may get it */
	put("/proc/sys/kernel/pid_max", "4194304");
	put("/cg/cgroup.subtree_control", "+cpu +cpuset");
	for (int i = 0; i < GROUPS; i++) {
		snprintf(path, sizeof(path), "/cg/stress%d", i);
		mkdir(path, 0755);
	}
}

/* Return the sum of " .hpc_committed" of all CPUs, or -1 if no CPU has this line. */
static long committed(void)
{
	char line[512];
	long sum = -1, n;
	FILE *f = fopen("/sys/kernel/debug/sched/debug", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " .hpc_committed : %ld", &n) == 1)
			sum = (sum < 0 ? 0 : sum) + n;
	if (f)
		fclose(f);
	return sum;
}

static pid_t start(void (*what)(int), int arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct sched_param fair = { 0 };

		sched_setscheduler(0, SCHED_OTHER, &fair);
		what(arg);
	}
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	return pid;
}

static void start_hotplug(int unused)
{
	(void)unused;
	hotplug();
}

/*
 * Replace dead workers and continue stopped ones until END. Returns the longest time for which a
 * CPU's fair task did not run, in seconds.
 */
static double conduct(double end)
{
	double heard[CPUS_MAX], longest = 0, told = now();
	long beat[CPUS_MAX] = { 0 };
	unsigned int born = 0;

	for (int i = 0; i < cpus; i++)
		heard[i] = now();
	while (now() < end) {
		pid_t dead;

		for (int i = 0; i < WORKERS; i++) {
			if (atomic_load(&sh->pid[i]) == 0) {
				pid_t pid = fork();

				if (pid == 0) {
					struct sched_param fair = { 0 };

					sched_setscheduler(0, SCHED_OTHER, &fair);
					worker(1000 + born);
				}
				born++;
				if (pid > 0) /* kill(-1) would reach all processes */
					atomic_store(&sh->pid[i], pid);
			} else if (rnd(16) == 0) {
				kill(atomic_load(&sh->pid[i]), SIGCONT);
			}
		}
		while ((dead = waitpid(-1, NULL, WNOHANG)) > 0)
			for (int i = 0; i < WORKERS; i++)
				if (atomic_load(&sh->pid[i]) == dead) {
					atomic_store(&sh->pid[i], 0);
					count(DEATHS, true);
				}
		for (int i = 0; i < cpus; i++) {
			if (atomic_load(&sh->beat[i]) != beat[i]) {
				beat[i] = atomic_load(&sh->beat[i]);
				heard[i] = now();
			}
			if (now() - heard[i] > longest)
				longest = now() - heard[i];
		}
		if (now() - told > 60) {
			told = now();
			printf("# %.0f s left, %ld changes of policy, %ld CPUs turned off or on\n",
			       end - now(), atomic_load(&sh->done[POLICY]),
			       atomic_load(&sh->done[HOTPLUG]));
			fflush(stdout);
		}
		nap(50000);
	}
	return longest;
}

/*
 * Wait for all processes. They end by themselves, except stopped processes and those that wait for
 * a killed process. Kills processes that do not end. Returns how many were killed, or -1 if some
 * are still alive.
 */
static int reap(pid_t *other, int others)
{
	double end = now() + PATIENCE;
	int left = 0, found;

	while (now() < end && !(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)) {
		for (int i = 0; i < WORKERS; i++)
			if (atomic_load(&sh->pid[i]) > 0)
				kill(atomic_load(&sh->pid[i]), SIGCONT);
		nap(50000);
	}
	for (int i = 0; i < WORKERS; i++)
		if (atomic_load(&sh->pid[i]) > 0)
			kill(atomic_load(&sh->pid[i]), SIGKILL);
	for (int i = 0; i < others; i++)
		kill(other[i], SIGKILL);
	end = now() + PATIENCE;
	while ((found = waitpid(-1, NULL, WNOHANG)) >= 0 && now() < end) {
		left += found > 0;
		nap(10000);
	}
	return found < 0 ? left : -1;
}

int main(int argc, char **argv)
{
	struct sched_param first = { .sched_priority = 50 };
	pid_t other[CPUS_MAX + STEADY + 1];
	char what[64];
	int n = 0, left;
	double longest;
	long sum;

	if (argc == 2 && strcmp(argv[1], "short") == 0)
		return 0;
	if (argc != 3)
		return 2;
	seed = strtoul(argv[2], NULL, 10);
	cpus = sysconf(_SC_NPROCESSORS_CONF);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || cpus <= STAYS || cpus > CPUS_MAX)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	prepare();
	printf("# seed %u, %d CPUs, %s s\n", seed, cpus, argv[1]);
	begin(1);
	sched_setscheduler(0, SCHED_FIFO, &first);
	for (int i = 0; i < STEADY; i++)
		other[n++] = start(steady, STAYS - STEADY + i);
	for (int i = 0; i < cpus; i++)
		other[n++] = start(canary, i);
	other[n++] = start(start_hotplug, 0);
	longest = conduct(now() + atof(argv[1]));
	atomic_store(&sh->stop, true);
	left = reap(other, n);
	for (int i = 0; i < KINDS; i++) {
		snprintf(what, sizeof(what), "at least one \"%s\" succeeds", name[i]);
		printf("# %-10s %9ld done %9ld refused\n", name[i], atomic_load(&sh->done[i]),
		       atomic_load(&sh->refused[i]));
		/* a kernel may lack core scheduling */
		if (i != COOKIE)
			ok(atomic_load(&sh->done[i]) > 0, what, atomic_load(&sh->done[i]));
	}
	printf("# the longest wait of a CPU's fair task was %.1f s\n", longest);
	ok(longest < PATIENCE, "the fair task of each CPU makes progress", longest);
	ok(atomic_load(&sh->moved) == 0, "HPC tasks that no process changes stay on their CPUs",
	   atomic_load(&sh->moved));
	ok(atomic_load(&sh->changed) == 0, "HPC tasks that no process changes keep their policy",
	   atomic_load(&sh->changed));
	ok(left >= 0, "all processes end, by themselves or by SIGKILL", left);
	printf("# %d processes had to be killed\n", left);
	sum = committed();
	ok(sum == 0, "no CPU counts an ended HPC task in hpc_committed", sum);
	printf("1..%d\n", tests);
	return failures != 0;
}
