/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/tls.h"
#include "exporters/otlp/library.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/*
 * OpenSSL's functions, found at run time; the compiler still checks every call, since each member
 * has its function's type. Filled once and never changed after: OpenSSL cannot be unloaded.
 */
static struct {
	bool is_loaded;
	void *libssl, *libcrypto;
#define OPENSSL_FUNCTION(name) __typeof__(&name) name;
#include "exporters/otlp/openssl.def"
#undef OPENSSL_FUNCTION
} ssl;

/* The sonames of OpenSSL 3, whose headers this is built with. */
#define LIBSSL	  "libssl.so.3"
#define LIBCRYPTO "libcrypto.so.3"
_Static_assert(OPENSSL_VERSION_MAJOR == 3, "the sonames above are those of OpenSSL 3");

struct otlp_tls {
	SSL_CTX *context;
	BIO_METHOD *socket;
	char *server_name;
	char alpn[32];
	bool verifies;
};

struct otlp_tls_stream {
	struct otlp_tls *tls;
	SSL *ssl;
	int fd;
	int socket_errno; /* of the last call that failed, 0: none did */
	bool wants_write;
	bool has_dropped; /* pages of the libraries */
	bool is_open;	  /* the handshake is done and nothing failed since */
};

/* --- loading --- */

static void *find(void *libssl, void *libcrypto, const char *name)
{
	void *function = dlsym(libssl, name);

	return function ? function : dlsym(libcrypto, name);
}

static int load_functions(char why[OTLP_WHY_BYTES])
{
	void *libcrypto, *libssl, *function;

	if (ssl.is_loaded)
		return 0;
	libcrypto = dlopen(LIBCRYPTO, RTLD_NOW | RTLD_LOCAL);
	libssl = libcrypto ? dlopen(LIBSSL, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!libssl) {
		snprintf(why, OTLP_WHY_BYTES, "TLS needs OpenSSL: %s",
			 dlerror() ?: "cannot be loaded");
		return -ENOENT;
	}
#define OPENSSL_FUNCTION(name)                                                                     \
	function = find(libssl, libcrypto, #name);                                                 \
	if (!function) {                                                                           \
		snprintf(why, OTLP_WHY_BYTES, "this OpenSSL lacks %s", #name);                     \
		return -ENOENT;                                                                    \
	}                                                                                          \
	memcpy(&ssl.name, &function, sizeof(function));
#include "exporters/otlp/openssl.def"
#undef OPENSSL_FUNCTION
	ssl.libssl = libssl;
	ssl.libcrypto = libcrypto;
	ssl.is_loaded = true;
	return 0;
}

/* Workers of several exporters may get here at once. */
static int load(char why[OTLP_WHY_BYTES])
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int r;

	pthread_mutex_lock(&lock);
	r = load_functions(why);
	pthread_mutex_unlock(&lock);
	return r;
}

/* --- the socket as OpenSSL sees it: its own would get a SIGPIPE --- */

static int socket_write(BIO *bio, const char *data, int len)
{
	struct otlp_tls_stream *stream = ssl.BIO_get_data(bio);
	ssize_t n = send(stream->fd, data, (size_t)len, MSG_NOSIGNAL);

	ssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		ssl.BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
	else if (n < 0)
		stream->socket_errno = errno;
	return (int)n;
}

static int socket_read(BIO *bio, char *data, int len)
{
	struct otlp_tls_stream *stream = ssl.BIO_get_data(bio);
	ssize_t n = recv(stream->fd, data, (size_t)len, 0);

	ssl.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		ssl.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
	else if (n < 0)
		stream->socket_errno = errno;
	return (int)n;
}

static long socket_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *new_socket_method(void)
{
	BIO_METHOD *method = ssl.BIO_meth_new(BIO_TYPE_SOURCE_SINK, "otlp socket");

	if (method) {
		ssl.BIO_meth_set_write(method, socket_write);
		ssl.BIO_meth_set_read(method, socket_read);
		ssl.BIO_meth_set_ctrl(method, socket_ctrl);
	}
	return method;
}

/* --- what connections share --- */

static const char *last_reason(void)
{
	const char *reason = ssl.ERR_reason_error_string(ssl.ERR_peek_last_error());

	return reason ? reason : "no reason given";
}

static int set_trust(struct otlp_tls *tls, const struct otlp_tls_options *options,
		     char why[OTLP_WHY_BYTES])
{
	const char *file = options->ca_file;

	if (options->insecure_skip_verify)
		return 0;
	ssl.SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
	tls->verifies = true;
	if (!file || !file[0])
		return ssl.SSL_CTX_set_default_verify_paths(tls->context) ? 0 : -EINVAL;
	if (ssl.SSL_CTX_load_verify_file(tls->context, file))
		return 0;
	snprintf(why, OTLP_WHY_BYTES, "no certificates can be read from %s: %s", file,
		 last_reason());
	return -EINVAL;
}

static int set_certificate(struct otlp_tls *tls, const struct otlp_tls_options *options,
			   char why[OTLP_WHY_BYTES])
{
	const char *cert = options->cert_file, *key = options->key_file;

	if (!cert || !cert[0])
		return 0;
	if (!key || !key[0])
		key = cert;
	if (ssl.SSL_CTX_use_certificate_chain_file(tls->context, cert) != 1)
		snprintf(why, OTLP_WHY_BYTES, "no certificate can be read from %s: %s", cert,
			 last_reason());
	else if (ssl.SSL_CTX_use_PrivateKey_file(tls->context, key, SSL_FILETYPE_PEM) != 1)
		snprintf(why, OTLP_WHY_BYTES, "no key can be read from %s: %s", key, last_reason());
	else if (ssl.SSL_CTX_check_private_key(tls->context) != 1)
		snprintf(why, OTLP_WHY_BYTES, "the key in %s is not that of %s", key, cert);
	else
		return 0;
	return -EINVAL;
}

static int set_protocols(struct otlp_tls *tls, const char *alpn)
{
	unsigned char list[sizeof(tls->alpn) + 1];
	size_t len = strlen(alpn);

	if (len >= sizeof(tls->alpn))
		return -EINVAL;
	memcpy(tls->alpn, alpn, len + 1);
	list[0] = (unsigned char)len;
	memcpy(list + 1, alpn, len);
	ssl.SSL_CTX_ctrl(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	ssl.SSL_CTX_ctrl(tls->context, SSL_CTRL_MODE,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				 SSL_MODE_RELEASE_BUFFERS,
			 NULL);
	return ssl.SSL_CTX_set_alpn_protos(tls->context, list, (unsigned int)len + 1) ? -EINVAL : 0;
}

int otlp_tls_new(const struct otlp_tls_options *options, char why[OTLP_WHY_BYTES],
		 struct otlp_tls **ret_tls)
{
	ep_cleanup(otlp_tls_freep) struct otlp_tls *tls = calloc(1, sizeof(*tls));
	int r;

	snprintf(why, OTLP_WHY_BYTES, "out of memory");
	if (!tls)
		return -ENOMEM;
	r = load(why);
	if (r < 0)
		return r;
	ssl.ERR_clear_error();
	tls->context = ssl.SSL_CTX_new(ssl.TLS_client_method());
	tls->socket = new_socket_method();
	tls->server_name = strdup(options->server_name);
	if (!tls->context || !tls->socket || !tls->server_name)
		return -ENOMEM;
	r = set_protocols(tls, options->alpn);
	if (r == 0)
		r = set_trust(tls, options, why);
	if (r == 0)
		r = set_certificate(tls, options, why);
	if (r == 0)
		*ret_tls = ep_take(tls);
	return r;
}

void otlp_tls_free(struct otlp_tls *tls)
{
	if (!tls)
		return;
	if (tls->context)
		ssl.SSL_CTX_free(tls->context);
	if (tls->socket)
		ssl.BIO_meth_free(tls->socket);
	free(tls->server_name);
	free(tls);
}

/* --- one connection --- */

static bool is_address(const char *name)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

/* Whom we expect: a name is also sent to the server (SNI), an address is not (RFC 6066, 3). */
static int set_peer(struct otlp_tls_stream *stream)
{
	const char *name = stream->tls->server_name;

	if (is_address(name))
		return ssl.X509_VERIFY_PARAM_set1_ip_asc(ssl.SSL_get0_param(stream->ssl), name)
			       ? 0
			       : -EINVAL;
	ssl.SSL_ctrl(stream->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
		     (void *)name);
	return ssl.SSL_set1_host(stream->ssl, name) ? 0 : -EINVAL;
}

int otlp_tls_stream_new(struct otlp_tls *tls, int fd, struct otlp_tls_stream **ret_stream)
{
	struct otlp_tls_stream *stream = calloc(1, sizeof(*stream));
	BIO *bio;
	int r;

	if (!stream)
		return -ENOMEM;
	stream->tls = tls;
	stream->fd = fd;
	stream->ssl = ssl.SSL_new(tls->context);
	bio = stream->ssl ? ssl.BIO_new(tls->socket) : NULL;
	if (!bio) {
		otlp_tls_stream_free(stream);
		return -ENOMEM;
	}
	ssl.BIO_set_data(bio, stream);
	ssl.BIO_set_init(bio, 1);
	ssl.SSL_set_bio(stream->ssl, bio, bio);
	r = set_peer(stream);
	if (r < 0) {
		otlp_tls_stream_free(stream);
		return r;
	}
	ssl.SSL_set_connect_state(stream->ssl);
	*ret_stream = stream;
	return 0;
}

void otlp_tls_stream_free(struct otlp_tls_stream *stream)
{
	if (!stream)
		return;
	if (stream->is_open)
		(void)ssl.SSL_shutdown(stream->ssl);
	if (stream->ssl)
		ssl.SSL_free(stream->ssl);
	if (ssl.is_loaded)
		ssl.ERR_clear_error();
	free(stream);
}

/* What a call that failed means; `ret` is what it returned. */
static int errno_of(struct otlp_tls_stream *stream, int ret)
{
	int error = ssl.SSL_get_error(stream->ssl, ret);

	stream->wants_write = error == SSL_ERROR_WANT_WRITE;
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	stream->is_open = false;
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (error == SSL_ERROR_SYSCALL)
		return stream->socket_errno ? -stream->socket_errno : -ECONNRESET;
	return -EPROTO;
}

static int explain(struct otlp_tls_stream *stream, int r, char why[OTLP_WHY_BYTES])
{
	long verified = ssl.SSL_get_verify_result(stream->ssl);
	unsigned long error = ssl.ERR_peek_last_error();
	int reason = ERR_GET_REASON(error);

	if (stream->tls->verifies && verified != X509_V_OK) {
		snprintf(why, OTLP_WHY_BYTES, "the server's certificate is refused: %s",
			 ssl.X509_verify_cert_error_string(verified));
		return -EACCES;
	}
	if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST)
		snprintf(why, OTLP_WHY_BYTES,
			 "the server does not speak TLS on this port: "
			 "write http:// if that is meant");
	else if (reason == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL)
		snprintf(why, OTLP_WHY_BYTES, "the server does not offer %s", stream->tls->alpn);
	else if (r == -EPROTO)
		snprintf(why, OTLP_WHY_BYTES, "TLS: %s", last_reason());
	else
		snprintf(why, OTLP_WHY_BYTES, "the server broke off the TLS handshake");
	return r == 0 ? -ECONNRESET : r;
}

static int check_protocol(struct otlp_tls_stream *stream, char why[OTLP_WHY_BYTES])
{
	const unsigned char *chosen;
	unsigned int len;

	ssl.SSL_get0_alpn_selected(stream->ssl, &chosen, &len);
	if (len == strlen(stream->tls->alpn) && memcmp(chosen, stream->tls->alpn, len) == 0)
		return 0;
	if (len == 0 && strcmp(stream->tls->alpn, "http/1.1") == 0)
		return 0; /* what is spoken when nothing is agreed on */
	snprintf(why, OTLP_WHY_BYTES,
		 "the server did not agree to %s (ALPN): is this the port for %s?",
		 stream->tls->alpn, strcmp(stream->tls->alpn, "h2") == 0 ? "gRPC" : "HTTP");
	return -EPROTO;
}

int otlp_tls_handshake(struct otlp_tls_stream *stream, char why[OTLP_WHY_BYTES])
{
	int n, r;

	ssl.ERR_clear_error();
	n = ssl.SSL_do_handshake(stream->ssl);
	if (n == 1) {
		stream->is_open = true;
		stream->wants_write = false;
		return check_protocol(stream, why);
	}
	r = errno_of(stream, n);
	return r == -EAGAIN ? r : explain(stream, r, why);
}

/* Once a connection, after the handshake and the tickets that come with the first data. */
static void drop_pages(struct otlp_tls_stream *stream)
{
	if (stream->has_dropped)
		return;
	stream->has_dropped = true;
	otlp_library_drop_pages(ssl.libssl);
	otlp_library_drop_pages(ssl.libcrypto);
}

ssize_t otlp_tls_read(struct otlp_tls_stream *stream, void *data, size_t len)
{
	int n;

	ssl.ERR_clear_error();
	n = ssl.SSL_read(stream->ssl, data, (int)EP_MIN(len, (size_t)INT_MAX));
	if (n <= 0)
		return errno_of(stream, n);
	drop_pages(stream);
	return n;
}

ssize_t otlp_tls_write(struct otlp_tls_stream *stream, const void *data, size_t len)
{
	int n, r;

	ssl.ERR_clear_error();
	n = ssl.SSL_write(stream->ssl, data, (int)EP_MIN(len, (size_t)INT_MAX));
	if (n > 0)
		return n;
	r = errno_of(stream, n);
	return r == 0 ? -ECONNRESET : r;
}

bool otlp_tls_wants_write(const struct otlp_tls_stream *stream)
{
	return stream->wants_write;
}
