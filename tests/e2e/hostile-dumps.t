#!/usr/bin/env bash
# Small dumps that could keep a reader busy for minutes, or fill the memory: the size of the input limits both.
. tests/e2e/lib.sh
need python3
cd "$scratch" || exit 1
python3 - <<'P' || broken 'the dumps could not be written'
def dump(name, stacks, rest):
    with open(name, "w") as out:
        out.write("heap_v2/524288\n  t*: 1: 1 [0: 0]\n" + stacks + "\nMAPPED_LIBRARIES:\n" + rest)

def stack(depth, lines):
    return "@" + " 0x1" * depth + "\n" + lines

one = stack(1, "t*:1:1[0:0]\n")
# A sample from each of very many heaps, and the names of all these heaps
many = range(1, 100001)
dump("heaps", "".join(f"@ {n:#x}\nt*:1:1[0:0]\n" for n in many), "\n# cairn section samples 1\n" +
     "".join(f"# cairn live {n - 1} 8 0 1 1 1 {n}\n" for n in many) + "# cairn trailer 1\n" +
     "".join(f"# cairn heap {n} pool{n}\n" for n in many) + "# cairn end\n")
dump("unloaded", one, "# cairn trailer 1\n" + "".join(f"# cairn unloaded {2 * n:x}-{2 * n + 1:x} 0 - /gone.so\n" for n in range(8, 400000)) + "# cairn end\n")
# Very many modules in the same place, and as many ranges of the map there
dump("modules", one, "".join(f"{n:x}-{n + 1:x} r-xp 0 0:0 1 /lib/lib{n}.so\n" for n in range(8, 400000)) + "# cairn trailer 1\n" +
     "".join(f"# cairn module 0-{n + 1:x} 0 {n:08x} /lib{n}.so\n" for n in range(8, 400000)) + "# cairn end\n")
# A deep stack that is counted again and again, by itself and by thread
dump("counted", stack(200000, "t*:1:1[0:0]\n" * 50000), "")
dump("threads", stack(200000, "t*:1:1[0:0]\n" + "".join(f"t{n}:1:1[0:0]\n" for n in range(1, 50001))), "")
# The same with lines about this stack and another in turn, which are not in the order of the stacks
thread = "t*:1:1[0:0]\nt1:1:1[0:0]\n"
dump("turns", stack(1, thread) + stack(30000, thread), "\n# cairn section samples 1\n# cairn live 0 1000 24 1 1 5000000 0\n# cairn live 1 2000 24 1 1 5000000 0\n" +
     "# cairn peak 1 1 1 1\n# cairn peak 0 1 1 1\n" * 30000 + "# cairn freed 1 1 1 1 0\n# cairn freed 0 1 1 1 0\n" * 30000)
# A long path that very many lines refer to
dump("paths", one, "x=/" + "a" * 4000 + "\n" + "".join(f"{2 * n:x}-{2 * n + 1:x}:$x{n}\n" for n in range(8, 250000)))
P

# read_it FILE COMMAND...: within a minute of processor time and 1 GB of address space
read_it() {
	local file=$1
	shift
	(ulimit -t 60 -v 1000000; CAIRN_THREADS=1 "$cairn" "$@" "$file" >out 2>err)
	is $? 0 "cairn $*: $file, of $(($(stat -c %s "$file") / 1000)) kB"
}
read_it heaps top
"$cairn" raw heaps 2>/dev/null | grep -q 'heap=pool77777$'
ok $? 'every heap has its name'
read_it unloaded top
like "$(cat err)" '*more than 4096 unloaded libraries*' 'the rest of the list is left out, and a note says so'
read_it modules top
read_it counted top
like "$(cat err)" '*49999 lines could not be read*' 'a stack has one line with its sum'
read_it threads tags
like "$(cat err)" '*too deep for so many threads*' 'threads that would need too much are not told apart'
read_it turns html
read_it paths top
like "$(cat err)" '*definitions in its memory map stand for too much*' 'paths are left as they are'
cd "$root" || exit 1
done_testing
