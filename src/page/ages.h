/* ages.h - what a dump has beyond its stacks, as a part of the page: live bytes by age as a picture and a table, the peak, slack, and
 * memory that the service mapped itself.
 *
 * It is static markup: nothing that the reader does changes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PAGE_AGES_H
#define CAIRN_PAGE_AGES_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Appends the markup; nothing for a profile without ages or a profile of a change. */
void cairn_page_ages_write(const struct cairn_profile *profile, struct cairn_buffer *out);

#endif
