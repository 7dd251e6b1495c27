/* xml_test.c - text in XML: what is escaped, and what XML cannot contain.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/xml.h"
#include "tap.h"

static const char *escaped(const char *data, size_t length)
{
	static char text[1024];
	struct cairn_buffer out = cairn_buffer(sizeof text - 1);
	cairn_xml_text(&out, (struct cairn_bytes){data, length});
	memcpy(text, out.data, out.length);
	text[out.length] = 0;
	cairn_buffer_free(&out);
	return text;
}

#define IS(input, want, what) is_text(escaped(input, sizeof(input) - 1), want, what)

int main(void)
{
	IS("plain (text), 100%", "plain (text), 100%", "plain text stays");
	IS("<a href=\"x\" b='y'>&amp;", "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;", "marks are escaped");
	IS("a\0b\1\x1f\x7f", "a\xef\xbf\xbd" "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "control characters are replaced");
	IS("a\nb\tc", "a&#10;b c", "a line end is kept, a tab is a blank");
	IS("\xff\xc0\x80\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
	   "each byte that is no UTF-8 is replaced");
	IS("\xd7\xa9\xf0\x9f\x98\x80", "\xd7\xa9\xf0\x9f\x98\x80", "letters of other scripts stay");
	IS("a\xe2\x80\xae" "b\xe2\x81\xa6", "a\xef\xbf\xbd" "b\xef\xbf\xbd", "characters that turn the text around are replaced");
	IS("\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "what is no character is replaced");
	IS("\xc2\x85\xc2\xa0", "\xef\xbf\xbd\xc2\xa0", "the second set of control characters is replaced");
	IS("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd", "a character cut short is replaced");
	return tap_done();
}
