/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS for a client, over a socket that does not block. OpenSSL is loaded when the first endpoint
 * needs it: it costs 1.7 MiB of memory that one without TLS does not need. Any thread, one at a
 * time; reading certificates is work for a worker.
 */
#ifndef OTLP_TLS_H
#define OTLP_TLS_H

#include "core/base/util.h"

#include <sys/types.h>

#define OTLP_WHY_BYTES 256

struct otlp_tls;	/* what connections to one endpoint share */
struct otlp_tls_stream; /* one connection */

/* Strings are borrowed for the call; NULL or "" when not given. */
struct otlp_tls_options {
	const char *ca_file;   /* PEM; else those of the system */
	const char *cert_file; /* PEM, leaf first: the client's own */
	const char *key_file;
	const char *server_name; /* for SNI and for the name in the certificate; an address too */
	const char *alpn;	 /* the one protocol that is offered and must be chosen */
	bool insecure_skip_verify;
};

/* 0, or -ENOENT (no OpenSSL here), -EINVAL (a file that cannot be used), -ENOMEM with why. */
int otlp_tls_new(const struct otlp_tls_options *options, char why[OTLP_WHY_BYTES],
		 struct otlp_tls **ret_tls);
void otlp_tls_free(struct otlp_tls *tls); /* accepts NULL; streams must be gone */
static inline void otlp_tls_freep(struct otlp_tls **tls)
{
	otlp_tls_free(*tls);
}

/* The socket stays the caller's. */
int otlp_tls_stream_new(struct otlp_tls *tls, int fd, struct otlp_tls_stream **ret_stream);
void otlp_tls_stream_free(
	struct otlp_tls_stream *stream); /* says goodbye if it can; accepts NULL */

/*
 * 0 when it is done, -EAGAIN, or a negative errno with why: -EPROTO, -ECONNRESET, -EACCES for a
 * certificate that was refused.
 */
int otlp_tls_handshake(struct otlp_tls_stream *stream, char why[OTLP_WHY_BYTES]);
/* Bytes, 0 at the end of the stream (read), -EAGAIN, or a negative errno. */
ssize_t otlp_tls_read(struct otlp_tls_stream *stream, void *data, size_t len);
ssize_t otlp_tls_write(struct otlp_tls_stream *stream, const void *data, size_t len);
/* Whether what gave -EAGAIN waits for space to write. */
bool otlp_tls_wants_write(const struct otlp_tls_stream *stream);

#endif
