# Runs a command as an ordinary user that can have so many user namespaces only. With "used", one of them is taken already.
#
#   unshare --user --map-user=1000 --map-group=1000 --keep-caps bash limited-namespaces.sh <limit> used|free <command>...
limit=$1 use=$2
shift 2
if [[ $use == used ]]; then
  # Ends with this script, which holds its stdin.
  coproc HOLDER { exec unshare --user sh -c 'echo up; exec cat'; }
  read -r -u "${HOLDER[0]}"
fi
echo "$limit" > /proc/sys/user/max_user_namespaces
setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"
