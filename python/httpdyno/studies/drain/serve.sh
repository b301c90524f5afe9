# Runs a program, and again half a second after it has ended, as an update of it would: serve.sh PROGRAM …
trap 'kill "$running"; wait "$running"; exit 0' TERM
while :; do
  "$@" &
  running=$!
  wait "$running"
  sleep 0.5 &
  running=$!
  wait "$running"
done
