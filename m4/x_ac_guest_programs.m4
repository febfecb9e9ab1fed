dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl X_AC_GUEST_PROGRAMS: MPI programs that the tests run inside the virtual cluster.
AC_DEFUN([X_AC_GUEST_PROGRAMS], [
  AC_ARG_ENABLE([guest-programs], [AS_HELP_STRING([--enable-guest-programs],
    [build and install the MPI programs of the guest tests (needs Open MPI and PMIx)])],
    [], [enable_guest_programs=no])
  AS_IF([test "x$enable_guest_programs" = xyes], [
    PKG_CHECK_MODULES([OMPI], [ompi-c])
    PKG_CHECK_MODULES([PMIX], [pmix])
  ])
  AM_CONDITIONAL([GUEST_PROGRAMS], [test "x$enable_guest_programs" = xyes])
])
