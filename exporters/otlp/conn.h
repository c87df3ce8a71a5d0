/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to the receiver: name, TCP (each address in turn), TLS if asked for. On the loop,
 * never blocks. Its life: opening, open, gone. An owner that closes it hears nothing more of it.
 *
 * While it is idle it does not keep the loop alive.
 */
#ifndef OTLP_CONN_H
#define OTLP_CONN_H

#include "exporters/otlp/tls.h"

#include <uv.h>

struct otlp_conn;

struct otlp_conn_ops {
	void (*on_open)(void *arg);
	/* Bytes from the peer; may close the connection. */
	void (*on_data)(void *arg, const uint8_t *data, size_t len);
	/* There is space to write again, after a write that took less than all. */
	void (*on_room)(void *arg);
	/*
	 * It could not be opened, or is lost: the connection is closed, forget it. r is a negative
	 * errno, -ECONNRESET when the peer closed it in order; why is one phrase.
	 */
	void (*on_lost)(void *arg, int r, const char *why);
};

struct otlp_conn_options {
	const char *host, *port;
	struct otlp_tls *tls; /* NULL: none */
	uint64_t timeout_ms;  /* until it is open; also TCP_USER_TIMEOUT after */
};

/* 0 (ops are called later, never from within) or -ENOMEM. Options are borrowed for its life. */
int otlp_conn_open(uv_loop_t *loop, const struct otlp_conn_options *options,
		   const struct otlp_conn_ops *ops, void *arg, struct otlp_conn **ret_conn);
void otlp_conn_close(struct otlp_conn *conn); /* accepts NULL */

/*
 * How much was taken, which may be 0: on_room follows, or, when the connection is broken, on_lost,
 * after what the peer reported before that.
 */
size_t otlp_conn_write(struct otlp_conn *conn, const void *data, size_t len);
/*
 * While it is corked only full segments leave, and what is left when it is not any more: frames of
 * HTTP/2 are small, and each write of its own wakes the peer.
 */
void otlp_conn_set_corked(struct otlp_conn *conn, bool corked);
/* Whether something waits on it, which keeps the loop alive. */
void otlp_conn_set_busy(struct otlp_conn *conn, bool busy);

#endif
