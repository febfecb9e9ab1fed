/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entries whose length changes, or is too large. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/test/tap.h"
#include "container/ledger_impl.h"
#include "container/test/ledger_fixture.h"

/* The file that is cut after the next fstat() of it; "": none. */
static char cut[256];

/* Replaces libc's. */
int fstat(int fd, struct stat *st)
{
	int rc = fstatat(fd, "", st, AT_EMPTY_PATH);

	if (*cut && truncate(cut, 10) < 0)
		abort();
	cut[0] = '\0';
	return rc;
}

/* The reason why entry INODE cannot be read, "" if it can. */
static const char *refused(uint64_t inode)
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
	is(refused(job->inode), "", "a whole entry is read");
	strcpy(cut, path);
	snprintf(why, sizeof(why),
		 "ledger entry job-%" PRIu64 ": it was truncated while being read", job->inode);
	is(refused(job->inode), why, "an entry that shrinks while it is read is reported as cut");
	if (truncate(path, LEDGER_READ_MAX) < 0)
		abort();
	snprintf(why, sizeof(why), "ledger entry job-%" PRIu64 ": File too large", job->inode);
	is(refused(job->inode), why, "an entry that is too long is reported as too large");
	ledger_close(l);
	ledger_job_free(job);
	close(root);
	return tap_done();
}
