"""pyroscope.py push URL INSTANCES STACKS HOURS END: pushes what simulated instances of a service held each hour before END, as pprof profiles, by
the call Push of Pyroscope, which Cairn's collector takes as well. Prints the seconds that took, how many profiles there were, and their mean size.
Function 0 grows by 2 MB an hour on the instances of release 2, which are every other one, for a load of 1; loads are from 1 to 2.8.

pyroscope.py ask URL INSTANCES HOURS END: asks Pyroscope what has grown from the first hour to the last: once for all instances, and once for each.
Prints the seconds of the first question, those of all the others, what the first one finds, and on how many instances the others find the same."""
import base64, concurrent.futures, gzip, json, os, random, sys, time, urllib.error, urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
from wire import block, number, varint

HOUR, DEPTH, PERIOD = 3600, 12, 524288
TYPE = "memory:inuse_space:bytes:space:bytes"


def call(url, method, message):
    request = urllib.request.Request(f"{url}/{method}", json.dumps(message).encode(), {"Content-Type": "application/json"})
    try:
        return json.load(urllib.request.urlopen(request, timeout=600))
    except urllib.error.HTTPError as error:
        sys.exit(f"{method}: {error.code}: {error.read(300).decode(errors='replace')}")


def tables(stacks):
    """All of a profile but its samples and time, and the stack of each sample, as they are encoded. Stacks are a tree."""
    strings = ["", "inuse_objects", "count", "inuse_space", "bytes", "space"]
    ids, body = {}, b""
    for level in range(DEPTH):
        for k in range(0, stacks, 1 << level):
            ids[level, k >> level] = len(ids) + 1
            strings.append(f"function_{k}" if level == 0 else f"caller_{level}_{k >> level}")
            body += block(5, number(1, len(ids)) + number(2, len(strings) - 1))
            body += block(4, number(1, len(ids)) + number(3, 0x400000 + 16 * len(ids)) + block(4, number(1, len(ids))))
    head = block(1, number(1, 1) + number(2, 2)) + block(1, number(1, 3) + number(2, 4)) + block(11, number(1, 5) + number(2, 4)) + number(12, PERIOD)
    text = b"".join(block(6, string.encode()) for string in strings)
    return head + body + text, [block(1, b"".join(varint(ids[level, k >> level]) for level in range(DEPTH))) for k in range(stacks)]


def held(instance, k, hour, noise):
    load = 1 + instance * 7 % 10 / 5
    return int((20000000 + 1000000 * (k * 37 % 50)) * load * (0.95 + 0.1 * noise)) + (int(2000000 * hour * load) if k == 0 and instance % 2 else 0)


def push(url, instances, stacks, hours, end):
    rest, places = tables(stacks)
    size, noise, begin = 0, random.Random(23), time.time()
    # Pyroscope answers when a profile is in a segment that it writes twice a second: so many are under way.
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for hour in range(hours):
            answers = []
            for instance in range(instances):
                samples = b""
                for k in range(stacks):
                    value = held(instance, k, hour, noise.random())
                    samples += block(2, places[k] + block(2, varint(value // 4096) + varint(value)))
                profile = gzip.compress(samples + rest + number(9, (end - HOUR * (hours - 1 - hour)) * 10**9), 1)
                labels = {"__name__": "memory", "service_name": "api", "version": str(1 + instance % 2), "hostname": f"host-{instance}"}
                message = {"series": [{"labels": [{"name": name, "value": value} for name, value in labels.items()],
                                       "samples": [{"rawProfile": base64.b64encode(profile).decode()}]}]}
                answers.append(pool.submit(call, url, "push.v1.PusherService/Push", message))
                size += len(profile)
            for answer in answers:
                answer.result()
    print(f"{time.time() - begin:.2f} {instances * hours} {size / instances / hours:.0f}")


def grown(url, selector, hours, end):
    """The function that has grown most between the first hour and the last."""
    def at(time_s):
        return {"profileTypeID": TYPE, "labelSelector": selector, "start": str((time_s - 600) * 1000), "end": str((time_s + 600) * 1000), "maxNodes": "100000"}

    graph = call(url, "querier.v1.QuerierService/Diff", {"left": at(end - HOUR * (hours - 1)), "right": at(end)})["flamegraph"]
    best = (0, "nothing")
    for level in graph.get("levels", []):
        values = [int(value) for value in level.get("values", [])]
        for i in range(0, len(values), 7):  # offset, total and own of the left side, the same of the right one, name
            best = max(best, (values[i + 5] - values[i + 2], graph["names"][values[i + 6]]))
    return best[1]


def ask(url, instances, hours, end):
    begin = time.time()
    found = grown(url, '{service_name="api"}', hours, end)
    together = time.time() - begin
    alike = sum(grown(url, f'{{service_name="api", hostname="host-{instance}"}}', hours, end) == found for instance in range(instances))
    print(f"{together:.3f} {time.time() - begin - together:.3f} {found} {alike}")


(push if sys.argv[1] == "push" else ask)(sys.argv[2], *map(int, sys.argv[3:]))
