# Starts PID 1 of a new PID namespace, and ends with it. `unshare --fork` does the same, but keeps the pipes of the command open, so that
# the daemon would not notice when an agent closes its stdout.
#
#   unshare --pid -- bash -p outer.sh <four limits, see limits.sh> <bash> -p init.sh …
#
# A file and not `bash -c`: with a socket as stdin that would run ~/.bashrc, outside of the namespace.
source "${0%/*}/limits.sh"
set -m
setpriv --pdeathsig KILL unshare --mount-proc -- "$@" <&0 &
exec <&- >&- 2>&- 3>&- 4>&-
wait "$!"
