/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/printable.h"

#include "base/test/tap.h"

static const char *__attribute__((format(printf, 3, 4)))
format_line(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printable_format(buf, size, fmt, ap);
	va_end(ap);
	return buf;
}

static void test_characters(void)
{
	static const struct {
		const char *text, *want, *what;
	} row[] = {
		{ "", "", "an empty text stays" },
		{ "all of it ~!", "all of it ~!", "printable ASCII stays" },
		{ "a\nnodeos: forged", "a?nodeos: forged", "replaces a newline" },
		{ "a\r\tb", "a??b", "replaces carriage return and tab" },
		{ "\033[2J\033]0;x\007", "?[2J?]0;x?", "replaces ESC and BEL" },
		{ "a\177b", "a?b", "replaces DEL" },
		{ "na\303\257ve \342\202\254 \360\237\230\200",
		  "na\303\257ve \342\202\254 "
		  "\360\237\230\200",
		  "characters of two, three and four bytes stay" },
		{ "a\302\233"
		  "2Jb",
		  "a?2Jb", "replaces U+009B, a terminal's CSI" },
		{ "a\302\205b", "a?b", "replaces U+0085, a newline" },
		{ "\302\240\303\277", "\302\240\303\277", "U+00A0 and U+00FF stay" },
		{ "\200\277", "??", "replaces lone continuation bytes" },
		{ "a\303", "a?", "replaces the first of two bytes without the second" },
		{ "a\342\202", "a??", "replaces two of three bytes without the third" },
		{ "\342(\241", "?(?", "keeps ASCII in place of the third byte of three" },
		{ "\360\237\230x", "???x", "keeps ASCII in place of the fourth byte of four" },
		{ "\300\212", "??", "replaces a newline encoded in two bytes" },
		{ "\340\200\212", "???", "replaces a newline encoded in three bytes" },
		{ "\340\202\233", "???", "replaces U+009B encoded in three bytes" },
		{ "\360\200\200\212", "????", "replaces a newline encoded in four bytes" },
		{ "\355\240\200", "???", "replaces a surrogate" },
		{ "\357\277\275", "\357\277\275", "U+FFFD stays" },
		{ "\364\217\277\277", "\364\217\277\277", "U+10FFFF stays" },
		{ "\364\220\200\200", "????", "replaces code points above U+10FFFF" },
		{ "\365\200\200\200\376\377", "??????", "replaces bytes that UTF-8 never has" },
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		is(printable(buf, sizeof(buf), row[i].text), row[i].want, "printable: %s",
		   row[i].what);
		is(format_line(buf, sizeof(buf), "%s", row[i].text), row[i].want,
		   "printable_format: %s", row[i].what);
	}
}

/* A byte from 0x80 to 0xff between two letters is not a character. */
static void test_high_bytes(void)
{
	unsigned wrong = 0;

	for (unsigned byte = 0x80; byte <= 0xff; byte++) {
		char text[] = { 'a', (char)byte, 'b', '\0' }, buf[8];

		wrong += strcmp(printable(buf, sizeof(buf), text), "a?b") != 0;
	}
	is_int(wrong, 0, "printable: replaces each byte from 0x80 to 0xff that stands alone");
}

static void test_cuts(void)
{
	static const struct {
		size_t size;
		const char *text, *want, *what;
	} row[] = {
		{ 8, "1234567", "1234567", "keeps a text that just fits" },
		{ 8, "12345678", "1234...", "cuts a text that is one byte too long" },
		{ 4, "1234", "...", "cuts a text to the smallest buffer" },
		{ 4, "123", "123", "keeps a text that fits the smallest buffer" },
		{ 8, "123\303\257456", "123...", "leaves no half of a character before the dots" },
		{ 8, "12\303\2574567", "12\303\257...",
		  "leaves a whole character before the dots" },
		{ 8, "12345\360\237\230\200", "1234...",
		  "cuts a character of four bytes at the end" },
		{ 8, "123456\303\257", "1234...",
		  "cuts a character that the buffer's end divides" },
		{ 8, "123\360\237\230\200", "123\360\237\230\200",
		  "keeps a character of four bytes that just fits" },
		{ 8, "\302\205\302\205\302\205\302\205\302\205", "?????",
		  "keeps a text that fits after replacement" },
		{ 8, "\n\n\n\n\n\n\n\n", "????...", "replaces characters of a text that it cuts" },
	};
	char buf[64], want[64];
	static char large[65536], line[PRINTABLE_LOG_MAX];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		is(printable(buf, row[i].size, row[i].text), row[i].want, "printable: %s",
		   row[i].what);
	/*
	 * vsnprintf() cuts TEXT to the size before its bytes are replaced, so the result ends with
	 * dots
	 */
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		bool cut = strlen(row[i].text) >= row[i].size;

		snprintf(want, sizeof(want), "%s", row[i].want);
		if (cut && !strstr(want, "..."))
			strcpy(want, "???...");
		is(format_line(buf, row[i].size, "%s", row[i].text), want, "printable_format: %s",
		   row[i].what);
	}
	memset(large, 'x', sizeof(large) - 1);
	is_int((long long)strlen(format_line(line, sizeof(line), "request: %s", large)),
	       PRINTABLE_LOG_MAX - 1, "printable_format: cuts 64 KiB to a line of a log");
	is(line + sizeof(line) - 6, "xx...",
	   "printable_format: a line that was cut ends with dots");
}

int main(void)
{
	test_characters();
	test_high_bytes();
	test_cuts();
	return tap_done();
}
