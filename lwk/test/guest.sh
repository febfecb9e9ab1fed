#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# Runs in the guest of boot.py: the lines of /plan, each "NAME SIZE COMMAND...", natively and with
# nodeos-lwk, and prints both outputs. Other lines are functions of this file.
export PATH=/bin:/ HOME=/ TERM=dumb
/busybox --install -s /bin
ln -s /busybox /bin/busybox
mkdir -p /tmp /run /etc
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

# The core dump of a program that crashes, and its contents.
core_dump () {
	local what

	echo /tmp/core >/proc/sys/kernel/core_pattern
	ulimit -c unlimited
	for what in native inside; do
		rm -f /tmp/core
		if [ $what = native ]; then
			/crash.static
		else
			nodeos-lwk --memory=16M /crash.static
		fi >/tmp/out 2>/tmp/err
		echo "core dump: status $?" >>/tmp/out
		/crash.static /tmp/core >>/tmp/out
		printf '=== %s core\n' $what
		cat /tmp/out
		printf '=== status 0\n'
		cat /tmp/err
		echo "=== ."
	done
	ulimit -c 0
	rm -f /tmp/core
}

# shellcheck disable=SC2016  # for shells inside
scripts () {
	printf '#!/busybox sh\necho "script $0 $1 $#"\n/hello.static x\necho $?\n' >/tmp/script
	printf '#!/tmp/script with an argument\n' >/tmp/second
	chmod +x /tmp/script /tmp/second
	compare script 16M /tmp/script a b
	compare second-script 16M /tmp/second a
	compare shell 16M sh -c 'for i in 3 1 2; do echo $i | cat; done | sort; exec /hello.dyn end'
}

refusals () {
	cp /hello.static /tmp/setuid
	chmod 4755 /tmp/setuid
	inside setuid nodeos-lwk --memory=16M /tmp/setuid
	inside setuid-later nodeos-lwk --memory=16M sh -c /tmp/setuid
	printf '\177ELF\001\001\001' >/tmp/elf32
	chmod +x /tmp/elf32
	inside elf32 nodeos-lwk --memory=16M /tmp/elf32
	inside not-found nodeos-lwk --memory=16M nothing
	inside too-small nodeos-lwk --memory=16M --page=1G /hello.static
	inside no-1g nodeos-lwk --memory=1G --page=1G /hello.static
	inside loose nodeos-lwk --memory=16M --loose sh -c '/hello.static x; echo $?'
	echo 'user:x:1000:1000::/:/bin/sh' >/etc/passwd
	inside user su user -c 'nodeos-lwk --memory=16M /hello.static x'
}

# ranks NAME MCA_OPTIONS...: Open MPI of the root file system that QEMU shares
ranks () {
	local where=/mnt

	name=$1
	shift
	if ! grep -q ' /mnt 9p ' /proc/mounts; then
		mkdir -p /mnt
		mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /mnt
		for dir in proc sys dev; do
			mount -o bind /$dir /mnt/$dir
		done
		mkdir -p /dev/shm
		mount -t tmpfs tmp /dev/shm
		mount -t tmpfs tmp /mnt/tmp
		mount -t tmpfs tmp /mnt/run
		cp /mpi /nodeos-lwk /mnt/tmp
		hostname n1
		export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=/tmp \
			OMPI_MCA_pml=ob1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
	fi
	export OMPI_MCA_btl="$1" OMPI_MCA_btl_sm_single_copy_mechanism="$2"
	set -- env PATH=/usr/bin:/bin mpirun --oversubscribe -n "$3"
	run native chroot $where "$@" /tmp/mpi 9
	run inside chroot $where "$@" /tmp/nodeos-lwk --memory=96M --counts /tmp/mpi 9
}

without_paging () {
	rmmod kvm_amd
	insmod /?-kvm-amd.ko npt=0
	inside npt0 nodeos-lwk --memory=16M /hello.static x
}

without_kvm () {
	rmmod kvm_amd kvm
	name=without-kvm
	run inside nodeos-lwk --memory=32M /hello.dyn
}

# Kill processes left by a test, which would keep KVM's module loaded; kill -1 spares this shell
# itself.
end_all () {
	kill -KILL -1
	sleep 1
}

no_pages () {
	echo 0 >/proc/sys/vm/nr_hugepages
	name=no-pages
	run inside nodeos-lwk --memory=32M /hello.dyn
}

# shellcheck disable=SC1091  # boot.py writes it
. /plan
echo "free at the end: $(free_pages)"
