#!/usr/bin/env bash
# Exported profiles in the tools they are for: speedscope's importer in a browser, callgrind_annotate, jeprof, google-pprof, pprof's web flame view.
. tests/e2e/lib.sh
need python3
# Go builds its tools on demand; not anew for each scratch folder.
dump=tests/fixtures/small.heap
total=$("$cairn" top --bytes --json --no-symbols "$dump" 2>/dev/null | python3 -c 'import json, sys; print(int(json.load(sys.stdin)["total"]))')
near() { awk "BEGIN { d = ($1) - ($2); exit !((d < 0 ? -d : d) <= 2 + 0.0005 * ($2)) }"; }

if command -v callgrind_annotate >/dev/null; then
	"$cairn" export "$dump" -o "$scratch/x.callgrind" 2>/dev/null
	got=$(callgrind_annotate "$scratch/x.callgrind" | awk '/PROGRAM TOTALS/ { gsub(",", ""); print $1 }')
	near "${got:-0}" "$total"
	ok $? "callgrind_annotate shows our total ($got, $total)"
	callgrind_annotate --inclusive=yes "$scratch/x.callgrind" >"$scratch/inclusive"
	largest=$(awk '/file:function/ { found = 1; next } found && /%/ { gsub(",", ""); print $1; exit }' "$scratch/inclusive")
	[ "${largest:-0}" -gt $((total / 2)) ] && [ "$largest" -le $((total + 2)) ]
	ok $? "and the function at the top holds most, not more than all ($largest)"
else
	skip 'callgrind_annotate' 'no valgrind here'
fi

"$cairn" export "$dump" -o "$scratch/x.symbolized" 2>/dev/null
for tool in jeprof google-pprof; do
	if command -v $tool >/dev/null; then
		got=$($tool --text "$scratch/x.symbolized" 2>/dev/null | sed -n 's/^Total: \([0-9.]*\) MB$/\1/p')
		awk "BEGIN { d = ${got:-0} - $total / 1048576; exit !(d > -0.06 && d < 0.06) }"
		ok $? "$tool reads the symbolized profile without the program ($got MB)"
	else
		skip "$tool reads the symbolized profile" "no $tool here"
	fi
done

if command -v go >/dev/null; then
	"$cairn" pprof "$dump" -o "$scratch/x.pb.gz" 2>/dev/null
	port=$(free_port)
	go tool pprof -no_browser -http "127.0.0.1:$port" "$scratch/x.pb.gz" >/dev/null 2>&1 &
	children+=($!)
	wait_for 60 curl -sf "http://127.0.0.1:$port/ui/flamegraph" -o "$scratch/flame.html"
	holds 'the flame view of pprof shows it' grep -q 'leaky' "$scratch/flame.html"
else
	skip 'the flame view of pprof' 'no go here'
fi

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
modules=$PWD/${CAIRN_BUILD:-build}/node
mkdir -p "$modules"
if [ -n "$browser" ] && command -v npm >/dev/null &&
	{ [ -d "$modules/node_modules/speedscope" ] && [ -d "$modules/node_modules/playwright-core" ] ||
		(cd "$modules" && npm install --silent --no-fund --no-audit speedscope@1 playwright-core@1 >/dev/null 2>&1); }; then
	"$cairn" export "$dump" -o "$scratch/x.speedscope.json" 2>/dev/null
	cat >"$modules/speedscope.mjs" <<-'END'
		import {readFileSync, writeFileSync} from "node:fs";
		import {chromium} from "playwright-core";
		const [executablePath, app, file] = process.argv.slice(2);
		writeFileSync(file + ".js", `speedscope.loadFileFromBase64("x.speedscope.json", ${JSON.stringify(readFileSync(file).toString("base64"))})`);
		const browser = await chromium.launch({executablePath, args: ["--no-sandbox", "--allow-file-access-from-files"]});
		const page = await browser.newPage();
		await page.goto("file://" + app + "/index.html#localProfilePath=" + file + ".js");
		await page.waitForFunction(() => document.title.includes("inuse") || document.body.innerText.includes("inuse"), null, {timeout: 20000});
		console.log(await page.title(), "|", await page.evaluate(() => document.body.innerText));
		await browser.close();
	END
	got=$(timeout 120 node "$modules/speedscope.mjs" "$browser" "$modules/node_modules/speedscope/dist/release" "$scratch/x.speedscope.json" 2>&1)
	like "$got" '*inuse_space*' "speedscope's importer shows it"
else
	skip "speedscope's importer" 'no chromium or npm here'
fi
done_testing
