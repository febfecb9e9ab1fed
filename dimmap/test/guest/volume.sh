# Many accesses by 1 to 64 threads, and by several processes: 10^7, fewer in a debug kernel.
. /lib.sh
total=10000000
grep -q " kasan_" /proc/kallsyms && total=1000000
grep -q " kcsan_" /proc/kallsyms && total=200000
echo "# $total accesses"
# run the parts that the command line names; by default all parts
parts=$(tr ' ' '\n' </proc/cmdline | sed -n 's/^parts=//p')
part() { # THOUSANDTHS, OPTIONS, PAGES, PROCESSES, THREADS
	local start each=$((total / 1000 * $1 / $4 / $5))
	seed=$((seed + 1))
	case ,${parts:-$((seed - 100))}, in *,$((seed - 100)),*) ;; *) return ;; esac
	buffer "$2,src=/dev/ram0"
	start=$(cut -d. -f1 /proc/uptime)
	/model /m/data "$3" "$4" "$5" $each "$seed" wpufsr
	ok $? "$2: $4 processes of $5 threads, $((each * $4 * $5)) accesses of $3 pages"
	echo "# $(($(cut -d. -f1 /proc/uptime) - start)) s; $(stat_of major) major faults," \
		"$(stat_of evicted) pages evicted, $(stat_of evicted_dirty) of them dirty"
	same "$(stat_of lost)$(stat_of read_errors)$(stat_of write_errors)" 000 \
		"$2: no page is lost, no error is counted"
	sum=$(md5sum </m/data)
	umount /m
	same "$(md5sum </dev/ram0)" "$sum" "$2: all data is on the device after umount"
}
seed=100
part 250 size=1M,policy=dimmap 2048 1 1
part 100 size=1M,policy=dimmap 4096 1 64
part 25 size=4M,policy=dimmap,fill=64K 4096 4 16
part 150 size=1M,policy=s3fifo 2048 1 16
part 50 size=4M,policy=s3fifo,fill=16K 4096 8 8
part 150 size=1M,policy=fifo,place=local 2048 1 4
part 50 size=1M,policy=sieve,tlb=zap 2048 2 32
part 175 size=256K,policy=s3fifo,batch=1 512 1 4
part 50 size=8M,policy=s3fifo 2048 16 2
finish
