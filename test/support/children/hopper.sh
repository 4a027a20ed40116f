# A process that never stays: each generation starts the next one and ends. $1: a number to find it by.
hop() {
  sleep "0.01$1"
  hop &
  exit
}
hop &
echo ready
