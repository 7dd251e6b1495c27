/* url.h - names as parts of an address, and the user and password that an address may have.
 *
 * The names of sources, stores and servers appear in messages, pages, file names and stores, and every user of the machine can read a
 * command line. So the command takes users and passwords out of its arguments before it does anything else; from then on only the
 * request to the server has them (http/client.h), and nothing that shows or keeps a name has to think of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_URL_H
#define CAIRN_BASE_URL_H

#include "base/buffer.h"
#include "base/error.h"

/* Appends NAME as one part of a URL's path or query (RFC 3986, section 2.3): all but letters, digits and -._~ become %XX, byte by
 * byte, slashes too. */
void cairn_url_name(struct cairn_buffer *out, const char *name);

/* Takes USER:PASSWORD@ out of the URL in TEXT (SCHEME://USER:PASSWORD@HOST...), if it has that, and keeps it for the two functions below.
 * TEXT becomes shorter, with zeros behind its end. Fails, and takes it out all the same, if another user or password was kept for the
 * same scheme and host. To be called before other threads run. */
bool cairn_url_set_aside(char *text, struct cairn_error *error);

/* The USER:PASSWORD or USER that was kept for the scheme and host of URL, as it was given; NULL for none. */
const char *cairn_url_credentials(const char *url);

/* Appends URL as it was before cairn_url_set_aside, for the request. */
void cairn_url_restore(struct cairn_buffer *out, const char *url);

/* Whether URL and OTHER name the same server: scheme (http:// where it is omitted), host and port. What is written differently, such as
 * with the default port, is not the same. */
bool cairn_url_same_server(const char *url, const char *other);

#endif
