dnl SPDX-License-Identifier: GPL-2.0-or-later
dnl X_AC_SLURM: find slurm/spank.h (>= 22.05) and where the plugin goes. Slurm loads a SPANK
dnl plugin only into the series whose headers it was built with.
AC_DEFUN([X_AC_SLURM], [
  AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--with-slurm=DIR], [prefix of the Slurm headers @<:@system@:>@])],
    [], [with_slurm=])
  AC_ARG_WITH([slurmplugindir],
    [AS_HELP_STRING([--with-slurmplugindir=DIR], [Slurm's PluginDir @<:@LIBDIR/slurm@:>@])],
    [], [with_slurmplugindir='${libdir}/slurm'])
  SLURM_CPPFLAGS=
  AS_IF([test -n "$with_slurm"], [SLURM_CPPFLAGS="-I$with_slurm/include"])
  x_ac_save_cppflags=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
  AC_CHECK_HEADER([slurm/spank.h], [],
    [AC_MSG_ERROR(m4_normalize([slurm/spank.h not found: install Slurm's headers
      (Debian: libslurm-dev) or use --with-slurm=DIR]))])
  AC_MSG_CHECKING([that the Slurm headers are 22.05 or newer])
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#include <slurm/slurm_version.h>
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error too old
#endif
]])], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])
    AC_MSG_ERROR([NodeOS needs Slurm 22.05 or newer])])
  AC_COMPUTE_INT([x_ac_major], [SLURM_VERSION_NUMBER >> 16], [#include <slurm/slurm_version.h>])
  AC_COMPUTE_INT([x_ac_minor], [(SLURM_VERSION_NUMBER >> 8) & 255],
    [#include <slurm/slurm_version.h>])
  SLURM_HEADER_VERSION=$(printf "%d.%02d" "$x_ac_major" "$x_ac_minor")
  CPPFLAGS=$x_ac_save_cppflags
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([SLURM_HEADER_VERSION])
  AC_SUBST([slurmplugindir], [$with_slurmplugindir])
])
