# An app-server whose turn never ends and says something ten times a second, as an agent at work does: mostly pieces of what it thinks and
# writes, now and then a command with its output, and its tokens once every five seconds. In bash, because a hundred of them must cost
# less than what they are to measure; waiting is done by `read -t`, which starts no process.
issue=${PWD##*/} is_busy= n=0
piece='and then the parser hands each token to the next stage, which keeps the ones that it knows and drops the rest. '

reply() { printf '{"id":%s,"result":%s}\n' "$1" "$2"; }
notify() { printf '{"method":"%s","params":{"threadId":"thread-%s","turnId":"turn-1",%s}}\n' "$1" "$issue" "$2"; }

say() {
  local run="\"type\":\"commandExecution\",\"id\":\"c$((n / 50))\",\"command\":\"npm test -- $((n / 50))\",\"cwd\":\"$PWD\""
  n=$((n + 1))
  case $((n % 50)) in
  10) notify item/started "\"item\":{$run,\"status\":\"inProgress\"}" ;;
  11 | 12 | 13) notify item/commandExecution/outputDelta "\"itemId\":\"c$((n / 50))\",\"delta\":\"$piece\"" ;;
  14) notify item/completed "\"item\":{$run,\"status\":\"completed\",\"exitCode\":0,\"durationMs\":400,\"aggregatedOutput\":\"$piece$piece$piece\"}" ;;
  30) notify item/completed "\"item\":{\"type\":\"agentMessage\",\"id\":\"m$((n / 50))\",\"text\":\"$piece\"}" ;;
  31) notify thread/tokenUsage/updated "\"tokenUsage\":{\"total\":{\"inputTokens\":$((n * 90)),\"cachedInputTokens\":$((n * 60)),\"outputTokens\":$((n * 4)),\"reasoningOutputTokens\":0,\"totalTokens\":$((n * 94))}}" ;;
  *) notify item/agentMessage/delta "\"itemId\":\"m$((n / 50))\",\"delta\":\"$piece\"" ;;
  esac
}

answer() {
  [[ $1 =~ ^\{(\"id\":([0-9]+),)?\"method\":\"([^\"]+)\" ]] || return 0
  local id=${BASH_REMATCH[2]}
  case ${BASH_REMATCH[3]} in
  initialize) reply "$id" '{"userAgent":"bench/1"}' ;;
  thread/start | thread/resume) reply "$id" "{\"thread\":{\"id\":\"thread-$issue\"},\"model\":\"none\",\"cwd\":\"$PWD\"}" ;;
  turn/start)
    reply "$id" '{"turn":{"id":"turn-1","status":"inProgress","items":[],"error":null}}'
    notify turn/started '"turn":{"id":"turn-1"}'
    is_busy=yes
    ;;
  *) [ -z "$id" ] || reply "$id" '{}' ;;
  esac
}

while :; do
  IFS= read -r ${is_busy:+-t 0.1} line
  case $? in
  0) answer "$line" ;;
  1) exit 0 ;;
  *) say ;; # over 128: nothing came in time
  esac
done
