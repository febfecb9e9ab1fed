#!/bin/bash
# The coupled job: GROMACS in container sim on all nodes, and beside it the analysis of its growing
# trajectory in container vda. As a reference, "job.sh plain" runs the simulation alone, without
# containers.
set -euo pipefail

simulate=(gmx_mpi mdrun -s topol.tpr -deffnm md -reprod -dlb no -ntomp 1 -npme 0 -nb cpu)

if [ "$1" = plain ]; then
	exec srun --ntasks-per-node=2 -n 4 "${simulate[@]}"
fi

rm -f sim.done
srun --nodeos-container=vda --ntasks-per-node=1 -n 2 "$2/analyse.sh" &
analysis=$!
code=0
srun --nodeos-container=sim --ntasks-per-node=2 -n 4 "${simulate[@]}" || code=$?
echo "$code" >sim.done
wait "$analysis"
exit "$code"
