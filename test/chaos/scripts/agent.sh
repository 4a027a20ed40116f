# An app-server that moves its issue to Done in its first turn, after as many failed turns as $world/fail/<issue> says. In bash, because
# hundreds of them are started. argv: the folder of the trial.
world=$1 issue=${PWD##*/} run=${BATON_RUN_ID:-} outcome=
. "$world/scripts/common.sh"

reply() { printf '{"id":%s,"result":%s}\n' "$1" "$2"; }
notify() { printf '{"method":"%s","params":{"threadId":"thread-%s",%s}}\n' "$1" "$issue" "$2"; }

# Sends a request of ours and reads on until its answer is there.
ask() {
  local id=$1 line
  printf '{"id":%s,"method":"%s","params":{"threadId":"thread-%s","turnId":"turn-1",%s}}\n' "$id" "$2" "$issue" "$3"
  mark asked "$2"
  while IFS= read -r line; do
    if [[ $line == "{\"id\":$id,"* && $line != *'"method":'* ]]; then return 0; fi
    answer "$line"
  done
  exit 0
}

turn() {
  local left
  reply "$1" '{"turn":{"id":"turn-1","status":"inProgress","items":[],"error":null}}'
  notify turn/started '"turn":{"id":"turn-1"}'
  printf 'work of %s\n' "$run" >>work.txt
  notify item/completed '"turnId":"turn-1","item":{"type":"agentMessage","id":"m","text":"at work"}'
  if [ -e "$world/busy" ]; then
    trap '' TERM HUP INT
    make_children
  fi
  hold in_turn
  left=$(cat "$world/fail/$issue" 2>/dev/null || echo 0)
  if [ "$left" -gt 0 ]; then
    echo $((left - 1)) >"$world/fail/$issue"
    notify turn/completed '"turn":{"id":"turn-1","status":"failed","items":[],"error":{"message":"as it was told"}}'
    return
  fi
  if [ -e "$world/hold/asking.$issue" ]; then
    make_children
    ask 7 item/commandExecution/requestApproval '"itemId":"i","command":"ls"'
  fi
  ask 8 item/tool/call '"callId":"c","namespace":null,"tool":"update_issue","arguments":{"state":"Done"}'
  hold after_move
  notify turn/completed '"turn":{"id":"turn-1","status":"completed","items":[],"error":null}'
}

answer() {
  local id method
  [[ $1 =~ ^\{(\"id\":([0-9]+),)?\"method\":\"([^\"]+)\" ]] || return 0
  id=${BASH_REMATCH[2]} method=${BASH_REMATCH[3]}
  case $method in
  initialize)
    hold in_handshake
    reply "$id" '{"userAgent":"chaos"}'
    ;;
  thread/start | thread/resume) reply "$id" "{\"thread\":{\"id\":\"thread-$issue\"},\"cwd\":\"$PWD\"}" ;;
  turn/start) turn "$id" ;;
  *) [ -z "$id" ] || reply "$id" '{}' ;;
  esac
}

begin agent
hold after_spawn
while IFS= read -r line; do answer "$line"; done
mark end agent
