#!/usr/bin/env bash
# The Debian package: what is in it, and that it works where it is installed: by dpkg, in a layer over this machine's root.
. tests/e2e/lib.sh
. tests/e2e/layer.sh
need dpkg-deb dpkg-shlibdeps
CAIRN_NO_INSTALL=1 scripts/require build deb >"$scratch/log" 2>&1 || skip_all "$(head -n 1 "$scratch/log")"
package=$root/$(scripts/deb "${CAIRN_BUILD:-build}" 2>"$scratch/log")
holds 'make deb builds a package' test -f "$package" || sed 's/^/# /' "$scratch/log"
[ -f "$package" ] || done_testing
field() { dpkg-deb -f "$package" "$1"; }
is "$(field Package) $(field Version)" "$("$cairn" --version)" 'its name and version are those of the command'
like "$(field Depends)" '*libc6 (>= *libpcre2-8-0*' 'its dependencies are those of the program'

# What is in it.
mkdir "$scratch/files" && dpkg-deb -x "$package" "$scratch/files" && dpkg-deb -e "$package" "$scratch/files/DEBIAN"
holds 'every file is as its checksum says' sh -c "cd '$scratch/files' && md5sum --quiet -c DEBIAN/md5sums"
libraries=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
while read -r file; do
	holds "it has $file" test -s "$scratch/files/$file"
done <<END
usr/bin/cairn
$libraries/libcairn.so
$libraries/libcairn.so.1
$libraries/libcairn.a
$libraries/pkgconfig/cairn.pc
usr/include/cairn.h
usr/share/man/man1/cairn.1.gz
usr/share/bash-completion/completions/cairn
usr/share/fish/vendor_completions.d/cairn.fish
usr/share/zsh/vendor-completions/_cairn
usr/share/doc/cairn/copyright
usr/share/doc/cairn/changelog.gz
usr/lib/systemd/system/cairn-watch@.service
usr/libexec/cairn/jeprof
usr/libexec/cairn/flamegraph.pl
usr/libexec/cairn/addr2line
usr/libexec/cairn/dump.sh
usr/libexec/cairn/gen_flamegraph.sh
usr/libexec/cairn/find_compiled_jeprof.sh
usr/libexec/cairn/gen_from_collapse.sh
usr/libexec/cairn/get_flamegraph_tool.sh
END
missing=
for command in $("$cairn" help | sed -n 's/^  \([a-z0-9]*\) .*/\1/p'); do
	[ -s "$scratch/files/usr/share/man/man1/cairn-$command.1.gz" ] || missing+="$command "
done
is "$missing" '' 'it has a man page for every command'
is "$(find "$scratch/files" -type f -exec grep -lF "$root" {} + | head -n 3)" '' 'nothing in it names the folder it was built in'
if command -v lintian >/dev/null; then
	is "$(lintian --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$package" 2>/dev/null)" '' 'lintian has nothing to say of it'
else
	skip 'lintian has nothing to say of it' 'no lintian here'
fi

# Installed for real.
cp "$package" "$carry/cairn.deb" && cp -r examples tests/e2e/package-smoke "$carry/"
if layer true 2>"$scratch/log"; then
	layer timeout 300 bash /tmp/package-smoke >"$scratch/smoke" 2>&1
	report_steps installed "$scratch/smoke"
else
	skip 'the package installs and works' "no layer over the root can be made here: $(head -n 1 "$scratch/log")"
fi
done_testing
