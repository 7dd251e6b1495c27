#!/usr/bin/env bash
# Files of other writers of pprof: read as Go's pprof reads them.
. tests/e2e/lib.sh
need python3
export PYTHONPATH=$root/tests/e2e
cd "$scratch" || exit 1

# as_go NAME FILE ROWS [OPTION...]: the table of FILE has these rows, "flat cum name" with a / between two; so has that of Go's pprof, if it is here
as_go() {
	local name=$1 file=$2 rows=$3
	shift 3
	is "$("$cairn" top --json "$@" "$file" 2>/dev/null | of_json '"/".join("%d %d %s" % (x["flat"], x["cum"], x["name"]) for x in r["rows"])')" "$rows" "$name"
	if [ $# = 0 ] && command -v go >/dev/null; then
		is "$(go tool pprof -unit=B -top "$file" 2>/dev/null | sed '1,/flat%/d' |
			awk '{ sub("B$", "", $1); sub("B$", "", $4); rest = $0; for (i = 0; i < 5; i++) sub("^ *[^ ]+ +", "", rest); printf "%s%d %d %s", n++ ? "/" : "", $1, $4, rest }')" \
			"$rows" "$name, as in go tool pprof"
	fi
}

# drop_frames and keep_frames: what views leave out
python3 - <<'P'
from pprof_file import Profile
from wire import number
profile = Profile(("inuse_objects", "count"), ("inuse_space", "bytes"))
profile.body += number(7, profile.text("MyAlloc|my_internal|Keep.*|new_block")) + number(8, profile.text("KeepMe"))
profile.sample(["my_internal", "MyAlloc", "work", "main"], [1, 1000])
profile.sample(["KeepMe", "work", "main"], [1, 500])                       # kept all the same
profile.sample(["my_internal", "other", "MyAlloc", "main"], [1, 200])      # from the outermost match on
profile.sample(["my_internal", "my_internal2", "main"], [1, 70])           # the whole name matches
profile.sample(["my_internal", "MyAlloc"], [1, 30])                        # nothing else would be left
profile.sample(["leaf", ("my_internal", "caller"), "main"], [1, 9])        # inlined: the caller stays
profile.sample(["leaf", "new_block(int, (anonymous namespace)::x)", "main"], [1, 4]) # without parameters
profile.write("drop.pb")
profile.body += number(7, profile.text("MyAlloc|("))
profile.write("invalid.pb")
P
as_go 'frames that the profile drops are left out' drop.pb \
	'1000 1500 work/500 500 KeepMe/204 1783 main/70 70 my_internal2/30 30 my_internal/9 9 caller/0 30 MyAlloc'
as_go '--all-frames keeps them' drop.pb \
	'1300 1309 my_internal/500 500 KeepMe/13 13 leaf/0 1783 main/0 1500 work/0 1230 MyAlloc/0 200 other/0 70 my_internal2/0 9 caller/0 4 new_block(int, (anonymous namespace)::x)' --all-frames
is "$("$cairn" collapsed --focus=KeepMe drop.pb)" 'main;work;KeepMe 500' 'filters look at what is left'
like "$("$cairn" top --focus=other drop.pb 2>&1)" '*--all-frames keeps them*' 'and say where the rest went'
is "$("$cairn" collapsed invalid.pb | grep -c my_internal)" 5 'an expression that is none drops nothing'
is "$("$cairn" top --sum --json drop.pb drop.pb 2>/dev/null | of_json 'r["rows"][0]["name"]')" work 'so it is in a sum'

# Fields that this version of the schema does not have, of every wire type
python3 - <<'P'
from pprof_file import Profile
from wire import block, number, varint
for name, before, after in [("number", b"", number(16, 1)), ("bytes", b"", block(99, b"junk")), ("double", b"", varint(98 << 3 | 1) + b"12345678"),
                            ("float", b"", varint(97 << 3 | 5) + b"1234"), ("first", block(16, b"abc"), b"")]:
    profile = Profile(("inuse_objects", "count"), ("inuse_space", "bytes"))
    profile.sample(["leaf", "main"], [1, 100])
    profile.body = before + profile.body + after
    profile.write(f"strange-{name}.pb")
P
for name in number bytes double float first; do as_go "a field that nobody knows: $name" strange-$name.pb '100 100 leaf/0 100 main'; done

# A difference that "pprof -diff_base" saved: what it subtracted has a label, and percentages are of that
python3 - <<'P'
from pprof_file import Profile
profile = Profile(("inuse_objects", "count"), ("inuse_space", "bytes"))
profile.sample(["grows", "main"], [5, 500])
profile.sample(["grows", "main"], [-1, -100], **{"pprof::base": "true"})
profile.sample(["gone", "main"], [-3, -300], **{"pprof::base": "true"})
profile.write("difference.pb")
P
as_go 'a difference of pprof' difference.pb '400 400 grows/-300 -300 gone/0 100 main'
like "$("$cairn" top difference.pb)" '*change of live memory: +100 B*100.00%*grows*-75.00%*gone*' 'with percentages of the base'
if command -v go >/dev/null; then
	like "$(go tool pprof -top difference.pb 2>/dev/null)" '*100%*grows*75.00%*gone*' 'as in go tool pprof'
fi
"$cairn" pprof -o again.pb difference.pb && is "$("$cairn" top again.pb)" "$("$cairn" top difference.pb)" 'also when it is written again'
done_testing
