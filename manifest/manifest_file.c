/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/manifest.h"

#include "base/textfile.h"

int manifest_read_file(char **text, size_t *len, const char *path, struct errbuf *err)
{
	if (!*path)
		return errprintf(err, "the manifest's name is empty: give a file");
	return textfile_read(text, len, path, MANIFEST_SIZE_MAX, err);
}
