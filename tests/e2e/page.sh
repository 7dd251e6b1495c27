# page.sh - for the tests that follow a page of another project step by step. Source it after lib.sh; then `follow SEED`.
#
# Each step is a command line of the page, letter by letter. `page` looks it up in the page, behind the one before, so that a test
# cannot leave the page's words or order; then it runs it with what is different here put in its place: ports and paths, by the sed
# commands in `here`. The old tools are Cairn, by links of their names on PATH.

# old_tools FOLDER: what is installed as libexec/cairn, and cairn itself
old_tools() {
	mkdir -p "$1"
	for name in jeprof flamegraph.pl addr2line gen_flamegraph.sh cairn; do ln -s "$cairn" "$1/$name"; done
	for script in "$root"/data/compat/*.sh; do ln -s "$script" "$1/"; done
}

# follow NUMBER: the page ../shared/seeds/NUMBER_*.txt, in a scratch folder of its own with the old tools on PATH
follow() {
	set -- "$shared"/seeds/"$1"_*.txt
	[ -f "$1" ] || skip_all 'no ../shared/seeds here'
	text=$(cat "$1")
	here=()
	mkdir -p "$scratch/home" "$scratch/page"
	old_tools "$scratch/compat"
	export PATH=$scratch/compat:$PATH HOME=$scratch/home
	cd "$scratch/page" || exit 1
}

# says TEXT: the page says so, behind what was found before
says() {
	local rest=${text#*"$1"}
	if [ "$rest" = "$text" ]; then
		ok 1 "the page goes on with: $1"
		return 1
	fi
	text=$rest
}

# as_here LINE: the page's line for this machine
as_here() {
	local script=(-e '')
	for change in "${here[@]}"; do script+=(-e "$change"); done
	sed "${script[@]}" <<<"$1"
}

# page LINE: what the page says is run; its output is in $said, its errors in $scratch/errors, its exit code in $status
page() {
	name=${1//$'\n'/ }
	says "$1" || return 1
	said=$(eval "$(as_here "$1")" 2>"$scratch/errors")
	status=$?
}

# page_starts LINE: the same for a service; it runs in the background, and $pid is its process
page_starts() {
	name=$1
	says "$1" || return 1
	eval "$(as_here "$1") >'$scratch/service.log' 2>&1 &"
	pid=$!
	children+=("$pid")
}

# page_is WANTED, page_like PATTERN: about the step just done
page_is() { is "$said" "$1" "$name"; }
page_like() { like "$said" "$1" "$name"; }
page_picture() { is "$status $(head -c 300 "$1" | grep -o '<svg' | head -n 1) $(tail -c 10 "$1" | grep -o '</svg>')" '0 <svg </svg>' "$name: ${2:-a picture}"; }

# page_pdf LINE FILE [NAME]: a step that leaves a PDF in FILE; without Graphviz the page is only looked at
page_pdf() {
	if command -v dot >/dev/null; then
		page "$1"
		is "$status $(head -c 5 "$2")" '0 %PDF-' "${3:-$name}"
	else
		says "$1"
		skip "${3:-$1}" 'no Graphviz here'
	fi
}

# answers URL: it does, soon
answers() { wait_for 20 curl -sf -o /dev/null "$1"; }

# build_service PATH...: the demo service, which leaks, under the names of the page's programs; it runs for minutes
# build_static_service PATH...: the same with jemalloc inside the program, as in Rust programs
build_service() { build_with '-ljemalloc' "$@"; }
build_static_service() { build_with "$(${CC:-cc} -print-file-name=libjemalloc_pic.a) -lstdc++ -lm" "$@"; }
build_with() {
	${CC:-cc} -O2 -g -pthread -DLEAKY_SECONDS=1800 "$root/examples/leaky/leaky.c" -o "$scratch/service" $1 2>"$scratch/log" || broken 'no jemalloc to link with'
	shift
	for path; do mkdir -p "$(dirname "$path")" && cp "$scratch/service" "$path"; done
}
