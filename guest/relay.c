/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guest/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fileio.h"
#include "guest/agent/frames.h"

/* the program, and signals and input that the guest has not taken */
#define WAITING_MAX (FRAME_HEAD + FRAME_START_MAX + (256u << 10))
#define RECEIVED_MAX (FRAME_HEAD + FRAME_DATA_MAX)

/* Append a frame. Returns -1 if the guest takes no more. */
static int queue_frame(struct relay *r, uint32_t type, const void *data, size_t n)
{
	if (r->fd < 0 || r->waiting + FRAME_HEAD + n > WAITING_MAX)
		return -1;
	frame_head(r->to_guest + r->waiting, type, (uint32_t)n);
	if (n)
		memcpy(r->to_guest + r->waiting + FRAME_HEAD, data, n);
	r->waiting += FRAME_HEAD + n;
	return 0;
}

int relay_open(struct relay *r, int fd, const uint8_t *start, size_t len, struct errbuf *err)
{
	*r = (struct relay){
		.fd = fd,
		.in = 0,
		.out = 1,
		.error = 2,
		.credit = FRAME_INPUT_MAX,
		.to_guest = malloc(WAITING_MAX),
		.received = malloc(RECEIVED_MAX),
	};
	if (!r->to_guest || !r->received || queue_frame(r, FRAME_START, start, len) < 0)
		return errprintf(err, "out of memory");
	return 0;
}

void relay_wants(const struct relay *r, struct pollfd polls[2])
{
	polls[0] = (struct pollfd){
		.fd = r->fd,
		.events = (short)(POLLIN | (r->waiting ? POLLOUT : 0)),
	};
	polls[1] = (struct pollfd){
		.fd = r->credit && r->fd >= 0 && !r->ended ? r->in : -1,
		.events = POLLIN,
	};
}

void relay_signal(struct relay *r, int number)
{
	uint8_t data[4];

	frame_put_number(data, (uint32_t)number);
	queue_frame(r, FRAME_SIGNAL, data, sizeof(data));
}

static void read_input(struct relay *r)
{
	char buf[8192];
	ssize_t n = read(r->in, buf, r->credit < sizeof(buf) ? r->credit : sizeof(buf));

	if (n > 0) {
		r->credit -= (size_t)n;
		queue_frame(r, FRAME_INPUT, buf, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		r->in = -1;
		queue_frame(r, FRAME_INPUT, NULL, 0);
	}
}

static void write_user(int *fd, const struct frame *f)
{
	if (*fd >= 0 && write_all(*fd, f->data, f->length) < 0)
		*fd = -1;
}

static void take_guest_frame(struct relay *r, const struct frame *f)
{
	size_t n = f->length < sizeof(r->failure) - 1 ? f->length : sizeof(r->failure) - 1;

	switch (f->type) {
	case FRAME_OUTPUT:
		write_user(&r->out, f);
		break;
	case FRAME_ERROR:
		write_user(&r->error, f);
		break;
	case FRAME_TAKEN:
		r->credit += frame_number(f);
		if (r->credit > FRAME_INPUT_MAX)
			r->credit = FRAME_INPUT_MAX;
		break;
	case FRAME_EXIT:
		r->status = (int)frame_number(f);
		r->ended = true;
		break;
	case FRAME_FAILED:
		memcpy(r->failure, f->data, n);
		r->failure[n] = '\0';
		r->ended = true;
		break;
	default: /* a frame of a later agent */
		break;
	}
}

static void close_guest(struct relay *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	r->waiting = 0;
}

static void receive_frames(struct relay *r)
{
	ssize_t got = recv(r->fd, r->received + r->used, RECEIVED_MAX - r->used, MSG_DONTWAIT);
	struct frame frame;
	long n;

	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
		close_guest(r);
		return;
	}
	r->used += got > 0 ? (size_t)got : 0;
	while (!r->ended && (n = frame_take(&frame, r->received, r->used, FRAME_DATA_MAX)) != 0) {
		if (n < 0) { /* no agent of ours sends such a frame */
			close_guest(r);
			return;
		}
		take_guest_frame(r, &frame);
		r->used -= (size_t)n;
		memmove(r->received, r->received + n, r->used);
	}
}

static void send_waiting(struct relay *r)
{
	ssize_t n = send(r->fd, r->to_guest, r->waiting, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n <= 0)
		return;
	r->waiting -= (size_t)n;
	memmove(r->to_guest, r->to_guest + n, r->waiting);
}

void relay_forward(struct relay *r, const struct pollfd polls[2])
{
	if (polls[1].fd >= 0 && polls[1].revents)
		read_input(r);
	if (r->fd >= 0 && polls[0].fd == r->fd && (polls[0].revents & (POLLIN | POLLHUP | POLLERR)))
		receive_frames(r);
	if (r->fd >= 0 && r->waiting)
		send_waiting(r);
}

void relay_close(struct relay *r)
{
	close_guest(r);
	free(r->to_guest);
	free(r->received);
	r->to_guest = r->received = NULL;
}
