/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manifest/app_exec.h"

#include <stdlib.h>
#include <string.h>

static const char plain[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=+,:@";
static const char digits[] = "0123456789ABCDEF";

static void app_exec_put_text(FILE *f, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (strchr(plain, *s))
			putc(*s, f);
		else
			fprintf(f, "%%%c%c", digits[c >> 4], digits[c & 15]);
	}
}

void app_exec_put(FILE *f, char kind, const char *name, const char *value)
{
	fprintf(f, " %c=", kind);
	if (name) {
		app_exec_put_text(f, name);
		putc('=', f);
	}
	app_exec_put_text(f, value);
}

static int hex(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decode one word in place; *END is the start of the rest of the text. */
static int decode(char *word, char **end)
{
	char *out = word;
	char *in = word;

	for (; *in && *in != ' '; in++) {
		int c = (unsigned char)*in;

		if (c == '%') {
			int high = hex(in[1]);
			int low = high < 0 ? -1 : hex(in[2]);

			c = low < 0 ? 0 : high << 4 | low;
			in += 2;
		}
		if (c == 0)
			return -1;
		*out++ = (char)c;
	}
	*end = *in ? in + 1 : in;
	*out = '\0';
	return 0;
}

int app_exec_parse(struct app_exec *out, const char *text, struct errbuf *err)
{
	size_t words = 1;
	char *at;

	memset(out, 0, sizeof(*out));
	if (strlen(text) >= APP_EXEC_MAX)
		return errprintf(err, "the command of the manifest has more than %d bytes",
				 APP_EXEC_MAX - 1);
	for (const char *c = text; *c; c++)
		words += *c == ' ';
	out->text = strdup(text);
	out->env = calloc(words + 1, sizeof(*out->env));
	out->word = calloc(words + 1, sizeof(*out->word));
	if (!out->text || !out->env || !out->word) {
		app_exec_free(out);
		return errprintf(err, "out of memory");
	}
	for (at = out->text; *at;) {
		char kind = *at;
		char *value = at + 2;

		if (at[1] != '=' || decode(value, &at) < 0)
			goto bad;
		if (kind == APP_EXEC_WORD)
			out->word[out->n_words++] = value;
		else if (kind == APP_EXEC_ENV && strchr(value, '='))
			out->env[out->n_env++] = value;
		else if (kind == APP_EXEC_DIR && !out->dir)
			out->dir = value;
		else
			goto bad;
	}
	if (out->n_words)
		return 0;
bad:
	app_exec_free(out);
	return errprintf(err, "the command of the manifest arrived damaged");
}

void app_exec_free(struct app_exec *x)
{
	free(x->text);
	free(x->env);
	free(x->word);
	memset(x, 0, sizeof(*x));
}
