#!/bin/bash
# Analyse the trajectory while the simulation writes it: rank 0 computes the radial distribution of
# the oxygens, rank 1 their mean square displacement. Each pass adds a line to analysis.RANK.log.
set -euo pipefail

rank=$SLURM_PROCID
log=analysis.$rank.log
limit=$((SECONDS + 1200))

one_pass () {
	if [ "$rank" -eq 0 ]; then
		gmx -quiet -nobackup rdf -f md.xtc -s topol.tpr -o rdf.xvg -ref 'name OW' \
			-sel 'name OW'
	else
		gmx -quiet -nobackup msd -f md.xtc -s topol.tpr -o msd.xvg -sel 'name OW'
	fi
}

frames_read () {
	sed -n 's/.*Analyzed \([0-9]*\) frames.*/\1/p' "pass.$rank" | tail -n 1
}

: >"$log"
while true; do
	if [ "$SECONDS" -gt "$limit" ]; then
		echo "the simulation did not end within $limit s" >&2
		exit 1
	fi
	finished=no
	[ -e sim.done ] && finished=yes
	# a pass may fail while the simulation runs: the last frame may be incomplete
	if [ -s md.xtc ] && one_pass >"pass.$rank" 2>&1; then
		echo "frames $(frames_read) finished $finished cpus ${NODEOS_CPUS:-all}" >>"$log"
	elif [ "$finished" = yes ]; then
		cat "pass.$rank" >&2
		exit 1
	fi
	[ "$finished" = yes ] && exit 0
	sleep 1
done
