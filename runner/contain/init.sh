# PID 1 of a command's namespace: hides directories, starts the command, reaps, passes TERM on, exits with the command's status.
# When this process ends, the kernel kills all other processes of the namespace.
#
#   bash -p init.sh <dev:ino of the working directory> [<directory to hide> <its dev:ino> required|optional]... -- <command>...
#
# Descriptor 3 is connected to the daemon: this script writes "ready" or "refused <reason>", the daemon answers "go".

# Elsewhere "kill -1" below would signal every process of the user or of the machine.
(($$ == 1)) || {
  echo 'init.sh must be PID 1 of a namespace' >&2
  exit 125
}

refuse() {
  printf 'refused %s\n' "$1" >&3
  exit 125
}

identity() { stat -c %d:%i .; }

# Mounts over "." instead of a path: the directory that was checked is hidden, even when it is renamed meanwhile.
hide() {
  cd -P -- "$1" || return
  [[ $(identity) == "$2" ]] || return
  mount -n -c -t tmpfs -o ro,size=4k,mode=0500,nosuid,nodev,noexec baton .
}

[[ $(identity) == "$1" ]] || refuse workspace_changed
shift
while [[ $1 != -- ]]; do
  (hide "$1" "$2") || [[ $3 == optional && ! -e $1 ]] || refuse "cannot hide $1"
  shift 3
done
shift

# The prefix avoids changing variables of the command's environment.
baton_interrupted=0
trap 'baton_interrupted=1; kill -TERM -1 2>/dev/null' TERM

# A daemon that died before the parent death signal was set never answers; then nothing starts.
printf 'ready\n' >&3 && read -r -u 3 baton_answer && [[ $baton_answer == go ]] || exit 125
exec 3>&-

# Job control only around the fork: without it the command would ignore INT and QUIT.
set -m
"$@" <&0 &
baton_child=$!
set +m
exec </dev/null >/dev/null 2>&1

# A TERM that came before the fork did not reach the command.
((baton_interrupted)) && kill -TERM -1

while
  baton_interrupted=0
  wait "$baton_child"
  baton_status=$?
  ((baton_interrupted))
do :; done
exit "$baton_status"
