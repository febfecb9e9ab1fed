dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl X_AC_WARNINGS: the warnings that this code is clean of; --enable-werror for CI.
AC_DEFUN([X_AC_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors])],
    [], [enable_werror=no])
  WARN_CFLAGS="-std=gnu11 -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes"
  WARN_CFLAGS="$WARN_CFLAGS -Wmissing-prototypes -Wformat=2 -Wvla"
  AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
  AC_SUBST([WARN_CFLAGS])
])
