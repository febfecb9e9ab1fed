/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/secret.h"

#include <stdlib.h>

#include "base/test/tap.h"

/* What comes in and what must come out, each by hand. */
static const struct {
	const char *what, *in, *out;
} row[] = {
	{ "nothing", "", "" },
	{ "an ordinary line", "ClusterName=blue\n", "ClusterName=blue\n" },
	{ "no newline at the end", "ClusterName=blue", "ClusterName=blue" },
	{ "a password", "StoragePass=hunter2\nNext=1\n", "StoragePass=(masked)\nNext=1\n" },
	{ "as scontrol shows it", "AccountingStoragePass  = hunter2 x\nA = b\n",
	  "AccountingStoragePass  = (masked)\nA = b\n" },
	{ "the end of the text", "StoragePass=hunter2", "StoragePass=(masked)" },
	{ "AuthAltParameters", "AuthAltParameters=jwt_file=/x,y\n",
	  "AuthAltParameters=(masked)\n" },
	{ "in any case", "authaltparameters = a\nSTORAGEPASS: b\n",
	  "authaltparameters = (masked)\nSTORAGEPASS: (masked)\n" },
	{ "a key of a key", "Params=SSL_KEY=/etc/k.pem,SSL_CA=/etc/ca\n",
	  "Params=SSL_KEY=(masked)\n" },
	{ "another before it stays", "Nodes=n0 AuthToken=abc State=UP\n",
	  "Nodes=n0 AuthToken=(masked)\n" },
	{ "a comment", "# StoragePass=old\n", "# StoragePass=(masked)\n" },
	{ "in quotes with a blank", "StoragePass=\"one two\"\n", "StoragePass=(masked)\n" },
	{ "JSON", "{ \"client_secret\": \"x\",\n \"a\": 1 }\n",
	  "{ \"client_secret\": (masked)\n \"a\": 1 }\n" },
	{ "a line goes on", "StoragePass=one\\\ntwo\\\nthree\nA=1\n",
	  "StoragePass=(masked)\n(masked)\n(masked)\nA=1\n" },
	{ "with blanks behind the \\", "Key=one\\ \t\ntwo\nA=1\n",
	  "Key=(masked)\n(masked)\nA=1\n" },
	{ "another line goes on", "A=one\\\ntwo\n", "A=one\\\ntwo\n" },
	{ "line ends of other systems", "Key=one\\\r\ntwo\r\nA=1\r\n",
	  "Key=(masked)\n(masked)\nA=1\r\n" },
	{ "the end goes on", "Key=one\\", "Key=(masked)" },
	{ "no value", "StoragePass=\nKey\nkeys are here\n", "StoragePass=\nKey\nkeys are here\n" },
	{ "what is added", "StoragePass += one\nKey-=two\na+b=c\n",
	  "StoragePass += (masked)\nKey-=(masked)\na+b=c\n" },
	{ "the word in a value", "Name=passage\nPath=/etc/key/x\n",
	  "Name=passage\nPath=/etc/key/x\n" },
	{ "the kernel's", "root=/dev/vda\nrd.luks.key=abc\nfgmn=all:8x4G\n",
	  "root=/dev/vda\nrd.luks.key=(masked)\nfgmn=all:8x4G\n" },
	{ "an address", "Host=https://me:pw@db:80/x more\n",
	  "Host=https://(masked)@db:80/x more\n" },
	{ "two, and one without", "a://b:c@d e://f g://h@i\n",
	  "a://(masked)@d e://f g://(masked)@i\n" },
	{ "an @ behind the host", "u=http://h/a@b\n", "u=http://h/a@b\n" },
	{ "a password with @", "u=http://n:p@q@h/\n", "u=http://(masked)@h/\n" },
	{ "an address of keys", "see keys://me:pw@h\n", "see keys://(masked)@h\n" },
	{ "a log", "12:00 slurmd: token: abc\n", "12:00 slurmd: token: (masked)\n" },
	{ "a web token", "SLURM_JWT=eyJhbGciOi.x.y\nmore\n", "SLURM_JWT=(masked)\nmore\n" },
	{ "a header", "> Authorization: Bearer eyJhbGciOi\n", "> Authorization: (masked)\n" },
	{ "an option and its value", "run: db --password hunter2 --port 5\nx --pass-file=y\n",
	  "run: db --password (masked)\nx --pass-file=(masked)\n" },
	{ "an option without one", "tool --passive --no-key -v\n--token\n",
	  "tool --passive --no-key -v\n--token\n" },
	{ "empty lines", "\n\nA=1\n\n", "\n\nA=1\n\n" },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char *got = secret_mask(row[i].in);

		is(got, row[i].out, "%s", row[i].what);
		free(got);
	}
	return tap_done();
}
