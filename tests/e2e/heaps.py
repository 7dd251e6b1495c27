# heaps.py - runs heaps-host on an allocator and compares what `cairn why` reads of its heap with what the program knows.
# heaps.py CAIRN ALLOCATOR HOST [PRELOAD]
import json, os, subprocess, sys

cairn, allocator, host, preload = sys.argv[1], sys.argv[2], sys.argv[3], (sys.argv[4:] or [""])[0]
bad = []
with subprocess.Popen([host], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, LD_PRELOAD=preload)) as process:
    pid, objects, size = map(int, process.stdout.readline().split())
    why = json.loads(subprocess.run([cairn, "why", "--json", str(pid)], stdout=subprocess.PIPE, check=True).stdout)
    process.stdin.write("\n")
    process.stdin.flush()
    before, after = map(int, process.stdout.readline().split())
    process.kill()
heaps = [heap for heap in why["heaps"] if heap["allocator"] == allocator]
if len(heaps) != 1 or not heaps[0]["read"] or not heaps[0]["version"]:
    sys.exit("no %s was read: %r" % (allocator, why["heaps"]))
heap = heaps[0]
returned = before - after
print(heap["version"], "objects", objects, heap["live_objects"], "bytes", size, heap["live_bytes"], "returned", returned, heap["returnable_bytes"])
if abs(heap["live_objects"] - objects) > 0.005 * objects + 20:
    bad.append("objects")
if abs(heap["live_bytes"] - size) > 0.035 * size:
    bad.append("bytes")
# mi_collect leaves some pages for later, and what is left is small.
if abs(heap["returnable_bytes"] - returned) > 0.01 * returned + (6 << 20 if allocator == "mimalloc" else 1 << 18):
    bad.append("returned")
if abs(heap["free_bytes"] - heap["cached_bytes"] - heap["returnable_bytes"] - heap["pinned_bytes"] - heap["reserved_bytes"]) > 1 << 16:
    bad.append("free memory does not add up")
if why["mapped_bytes"] > 0.02 * why["resident_bytes"]:
    bad.append("memory outside: %d" % why["mapped_bytes"])
if any("in part" in note for note in why["notes"]):
    bad.append("notes: %s" % why["notes"])
sys.exit(", ".join(bad) + ": " + json.dumps(heap) if bad else 0)
