# An app-server that finishes its issue in the first turn. In bash, which starts in two milliseconds, so that it costs less than what is
# measured. With one argument: the port of the tracker, which learns from a request that the issue is done.
issue=${PWD##*/}
reply() { printf '{"id":%s,"result":%s}\n' "$1" "$2"; }

while IFS= read -r line; do
  [[ $line =~ ^\{(\"id\":([0-9]+),)?\"method\":\"([^\"]+)\" ]] || continue
  id=${BASH_REMATCH[2]}
  case ${BASH_REMATCH[3]} in
  thread/start | thread/resume) reply "$id" "{\"thread\":{\"id\":\"thread-$issue\"},\"model\":\"none\",\"cwd\":\"$PWD\"}" ;;
  turn/start)
    reply "$id" '{"turn":{"id":"turn-1","status":"inProgress","items":[],"error":null}}'
    exec {tracker}<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET /done/%s HTTP/1.0\r\n\r\n' "$issue" >&"$tracker"
    read -r -u "$tracker" answer
    exec {tracker}>&-
    printf '{"method":"turn/completed","params":{"threadId":"thread-%s","turn":{"id":"turn-1","status":"completed","items":[],"error":null}}}\n' "$issue"
    ;;
  *) [[ -z $id ]] || reply "$id" '{"userAgent":"bench/1"}' ;;
  esac
done
