/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * load SECONDS SPEC[,SPEC...]: a rank whose misses per instruction are known (kinds.h). Rank r
 * takes SPEC number r; after the last SPEC, the first follows again. A SPEC is KIND/BYTES[/HOW].
 * KIND is one of kinds.h, or io: the rank sleeps, and sometimes writes a few lines to a file. HOW
 * is fork (a child does the work), exec (the program executes itself after half of the time, or at
 * SIGUSR1), thread (a second thread does the work) or, if built with OpenMP, omp (two threads do
 * the work, each on its own memory). "+KIND/BYTES" after a SPEC is the load of the second half of
 * the time. Each rank prints "load SPEC PASSES CPU". If built with WITH_MPI, the ranks begin and
 * end together.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/simllc/test/kinds.h"
#ifdef WITH_MPI
#include <mpi.h>
#endif

struct work {
	char kind[16];
	size_t bytes;
	double seconds;
	char *at;
	long passes;
};

static volatile sig_atomic_t half_over;

static void end_half(int number)
{
	(void)number;
	half_over = 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void io_pass(void)
{
	FILE *f = tmpfile();

	if (!f)
		die("tmpfile");
	for (int i = 0; i < 64; i++)
		fprintf(f, "%d\n", i);
	fclose(f);
	usleep(200000);
}

static void *run(void *arg)
{
	struct work *w = arg;
	double end = now() + w->seconds;
	int io = strcmp(w->kind, "io") == 0;

	if (!io) {
		w->at = mmap(NULL, 3 * w->bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (w->at == MAP_FAILED)
			die("mmap");
		memset(w->at, 0, 3 * w->bytes);
		if (strcmp(w->kind, "chase") == 0 && make_cycle(w->at, w->bytes / LINE) < 0)
			die("malloc");
	}
	while (now() < end && !half_over) {
		if (io)
			io_pass();
		else if (run_kind(w->kind, w->at, w->bytes) < 0)
			die(w->kind);
		w->passes++;
	}
	if (!io)
		munmap(w->at, 3 * w->bytes);
	return NULL;
}

static void run_in_child(struct work *w)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		run(w);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Do the work in two threads or, if built without OpenMP, in one. Adds up *PASSES. */
static void run_team(const struct work *w, long *passes)
{
	long sum = 0;

#ifdef _OPENMP
#pragma omp parallel num_threads(2) reduction(+ : sum)
#endif
	{
		struct work mine = *w;

		run(&mine);
		sum += mine.passes;
	}
	*passes = sum;
}

static void run_how(struct work *w, const char *how)
{
	pthread_t thread;

	if (strcmp(how, "fork") == 0) {
		run_in_child(w);
	} else if (strcmp(how, "omp") == 0) {
		run_team(w, &w->passes);
	} else if (strcmp(how, "thread") == 0) {
		if (pthread_create(&thread, NULL, run, w) != 0)
			die("pthread_create");
		pthread_join(thread, NULL);
	} else {
		run(w);
	}
}

static size_t size_of(const char *text)
{
	char *end;
	size_t n = strtoul(text, &end, 10);

	return *end == 'M' ? n << 20 : *end == 'K' ? n << 10 : n;
}

static void one(const char *spec, const char *how, double seconds, long *passes)
{
	struct work w = { .seconds = seconds };
	char size[24] = "";

	if (sscanf(spec, "%15[^/]/%23[^/+]", w.kind, size) < 1)
		die(spec);
	w.bytes = size_of(size);
	run_how(&w, how);
	*passes += w.passes;
}

static void run_spec(const char *spec, double seconds, char **argv)
{
	const char *then = strchr(spec, '+'), *how = strchr(spec, '/');
	char word[16] = "", first[64];
	long passes = 0;

	snprintf(first, sizeof(first), "%.*s", (int)(then ? then - spec : (long)strlen(spec)),
		 spec);
	how = how ? strchr(how + 1, '/') : NULL;
	if (how)
		sscanf(how + 1, "%15[^/+]", word);
	if (strcmp(word, "exec") == 0 && !getenv("LOAD_AGAIN")) {
		signal(SIGUSR1, end_half);
		one(first, "", seconds / 2, &passes);
		setenv("LOAD_AGAIN", "1", 1);
		execv("/proc/self/exe", argv);
		die("execv");
	}
	if (strcmp(word, "exec") == 0)
		seconds /= 2;
	one(first, word, then ? seconds / 2 : seconds, &passes);
	if (then)
		one(then + 1, "", seconds / 2, &passes);
	printf("load %s %ld %d\n", spec, passes, sched_getcpu());
}

static unsigned rank_of(void)
{
	const char *r = getenv("OMPI_COMM_WORLD_RANK");

	if (!r)
		r = getenv("SLURM_PROCID");
	return r ? (unsigned)atoi(r) : 0;
}

int main(int argc, char **argv)
{
	char *spec[64], *save, *copy;
	unsigned n = 0;

#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
	MPI_Barrier(MPI_COMM_WORLD);
#endif
	if (argc != 3 || !(copy = strdup(argv[2]))) {
		fprintf(stderr, "usage: load SECONDS SPEC[,SPEC...]\n");
		return 2;
	}
	for (char *s = strtok_r(copy, ",", &save); s && n < 64; s = strtok_r(NULL, ",", &save))
		spec[n++] = s;
	if (n)
		run_spec(spec[rank_of() % n], atof(argv[1]), argv);
	fflush(stdout);
#ifdef WITH_MPI
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
#endif
	free(copy);
	return n ? 0 : 2;
}
