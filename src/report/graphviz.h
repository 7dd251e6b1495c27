/* graphviz.h - turns dot text into a picture with Graphviz's library.
 *
 * The library is loaded by the first call, so that everything else works without it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_GRAPHVIZ_H
#define CAIRN_REPORT_GRAPHVIZ_H

#include "base/buffer.h"
#include "base/error.h"

/* Lays out DOT and appends it to OUT as FORMAT: "svg", "pdf", "png", "ps2", "gif", or any other format that Graphviz knows. Fails with a
 * message if Graphviz is not installed, does not know the format or rejects the text. Only one thread may call it at a time, because the
 * library is not thread-safe. */
bool cairn_graphviz_render(struct cairn_bytes dot, const char *format, struct cairn_buffer *out, struct cairn_error *error);

#endif
