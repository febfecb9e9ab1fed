. /lib.sh
buffer size=8M,src=/dev/nvme0n1,policy=s3fifo
ok $? "an NVMe device is mounted"
/model /m/data 8192 2 4 12500 9 wpsr
ok $? "100,000 accesses of eight threads equal the model"
[ "$(stat_of lost)$(stat_of read_errors)$(stat_of write_errors)" = 000 ]
ok $? "nothing is lost"
sum=$(md5sum </m/data)
umount /m
same "$(md5sum </dev/nvme0n1)" "$sum" "all data is on the device after umount"
buffer size=8M,src=/dev/nvme0n1,fill=128K
same "$(md5sum </m/data)" "$sum" "fill=128K: read() returns the data of the device"
umount /m
finish
