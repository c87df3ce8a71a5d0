/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/conn.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define READ_BYTES	   16384
#define READS_PER_EVENT	   16	/* then the loop gets its turn */
#define ADDRESS_TIMEOUT_MS 3000 /* for one address when there are more */
#define MAX_ADDRESSES	   8	/* that are tried */

enum phase {
	RESOLVING,
	CONNECTING,
	HANDSHAKE,
	OPEN,
	BROKEN, /* cannot be written to any more; what the peer sent before that is still read */
	LOST,	/* on_lost is on its way */
	CLOSED,
};

/* A watched socket. It outlives its connection until libuv has let go of it. */
struct watch {
	uv_poll_t poll;
	struct otlp_conn *conn;
	int fd;
};

/*
 * The loop's. Freed when it is closed and neither a handle nor the resolver holds it (n_held).
 */
struct otlp_conn {
	uv_loop_t *loop;
	const struct otlp_conn_options *options;
	const struct otlp_conn_ops *ops;
	void *arg;
	enum phase phase;
	uint32_t n_held;
	uv_getaddrinfo_t resolver;
	uv_timer_t timer; /* of the opening, later of on_lost */
	uv_timer_t address_timer;
	struct addrinfo *addresses, *next_address;
	uint32_t tries_left;
	struct watch *watch;
	struct otlp_tls_stream *stream;
	bool wants_room; /* a write took less than all */
	bool is_busy;
	int error;
	char why[OTLP_WHY_BYTES];
};

/* --- the end --- */

static void release(struct otlp_conn *conn)
{
	if (--conn->n_held > 0 || conn->phase != CLOSED)
		return;
	free(conn);
}

static void on_timer_closed(uv_handle_t *handle)
{
	release(handle->data);
}

static void on_watch_closed(uv_handle_t *handle)
{
	struct watch *watch = EP_CONTAINER((uv_poll_t *)handle, struct watch, poll);

	release(watch->conn);
	free(watch);
}

static void close_socket(struct otlp_conn *conn)
{
	struct watch *watch = ep_take(conn->watch);

	otlp_tls_stream_free(ep_take(conn->stream));
	if (!watch)
		return;
	uv_poll_stop(&watch->poll);
	close(watch->fd);
	uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
}

static void free_addresses(struct otlp_conn *conn)
{
	if (conn->addresses)
		uv_freeaddrinfo(ep_take(conn->addresses));
	conn->next_address = NULL;
}

void otlp_conn_close(struct otlp_conn *conn)
{
	if (!conn)
		return;
	if (conn->phase == RESOLVING)
		(void)uv_cancel((uv_req_t *)&conn->resolver);
	conn->phase = CLOSED;
	close_socket(conn);
	free_addresses(conn);
	uv_close((uv_handle_t *)&conn->timer, on_timer_closed);
	uv_close((uv_handle_t *)&conn->address_timer, on_timer_closed);
}

static void tell_lost(uv_timer_t *timer)
{
	struct otlp_conn *conn = timer->data;
	const struct otlp_conn_ops *ops = conn->ops;
	char why[OTLP_WHY_BYTES];
	void *arg = conn->arg;
	int r = conn->error;

	memcpy(why, conn->why, sizeof(why));
	otlp_conn_close(conn);
	ops->on_lost(arg, r, why);
}

/* The owner hears of it from the loop, not from within a call of its own. */
static void lose(struct otlp_conn *conn, int r, const char *why)
{
	if (conn->phase >= LOST)
		return;
	conn->phase = LOST;
	conn->error = r;
	if (why != conn->why)
		snprintf(conn->why, sizeof(conn->why), "%s", why);
	close_socket(conn);
	uv_timer_stop(&conn->address_timer);
	uv_timer_start(&conn->timer, tell_lost, 0, 0);
	uv_ref((uv_handle_t *)&conn->timer);
}

/* --- watching --- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void update_watch(struct otlp_conn *conn)
{
	bool tls_writes = conn->stream && otlp_tls_wants_write(conn->stream);
	int events = UV_READABLE;
	int r;

	if (!conn->watch)
		return;
	if (conn->phase == CONNECTING || conn->wants_room || tls_writes)
		events |= UV_WRITABLE;
	r = uv_poll_start(&conn->watch->poll, events, on_poll);
	if (r < 0)
		lose(conn, r, "the socket cannot be watched");
	else if (conn->phase == OPEN && !conn->is_busy)
		uv_unref((uv_handle_t *)&conn->watch->poll);
	else
		uv_ref((uv_handle_t *)&conn->watch->poll);
}

void otlp_conn_set_busy(struct otlp_conn *conn, bool busy)
{
	if (conn->is_busy == busy)
		return;
	conn->is_busy = busy;
	update_watch(conn);
}

/* --- connecting --- */

static void try_next_address(struct otlp_conn *conn);

static void address_failed(struct otlp_conn *conn, int r)
{
	const char *text = strerrordesc_np(-r);

	snprintf(conn->why, sizeof(conn->why), "%s", text ? text : "cannot connect");
	conn->error = r;
	close_socket(conn);
	try_next_address(conn);
}

static void on_address_timeout(uv_timer_t *timer)
{
	address_failed(timer->data, -ETIMEDOUT);
}

/* A dead peer is noticed by the kernel, not by pings: servers close on those who ping often. */
static void set_socket_options(int fd, uint64_t timeout_ms)
{
	unsigned int timeout = (unsigned int)EP_MIN(timeout_ms, (uint64_t)INT32_MAX);
	int on = 1, idle_s = 60;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

static int start_connect(struct otlp_conn *conn, const struct addrinfo *address)
{
	ep_autoclose int fd =
		socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	struct watch *watch;
	int r;

	if (fd < 0)
		return -errno;
	set_socket_options(fd, conn->options->timeout_ms);
	if (connect(fd, address->ai_addr, address->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	watch = calloc(1, sizeof(*watch));
	r = watch ? uv_poll_init(conn->loop, &watch->poll, fd) : -ENOMEM;
	if (r < 0) {
		free(watch);
		return r;
	}
	watch->conn = conn;
	watch->fd = ep_take_fd(fd);
	conn->watch = watch;
	conn->n_held++;
	return 0;
}

static void try_next_address(struct otlp_conn *conn)
{
	const struct addrinfo *address = conn->next_address;
	int r;

	uv_timer_stop(&conn->address_timer);
	if (!address || conn->tries_left-- == 0) {
		lose(conn, conn->error ? conn->error : -EADDRNOTAVAIL, conn->why);
		return;
	}
	conn->next_address = address->ai_next;
	conn->phase = CONNECTING;
	r = start_connect(conn, address);
	if (r < 0) {
		address_failed(conn, r); /* as deep as there are addresses, of which are few */
		return;
	}
	if (conn->next_address)
		uv_timer_start(&conn->address_timer, on_address_timeout, ADDRESS_TIMEOUT_MS, 0);
	update_watch(conn);
}

static void on_resolved(uv_getaddrinfo_t *resolver, int status, struct addrinfo *addresses)
{
	struct otlp_conn *conn = resolver->data;

	if (conn->phase != RESOLVING) {
		uv_freeaddrinfo(addresses);
		release(conn);
		return;
	}
	conn->n_held--;
	if (status < 0) {
		snprintf(conn->why, sizeof(conn->why), "%.100s: %s", conn->options->host,
			 uv_strerror(status));
		lose(conn, -EHOSTUNREACH, conn->why);
		return;
	}
	conn->addresses = addresses;
	conn->next_address = addresses;
	conn->tries_left = MAX_ADDRESSES;
	try_next_address(conn);
}

static void on_open_timeout(uv_timer_t *timer)
{
	struct otlp_conn *conn = timer->data;

	if (conn->phase == RESOLVING)
		(void)uv_cancel((uv_req_t *)&conn->resolver);
	lose(conn, -ETIMEDOUT,
	     conn->phase == RESOLVING	 ? "its name is not resolved in time"
	     : conn->phase == CONNECTING ? "it does not answer"
					 : "the TLS handshake does not end");
}

static void become_open(struct otlp_conn *conn)
{
	conn->phase = OPEN;
	free_addresses(conn);
	uv_timer_stop(&conn->timer);
	update_watch(conn);
	conn->ops->on_open(conn->arg);
}

static void do_handshake(struct otlp_conn *conn)
{
	int r = otlp_tls_handshake(conn->stream, conn->why);

	if (r == 0)
		become_open(conn);
	else if (r == -EAGAIN)
		update_watch(conn);
	else
		lose(conn, r, conn->why);
}

/* libuv says EBADF of any error: the socket knows better. */
static int socket_error(const struct otlp_conn *conn, int status)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(conn->watch->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return error ? -error : status;
}

static void finish_connect(struct otlp_conn *conn, int status)
{
	int r = socket_error(conn, status);

	if (r < 0) {
		address_failed(conn, r);
		return;
	}
	uv_timer_stop(&conn->address_timer);
	if (!conn->options->tls) {
		become_open(conn);
		return;
	}
	r = otlp_tls_stream_new(conn->options->tls, conn->watch->fd, &conn->stream);
	if (r < 0) {
		lose(conn, r, "TLS cannot be set up");
		return;
	}
	conn->phase = HANDSHAKE;
	do_handshake(conn);
}

/* --- data --- */

static ssize_t read_some(struct otlp_conn *conn, uint8_t *data, size_t len)
{
	ssize_t n;

	if (conn->stream)
		return otlp_tls_read(conn->stream, data, len);
	n = recv(conn->watch->fd, data, len, 0);
	return n >= 0 ? n : errno == EINTR ? -EAGAIN : -errno;
}

static bool is_readable(const struct otlp_conn *conn)
{
	return conn->phase == OPEN || conn->phase == BROKEN;
}

/* False when the connection is not open any more (it may be freed soon, but is not yet). */
static bool read_all(struct otlp_conn *conn)
{
	uint8_t data[READ_BYTES];

	for (int i = 0; i < READS_PER_EVENT; i++) {
		ssize_t n = read_some(conn, data, sizeof(data));

		if (n == -EAGAIN)
			return true;
		if (n <= 0) {
			const char *text = n < 0 ? strerrordesc_np((int)-n) : NULL;

			lose(conn, n < 0 ? (int)n : -ECONNRESET,
			     text ? text : "the server closed the connection");
			return false;
		}
		conn->ops->on_data(conn->arg, data, (size_t)n);
		if (!is_readable(conn))
			return false;
	}
	return true;
}

/* A server that refuses often says why, and closes while we are still sending. */
static void on_broken(uv_timer_t *timer)
{
	struct otlp_conn *conn = timer->data;

	if (conn->phase == BROKEN && read_all(conn))
		lose(conn, conn->error, conn->why);
}

static void become_broken(struct otlp_conn *conn, int r, const char *why)
{
	if (conn->phase != OPEN)
		return;
	conn->phase = BROKEN;
	conn->error = r;
	snprintf(conn->why, sizeof(conn->why), "%s", why ? why : "the connection broke");
	uv_timer_start(&conn->timer, on_broken, 0, 0);
	uv_ref((uv_handle_t *)&conn->timer);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct otlp_conn *conn = EP_CONTAINER(poll, struct watch, poll)->conn;

	if (conn->phase == CONNECTING) {
		finish_connect(conn, status);
		return;
	}
	if (status < 0) {
		int r = socket_error(conn, status);

		if (conn->phase == OPEN)
			become_broken(conn, r, uv_strerror(r));
		else
			lose(conn, r, uv_strerror(r));
		return;
	}
	if (conn->phase == HANDSHAKE) {
		do_handshake(conn);
		return;
	}
	conn->n_held++; /* an owner may close it from within */
	if (is_readable(conn) && read_all(conn) && (events & UV_WRITABLE) && conn->phase == OPEN) {
		conn->wants_room = false;
		conn->ops->on_room(conn->arg);
	}
	if (conn->phase == OPEN)
		update_watch(conn);
	release(conn);
}

/* TCP_CORK, tcp(7); goes before TCP_NODELAY, which then says that the rest leaves at once. */
void otlp_conn_set_corked(struct otlp_conn *conn, bool corked)
{
	int value = corked;

	if (conn->phase == OPEN)
		(void)setsockopt(conn->watch->fd, IPPROTO_TCP, TCP_CORK, &value, sizeof(value));
}

size_t otlp_conn_write(struct otlp_conn *conn, const void *data, size_t len)
{
	ssize_t n;

	if (conn->phase != OPEN)
		return 0;
	if (conn->stream)
		n = otlp_tls_write(conn->stream, data, len);
	else
		n = send(conn->watch->fd, data, len, MSG_NOSIGNAL);
	if (n < 0 && !conn->stream)
		n = errno == EINTR ? -EAGAIN : -errno;
	if (n >= 0 && (size_t)n == len)
		return len;
	if (n < 0 && n != -EAGAIN) {
		become_broken(conn, (int)n, strerrordesc_np((int)-n));
		return 0;
	}
	conn->wants_room = true;
	update_watch(conn);
	return n < 0 ? 0 : (size_t)n;
}

/* --- the beginning --- */

int otlp_conn_open(uv_loop_t *loop, const struct otlp_conn_options *options,
		   const struct otlp_conn_ops *ops, void *arg, struct otlp_conn **ret_conn)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct otlp_conn *conn = calloc(1, sizeof(*conn));
	int r;

	if (!conn)
		return -ENOMEM;
	*conn = (struct otlp_conn){
		.loop = loop, .options = options, .ops = ops, .arg = arg, .n_held = 3};
	conn->resolver.data = conn;
	uv_timer_init(loop, &conn->timer);
	uv_timer_init(loop, &conn->address_timer);
	conn->timer.data = conn;
	conn->address_timer.data = conn;
	uv_timer_start(&conn->timer, on_open_timeout, options->timeout_ms, 0);
	r = uv_getaddrinfo(loop, &conn->resolver, on_resolved, options->host, options->port,
			   &hints);
	if (r < 0) {
		conn->n_held--; /* no resolver */
		snprintf(conn->why, sizeof(conn->why), "%.100s: %s", options->host, uv_strerror(r));
		lose(conn, -EHOSTUNREACH, conn->why);
	}
	*ret_conn = conn;
	return 0;
}
