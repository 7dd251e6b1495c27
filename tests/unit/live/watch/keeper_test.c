/* keeper_test.c - when the memory of a kept process is measured: soon if it changes, rarely if not, and never too much of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/watch/keeper.h"

#include "base/time.h"
#include "process/clock.h"
#include "tap.h"

#include <sys/mman.h>
#include <unistd.h>

enum { steps_in_second = 2 };

static struct cairn_life life;

/* How often the memory of one of COUNT processes is measured in SECONDS of looks, during which what is resident grows from look to look by so many
 * thousandths. */
static unsigned measured(size_t count, unsigned seconds, unsigned growth)
{
	struct cairn_keeper keeper = cairn_keeper();
	keeper.ledger = memfd_create("keeper_test", MFD_CLOEXEC);
	int64_t now = cairn_clock_ns();
	uint64_t resident = 100 << 20;
	unsigned times = 0;
	for (unsigned i = 0; i < seconds * steps_in_second; i++, now += CAIRN_SECOND_NS / steps_in_second, resident += resident * growth / 1000) {
		int64_t credit = keeper.credit_ns, before = keeper.measured_ns;
		keeper.cost_ns = keeper.cost_ns ? CAIRN_MILLISECOND_NS : 0; /* each takes a millisecond, whatever this machine does */
		cairn_keeper_look(&keeper, &life, &(struct cairn_memory_reading){.resident = resident}, count, now);
		if (keeper.measured_ns == before)
			continue;
		times++;
		keeper.measured_ns = now; /* not when it was by the clock */
		if (times > 1)
			keeper.credit_ns = credit - CAIRN_MILLISECOND_NS + CAIRN_SECOND_NS / steps_in_second / 500 / (int64_t)count;
	}
	ok(keeper.smaps.rss > 0 && keeper.resident > 0, "%zu processes, growth %u: %u measurements in %u s", count, growth, times, seconds);
	cairn_keeper_close(&keeper);
	return times;
}

int main(void)
{
	ok(cairn_life_of(getpid(), &life), "this process");
	is_int(measured(1, 160, 0), 10, "memory that does not change is measured every 16 seconds");
	is_int(measured(1, 160, 20), 160, "memory that changes, every second");
	is_int(measured(1, 160, 2), 40, "one that grows slowly, when it has grown by a 64th");
	unsigned many = measured(100, 1000, 10);
	ok(many >= 19 && many <= 21, "among a hundred, as often as all of them take a five-hundredth of the time");
	many = measured(100, 1000, 0);
	ok(many >= 10 && many <= 11, "and without a change, half as often");
	return tap_done();
}
