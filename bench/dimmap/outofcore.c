/* SPDX-License-Identifier: GPL-2.0-or-later */

/*
 * outofcore SCENE...: make page faults in a mapping that is larger than the memory for it. The
 * faults are between two markers, at which insn-count.c counts. kernel/test/init.c runs this
 * program as root, with /dimmapfs.ko. A scene is ARM/THREADS/FAULTS/WRITES/BUFFER/FILE/DEVICE
 *
 * 	ARM	dimmap, dimmap@BATCH or dimmap@BATCH@POLICY: through a buffer of dimmapfs; default,
 * 		random, mglru, mglru-random: mmap of the device in a cgroup of that memory,
 * 		without and with MADV_RANDOM, without and with the multi-generational LRU;
 * 		free-default, free-random: the same without the cgroup, bounded by the machine's
 * 		memory only; direct: no mapping, but reads and writes of a page by O_DIRECT;
 * 		umap: LLNL's UMap, if this program is linked with it, reading by O_DIRECT, with one
 * 		filler for every two threads
 * 	THREADS	one on each CPU from 0 on
 * 	FAULTS	the number of random accesses of all threads together, after the memory has been
 * 		filled twice
 * 	WRITES	of 100 accesses
 * 	BUFFER	MiB; 0 with free: what is available
 * 	FILE	times BUFFER
 * 	DEVICE	without /dev/
 *
 * The cgroup has 4 MiB more, for the program itself and the kernel's data about its pages. The
 * program prints
 *
 * 	outofcore SCENE accesses N major N minor N interrupts N pages N nanoseconds N file N
 *
 * with the counts between its markers: major and minor faults as the kernel counts them for the
 * process, interrupts of CPUs to flush their TLBs, pages read from the device.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "bench/lib/guest.h"

#define PAGE 4096UL
#define THREADS_MAX 64

struct scene {
	char arm[32], device[32];
	unsigned threads, faults, writes;
	unsigned long buffer, file;
};

struct worker {
	pthread_t thread;
	unsigned number;
	uint64_t random;
	void *page;
};

/* declared in UMap's umap.h */
extern void *umap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
	__attribute__((weak));
extern int uunmap(void *addr, size_t length) __attribute__((weak));

static struct scene scene;
static volatile unsigned char *mapped;
static int direct = -1;
static pthread_barrier_t barrier;
static struct worker worker[THREADS_MAX];

static uint64_t outofcore_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static void touch(struct worker *w, unsigned long accesses)
{
	for (unsigned long i = 0; i < accesses; i++) {
		uint64_t r = outofcore_next(&w->random);

		if (direct >= 0) {
			off_t at = (off_t)((r >> 8) % (scene.file / PAGE) * PAGE);

			if ((r % 100 < scene.writes ? pwrite(direct, w->page, PAGE, at)
						    : pread(direct, w->page, PAGE, at)) != PAGE)
				die("O_DIRECT");
			continue;
		}
		if (r % 100 < scene.writes)
			mapped[(r >> 8) % (scene.file / PAGE) * PAGE] = (unsigned char)i;
		else
			(void)mapped[(r >> 8) % (scene.file / PAGE) * PAGE];
	}
}

static void *outofcore_work(void *arg)
{
	struct worker *w = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(w->number % (unsigned)sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
	w->page = aligned_alloc(PAGE, PAGE);
	if (!w->page)
		die("aligned_alloc");
	memset(w->page, 0, PAGE);
	touch(w, direct >= 0 ? 1 : 2 * scene.buffer / PAGE / scene.threads + 1);
	pthread_barrier_wait(&barrier); /* filled */
	pthread_barrier_wait(&barrier); /* the count begins */
	touch(w, scene.faults / scene.threads);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static uint64_t outofcore_number_in(const char *path, const char *name)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *at;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* Return the sum of the numbers of all CPUs in the line NAME of /proc/interrupts. */
static uint64_t interrupts(const char *name)
{
	static char line[1024];
	FILE *f = fopen("/proc/interrupts", "r");
	uint64_t sum = 0;

	while (f && fgets(line, sizeof(line), f)) {
		char *at = line + strspn(line, " "), *end;

		if (strncmp(at, name, strlen(name)) != 0)
			continue;
		for (at += strlen(name);; at = end) {
			unsigned long long n = strtoull(at, &end, 10);

			if (end == at)
				break;
			sum += n;
		}
	}
	if (f)
		fclose(f);
	return sum;
}

static uint64_t sectors_read(void)
{
	char path[96];
	unsigned long long ios, merges, sectors = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/block/%s/stat", scene.device);
	f = fopen(path, "r");
	if (f && fscanf(f, "%llu %llu %llu", &ios, &merges, &sectors) != 3)
		sectors = 0;
	if (f)
		fclose(f);
	return sectors;
}

static void outofcore_load(const char *module, const char *parameters)
{
	int fd = open(module, O_RDONLY);

	if (fd < 0 || (syscall(SYS_finit_module, fd, parameters, 0) < 0 && errno != EEXIST))
		die(module);
	close(fd);
}

static void map_dimmap(void)
{
	char device[64], options[160], text[32], *batch, *policy = NULL;
	int fd;

	outofcore_load("/dimmapfs.ko", "");
	snprintf(text, sizeof(text), "%s", scene.arm);
	batch = strchr(text, '@');
	if (batch) {
		*batch++ = '\0';
		policy = strchr(batch, '@');
		if (policy)
			*policy++ = '\0';
	}
	snprintf(device, sizeof(device), "/dev/%s", scene.device);
	snprintf(options, sizeof(options), "size=%lu,batch=%s,policy=%s,src=%s", scene.buffer,
		 batch ? batch : "64", policy ? policy : "s3fifo", device);
	mkdir("/mnt", 0755);
	if (mount("none", "/mnt", "dimmapfs", 0, options) < 0)
		die("mount");
	fd = open("/mnt/data", O_RDWR);
	mapped = fd < 0 ? MAP_FAILED
			: mmap(NULL, scene.file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		die("/mnt/data");
	close(fd);
}

static void map_device(void)
{
	char device[64];
	int fd;

	snprintf(device, sizeof(device), "/dev/%s", scene.device);
	fd = open(device, O_RDWR);
	mapped = fd < 0 ? MAP_FAILED
			: mmap(NULL, scene.file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		die(device);
	close(fd);
	if (strstr(scene.arm, "random") && madvise((void *)mapped, scene.file, MADV_RANDOM) < 0)
		die("MADV_RANDOM");
}

static void open_direct(void)
{
	char device[64];

	snprintf(device, sizeof(device), "/dev/%s", scene.device);
	direct = open(device, O_RDWR | O_DIRECT);
	if (direct < 0)
		die(device);
}

static void map_umap(void)
{
	char text[32];

	if (!umap)
		die("scene umap: this program is not linked with UMap (bench/run dimmap --umap "
		    "DIR)");
	snprintf(text, sizeof(text), "%lu", scene.buffer / PAGE);
	setenv("UMAP_BUFSIZE", text, 1);
	snprintf(text, sizeof(text), "%u", scene.threads < 8 ? 4 : scene.threads / 2);
	setenv("UMAP_PAGE_FILLERS", text, 1);
	setenv("UMAP_PAGE_EVICTORS", "4", 1);
	open_direct();
	mapped = umap(NULL, scene.file, PROT_READ | PROT_WRITE, MAP_PRIVATE, direct, 0);
	if (mapped == MAP_FAILED)
		die("umap");
	direct = -1;
}

/* Move to a cgroup whose memory limit is 4 MiB above the scene's memory. */
static void bound(void)
{
	char text[32];

	mkdir("/cg/outofcore", 0755);
	guest_put("/cg/outofcore/cgroup.procs", "0");
	snprintf(text, sizeof(text), "%lu", scene.buffer + 4 * MIB);
	guest_put("/cg/outofcore/memory.max", text);
}

/*
 * Run the scene and print its counts. "file" of memory.stat is how many bytes of the device are in
 * the page cache.
 */
static void outofcore_run(const char *name)
{
	struct rusage before, after;
	struct timespec start, end;
	uint64_t tlb, sectors, file;
	bool ours = strncmp(scene.arm, "dimmap", 6) == 0;

	guest_put("/proc/sys/vm/drop_caches", "3");
	if (access("/sys/kernel/mm/lru_gen/enabled", F_OK) == 0)
		guest_put("/sys/kernel/mm/lru_gen/enabled",
			  strncmp(scene.arm, "mglru", 5) == 0 ? "y" : "n");
	else if (strncmp(scene.arm, "mglru", 5) == 0)
		die("this kernel has no CONFIG_LRU_GEN");
	if (!ours && strncmp(scene.arm, "free", 4) != 0 && strcmp(scene.arm, "umap") != 0)
		bound();
	if (strcmp(scene.arm, "direct") == 0)
		open_direct();
	else if (strcmp(scene.arm, "umap") == 0)
		map_umap();
	else
		ours ? map_dimmap() : map_device();
	pthread_barrier_init(&barrier, NULL, scene.threads + 1);
	for (unsigned i = 0; i < scene.threads; i++) {
		worker[i].number = i;
		worker[i].random = 0x9e3779b97f4a7c15ULL * (i + 1);
		if (pthread_create(&worker[i].thread, NULL, outofcore_work, &worker[i]))
			die("pthread_create");
	}
	pthread_barrier_wait(&barrier);
	getrusage(RUSAGE_SELF, &before);
	tlb = interrupts("TLB:");
	sectors = sectors_read();
	clock_gettime(CLOCK_MONOTONIC, &start);
	MARK(1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	MARK(2);
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &after);
	file = outofcore_number_in("/cg/outofcore/memory.stat", "\nfile ");
	printf("outofcore %s accesses %lu major %ld minor %ld interrupts %llu pages %llu "
	       "nanoseconds %lld file %llu\n",
	       name, (unsigned long)scene.faults / scene.threads * scene.threads,
	       after.ru_majflt - before.ru_majflt, after.ru_minflt - before.ru_minflt,
	       (unsigned long long)(interrupts("TLB:") - tlb),
	       (unsigned long long)(sectors_read() - sectors) / 8,
	       (long long)(end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec,
	       (unsigned long long)file);
	fflush(stdout);
	for (unsigned i = 0; i < scene.threads; i++)
		pthread_join(worker[i].thread, NULL);
	if (strcmp(scene.arm, "umap") == 0)
		uunmap((void *)mapped, scene.file);
	else if (mapped)
		munmap((void *)mapped, scene.file);
	if (ours && umount("/mnt") < 0)
		die("umount");
	_exit(0);
}

int main(int argc, char **argv)
{
	/* the kernel of a distribution has null_blk as a module */
	if (access("/null_blk.ko", F_OK) == 0) {
		outofcore_load("/configfs.ko", "");
		outofcore_load("/null_blk.ko", "gb=8 irqmode=0 memory_backed=1");
		usleep(300000); /* wait for the device's node in /dev */
	}
	for (int i = 1; i < argc; i++) {
		int status = 1;
		pid_t pid;

		if (sscanf(argv[i], "%31[^/]/%u/%u/%u/%lu/%lu/%31s", scene.arm, &scene.threads,
			   &scene.faults, &scene.writes, &scene.buffer, &scene.file,
			   scene.device) != 7 ||
		    !scene.threads || scene.threads > THREADS_MAX)
			die(argv[i]);
		scene.buffer *= MIB;
		if (!scene.buffer)
			scene.buffer = outofcore_number_in("/proc/meminfo", "MemAvailable: ") *
				       1024 / PAGE * PAGE;
		scene.file *= scene.buffer;
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			outofcore_run(argv[i]);
		if (pid < 0 || waitpid(pid, &status, 0) != pid ||
		    (status && !WIFSIGNALED(status))) {
			printf("outofcore %s: status %d\n", argv[i], status);
			return 1;
		}
		/* a scene that the kernel has killed for lack of memory is a result, too */
		if (WIFSIGNALED(status))
			printf("outofcore %s killed by signal %d\n", argv[i], WTERMSIG(status));
	}
	return 0;
}
