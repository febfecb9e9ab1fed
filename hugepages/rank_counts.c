/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hugepages/rank_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc.h"
#include "hugepages/borrow.h"

int rank_counts_make(struct rank_counts *out, unsigned ranks, struct errbuf *err)
{
	int fd = memfd_create("nodeos-counts", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)ranks * LWK_COUNTED_SIZE) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0) {
		errprintf(err, "cannot make a file for counts: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*out = (struct rank_counts){ getpid(), process_number(getpid()), fd };
	return 0;
}

int rank_counts_take(const struct rank_counts *c, struct errbuf *err)
{
	return c->owner ? borrow_descriptor(c->owner, c->owner_number, c->fd, err) : -1;
}

static void add_top(struct rank_counted *out, unsigned call, uint64_t count)
{
	unsigned at = out->n_top;

	while (at > 0 && out->top[at - 1].count < count)
		at--;
	if (at == RANK_COUNTS_TOP)
		return;
	if (out->n_top < RANK_COUNTS_TOP)
		out->n_top++;
	memmove(&out->top[at + 1], &out->top[at], (out->n_top - at - 1) * sizeof(out->top[0]));
	out->top[at].call = call;
	out->top[at].count = count;
}

void rank_counts_read(struct rank_counted *out, const struct rank_counts *c, unsigned nth)
{
	struct lwk_counted *r = malloc(sizeof(*r));

	memset(out, 0, sizeof(*out));
	if (r && c->owner == getpid() &&
	    pread(c->fd, r, sizeof(*r), (off_t)nth * LWK_COUNTED_SIZE) == (ssize_t)sizeof(*r) &&
	    r->version == LWK_COUNTED_VERSION) {
		out->known = true;
		out->ended = r->ended == 1;
		memcpy(out->exits, r->exits, sizeof(out->exits));
		for (unsigned i = 0; i < COUNT_CALLS_MAX; i++)
			if (r->calls[i])
				add_top(out, i, r->calls[i]);
	}
	if (out->ended) {
		out->run_ns = r->end_ns > r->start_ns ? r->end_ns - r->start_ns : 0;
		out->answered = r->answered;
		out->all_exits = r->all_exits;
		out->interrupts = r->interrupts;
		out->nested_faults = r->nested_faults;
		out->host_faults = r->host_faults;
		out->used = r->used;
		out->outside_mappings = r->outside_mappings;
		out->outside = r->outside;
	}
	free(r);
}

#ifdef __x86_64__
#define CALL(name) [SYS_##name] = #name
static const char *const call_name[COUNT_CALLS_MAX] = {
	CALL(read),
	CALL(write),
	CALL(open),
	CALL(close),
	CALL(stat),
	CALL(fstat),
	CALL(poll),
	CALL(lseek),
	CALL(mmap),
	CALL(mprotect),
	CALL(munmap),
	CALL(brk),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(ioctl),
	CALL(pread64),
	CALL(pwrite64),
	CALL(readv),
	CALL(writev),
	CALL(access),
	CALL(select),
	CALL(sched_yield),
	CALL(mremap),
	CALL(madvise),
	CALL(nanosleep),
	CALL(getpid),
	CALL(socket),
	CALL(connect),
	CALL(sendto),
	CALL(recvfrom),
	CALL(sendmsg),
	CALL(recvmsg),
	CALL(clone),
	CALL(fork),
	CALL(vfork),
	CALL(execve),
	CALL(wait4),
	CALL(kill),
	CALL(fcntl),
	CALL(fsync),
	CALL(ftruncate),
	CALL(readlink),
	CALL(gettimeofday),
	CALL(getrusage),
	CALL(futex),
	CALL(sched_setaffinity),
	CALL(sched_getaffinity),
	CALL(getdents64),
	CALL(clock_gettime),
	CALL(clock_nanosleep),
	CALL(epoll_wait),
	CALL(epoll_ctl),
	CALL(epoll_pwait),
	CALL(openat),
	CALL(newfstatat),
	CALL(readlinkat),
	CALL(ppoll),
	CALL(pselect6),
	CALL(getcpu),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(getrandom),
	CALL(preadv2),
	CALL(pwritev2),
	CALL(statx),
	CALL(rseq),
	CALL(prlimit64),
	CALL(getppid),
	CALL(uname),
	CALL(times),
	CALL(prctl),
};
#endif

const char *rank_counts_call_name(unsigned call)
{
#ifdef __x86_64__
	return call < COUNT_CALLS_MAX ? call_name[call] : NULL;
#else
	(void)call;
	return NULL;
#endif
}
