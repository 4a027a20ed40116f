# Ignores EOF and TERM, and has children of every kind that outlive a group kill. $1: a number to find them all by.
trap '' TERM HUP INT
setsid sleep "1000.$1" &
(setsid bash -c "sleep 1001.$1; :" &)
env -i setsid sleep "1002.$1" &
until [[ $(<"/proc/$!/comm") == sleep ]]; do :; done # Only then is its environment empty.
sleep "1003.$1" &
echo ready
while :; do sleep "1004.$1"; done
