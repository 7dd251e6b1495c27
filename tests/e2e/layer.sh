# layer.sh - for tests that change a machine: a throwaway layer over this machine's root, in which they may. Source it after lib.sh.
# Nothing outside changes: all writes go to folders in $scratch, and the mounts go with their namespace.
#
# What lies in $carry is /tmp in there. `layer_volume` is a folder that is mounted at the path behind its colon.
carry=$scratch/carry
mkdir -p "$carry" "$scratch"/{upper,work,new}

# layer COMMAND...: as root in there; fails where no such layer can be made
layer() {
	unshare -m sh -euc '
		mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/new"
		for folder in proc dev sys; do mount --rbind "/$folder" "$1/new/$folder"; done
		mount -t tmpfs tmpfs "$1/new/tmp"
		cp -r "$1/carry/." "$1/new/tmp/"
		if [ -n "$2" ]; then
			mkdir -p "$1/new${2#*:}"
			mount --bind "${2%%:*}" "$1/new${2#*:}"
		fi
		root=$1/new
		shift 2
		exec chroot "$root" "$@"' layer "$scratch" "${layer_volume:-}" "$@"
}

# report_steps NAME FILE: the lines `ok …`, `not ok …` and `skip …: REASON` of FILE as tests of ours; its last line is `end`
report_steps() {
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*) ok 0 "$1: ${line#ok }" ;;
		'not ok '*) ok 1 "$1: ${line#not ok }" ;;
		'skip '*) skip "$1: ${line#skip }" "${line##*: }" ;;
		*) echo "#   $line" ;;
		esac
	done <"$2"
	is "$(tail -n 1 "$2")" end "$1: it came to its end"
}
