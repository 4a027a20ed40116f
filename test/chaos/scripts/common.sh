# Sourced by hook.sh and agent.sh, with `world`, `issue`, `run` and `outcome` set. Every process of an issue writes into one file what it
# does, and holds one lock while it, or anything it started, is alive: who cannot have the lock has met another run.
exec 9>>"$world/locks/$issue"

# time what where issue run outcome
mark() {
  printf '%s %s %s %s %s %s\n' "$EPOCHREALTIME" "$1" "$2" "$issue" "${run:--}" "${outcome:--}" >>"$world/marks"
}

begin() {
  flock --nonblock 9 || mark overlap "$1"
  mark begin "$1"
}

# Stays here for as long as the driver wants, deaf to signals and with children that have left the process group. The fifo is the
# wish; when its name goes, the process stays for ever.
hold() {
  if [ -p "$world/hold/$1.$issue" ]; then
    trap '' TERM HUP INT
    make_children
    mark at "$1"
    read -r _ <"$world/hold/$1.$issue"
  fi
}

make_children() {
  local kind number
  number=$(<"$world/number")
  for kind in $(<"$world/children"); do
    case $kind in
    marked) setsid sleep "2000.$number" </dev/null >/dev/null 2>&1 & ;;
    # Without namespaces nobody can find this one again, so it must not hold the lock.
    bare) env -i setsid sleep "3000.$number" </dev/null >/dev/null 2>&1 9>&- & ;;
    esac
  done
}
