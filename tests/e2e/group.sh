# group.sh - a memory control group for a test: version 2 where it has the memory controller, else version 1.

# try_group MEGABYTES: sets group, its folder, and limits it; false where there can be none. The caller removes it.
try_group() {
	local mount1 mount2
	group=
	mount2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	mount1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	if [ -n "$mount2" ] && grep -qw memory "$mount2/cgroup.subtree_control" 2>/dev/null &&
		mkdir "$mount2/cairn-test-$$" 2>/dev/null; then
		group=$mount2/cairn-test-$$ group_limit=memory.max
		echo 0 >"$group/memory.swap.max" 2>/dev/null
	elif [ -n "$mount1" ] && mkdir "$mount1/cairn-test-$$" 2>/dev/null; then
		group=$mount1/cairn-test-$$ group_limit=memory.limit_in_bytes
		echo 0 >"$group/memory.swappiness" 2>/dev/null
	fi
	[ -n "$group" ] && limit_group $(($1 << 20))
}

# limit_group BYTES: sets another limit
limit_group() { echo "$1" >"$group/$group_limit"; }

# make_group MEGABYTES: the same as try_group, but skips the whole file where there can be none.
make_group() { try_group "$1" || skip_all "no memory cgroup can be made here (root and a writable cgroup file system are needed)"; }

# in_group COMMAND...: runs it there
in_group() { bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$@"; }
