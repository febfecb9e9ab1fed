dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl X_AC_LWK: nodeos-lwk is for x86-64, and static, with libc's own objects for that.
AC_DEFUN([X_AC_LWK], [
  AC_ARG_ENABLE([lwk],
    [AS_HELP_STRING([--disable-lwk],
      [nodeos-lwk only prints that it is not there @<:@on x86-64: enabled@:>@])],
    [], [AS_CASE([$host_cpu], [x86_64], [enable_lwk=yes], [enable_lwk=no])])
  AS_IF([test "x$enable_lwk" = xyes], [
    AC_MSG_CHECKING([for a static libc (static-pie)])
    x_ac_save_ldflags=$LDFLAGS
    x_ac_save_cflags=$CFLAGS
    LDFLAGS="$LDFLAGS -static-pie"
    CFLAGS="$CFLAGS -fPIE"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [[puts("");]])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR(m4_normalize([no static libc: install it (Debian: libc6-dev; Fedora:
         glibc-static) or use --disable-lwk]))])
    LDFLAGS=$x_ac_save_ldflags
    CFLAGS=$x_ac_save_cflags
  ])
  AM_CONDITIONAL([LWK], [test "x$enable_lwk" = xyes])
])
