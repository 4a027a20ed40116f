# Ends at once, and leaves a process behind that keeps stdout and stderr open. $1: a number to find it by.
setsid sleep "1000.$1" &
echo done
