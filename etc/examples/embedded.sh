#!/bin/bash
#SBATCH --nodes=1 --exclusive
#NODEOS { "acKind": "PodManifest", "acVersion": "0.8.11", "apps": [
#NODEOS   { "name": "sim", "app": { "isolators": [ { "name": "container", "value": { "cpus": 4 } } ] } },
#NODEOS   { "name": "vda", "app": { "isolators": [ { "name": "container", "value": { "cpus": 2 } } ] } } ] }
# shellcheck disable=SC2016  # the variables are the ranks'
# The #NODEOS lines describe this job's containers, as a file for --nodeos-manifest does.

# one step for each of the two containers
srun --nodes=1 --ntasks=2 --nodeos-container=sim \
	sh -c 'echo "sim: rank $SLURM_PROCID, CPUs $NODEOS_CPUS"' &
srun --nodes=1 --ntasks=1 --nodeos-container=vda \
	sh -c 'echo "vda: rank $SLURM_PROCID, CPUs $NODEOS_CPUS"' &
wait

# one step for both containers, divided by rank
srun --nodes=1 --ntasks=3 --overlap --nodeos-container=sim:0-1,vda:2 \
	sh -c 'echo "$NODEOS_CONTAINER: rank $SLURM_PROCID, CPUs $NODEOS_CPUS"'
