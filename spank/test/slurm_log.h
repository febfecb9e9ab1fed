/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NODEOS_SPANK_TEST_SLURM_LOG_H
#define NODEOS_SPANK_TEST_SLURM_LOG_H

/* Slurm's log functions, all redirected to one that the test defines. */
#include <stdarg.h>
#include <stdio.h>

#include <slurm/spank.h>

/* LEVEL is "error", "info", "debug" or "user". */
static void slurm_logged(const char *level, const char *text);

#define SLURM_LOG(name, level)                                \
	void name(const char *format, ...)                    \
	{                                                     \
		static char text_[1 << 17];                   \
		va_list ap_;                                  \
                                                              \
		va_start(ap_, format);                        \
		vsnprintf(text_, sizeof(text_), format, ap_); \
		va_end(ap_);                                  \
		slurm_logged(level, text_);                   \
	}

SLURM_LOG(slurm_error, "error")
SLURM_LOG(slurm_info, "info")
SLURM_LOG(slurm_debug, "debug")
SLURM_LOG(slurm_spank_log, "user")

#endif
