# Limits this shell and all that it starts. An empty value is no limit; a limit that cannot be applied prevents no start.
#
#   [bash -p] limits.sh <cgroup.procs of a group> <processes> <KiB of data of a process> <oom_score_adj> <command>...
#
# outer.sh includes this file. Started by itself, it becomes the command.
[[ -z $1 ]] || echo 0 >"$1"
# These fail where a lower limit, or a higher score, is set already.
[[ -z $2 ]] || ulimit -u "$2" 2>/dev/null
[[ -z $3 ]] || ulimit -d "$3" 2>/dev/null
[[ -z $4 ]] || echo "$4" 2>/dev/null >/proc/self/oom_score_adj
shift 4
[[ ${BASH_SOURCE[0]} != "$0" ]] || exec "$@"
