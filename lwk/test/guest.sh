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

# Keep a machine, so that a test's machine is neither KVM's first nor its last (keep.c). The process
# of the kept machine is no child of this shell, which waits for all its children.
keep_machine () {
	kept=$(/keep)
	echo "a machine is kept: ${kept:-no}"
}

# End the kept machine. Its process stays a zombie, because no process waits for it.
drop_machine () {
	kill "$kept"
	while [ -e "$(echo "$KVM/$kept"-*)" ]; do
		sleep 0.2
	done
	sleep 1
}

[ ! -e /dev/kvm ] || keep_machine

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

# judge_suite SUITE STATUS: prints the verdict of the outputs in /tmp/out and /tmp/err
judge_suite () {
	cat /tmp/out /tmp/err | awk -v suite="$1" '
		suite == "busybox" && /^(PASS|SKIPPED): / { n[substr($1, 1, length($1) - 1)]++ }
		suite == "busybox" && /^FAIL: / { bad = bad "; " $0 }
		suite == "perl" && /^ok/ { n[/# *skip/ ? "SKIPPED" : "PASS"]++ }
		suite == "perl" && /^not ok/ { bad = bad " " $3 }
		suite == "perl" && /^1\.\.0 # *[Ss][Kk][Ii][Pp]/ { n["SKIPPED"]++ }
		END { print n["PASS"] + 0 " passed, " n["SKIPPED"] + 0 " skipped; failed:" bad }'
}

# begin_suite SUITE TEST [COMMAND...]: runs COMMAND with the test, in the directory that it expects
begin_suite () {
	local suite=$1 test=$2

	shift 2
	case $suite in
	glibc) cd /tmp && set -- "$@" "/suites/glibc/${test##*/}" ;;
	busybox) cd /suites/busybox && set -- "$@" /busybox sh "./$test.tests" ;;
	perl) cd /suites/perl/t && set -- "$@" ./perl "$test.t" ;;
	esac
	export OPTIONFLAGS PERL5LIB=/suites/perl/lib TIMEOUTFACTOR=9 # only our limit holds
	OPTIONFLAGS=":$(cat /suites/busybox/options)"
	timeout 60 "$@" </dev/null >/tmp/out 2>/tmp/err
}

# suite SUITE TEST: runs natively and inside; prints the end of its output if the verdicts differ
suite () {
	local part rc verdict native='' times='' begin inside='nodeos-lwk --memory=48M'

	for part in native inside; do
		begin=$(cut -d. -f1 /proc/uptime)
		rc=0
		# shellcheck disable=SC2046  # words of a command, or nothing
		(begin_suite "$1" "$2" $([ $part = native ] || echo "$inside")) || rc=$?
		[ $rc -lt 124 ] || end_all
		verdict=$(judge_suite "$1")
		times="$times $(($(cut -d. -f1 /proc/uptime) - begin))"
		printf '=== %s %s\n%s\n=== status %s\n' $part "$1:$2" "$verdict" $rc
		if [ $part = native ]; then
			native="$verdict $rc"
		elif [ "$verdict $rc" != "$native" ]; then
			tail -n 25 /tmp/out /tmp/err
		fi
		printf '=== .\n'
	done
	echo "seconds of $1:$2:$times"
}

# fuzz AMOUNT: random code in ranks of its own, which have huge pages, and in forks of one rank;
# AMOUNT is a number of seconds or, as "Nx", of children
fuzz () {
	chmod 666 /dev/kvm
	LIMIT=$((${1%x} + 120))
	[ "$1" = "${1%x}" ] || LIMIT=$((${1%x} * 20 + 120))
	inside fuzz /fuzz "$1" "$(date +%s)" nodeos-lwk --memory=16M
	inside fuzz-forks nodeos-lwk --memory=16M /fuzz "$1" "$(date +%s)"
	LIMIT=120
}

# await_machine PID: wait until PID has a machine, and some seconds more for its start
await_machine () {
	local n=0

	until [ -e "$(echo $KVM/"$1"-*)" ] || [ $((n += 1)) = 600 ]; do
		sleep 0.2
	done
	sleep 4
}

# count_exits ENTRY SECONDS: what KVM's counters of a machine, the files of ENTRY, grow by meanwhile
count_exits () {
	grep -s . "$1"/* >/tmp/before
	sleep "$2"
	grep -s . "$1"/* >/tmp/after
	awk -F: 'BEGIN { printf "counters" }
		NR == FNR { old[$1] = $2; next }
		$2 != old[$1] { n = $2 - old[$1]; sub(".*/", "", $1); printf " %s=%d", $1, n }
		END { print "" }' /tmp/before /tmp/after
}

# Print what is seen from outside of a process that computes: KVM's counts, page faults, huge pages.
outside () {
	local pid before after entry

	nodeos-lwk --memory=32M /compute.dyn 900 >/dev/null 2>&1 &
	pid=$!
	await_machine $pid
	entry=$(ls -d $KVM/$pid-* 2>/dev/null)
	echo "outside kvm ${entry:+yes} $(cat "$entry/exits" 2>/dev/null)"
	before=$(cut -d' ' -f10 /proc/$pid/stat)
	count_exits "$entry" 2
	after=$(cut -d' ' -f10 /proc/$pid/stat)
	echo "outside minflt $before $after"
	echo "outside comm $(cat /proc/$pid/comm)"
	echo "outside free $(free_pages)"
	/pages $pid
	# the machine's own tables that have no room in the extent
	awk '/^Rss:/ { rss = $2 } /^VmFlags:.* nh/ { sum += rss; n++ }
		END { print "outside tables", n + 0, sum + 0 }' /proc/$pid/smaps
	kill -USR1 $pid
	wait $pid
	echo "outside end $? $(free_pages)"
	for signal in TERM KILL; do
		nodeos-lwk --memory=32M /compute.dyn 900 &
		pid=$!
		await_machine $pid
		kill -STOP $pid
		sleep 1
		sed -n 's/^State:/outside state/p' /proc/$pid/status
		kill -CONT $pid
		kill -$signal $pid
		wait $pid
		echo "outside $signal $? $(free_pages)"
	done
}

# Compare the core dump of a program that crashes, and its contents.
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
	compare file-limit 16M sh -c '(ulimit -f 0; exec /hello.static x >/dev/null 2>&1); echo $?'
	name=masked # a process outside has blocked all signals
	run native /corners.dyn execute /corners.dyn compute
	run inside /corners.dyn execute nodeos-lwk --memory=16M --counts /corners.dyn compute
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

mount_cgroups () {
	mkdir -p /tmp/cgroup
	grep -q ' /tmp/cgroup ' /proc/mounts || mount -t cgroup2 cgroup /tmp/cgroup
}

# Run a program in a cgroup that may have fewer huge pages than are free.
few_pages () {
	mount_cgroups
	echo +hugetlb >/tmp/cgroup/cgroup.subtree_control
	mkdir /tmp/cgroup/few
	echo 8M >/tmp/cgroup/few/hugetlb.2MB.max
	printf '#!/busybox sh\necho $$ >/tmp/cgroup/few/cgroup.procs\nexec "$@"\n' >/bin/in_few
	chmod +x /bin/in_few
	inside few-pages in_few nodeos-lwk --memory=16M /hello.static x
}

# Programs that execute each other, on one CPU, with as many huge pages as one of them needs.
# shellcheck disable=SC2016  # for the shell inside
last_pages () {
	local all

	all=$(cat /proc/sys/vm/nr_hugepages)
	printf '%s\n' '#!/busybox sh' '[ $1 = 0 ] && exec /hello.static x' \
		'exec $0 $(($1 - 1))' >/tmp/chain
	chmod +x /tmp/chain
	echo 8 >/proc/sys/vm/nr_hugepages
	name=last-pages
	run native taskset 1 /tmp/chain 20
	run inside taskset 1 nodeos-lwk --memory=16M /tmp/chain 20
	echo "$all" >/proc/sys/vm/nr_hugepages
}

# Mount the root file system that QEMU shares at /mnt.
mount_root () {
	local dir

	if grep -q ' /mnt 9p ' /proc/mounts; then
		return
	fi
	mkdir -p /mnt /dev/shm
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro root /mnt
	mount -t tmpfs tmp /dev/shm
	for dir in proc sys dev dev/shm; do
		mount -o bind /$dir /mnt/$dir
	done
	mount -t tmpfs tmp /mnt/tmp
	mount -t tmpfs tmp /mnt/run
	cp /nodeos-lwk /mnt/tmp
	hostname n1
}

# Prepare Open MPI of the root file system: it runs as root, in /tmp, with more ranks than CPUs.
prepare_mpi () {
	mount_root
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=/tmp \
		OMPI_MCA_pml=ob1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
		OMPI_MCA_btl_tcp_if_include=lo
}

# ranks NAME BTL COPY RANKS
ranks () {
	local count=$4

	prepare_mpi
	cp /mpi /mnt/tmp
	name=$1
	export OMPI_MCA_btl="$2" OMPI_MCA_btl_sm_single_copy_mechanism="$3"
	set -- env PATH=/usr/bin:/bin mpirun --oversubscribe -n "$count"
	run native chroot /mnt "$@" /tmp/mpi 9
	run inside chroot /mnt "$@" /tmp/nodeos-lwk --memory=96M --counts /tmp/mpi 9
}

# in_root NAME SIZE COMMAND...: a program of the root file system
in_root () {
	name=$1 size=$2
	shift 2
	mount_root
	run native chroot /mnt "$@"
	run inside chroot /mnt /tmp/nodeos-lwk "--memory=$size" --counts "$@"
}

# Make directories for what GROMACS writes.
prepare_gromacs () {
	mount_root
	mkdir -p /mnt/tmp/gmx.native /mnt/tmp/gmx.locked /mnt/tmp/gmx.inside
	cp /topol.tpr /mnt/tmp
}

GROMACS='gmx -quiet -nobackup mdrun -s ../topol.tpr -deffnm md -ntmpi 1 -ntomp 2 -pin off -reprod
	-nb cpu'

# Run some steps of GROMACS; then print checksums of what it wrote, which includes energies.
# shellcheck disable=SC2086  # words
gromacs () {
	local arm lwk

	prepare_gromacs
	for arm in native inside; do
		lwk=
		[ $arm = native ] || lwk='/tmp/nodeos-lwk --memory=320M --counts'
		name=gromacs
		run $arm chroot /mnt /usr/bin/env -C /tmp/gmx.$arm PATH=/usr/bin:/bin $lwk $GROMACS
		name=gromacs-results
		run $arm chroot /mnt /usr/bin/env -C /tmp/gmx.$arm md5sum md.edr md.gro
	done
}

# Run programs with an extent of one page of 1 GiB.
gigabyte () {
	local pid

	name=memory-1g
	run native /memory.dyn
	run inside nodeos-lwk --memory=1G --page=1G --counts /memory.dyn
	nodeos-lwk --memory=1G --page=1G /compute.dyn 900 >/dev/null 2>&1 &
	pid=$!
	await_machine $pid
	echo "gigabyte $(/pages $pid)"
	kill -USR1 $pid
	wait $pid
	echo "gigabyte free $(cat /sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages)"
}

# ticks NAME CPU COMMAND...: interrupts of the timer on CPU while COMMAND runs there
ticks () {
	local before after cpu=$2

	name=$1
	shift 2
	before=$(awk "/LOC:/ { print \$$((cpu + 2)) }" /proc/interrupts)
	run inside taskset $((1 << cpu)) "$@"
	after=$(awk "/LOC:/ { print \$$((cpu + 2)) }" /proc/interrupts)
	echo "ticks $name $((after - before))"
}

LOCKED='GLIBC_TUNABLES=glibc.malloc.hugetlb=2 LOCK=1'

# What calls, computing and messages cost, in three arms; a plugin of QEMU counts instructions.
# Calls and messages run on CPU 0: on a CPU with nohz_full, Linux counts time at each call.
# shellcheck disable=SC2086  # words
cost_of_calls () {
	inside calls-native taskset 1 /calls
	inside calls-locked taskset 1 env $LOCKED /calls
	inside calls-inside taskset 1 nodeos-lwk --memory=32M /calls
}

# shellcheck disable=SC2086  # words
cost_of_computing () {
	local pid

	ticks compute-native 1 /compute.dyn 10
	ticks compute-locked 1 env $LOCKED /compute.dyn 10
	ticks compute-inside 1 nodeos-lwk --memory=32M --counts /compute.dyn 10
	taskset 2 nodeos-lwk --memory=32M /compute.dyn 900 >/dev/null 2>&1 &
	pid=$!
	await_machine $pid
	count_exits "$(echo $KVM/$pid-*)" 10
	kill -USR1 $pid
	wait $pid
}

# shellcheck disable=SC2086  # words
cost_of_messages () {
	local lwk='/tmp/nodeos-lwk --memory=128M --counts --smartmap'
	local in_root='taskset 1 chroot /mnt env PATH=/usr/bin:/bin'
	local run='mpirun --bind-to none -n 2'

	prepare_mpi
	cp /messages /mnt/tmp
	export OMPI_MCA_btl=self,sm OMPI_MCA_btl_sm_single_copy_mechanism=cma
	inside messages-native $in_root $run /tmp/messages
	inside messages-locked $in_root $LOCKED $run /tmp/messages
	inside messages-inside $in_root $run $lwk /tmp/messages
}

# Page faults of ranks in messages of several sizes and in collectives, after the first ones.
# shellcheck disable=SC2086  # words
cost_of_collectives () {
	local in_root='taskset 1 chroot /mnt env PATH=/usr/bin:/bin'
	local run='mpirun --bind-to none -n 2'
	local lock='LD_PRELOAD=/tmp/lock.so GLIBC_TUNABLES=glibc.malloc.hugetlb=2'

	prepare_mpi
	cp /mpi /lock.so /mnt/tmp
	export OMPI_MCA_btl=self,sm OMPI_MCA_btl_sm_single_copy_mechanism=cma
	inside collectives-native $in_root $run /tmp/mpi
	inside collectives-locked $in_root $run /usr/bin/env $lock /tmp/mpi
	inside collectives-inside $in_root $run /tmp/nodeos-lwk --memory=128M --counts /tmp/mpi
}

HISTOGRAM=hist:keys=id

# count_calls NAME COMMAND...: like inside(), and prints the number of system calls of all processes
# of the guest
count_calls () {
	local trigger=/sys/kernel/tracing/events/raw_syscalls/sys_enter/trigger

	mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
	echo $HISTOGRAM >$trigger
	inside "$@"
	awk -v name="$1" '$1 == "Hits:" { print "calls of", name, $2 }' "${trigger%trigger}hist"
	echo "!$HISTOGRAM" >$trigger
}

# System calls and page faults of GROMACS, with few and with more steps.
# shellcheck disable=SC2086  # words
cost_of_gromacs () {
	local steps in='time -v chroot /mnt /usr/bin/env -C' path=PATH=/usr/bin:/bin
	local lock='LD_PRELOAD=/tmp/lock.so GLIBC_TUNABLES=glibc.malloc.hugetlb=2'
	local lwk='/tmp/nodeos-lwk --memory=320M --counts'

	prepare_gromacs
	cp /lock.so /mnt/tmp
	for steps in 20 120; do
		count_calls gromacs-native-$steps $in /tmp/gmx.native $path $GROMACS -nsteps $steps
		count_calls gromacs-locked-$steps $in /tmp/gmx.locked $path $lock $GROMACS \
			-nsteps $steps
		inside gromacs-inside-$steps $in /tmp/gmx.inside $path $lwk $GROMACS -nsteps $steps
	done
}

# await_socket NAME: wait until a process listens on the abstract socket NAME
await_socket () {
	local n=0

	until grep -q "@$1\$" /proc/net/unix || [ $((n += 1)) = 300 ]; do
		sleep 0.2
	done
}

# attach NAME RANK COMMAND...: lets COMMAND run an attempt to attach to RANK, and prints what it
# gives
attach () {
	local rank=$2

	name=$1
	shift 2
	run inside "$@" nodeos-lwk --memory=16M --smartmap /smartmap.dyn attach "$rank"
}

# shellcheck disable=SC2016  # for the shell in cgroups
# Two ranks that copy from each other's memory: with one message and with many, so that the counts
# of system calls show what a message needs; then attempts that must fail.
smartmap () {
	local n rank listener

	export PMIX_NAMESPACE=test PMIX_RANK
	for n in 1 9; do
		rm -f /tmp/meet /tmp/fifo
		mkfifo /tmp/fifo
		for rank in 0 1; do
			(
				PMIX_RANK=$rank timeout "${LIMIT:-120}" nodeos-lwk --memory=32M \
					--smartmap --counts /smartmap.dyn exchange /tmp/meet \
					/tmp/fifo $rank $n >/tmp/out.$rank 2>/tmp/err.$rank
				echo $? >/tmp/rc.$rank
			) &
		done
		wait
		for rank in 0 1; do
			echo "=== inside smartmap-$n-$rank"
			cat /tmp/out.$rank
			echo "=== status $(cat /tmp/rc.$rank)"
			cat /tmp/err.$rank
			echo "=== ."
		done
	done
	PMIX_RANK=0
	nodeos-lwk --memory=16M --smartmap /smartmap.dyn listen other &
	listener=$!
	await_socket other
	PMIX_RANK=1
	attach smartmap-rank 0
	attach smartmap-none 2
	attach smartmap-large 128
	attach smartmap-step 0 env PMIX_NAMESPACE=other
	mount_cgroups
	printf '#!/busybox sh\necho $$ >$1/cgroup.procs\nshift\nexec "$@"\n' >/bin/in_cgroup
	chmod +x /bin/in_cgroup
	mkdir -p /tmp/cgroup/job_1/step_0/task_0 /tmp/cgroup/job_1/step_1/task_0
	echo $listener >/tmp/cgroup/job_1/step_0/task_0/cgroup.procs
	attach smartmap-same-cgroup 0 in_cgroup /tmp/cgroup/job_1/step_0
	attach smartmap-other-cgroup 0 in_cgroup /tmp/cgroup/job_1/step_1/task_0
	name=smartmap-off
	run inside nodeos-lwk --memory=16M /smartmap.dyn attach 0
	PMIX_RANK=0
	attach smartmap-twice 0
	kill $listener
	wait $listener
	echo 'user:x:1000:1000::/:/bin/sh' >/etc/passwd
	su user -c '/smartmap.dyn listen nodeos-lwk/0/test./0' &
	listener=$!
	await_socket nodeos-lwk/0/test./0
	PMIX_RANK=1
	attach smartmap-user 0
	kill $listener
	unset PMIX_NAMESPACE PMIX_RANK
	attach smartmap-no-rank 0
}

# without_paging PROGRAM...: compare each, with nested paging switched off
without_paging () {
	local program

	drop_machine
	rmmod kvm_amd
	insmod /?-kvm-amd.ko npt=0
	keep_machine
	echo "without paging: $(cat /sys/module/kvm_amd/parameters/npt)"
	for program; do
		compare "npt0-$program" 48M "/$program"
	done
}

without_kvm () {
	drop_machine
	rmmod kvm_amd kvm
	name=without-kvm
	run inside nodeos-lwk --memory=32M /hello.dyn
}

# Kill processes left by a test, which would keep KVM's module loaded: all that have a program but
# this shell and the one with the machine.
end_all () {
	local dir pid

	for dir in /proc/[0-9]*; do
		pid=${dir#/proc/}
		case $pid in 1 | "$$" | "$kept") continue ;; esac
		[ ! -e "$dir/exe" ] || kill -KILL "$pid" 2>/dev/null
	done
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
