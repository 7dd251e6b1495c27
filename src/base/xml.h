/* xml.h - any bytes as text that is safe in XML and HTML, between tags and inside quoted attributes.
 *
 * Names in a profile come from strangers. What XML cannot hold (most control characters, bytes that are not UTF-8) is
 * written as U+FFFD, and so are the characters that would reorder the text around them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_XML_H
#define CAIRN_BASE_XML_H

#include "base/buffer.h"

void cairn_xml_text(struct cairn_buffer *out, struct cairn_bytes text);

#endif
