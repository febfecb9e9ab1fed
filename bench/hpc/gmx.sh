#!/bin/bash
# gmx.sh ARM THREADS: runs some steps of GROMACS (water.sh) with THREADS threads, which spin while
# they wait for each other. In arms that bind, thread n is bound to CPU n + 1. ranks.c calls this
# script in a guest. The script writes a checksum of the result.
set -euo pipefail

cd /tmp
pin=off
case $1 in pinned | fifo | user) pin=on ;; esac
export OMP_WAIT_POLICY=active
if ! gmx -quiet -nobackup mdrun -s topol.tpr -deffnm md -ntmpi 1 -ntomp "$2" -pin "$pin" \
	-pinoffset 1 -pinstride 1 -reprod -nb cpu >mdrun.log 2>&1; then
	cat mdrun.log
	exit 1
fi
md5sum <md.gro | cut -d' ' -f1 >/tmp/result
