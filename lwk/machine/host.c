/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lwk/machine/host.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define PAGE 4096UL

long program_copy(void *to, const void *from, size_t bytes)
{
	const struct iovec local = { to, bytes }, remote = { (void *)from, bytes };
	long rc = host_call(SYS_process_vm_readv, host_call(SYS_getpid, 0), (long)&local, 1,
			    (long)&remote, 1, 0);

	return rc == (long)bytes ? 0 : rc < 0 ? rc : -EFAULT;
}

long program_text(char *to, size_t size, uint64_t from)
{
	size_t done = 0;

	while (done < size) {
		size_t n = PAGE - (from + done) % PAGE;
		const char *end;

		if (n > size - done)
			n = size - done;
		if (program_copy(to + done, (const void *)(from + done), n) < 0)
			return -EFAULT;
		end = memchr(to + done, '\0', n);
		if (end)
			return end - to;
		done += n;
	}
	return -ENAMETOOLONG;
}

void host_append_number(char *text, unsigned value)
{
	char digits[12], *p = digits + sizeof(digits);

	*--p = '\0';
	do
		*--p = (char)('0' + value % 10);
	while (value /= 10);
	strcat(text, p);
}
