/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read entries that are too long, or whose length changes while they are read. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"
#include "container/ledger_impl.h"
#include "container/test/ledger_fixture.h"

/* path of the file that the next fstat() truncates; "": none */
static char cut[256];

/* The ledger calls this function instead of libc's fstat(). */
int fstat(int fd, struct stat *st)
{
	int rc = fstatat(fd, "", st, AT_EMPTY_PATH);

	if (*cut && truncate(cut, 10) < 0)
		abort();
	cut[0] = '\0';
	return rc;
}

/* Return the reason why the entry of the job with INODE cannot be read, "" if it can be read. */
static const char *why_unreadable(uint64_t inode)
{
	static struct errbuf err;
	struct ledger_job *job;

	errclear(&err);
	if (ledger_peek(state, inode, &job, &err) == 0)
		ledger_job_free(job);
	return err.text;
}

int main(void)
{
	struct ledger_job *job;
	struct errbuf err = { 0 };
	char path[256], why[256];
	struct ledger *l;

	ledger_fixture();
	job = job_in("job_7", 7, 1000);
	if (ledger_open(&l, state, root, 1, &err) < 0 || ledger_write(l, job, &err) < 0)
		bail("%s", err.text);
	snprintf(path, sizeof(path), "%s/job-%" PRIu64, state, job->inode);
	is(why_unreadable(job->inode), "", "ledger_read: reads a whole entry");
	strcpy(cut, path);
	snprintf(why, sizeof(why),
		 "ledger entry job-%" PRIu64 ": the file was truncated while being read",
		 job->inode);
	is(why_unreadable(job->inode), why,
	   "ledger_read: reports an entry that shrinks while it is read");
	if (truncate(path, LEDGER_READ_MAX) < 0)
		abort();
	snprintf(why, sizeof(why), "ledger entry job-%" PRIu64 ": File too large", job->inode);
	is(why_unreadable(job->inode), why, "ledger_read: reports an entry that is too large");
	ledger_close(l);
	ledger_job_free(job);
	close(root);
	return tap_done();
}
