/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Prints the options that the plugin registers: name, argument and help text, a tab between. */
#include <stdarg.h>
#include <stdio.h>

#include "spank/options.h"

spank_err_t spank_option_register(spank_t sp, struct spank_option *opt)
{
	(void)sp;
	printf("%s\t%s\t%s\n", opt->name, opt->arginfo, opt->usage);
	return ESPANK_SUCCESS;
}

void slurm_error(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
}

int main(void)
{
	return options_register(NULL) < 0;
}
