dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl X_AC_FUZZERS: --enable-fuzzers builds the libFuzzer targets of the parsers (clang only).
AC_DEFUN([X_AC_FUZZERS], [
  AC_ARG_ENABLE([fuzzers],
    [AS_HELP_STRING([--enable-fuzzers], [build the libFuzzer targets (needs CC=clang)])],
    [], [enable_fuzzers=no])
  FUZZ_CFLAGS="-g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined"
  AC_SUBST([FUZZ_CFLAGS])
  AM_CONDITIONAL([FUZZERS], [test "x$enable_fuzzers" = xyes])
])
