#!/usr/bin/env bash
# The Debian package on a fresh Debian: a root made by debootstrap, apt-get for what the package depends on, and the first minutes of a
# newcomer.
. tests/e2e/lib.sh
. tests/e2e/layer.sh
need debootstrap dpkg-deb chroot
[ "$(id -u)" = 0 ] || skip_all 'debootstrap wants root'
CAIRN_NO_INSTALL=1 scripts/require build deb >"$scratch/log" 2>&1 || skip_all "$(head -n 1 "$scratch/log")"
package=$(scripts/deb "${CAIRN_BUILD:-build}" 2>"$scratch/log")
holds 'make deb builds a package' test -f "$package"
fresh=$scratch/fresh
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
# From where this machine has its own packages.
mirror=$(apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' 2>/dev/null | awk -v release="$release" '$1 == release { print $2; exit }')
[ -n "$mirror" ] || skip_all 'apt here has no source of packages'
debootstrap --variant=minbase "$release" "$fresh" "$mirror" >"$scratch/log" 2>&1 || skip_all "no $release by debootstrap here: $(tail -n 1 "$scratch/log")"
cp "$package" "$fresh/tmp/cairn.deb" && cp -r examples tests/e2e/package-smoke "$fresh/tmp/"
trap 'umount "$fresh/proc" 2>/dev/null; rm -rf "$scratch"' EXIT
mount -t proc proc "$fresh/proc" || skip_all 'no /proc can be mounted in the new root'
inside() { chroot "$fresh" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 LANG=C.UTF-8 "$@"; }
holds 'apt-get install ./cairn.deb, with what it depends on' inside sh -c 'apt-get update -qq && apt-get install -y -qq /tmp/cairn.deb'
holds 'and on top of it a compiler and redis' inside sh -c 'apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config libjemalloc-dev curl redis-server procps'
inside timeout 300 bash /tmp/package-smoke >"$scratch/smoke" 2>&1
report_steps fresh "$scratch/smoke"
is "$(grep -c ^skip "$scratch/smoke")" 0 'and nothing was left out'
done_testing
