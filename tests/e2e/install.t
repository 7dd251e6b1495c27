#!/usr/bin/env bash
# What `make install` leaves: the programs, the old names, the library by its name alone, and every file the help and the pages speak of.
. tests/e2e/lib.sh
need meson
. tests/e2e/layer.sh
build=${CAIRN_BUILD:-build}
holds 'meson install, staged' env DESTDIR="$scratch/staged" meson install --quiet --no-rebuild -C "$build"
placed=$(dirname "$(dirname "$(find "$scratch/staged" -path '*/bin/cairn')")")
named=$(
	for command in $("$cairn" help | sed -n 's/^  \([a-z0-9]*\)  *.*/\1/p'); do "$cairn" "$command" --help; done
	cat "$placed"/share/man/man1/*.1
)
missing=
for page in $(grep -oE 'doc/[a-z-]+\.md' <<<"$named" | sort -u); do
	[ -s "$placed/share/doc/cairn/${page#doc/}" ] || missing+="$page "
done
is "$missing" '' "the pages that the help names are installed: $(grep -oE 'doc/[a-z-]+\.md' <<<"$named" | sort -u | tr '\n' ' ')"
is "$( (cd doc && ls *.md) | sort - <(echo SECURITY.md))" "$(cd "$placed/share/doc/cairn" && ls *.md | sort)" 'and so are the others'
dead=
for page in "$placed"/share/doc/cairn/*.md; do
	for link in $(grep -oE '\]\([^)#:]+[)#]' "$page" | sed 's/^](//; s/[)#]$//'); do
		[ -s "${page%/*}/$link" ] || dead+="${page##*/}: $link "
	done
done
is "$dead" '' 'and no link in them is dead'
for name in jeprof flamegraph.pl addr2line; do
	like "$("$placed/libexec/cairn/$name" --help 2>&1)" "*$name*usage: *" "$name by its old name"
done

# Where the loader looks, unless the folder was chosen by whoever set the build up.
folder=$(dirname "$(find "$placed" -name libcairn.so.1)") folder=${folder#"$scratch/staged"}
if [[ $folder == /usr/* ]]; then
	like " $(ldconfig -NXv 2>&1 | grep -oE '/[^: ]+' | tr '\n' ' ')" "* $folder *" "the loader looks in $folder"
else
	skip 'the loader looks in the folder of the library' "the build is for $folder"
fi

# For real, in a layer over this machine: then the loader finds the library by the name that the pages preload.
if [ "$(id -u)" = 0 ] && layer test -d "$root/$build" 2>"$scratch/log"; then
	layer sh -c "cd '$root' && CAIRN_NO_INSTALL=1 make -s install BUILD='$build' PREFIX=/usr/local && LD_PRELOAD=libcairn.so.1 /bin/true" >"$scratch/out" 2>&1
	is "$? $(cat "$scratch/out")" '0 ' 'make install, and LD_PRELOAD=libcairn.so.1 is found'
else
	skip 'make install, and LD_PRELOAD=libcairn.so.1 is found' "no layer over the root can be made here: $(head -n 1 "$scratch/log" 2>/dev/null)"
fi
done_testing
