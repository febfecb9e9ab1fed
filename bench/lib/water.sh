#!/bin/bash
# water.sh STEPS [LINE]...: writes ./topol.tpr, a box of water for GROMACS, with STEPS steps and
# with each LINE as a further parameter. This script is copied into guests.
set -euo pipefail

steps=$1
shift
printf '%s\n' 'integrator = md' 'dt = 0.002' "nsteps = $steps" 'cutoff-scheme = Verlet' \
	'coulombtype = Reaction-Field' 'rcoulomb = 0.9' 'rvdw = 0.9' 'constraints = h-bonds' \
	'gen_vel = yes' 'gen_temp = 300' 'gen_seed = 1' "$@" >md.mdp
printf '%s\n' '#include "oplsaa.ff/forcefield.itp"' '#include "oplsaa.ff/spc.itp"' \
	'[ system ]' water '[ molecules ]' >topol.top
gmx -quiet -nobackup solvate -cs spc216 -box 2.1 2.1 2.1 -p topol.top -o conf.gro
gmx -quiet -nobackup grompp -maxwarn 1 -f md.mdp -c conf.gro -p topol.top -o topol.tpr
