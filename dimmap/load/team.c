/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dimmap/load/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* the gate before the work; AWAY: a thread could not be started, so the others end without work */
enum gate { SHUT, OPEN, AWAY };

struct member {
	struct team *team;
	pthread_t thread;
	unsigned number;
	struct counts counts;
};

struct team {
	team_work *work;
	void *arg;
	unsigned n;
	enum gate gate;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct member member[];
};

static void counts_add(struct counts *to, const struct counts *more)
{
	to->majflt += more->majflt;
	to->minflt += more->minflt;
	to->voluntary += more->voluntary;
	to->involuntary += more->involuntary;
}

static struct counts counts_now(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (struct counts){ u.ru_majflt, u.ru_minflt, u.ru_nvcsw, u.ru_nivcsw };
}

static void *run_member(void *arg)
{
	struct member *m = arg;
	struct team *t = m->team;
	struct counts before;
	enum gate gate;

	pthread_mutex_lock(&t->lock);
	while (t->gate == SHUT)
		pthread_cond_wait(&t->moved, &t->lock);
	gate = t->gate;
	pthread_mutex_unlock(&t->lock);
	if (gate == AWAY)
		return NULL;
	before = counts_now();
	t->work(t->arg, m->number);
	m->counts = counts_now();
	m->counts.majflt -= before.majflt;
	m->counts.minflt -= before.minflt;
	m->counts.voluntary -= before.voluntary;
	m->counts.involuntary -= before.involuntary;
	return NULL;
}

static void move_gate(struct team *t, enum gate gate)
{
	pthread_mutex_lock(&t->lock);
	t->gate = gate;
	pthread_cond_broadcast(&t->moved);
	pthread_mutex_unlock(&t->lock);
}

/* Bind THREAD to CPU number TURN of the CPUs that the process may use, modulo their number. */
static int pin_to(pthread_t thread, unsigned turn)
{
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return -1;
	turn %= (unsigned)CPU_COUNT(&all);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && turn-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			return pthread_setaffinity_np(thread, sizeof(one), &one);
		}
	return -1;
}

/* Start all members of T. If this fails, ERR has the reason. */
static int team_start(struct team *t, unsigned threads, bool pin, struct errbuf *err)
{
	for (; t->n < threads; t->n++) {
		struct member *m = &t->member[t->n];
		int error;

		m->team = t;
		m->number = t->n;
		error = pthread_create(&m->thread, NULL, run_member, m);
		if (error)
			return errprintf(err, "cannot start thread %u of %u: %s", t->n + 1, threads,
					 strerror(error));
		if (pin && pin_to(m->thread, m->number) != 0) {
			t->n++;
			return errprintf(err, "cannot keep thread %u on one CPU", m->number);
		}
	}
	return 0;
}

int team_run(unsigned threads, team_work *work, void *arg, bool pin, struct counts *sum,
	     struct errbuf *err)
{
	struct team *t = calloc(1, sizeof(*t) + threads * sizeof(t->member[0]));
	int result;

	if (!t)
		return errprintf(err, "out of memory for %u threads", threads);
	t->work = work;
	t->arg = arg;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->moved, NULL);
	result = team_start(t, threads, pin, err);
	move_gate(t, result < 0 ? AWAY : OPEN);
	for (unsigned i = 0; i < t->n; i++) {
		pthread_join(t->member[i].thread, NULL);
		counts_add(sum, &t->member[i].counts);
	}
	pthread_cond_destroy(&t->moved);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return result;
}
