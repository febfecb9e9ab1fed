# The events agree with the counters.
. /lib.sh
mount -t tracefs none /sys/kernel/tracing
cd /sys/kernel/tracing
echo 8192 >buffer_size_kb
same "$(ls events/dimmapfs | grep dimmapfs | tr '\n' ' ')" \
	"dimmapfs_get dimmapfs_io dimmapfs_unmap " "there are three events"
buffer size=1M,src=/dev/ram0,policy=fifo
echo 1 >events/dimmapfs/enable
/model /m/data 1024 1 2 1500 5 >/dev/null
ok $? "random accesses equal the model"
sync /m/data
echo 0 >events/dimmapfs/enable
cat trace >/tmp/trace
entries='s,.*entries-in-buffer/entries-written: \([0-9]*\)/\([0-9]*\) .*,\1 \2,p'
same "$(grep -c 'entries-in-buffer' /tmp/trace) $(sed -n "$entries" /tmp/trace |
	awk '{ print $1 == $2 }')" "1 1" "no event is lost"
sum() { # EVENT WORD: prints the sum of the numbers after WORD
	sed -n "s/.*$1: .*$2 \([0-9]*\).*/\1/p" /tmp/trace | awk '{ n += $1 } END { print n + 0 }'
}
major=$(grep -c 'dimmapfs_get: .*: major$' /tmp/trace)
minor=$(grep -cE 'dimmapfs_get: .*: (minor|recovered)$' /tmp/trace)
same "$major $minor" "$(stat_of major) $(stat_of minor)" \
	"dimmapfs_get: $major major and $minor minor accesses, like the counters"
same "$(grep -c 'dimmapfs_get: .*: recovered$' /tmp/trace)" "$(stat_of recovered)" \
	"dimmapfs_get: the number of recovered accesses equals the counter"
same "$(grep -c 'dimmapfs_get: .* read fault.*: major$\|dimmapfs_get: .* write fault.*: major$' \
	/tmp/trace)" "$(stat_of major_of_programs)" \
		"dimmapfs_get: the number of major faults of programs equals the counter"
batches=$(grep -c dimmapfs_unmap: /tmp/trace)
same "$(sum dimmapfs_unmap pages) $(sum dimmapfs_unmap ptes) $batches" \
	"$(stat_of unmap_pages) $(stat_of unmap_ptes) $(stat_of unmap_batches)" \
	"dimmapfs_unmap: the numbers of pages, entries and batches equal the counters"
grep 'dimmapfs_io: .* written' /tmp/trace >/tmp/written
grep 'dimmapfs_io: .* read' /tmp/trace >/tmp/read
same "$(sed 's/.*pages \([0-9]*\).*/\1/' /tmp/written | awk '{ n += $1 } END { print n + 0 }')" \
	"$(stat_of pages_written)" "dimmapfs_io: the number of pages written equals the counter"
same "$(sed 's/.*pages \([0-9]*\).*/\1/' /tmp/read | awk '{ n += $1 } END { print n + 0 }')" \
	"$(stat_of pages_read)" "dimmapfs_io: the number of pages read equals the counter"
umount /m
cd /
finish
