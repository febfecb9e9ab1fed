/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Print the plugin's options: name, argument and help text, with tabs between them. */
#include "spank/options.h"
#include "spank/test/slurm_log.h"

spank_err_t spank_option_register(spank_t sp, struct spank_option *opt)
{
	(void)sp;
	printf("%s\t%s\t%s\n", opt->name, opt->arginfo, opt->usage);
	return ESPANK_SUCCESS;
}

static void slurm_logged(const char *level, const char *text)
{
	fprintf(stderr, "%s: %s\n", level, text);
}

int main(void)
{
	return options_register(NULL) < 0;
}
