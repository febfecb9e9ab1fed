# Programs of the distribution, which do not know dimmapfs, use its files.
. /lib.sh
export HOME=/tmp
small="size=2M,src=/dev/ram0"

# fio writes by a mapping, and verifies the data by the mapping and by read()
fio_run() { # OPTION...
	fio --name=x --filename=/m/data --bs=4k --size=12M --verify=crc32c --verify_fatal=1 \
		--randseed=7 --allow_file_create=0 \
		--fallocate=none --thread --output-format=terse --minimal "$@" >/tmp/out 2>&1
}
buffer $small
fio_run --ioengine=mmap --rw=randwrite --fsync=64
ok $? "fio, mmap engine: random writes of 12 MiB through 2 MiB are verified"
fio_run --ioengine=mmap --rw=randread --verify_only
ok $? "fio, mmap engine: a second read is verified"
fio_run --ioengine=psync --rw=randread --verify_only
ok $? "fio, read(): the data is verified"
[ "$(stat_of evicted)" -gt 5000 ] && [ "$(stat_of lost)" = 0 ]
ok $? "fio: pages are evicted and none is lost"
umount /m
sed -n '1,20p' /tmp/out | grep -v "^3;" | head -n 5

# SQLite: a database on the device, read and changed through the mapping
sqlite3 /tmp/db "PRAGMA page_size=4096;
	CREATE TABLE t(id INTEGER PRIMARY KEY, v INTEGER, fill BLOB);
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
		INSERT INTO t SELECT i, i * 7919 % 10007, zeroblob(300) FROM n;
	CREATE INDEX v ON t(v);"
ok $? "SQLite makes a database of $(stat -c %s /tmp/db) bytes"
ask="SELECT count(*), sum(v), sum(id * v) FROM t INDEXED BY v WHERE v BETWEEN 10 AND 9000;"
ask="$ask PRAGMA integrity_check;"
change="PRAGMA journal_mode=MEMORY; UPDATE t SET v = (v * 31 + id) % 10007 WHERE id % 3 = 1;"
before=$(sqlite3 /tmp/db "$ask" | tr "\n" "|")
dd if=/tmp/db of=/dev/ram0 bs=64k 2>/dev/null
buffer $small
mapped="PRAGMA mmap_size=16777216;"
same "$(sqlite3 /m/data "$mapped $ask" | tr "\n" "|")" "16777216|$before" \
	"SQLite reads the database from the mapping"
sqlite3 /m/data "$mapped $change" >/dev/null
ok $? "SQLite changes a third of the rows"
sqlite3 /tmp/db "$change" >/dev/null
after=$(sqlite3 /tmp/db "$ask" | tr "\n" "|")
same "$(sqlite3 /m/data "$mapped $ask" | tr "\n" "|")" "16777216|$after" \
	"SQLite reads the changed rows from the mapping"
umount /m
dd if=/dev/ram0 of=/tmp/back bs=64k 2>/dev/null
same "$(sqlite3 /tmp/back "$ask" | tr "\n" "|")" "$after" \
	"SQLite: the changed rows are on the device"
[ "$before" != "$after" ]
ok $? "SQLite: the change alters the result of the query"

# LMDB: reads by a mapping, writes by pwrite(); its lock file is beside the given name
entries() { # FROM TO
	printf 'VERSION=3\nformat=print\ntype=btree\nmapsize=15728640\nHEADER=END\n'
	awk -v a="$1" -v b="$2" \
		'BEGIN { for (i = a; i <= b; i++)
			printf " key%06d\n value %d %0200d\n", i, i * 31 % 977, i }'
	echo DATA=END
}
entries 1 10000 >/tmp/first
entries 5001 20000 >/tmp/second
mdb_load -n -f /tmp/first /tmp/lmdb
ok $? "LMDB makes a database of $(stat -c %s /tmp/lmdb) bytes"
dd if=/tmp/lmdb of=/dev/ram0 bs=64k 2>/dev/null
buffer $small
ln -s /m/data /tmp/mapped
mdb_load -n -f /tmp/second /tmp/mapped && mdb_load -n -f /tmp/second /tmp/lmdb
ok $? "LMDB adds entries through the buffer"
same "$(mdb_dump -n -p /tmp/mapped | md5sum)" "$(mdb_dump -n -p /tmp/lmdb | md5sum)" \
	"LMDB finds all old and new entries"
same "$(mdb_stat -n /tmp/mapped | sed -n 's/.*Entries: //p')" "20000" "LMDB counts 20,000 entries"
umount /m
dd if=/dev/ram0 of=/tmp/back bs=64k 2>/dev/null
rm -f /tmp/back-lock
same "$(mdb_dump -n -p /tmp/back | md5sum)" "$(mdb_dump -n -p /tmp/lmdb | md5sum)" \
	"LMDB: all entries are on the device"
finish
