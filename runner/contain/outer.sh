# Starts PID 1 of a new PID namespace, and ends with it. `unshare --fork` does the same, but keeps the pipes of the command open, so that
# the daemon would not notice when an agent closes its stdout.
#
#   unshare --pid -- bash -p outer.sh <four limits, see limits.sh> <bash> -p init.sh …
#
# A file and not `bash -c`: with a socket as stdin that would run ~/.bashrc, outside of the namespace.

# Descriptors that the daemon inherited. Node.js closes only the first ones in its children.
for baton_path in /proc/self/fd/*; do
  baton_fd=${baton_path##*/}
  ((baton_fd <= 4)) || [[ $baton_path -ef $0 ]] || exec {baton_fd}>&-
done
source "${0%/*}/limits.sh"
set -m
setpriv --pdeathsig KILL unshare --mount-proc -- "$@" <&0 &
exec <&- >&- 2>&- 3>&- 4>&-
wait "$!"
