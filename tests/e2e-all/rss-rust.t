#!/usr/bin/env bash
# The bill of a Rust service on tikv-jemallocator, full and half freed; and its picture in a browser.
. tests/e2e/lib.sh
need cargo python3
. tests/e2e/agent.sh
export CARGO_TARGET_DIR=$PWD/${CAIRN_BUILD:-build}/rust-bill
cp -r tests/e2e-all/bill "$scratch/bill"
(cd "$scratch/bill" && cargo build -q --release) >"$scratch/cargo.log" 2>&1 || skip_all "the service does not build here: $(tail -n 1 "$scratch/cargo.log")"
for word in full half; do
	: >"$scratch/out"
	LD_PRELOAD=$library _RJEM_MALLOC_CONF=prof:true "$CARGO_TARGET_DIR/release/bill" 400 $word >"$scratch/out" 2>&1 &
	pid=$!
	children+=("$pid")
	wait_for 60 grep -q ready "$scratch/out"
	words=$("$cairn" rss --json "$pid" | python3 tests/e2e/check-bill.py "$pid" 256 live=150)
	ok $? "Rust, $word: $words"
	[ $word = half ] || "$cairn" rss "$pid" -o "$scratch/bill.svg"
	kill "$pid"
done
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$browser" ]; then
	"$browser" --headless --no-sandbox --disable-gpu --window-size=1100,700 --screenshot="$scratch/bill.png" "file://$scratch/bill.svg" >/dev/null 2>&1
	holds 'a browser draws the picture: its two largest lines are there in their colours' python3 - "$scratch/bill.png" "$scratch/bill.svg" <<'P'
import collections, re, struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
at, packed = 8, b""
while at < len(data):
    length, name = struct.unpack(">I4s", data[at:at + 8])
    packed += data[at + 8:at + 8 + length] if name == b"IDAT" else b""
    at += length + 12
bytes_per = {2: 3, 6: 4}[kind]
raw, stride, before, seen = zlib.decompress(packed), width * bytes_per, bytes(width * bytes_per), collections.Counter()
for row in range(height):
    line, how = bytearray(raw[row * (stride + 1) + 1:(row + 1) * (stride + 1)]), raw[row * (stride + 1)]
    for i in range(stride):
        a, b, c = line[i - bytes_per] if i >= bytes_per else 0, before[i], before[i - bytes_per] if i >= bytes_per else 0
        p = a + b - c
        paeth = a if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c) else b if abs(p - b) <= abs(p - c) else c
        line[i] = line[i] + (0, a, b, (a + b) // 2, paeth)[how] & 255
    seen.update(bytes(line[x:x + 3]) for x in range(0, stride, bytes_per))
    before = line
# What the first row of rectangles, the whole bill in one bar, says of itself.
drawn = re.findall(r'<rect x="[0-9.]+" y="66.0" width="([0-9.]+)" height="([0-9.]+)" fill="#([0-9a-f]{6})"', open(sys.argv[2]).read())
assert len(drawn) > 3, drawn
for size, fill in sorted(((float(w) * float(h), f) for w, h, f in drawn), reverse=True)[:2]:
    assert seen[bytes.fromhex(fill)] > 0.9 * size > 0, (fill, size, seen[bytes.fromhex(fill)])
P
else
	skip 'the picture in a browser' 'no chromium here'
fi
done_testing
