# Reads its input to the end and keeps it in the working directory, with its arguments and its environment.
cat >envelope.json
printf '%s\0' "$@" >arguments
env -0 >environment
