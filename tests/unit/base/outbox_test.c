/* outbox_test.c - things are sent in order by another thread, again if the other side is away, and the oldest are dropped if too many wait.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/outbox.h"

#include "base/note.h"
#include "tap.h"

#include <stdatomic.h>

static int sent[64], lost[64];
static atomic_int sent_count, lost_count, failures;
static char notes[1000];
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static bool send_number(void *context, void *item, struct cairn_error *error)
{
	(void)context;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	if (failures > 0 && failures--)
		return cairn_fail(error, "away");
	sent[sent_count] = *(int *)item;
	sent_count++;
	return true;
}

static void finish_number(void *context, void *item, bool was_sent)
{
	(void)context;
	if (!was_sent) {
		lost[lost_count] = *(int *)item;
		lost_count++;
	}
}

static void note(const char *text)
{
	snprintf(notes + strlen(notes), sizeof notes - strlen(notes), "%s|", text);
}

static struct cairn_outbox make(bool refuses)
{
	sent_count = lost_count = 0;
	return (struct cairn_outbox){.item_size = sizeof(int), .most = 4, .bytes_most = 100, .refuses = refuses, .send = send_number,
				     .done = finish_number, .backoff = {"not sent", "sent again", 0}};
}

int main(void)
{
	struct cairn_error error;
	cairn_note_taker.note = note;
	struct cairn_outbox outbox = make(false);
	for (int i = 0; i < 6; i++)
		cairn_outbox_add(&outbox, &i, 1);
	is_int(cairn_outbox_waiting(&outbox), 4, "four wait, and no thread is needed for that");
	is_int(lost_count, 2, "two had no room");
	ok(lost[0] == 0 && lost[1] == 1, "the oldest");
	cairn_outbox_add(&outbox, &(int){6}, 98);
	is_int(cairn_outbox_waiting(&outbox), 3, "a large one takes the room of others");
	failures = 2;
	ok(cairn_outbox_open(&outbox, &error), "a thread");
	cairn_outbox_close(&outbox, 60 * CAIRN_SECOND_NS);
	is_int(sent_count, 3, "all of them are sent before it ends");
	ok(sent[0] == 4 && sent[1] == 5 && sent[2] == 6, "in order, although the other side was away");
	is_text(notes, "not sent: away|sent again|", "which is said once");

	outbox = make(true);
	pthread_mutex_lock(&gate);
	ok(cairn_outbox_open(&outbox, &error), "another");
	int added = 0;
	for (int i = 0; i < 10; i++)
		added += cairn_outbox_add(&outbox, &i, 1);
	ok(added == 4 || added == 5, "it refuses what has no room; the thread may have taken one");
	pthread_mutex_unlock(&gate);
	cairn_outbox_close(&outbox, 60 * CAIRN_SECOND_NS);
	ok(sent_count == added && lost_count == 0, "and sends what it took");

	outbox = make(false);
	cairn_outbox_add(&outbox, &(int){1}, 1);
	failures = 1000;
	ok(cairn_outbox_open(&outbox, &error), "a third");
	cairn_outbox_close(&outbox, 0);
	ok(sent_count == 0 && lost_count == 1, "without patience, what waits is given back");
	cairn_outbox_close(&(struct cairn_outbox){0}, 0);
	return tap_done();
}
