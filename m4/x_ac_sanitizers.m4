dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl X_AC_SANITIZERS: --enable-sanitizers builds programs and tests with ASan and UBSan. The
dnl plugin is left out: it is loaded into Slurm's own programs.
AC_DEFUN([X_AC_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers], [build tools and tests with ASan and UBSan])],
    [], [enable_sanitizers=no])
  AS_IF([test "x$enable_sanitizers" = xyes],
    [SAN_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
    SAN_CFLAGS="$SAN_CFLAGS -g -DNODEOS_SANITIZERS"])
  AC_SUBST([SAN_CFLAGS])
  AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" = xyes])
])
