#!/bin/bash
# gmx.sh prepare: a box of water for gmx.sh ARM THREADS: some steps of GROMACS by so many threads
# that spin while they wait for each other, bound to CPUs from 1 on in arms that want it. For
# ranks.c, which calls it in a guest; leaves a checksum of the result.
set -euo pipefail

cd /tmp
if [ "$1" = prepare ]; then
	printf '%s\n' 'integrator = md' 'dt = 0.002' 'nsteps = 20' 'cutoff-scheme = Verlet' \
		'coulombtype = Reaction-Field' 'rcoulomb = 0.9' 'rvdw = 0.9' \
		'constraints = h-bonds' 'gen_vel = yes' 'gen_temp = 300' 'gen_seed = 1' >md.mdp
	printf '%s\n' '#include "oplsaa.ff/forcefield.itp"' '#include "oplsaa.ff/spc.itp"' \
		'[ system ]' water '[ molecules ]' >topol.top
	gmx -quiet -nobackup solvate -cs spc216 -box 2.1 2.1 2.1 -p topol.top -o conf.gro
	gmx -quiet -nobackup grompp -maxwarn 1 -f md.mdp -c conf.gro -p topol.top -o topol.tpr
	exit
fi
pin=off
case $1 in pinned | fifo | user) pin=on ;; esac
export OMP_WAIT_POLICY=active
if ! gmx -quiet -nobackup mdrun -s topol.tpr -deffnm md -ntmpi 1 -ntomp "$2" -pin "$pin" \
	-pinoffset 1 -pinstride 1 -reprod -nb cpu >mdrun.log 2>&1; then
	cat mdrun.log
	exit 1
fi
md5sum <md.gro | cut -d' ' -f1 >/tmp/result
