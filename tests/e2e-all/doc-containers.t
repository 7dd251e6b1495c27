#!/usr/bin/env bash
# doc/containers.md: its Dockerfile and its pod, carried out by hand in a layer over this machine's root: the package, the environment, a
# read-only root, an ordinary user, a process namespace, a memory limit, and a volume, in which the dumps are afterwards.
. tests/e2e/lib.sh
. tests/e2e/layer.sh
need python3 dpkg-deb dpkg-shlibdeps redis-server redis-cli redis-benchmark unshare nsenter setpriv
CAIRN_NO_INSTALL=1 scripts/require build deb >"$scratch/log" 2>&1 || skip_all "$(head -n 1 "$scratch/log")"
block() { awk -v kind="$1" '$0 == "```" kind { inside = 1; next } /^```/ { inside = 0 } inside' doc/containers.md; }
block dockerfile >"$carry/Dockerfile"
block yaml >"$scratch/pod.yaml"
if python3 -c 'import yaml' 2>/dev/null; then
	python3 - "$scratch/pod.yaml" "$carry/Dockerfile" >"$scratch/pod" 2>"$scratch/log" <<'PYTHON'
import re, sys, yaml
pod = yaml.safe_load(open(sys.argv[1]))["spec"]
docker = open(sys.argv[2]).read()
volumes = {volume["name"] for volume in pod["volumes"]}
container = pod["containers"][0]
mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
assert set(mounts.values()) == volumes, "every volume is mounted"
assert container["securityContext"]["readOnlyRootFilesystem"] is True
assert str(pod["securityContext"]["runAsUser"]) == re.search(r"^USER (\d+)", docker, re.M).group(1)
assert re.search(r"dumps:(/\w+)", docker).group(1) in mounts, "the dump folder is a volume"
assert re.search(r"XDG_RUNTIME_DIR=(\S+)", docker).group(1) in mounts, "and so is the socket's"
print(container["resources"]["limits"]["memory"])
PYTHON
	holds 'the pod and the image agree' test -s "$scratch/pod" || sed 's/^/# /' "$scratch/log"
else
	skip 'the pod and the image agree' 'no yaml module for python3 here'
fi
sed -n 's/^ *memory: *\([0-9]*\)Mi$/\1/p' "$scratch/pod.yaml" | awk '{ printf "%.0f\n", $1 * 1048576 }' >"$carry/limit"
package=$(scripts/deb "${CAIRN_BUILD:-build}" 2>"$scratch/log")
is "cairn_$(sed -n 's/^COPY cairn_\(.*\) .*/\1/p' "$carry/Dockerfile")" "${package##*/}" 'the Dockerfile names the package that is built'
cp "$package" "$carry/cairn.deb" && cp tests/e2e/container-steps "$carry/"
mkdir "$scratch/volume"
layer_volume=$scratch/volume:/dumps
layer true 2>"$scratch/log" || skip_all "no layer over the root can be made here: $(head -n 1 "$scratch/log")"
layer timeout 200 bash /tmp/container-steps >"$scratch/steps" 2>&1
report_steps container "$scratch/steps"

# The container is gone; the volume is not.
count=$(ls "$scratch/volume"/*.heap | wc -l)
[ "$count" -ge 2 ]
ok $? "$count dumps are in the volume"
like "$("$cairn" top "$scratch/volume" 2>/dev/null)" '*_sdsnewlen*' 'and are read outside, by the same binary'
done_testing
