/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warnings and notes about a step that continues. */
#include "launch/step_impl.h"

void step_add_warning(struct step *s, const struct errbuf *why)
{
	if (!*s->warning.text)
		s->warning = *why;
	else if (*why->text)
		errappend(&s->warning, "; %s", why->text);
}

static const char *take_warning(struct errbuf *text)
{
	static struct errbuf copy;

	copy = *text;
	errclear(text);
	return copy.text;
}

const char *step_warning(struct step *s)
{
	return take_warning(&s->warning);
}

const char *step_note(struct step *s)
{
	return take_warning(&s->note);
}
