#!/usr/bin/env bash
# Chromium under `cairn run`: the process from which it forks those of its pages must have one thread, and its own allocator is inside, and
# counted. It prints the page, also in its sandbox, where system calls that its processes do not make themselves are refused or end them.
. tests/e2e/lib.sh
need chromium xvfb-run
options=(--headless --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync)
chmod 755 "$scratch"
cat >"$scratch/page.html" <<'H'
<!doctype html><title>none</title><p id=text>nothing</p>
<script>const kept = []; for (let i = 0; i < 300000; i++) kept.push({i}); document.title = document.getElementById("text").textContent = "it runs: " + kept.length</script>
H

# browse NAME COMMAND...: the page, and the summary in $scratch/err
browse() {
	local name=$1
	shift
	rm -f "$scratch/work"/cairn.*
	(cd "$scratch/work" && timeout 300 "$@" --dump-dom "file://$scratch/page.html") >"$scratch/out" 2>"$scratch/err"
	like "$? $(cat "$scratch/out")" '0 *<p id="text">it runs: 300000</p>*' "$name prints the page"
}
# leaves NAME: a profile
leaves() {
	like "$(grep '^cairn: ' "$scratch/err")" '*: note: live at the end: *: note: profile: cairn.chromium.*' "$1 leaves a profile"
	holds 'which top shows' "$cairn" top "$scratch/work"/cairn.chromium.[0-9]*
}
mkdir -m 777 "$scratch/work"
browse 'Chromium alone' chromium "${options[@]}" --no-sandbox --user-data-dir="$scratch/work/alone"
for period in 512K 1K; do
	browse "Chromium under cairn run, a sample every $period," "$cairn" run --period $period -- \
		chromium "${options[@]}" --no-sandbox --user-data-dir="$scratch/work/$period"
	leaves "with a sample every $period it"
done
browse 'Chromium with the agent preloaded, idle,' env LD_PRELOAD="$library" chromium "${options[@]}" --no-sandbox --user-data-dir="$scratch/work/idle"
if [ "$(id -u)" = 0 ]; then
	mkdir -m 755 "$scratch/bin" && cp -L "$cairn" "$library" "$scratch/bin/" # the clone may lie where others cannot look
	as_another=(setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$scratch/work" XDG_CACHE_HOME= XDG_RUNTIME_DIR=)
	if "${as_another[@]}" unshare --user true 2>/dev/null; then
		cairn=$scratch/bin/cairn browse 'in its sandbox, as another user, it' "${as_another[@]}" "$scratch/bin/cairn" run --period 1K -- \
			chromium "${options[@]}" --user-data-dir="$scratch/work/sandbox"
	else
		skip 'Chromium in its sandbox' 'other users may not make a user namespace here'
	fi
fi

# A program that has Chromium inside, as Electron's have.
/usr/bin/python3 -c 'import PyQt5.QtWebEngineWidgets' 2>"$scratch/log" || broken 'QtWebEngine is installed'
export QTWEBENGINE_CHROMIUM_FLAGS='--no-sandbox --disable-gpu --disable-background-networking'
(cd "$scratch/work" && exec xvfb-run -a "$cairn" run --period 16K -o "$scratch/qt.pb.gz" -- /usr/bin/python3 "$root/tests/hosts/page.py" "$scratch/page.html") >"$scratch/out" 2>"$scratch/err" &
children+=($!)
holds 'a program with Chromium inside shows the page' wait_for 30 grep -q '^title it runs: 300000' "$scratch/out"
kill "$(pgrep -f "^/usr/bin/python3 $root/tests/hosts/page.py $scratch/page.html")"
wait $! 2>/dev/null
holds 'and leaves a profile' "$cairn" top "$scratch/qt.pb.gz"
done_testing
