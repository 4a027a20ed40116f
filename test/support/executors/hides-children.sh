# Leaves processes behind that try not to be found: one in a session of its own, one whose parents are gone, and with "stubborn"
# as $3 one that ignores TERM; all with the text of $1 in their command lines. Says "hidden" once they are there, then does what
# $2 says.
cat >/dev/null
setsid bash -c 'exec sleep 3600.'"$1" &
(setsid bash -c '(exec sleep 3601.'"$1"') & exit' &)
if [[ $3 == stubborn ]]; then
  bash -c 'trap "" TERM; echo there; while :; do sleep 0.1; : '"$1"'; done' >stubborn </dev/null &
  until [[ -s stubborn ]]; do sleep 0.02; done
fi
until (($(pgrep -cf "^sleep 360[01][.]$1\$") == 2)); do sleep 0.02; done
echo hidden
case $2 in
  exit) exit 0 ;;
  wait) exec sleep "3602.$1" ;;
esac
