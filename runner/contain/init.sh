# PID 1 of a command's namespace: hides directories, starts the command, reaps, passes TERM on, reports how the command ended.
# When this process ends, the kernel kills all other processes of the namespace.
#
#   bash -p init.sh <dev:ino of the working directory> <mounts that fix folders> [<folder> <its dev:ino> fixed|required|optional]... -- <command>...
#
# Directories that are required or optional are hidden. The mounts are lines as in fstab.
# Descriptor 3 is connected to the daemon. This script writes "ready" or "refused <reason>"; the daemon answers "go". At the end the script
# writes what `jobs` prints about the command, and "ended <status>".

# Elsewhere "kill -1" below would signal every process of the user or of the machine.
(($$ == 1)) || {
  echo 'init.sh must be PID 1 of a namespace' >&2
  exit 125
}

refuse() {
  printf 'refused %s\n' "$1" >&3
  exit 125
}

# One process for many mounts. It reads them from its own environment, because another process could change a file. "#=" makes a comment of
# the first line.
mount_all() {
  [[ -z $1 ]] || env -i "#=$1" PATH="$PATH" mount -n -c -a -T /proc/self/environ
}

mount_all "$2" || refuse 'cannot fix the folders above what is hidden'
# Enter the working directory again, below the new mounts.
cd -P -- "$PWD" || refuse workspace_changed
unset OLDPWD

baton_names=(.)
baton_folders=(.)
baton_expected=("$1")
baton_opened=()
baton_mounts=
shift 2
while [[ $1 != -- ]]; do
  if [[ $3 == fixed ]]; then
    [[ ! -L $1 ]] || refuse "cannot fix $1"
    baton_folders+=("$1")
    baton_names+=("$1")
    baton_expected+=("$2")
  # Open directories instead of paths: the directory that was checked is hidden, even when it is renamed meanwhile.
  elif exec {baton_fd}<"$1"; then
    baton_folders+=("/proc/self/fd/$baton_fd/.")
    baton_names+=("$1")
    baton_expected+=("$2")
    baton_opened+=("$baton_fd")
    baton_mounts+=$'\n'"baton /proc/self/fd/$baton_fd/. tmpfs ro,size=4k,mode=0500,nosuid,nodev,noexec 0 0"
  else
    [[ $3 == optional && ! -e $1 ]] || refuse "cannot hide $1"
  fi
  shift 3
done
shift
baton_found=($(stat -L -c %d:%i "${baton_folders[@]}"))
[[ ${baton_found[0]} == "${baton_expected[0]}" ]] || refuse workspace_changed
for ((baton_i = 1; baton_i < ${#baton_folders[@]}; baton_i++)); do
  [[ ${baton_found[baton_i]} == "${baton_expected[baton_i]}" ]] ||
    refuse "cannot hide ${baton_names[baton_i]}: it is another folder now"
done
mount_all "$baton_mounts" || refuse "cannot hide ${baton_names[*]:1}"
for baton_fd in "${baton_opened[@]}"; do exec {baton_fd}<&-; done

# The prefix avoids changing variables of the command's environment.
baton_interrupted=0
trap 'baton_interrupted=1; kill -TERM -1 2>/dev/null' TERM

# With job control the command does not ignore INT and QUIT, and `jobs` can tell the exit code 137 from a death by signal 9.
set -m
# The command waits for the go. A daemon that died before the parent death signal was set never answers; then nothing starts.
(
  read -r -u 3 baton_answer && [[ $baton_answer == go ]] || exit 125
  exec 3>&-
  exec "$@"
) <&0 &
baton_child=$!
exec </dev/null >/dev/null 2>&1
trap 'LC_ALL=C jobs -n >&3' CHLD
printf 'ready\n' >&3

# With job control a plain `wait` returns for a suspended command too. bash 4 has no -f.
((BASH_VERSINFO[0] >= 5)) || set +m
while
  baton_interrupted=0
  if [[ $- == *m* ]]; then wait -f %1; else wait "$baton_child"; fi
  ((baton_interrupted))
do :; done
wait "$baton_child"
baton_status=$?
printf 'ended %d\n' "$baton_status" >&3
exit "$baton_status"
