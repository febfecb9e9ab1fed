// SPDX-License-Identifier: GPL-2.0
/*
 * While the first thread unmaps pages of /dev/dimmap-proof, each other thread increments its own
 * word in each page, and checks that the word has the last value. rogue MODULE.ko PAGES BATCH LEAST
 * [PARAMETER]... loads the module and unmaps PAGES pages, BATCH at a time, when at least LEAST are
 * resident; with LEAST 1, it stops after a minute. It prints counts for dimmap/test/proof.py.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "flushes.h"
#include "proof.h"

#define THREADS 16

static volatile uint64_t *memory;
static atomic_int stop, writers;
static atomic_ullong lost, writes;
static uint64_t last[THREADS][PROOF_PAGES];

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *writer(void *arg)
{
	int me = (int)(intptr_t)arg;
	uint64_t expect[PROOF_PAGES] = { 0 }, n = 0;

	pin(me);
	atomic_fetch_add(&writers, 1);
	while (!atomic_load(&stop)) {
		for (int p = 0; p < PROOF_PAGES; p++) {
			volatile uint64_t *word = memory + p * (4096 / 8) + me * 8;
			uint64_t base = (uint64_t)me << 56 | (uint64_t)p << 40;

			/*
			 * write several times to one page, so that some writes are between the
			 * clearing of its entry and the flush
			 */
			for (int k = 0; k < 8; k++, n++) {
				uint64_t now = *word;

				if (now != (expect[p] ? base + expect[p] : 0)) {
					atomic_fetch_add(&lost, 1);
					/*
					 * continue from the found value, so that a loss is counted
					 * only once
					 */
					expect[p] = 0xffff;
				}
				expect[p]++;
				*word = base + expect[p];
			}
		}
	}
	atomic_fetch_add(&writes, n);
	for (int p = 0; p < PROOF_PAGES; p++)
		last[me][p] = (uint64_t)me << 56 | (uint64_t)p << 40 | expect[p];
	return NULL;
}

/*
 * Check the last values of all threads by a new mapping: through a stale TLB entry, a thread would
 * see its own lost write.
 */
static void look_again(int fd, int cpus)
{
	ioctl(fd, PROOF_EVICT, PROOF_PAGES);
	memory = mmap(NULL, PROOF_PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 1; memory != MAP_FAILED && i < cpus; i++)
		for (int p = 0; p < PROOF_PAGES; p++)
			if (memory[p * (4096 / 8) + i * 8] != last[i][p])
				atomic_fetch_add(&lost, 1);
}

int main(int argc, char **argv)
{
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), fd, module, flush[THREADS];
	char arguments[256] = "";
	struct proof_counts counts;
	pthread_t thread[THREADS];
	time_t start = time(NULL);
	uint64_t before;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc < 5 || cpus < 2 || cpus > THREADS) {
		printf("usage: rogue MODULE PAGES BATCH LEAST [PARAMETER]..., on 2 to %d CPUs\n",
		       THREADS);
		return 2;
	}
	for (int i = 5; i < argc; i++) {
		strncat(arguments, argv[i], sizeof(arguments) - strlen(arguments) - 2);
		strcat(arguments, " ");
	}
	module = open(argv[1], O_RDONLY);
	if (module < 0 || syscall(SYS_finit_module, module, arguments, 0)) {
		printf("rogue: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	fd = open("/dev/dimmap-proof", O_RDWR);
	memory = mmap(NULL, PROOF_PAGES * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || memory == MAP_FAILED) {
		printf("rogue: /dev/dimmap-proof: %s\n", strerror(errno));
		return 1;
	}
	if (flushes_open(flush, cpus)) {
		printf("rogue: tlb:tlb_flush: %s\n", strerror(errno));
		return 1;
	}
	for (int i = 1; i < cpus; i++)
		pthread_create(&thread[i], NULL, writer, (void *)(intptr_t)i);
	pin(0);
	while (atomic_load(&writers) < cpus - 1)
		sched_yield();
	before = flushes_read(flush, cpus);
	do {
		ioctl(fd, PROOF_EVICT,
		      strtoul(argv[3], NULL, 10) | strtoul(argv[4], NULL, 10) << 16);
		ioctl(fd, PROOF_COUNTS, &counts);
	} while (counts.evicted < strtoull(argv[2], NULL, 10) &&
		 (strcmp(argv[4], "1") != 0 || time(NULL) < start + 60));
	before = flushes_read(flush, cpus) - before;
	atomic_store(&stop, 1);
	for (int i = 1; i < cpus; i++)
		pthread_join(thread[i], NULL);
	look_again(fd, cpus);
	printf("proof cpus %d evicted %llu batches %llu ptes %llu flushes %llu rounds %llu writes "
	       "%llu lost %llu user_faults %llu vma_lock_faults %llu\n",
	       cpus, counts.evicted, counts.batches, counts.ptes, counts.flushes,
	       (unsigned long long)before, (unsigned long long)writes, (unsigned long long)lost,
	       counts.user_faults, counts.vma_lock_faults);
	return 0;
}
