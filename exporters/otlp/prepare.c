/* SPDX-License-Identifier: Apache-2.0 */
#include "exporters/otlp/prepare.h"
#include "core/base/elevated.h"
#include "core/base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define MAX_VALUE_BYTES 16384

bool otlp_needs_prepare(const struct otlp_config *config, bool is_connected)
{
	if (config->is_tls && !is_connected)
		return true;
	for (uint32_t i = 0; i < config->n_headers; i++)
		if (config->headers[i].from_file)
			return true;
	return false;
}

static int fail(struct otlp_prepared *prepared, int r, const char *path, const char *what)
{
	prepared->error = r;
	snprintf(prepared->why, sizeof(prepared->why), "%.180s: %s", path, what);
	return r;
}

/* Who started us may be less than we are, and the value goes to a server that he chose. */
static int read_as_caller(const char *path, struct ep_vec *bytes)
{
	ep_autoclose int fd = ep_open_as_caller(path, 0);

	return fd < 0 ? fd : ep_read_fd(fd, bytes);
}

/* Its first line. */
static int read_value(struct otlp_prepared *prepared, const char *path, char **ret_value)
{
	struct ep_vec bytes;
	char *text;
	int r;

	ep_vec_init(&bytes, 1, MAX_VALUE_BYTES);
	r = read_as_caller(path, &bytes);
	text = bytes.data;
	if (r == 0) {
		text[strcspn(text, "\r\n")] = '\0';
		for (const char *pos = text; *pos && r == 0; pos++)
			r = (unsigned char)*pos < ' ' || *pos == 0x7f ? -EBADMSG : 0;
	}
	if (r == 0)
		*ret_value = strdup(text);
	ep_vec_fini(&bytes);
	if (r < 0)
		return fail(prepared, r, path,
			    r == -EBADMSG ? "not a header's value" : strerrordesc_np(-r));
	return *ret_value ? 0 : fail(prepared, -ENOMEM, path, "out of memory");
}

static void sign(const struct otlp_config *config, struct otlp_signature *signature)
{
	const char *const paths[] = {config->ca_file, config->cert_file, config->key_file};

	*signature = (struct otlp_signature){0};
	for (size_t i = 0; i < EP_LEN(paths); i++) {
		uint64_t *words = &signature->words[4 * i];
		struct stat st;

		if (!paths[i][0] || stat(paths[i], &st) < 0)
			continue;
		words[0] = st.st_ino;
		words[1] = (uint64_t)st.st_size;
		words[2] = (uint64_t)st.st_mtim.tv_sec;
		words[3] = (uint64_t)st.st_mtim.tv_nsec;
	}
}

static void make_tls(const struct otlp_config *config, struct otlp_prepared *prepared)
{
	struct ep_rights rights;
	struct otlp_tls_options options = {
		.ca_file = config->ca_file,
		.cert_file = config->cert_file,
		.key_file = config->key_file,
		.server_name = config->server_name,
		.alpn = config->is_http ? "http/1.1" : "h2",
		.insecure_skip_verify = config->insecure_skip_verify,
	};

	prepared->error = ep_rights_of_caller(&rights);
	if (prepared->error) {
		(void)fail(prepared, prepared->error, "certificates", strerrordesc_np(-prepared->error));
		return;
	}
	prepared->error = otlp_tls_new(&options, prepared->why, &prepared->tls);
	ep_rights_restore(&rights);
}

void otlp_prepare(const struct otlp_config *config, bool needs_tls,
		  const struct otlp_signature *present, struct otlp_prepared *ret)
{
	*ret = (struct otlp_prepared){0};
	for (uint32_t i = 0; i < config->n_headers && ret->error == 0; i++)
		if (config->headers[i].from_file)
			(void)read_value(ret, config->headers[i].value, &ret->values[i]);
	if (ret->error || !config->is_tls || !needs_tls)
		return;
	sign(config, &ret->signature);
	if (!present || memcmp(present, &ret->signature, sizeof(*present)) != 0)
		make_tls(config, ret);
}

void otlp_prepared_fini(struct otlp_prepared *prepared)
{
	for (size_t i = 0; i < EP_LEN(prepared->values); i++)
		free(prepared->values[i]);
	otlp_tls_free(prepared->tls);
	*prepared = (struct otlp_prepared){0};
}
