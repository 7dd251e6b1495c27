/* graphviz.h - dot text to a picture, by Graphviz's own library.
 *
 * The library is loaded at the first call, so that everything else works without it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_GRAPHVIZ_H
#define CAIRN_REPORT_GRAPHVIZ_H

#include "base/buffer.h"
#include "base/error.h"

/* Lays DOT out and appends it to OUT as FORMAT: "svg", "pdf", "png", "ps2", "gif", or any other that Graphviz knows. Fails with a
 * sentence where Graphviz is not installed, does not know the format or does not accept the text. Not for several threads at
 * once: the library is not made for that. */
bool cairn_graphviz_render(struct cairn_bytes dot, const char *format, struct cairn_buffer *out, struct cairn_error *error);

#endif
