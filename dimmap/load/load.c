/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dimmap-load: loads on mapped files larger than memory, for tests and measurements. */
#include "dimmap/load/loads.h"

int main(int argc, char **argv)
{
	static const struct load_action *const actions[] = {
		&lriot_generate, &lriot_run, &streamline_generate, &streamline_run, &bfs_generate,
		&bfs_run,	 NULL,
	};

	return load_main(actions, argc, argv);
}
