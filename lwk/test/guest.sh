#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# Runs in the guest of boot.py: the lines of /plan, each "NAME SIZE COMMAND...", natively and with
# nodeos-lwk, and prints both outputs. Other lines are functions of this file.
export PATH=/bin:/ HOME=/ TERM=dumb
/busybox --install -s /bin
ln -s /busybox /bin/busybox
mkdir -p /tmp /run
mount -t tmpfs tmp /tmp
mount -t devpts pts /dev/pts 2>/dev/null
ip link set lo up
KVM=/sys/kernel/debug/kvm

for m in /[0-9]*.ko; do
	insmod "$m" || echo "insmod $m failed"
done
cat /sys/devices/system/clocksource/clocksource0/current_clocksource

free_pages () {
	sed -n 's/^HugePages_Free: *//p' /proc/meminfo
}

# run WHAT COMMAND...: prints output and status of COMMAND as the part WHAT of test $name
run () {
	local what=$1 rc=0

	shift
	timeout "${LIMIT:-120}" "$@" </dev/null >/tmp/out 2>/tmp/err || rc=$?
	echo "=== $what $name"
	cat /tmp/out
	echo "=== status $rc"
	cat /tmp/err
	echo "=== ."
}

# compare NAME SIZE COMMAND...
compare () {
	name=$1 size=$2
	shift 2
	run native "$@"
	run inside nodeos-lwk "--memory=$size" --counts "$@"
}

# inside NAME COMMAND...: one run, not compared
inside () {
	name=$1
	shift
	run inside "$@"
}

# Views from outside of a process that computes: KVM's own counts, page faults, huge pages.
outside () {
	local pid before after entry

	nodeos-lwk --memory=32M /compute.dyn 8 >/dev/null 2>&1 &
	pid=$!
	sleep 4
	entry=$(ls -d $KVM/$pid-* 2>/dev/null)
	echo "outside kvm ${entry:+yes} $(cat "$entry/exits" 2>/dev/null)"
	before=$(cut -d' ' -f10 /proc/$pid/stat)
	sleep 2
	after=$(cut -d' ' -f10 /proc/$pid/stat)
	echo "outside minflt $before $after"
	echo "outside comm $(cat /proc/$pid/comm)"
	/pages $pid
	echo "outside free $(free_pages)"
	wait $pid
	echo "outside end $? $(free_pages)"
	for signal in TERM KILL; do
		nodeos-lwk --memory=32M /compute.dyn 30 &
		pid=$!
		sleep 2
		kill -STOP $pid
		sleep 1
		sed -n 's/^State:/outside state/p' /proc/$pid/status
		kill -CONT $pid
		kill -$signal $pid
		wait $pid
		echo "outside $signal $? $(free_pages)"
	done
}

without_kvm () {
	rmmod kvm_amd kvm
	name=without-kvm
	run inside nodeos-lwk --memory=32M /hello.dyn
}

no_pages () {
	echo 0 >/proc/sys/vm/nr_hugepages
	name=no-pages
	run inside nodeos-lwk --memory=32M /hello.dyn
}

# shellcheck disable=SC1091  # boot.py writes it
. /plan
echo "free at the end: $(free_pages)"
