/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/modules.h"

#include <string.h>

static bool is_module(const char *name, const char *word, size_t n)
{
	if (strlen(name) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((word[i] == '-' ? '_' : word[i]) != name[i])
			return false;
	return true;
}

/* Return whether PATH, a text of LENGTH bytes, is the path of the file of module NAME. */
static bool is_file_of(const char *name, const char *path, size_t length)
{
	size_t begin = length, end;

	while (begin && path[begin - 1] != '/')
		begin--;
	end = begin;
	while (end < length && path[end] != '.')
		end++;
	return is_module(name, path + begin, end - begin);
}

bool guest_kernel_has(const char *builtin, const char *name)
{
	while (*builtin) {
		size_t line = strcspn(builtin, "\n");

		if (is_file_of(name, builtin, line))
			return true;
		builtin += line + (builtin[line] == '\n');
	}
	return false;
}

static int add_path(struct guest_modules *list, const char *text, size_t length)
{
	for (unsigned i = 0; i < list->n; i++)
		if (list->path[i].length == length && memcmp(list->path[i].text, text, length) == 0)
			return 0;
	if (list->n == GUEST_MODULES_MAX)
		return -1;
	list->path[list->n++] = (struct guest_module_path){ text, length };
	return 0;
}

int guest_modules_add(struct guest_modules *list, const char *dep, const char *name)
{
	for (; *dep; dep += strcspn(dep, "\n"), dep += *dep == '\n') {
		size_t line = strcspn(dep, "\n"), file = strcspn(dep, ":\n"), end = line;

		if (file == line || !is_file_of(name, dep, file))
			continue;
		/*
		 * a line has the modules that its module needs; the last one is to be loaded first
		 */
		while (end > file + 1) {
			size_t begin = end;

			while (begin > file + 1 && dep[begin - 1] != ' ')
				begin--;
			if (begin < end && add_path(list, dep + begin, end - begin) < 0)
				return -1;
			end = begin > file + 1 ? begin - 1 : file + 1;
		}
		return add_path(list, dep, file);
	}
	return -1;
}
