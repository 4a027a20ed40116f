# An app-server whose turn floods the daemon: it copies a file of events to its output. In bash and cat, so that the daemon never waits for
# it. Two arguments: the folder in which bench and agents meet, and the thread. After the flood it asks for an approval: the answer shows
# that the daemon has handled everything before it. The turn never ends.
meet=$1 thread=$2 issue=${PWD##*/}
reply() { printf '{"id":%s,"result":%s}\n' "$1" "$2"; }

flood() {
  : >"$meet/ready-$issue"
  until [[ -e $meet/go ]]; do read -r -t 0.02; done
  cat "$meet/events-$issue"
  printf '{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"%s","turnId":"turn-1","itemId":"last","command":"true"}}\n' "$thread"
}

while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]} || id=
  [[ $line =~ \"method\":\"([^\"]+)\" ]] && method=${BASH_REMATCH[1]} || method=
  case $method in
  initialize) reply "$id" '{"userAgent":"bench/1"}' ;;
  thread/start) reply "$id" "{\"thread\":{\"id\":\"$thread\"},\"model\":\"none\",\"cwd\":\"$PWD\"}" ;;
  turn/start)
    reply "$id" '{"turn":{"id":"turn-1","status":"inProgress","items":[],"error":null}}'
    flood
    ;;
  '') : >"$meet/done-$issue" ;; # the answer to the approval
  *) [[ -z $id ]] || reply "$id" '{}' ;;
  esac
done
