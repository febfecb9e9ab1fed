/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/buffer_file.h"

#include <sys/vfs.h>

bool buffer_is_at(const char *path)
{
	struct statfs st;

	return statfs(path, &st) == 0 && (unsigned long)st.f_type == BUFFER_MAGIC;
}
