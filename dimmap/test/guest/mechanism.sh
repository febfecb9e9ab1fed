. /lib.sh
# threads on all CPUs, in one address space; the buffer is a quarter of the memory that they use
buffer size=4M,src=/dev/ram0,pools=1,policy=fifo
/rounds /model /m/data 4096 1 4 20000 5 >/tmp/out
ok $? "accesses of four threads equal the model"
rounds=$(sed -n 's/^rounds //p' /tmp/out)
evicted=$(stat_of evicted)
echo "# $rounds rounds of flushes, $evicted pages evicted, $(stat_of unmap_batches) batches," \
	"$(stat_of tlb_flushes) flushes"
[ "$evicted" -gt 20000 ] && [ "$((rounds * 60))" -le "$evicted" ]
ok $? "tlb=batch: a round of flushes unmaps 60 pages or more"
majors=$(stat_of major_of_programs)
[ "$majors" -gt 20000 ] &&
	[ "$(($(stat_of major_without_mmap_lock) * 100))" -ge "$((majors * 99))" ]
ok $? "99 of 100 major faults of programs are without the mmap lock"
umount /m
buffer size=4M,src=/dev/ram0,pools=1,policy=fifo,tlb=zap
/rounds /model /m/data 4096 1 4 5000 5 >/tmp/out
[ "$(($(sed -n 's/^rounds //p' /tmp/out) * 2))" -ge "$(stat_of evicted)" ]
ok $? "control, tlb=zap: a round of flushes unmaps two pages or fewer"
umount /m
finish
