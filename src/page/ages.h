/* ages.h - what one dump knows beyond its stacks, as a part of the page: live bytes by age as a picture and a table, the highest point,
 * slack, and what the service mapped itself.
 *
 * It is plain markup, which the page shows as it is: it changes with nothing that the reader does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PAGE_AGES_H
#define CAIRN_PAGE_AGES_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Appends it; nothing for a profile that knows no ages, or is a change. */
void cairn_page_ages_write(const struct cairn_profile *profile, struct cairn_buffer *out);

#endif
