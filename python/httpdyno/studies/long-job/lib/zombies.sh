# Fails if children of Apache's processes have ended and nobody waited for them, and says how many:
# zombies.sh PIDFILE. Fails too where the kernel does not list children, so that nobody is taken for clean.

set -e
# Jobs that were begun last end first.
sleep 0.2
parent=$(cat "$1")
processes=$(cat "/proc/$parent/task/$parent/children")
count=0
for process in $processes; do
    for child in $(cat "/proc/$process/task/$process/children"); do
        if grep -q '^State:[[:space:]]*Z' "/proc/$child/status" 2>/dev/null; then
            count=$((count + 1))
        fi
    done
done
if [ "$count" -gt 0 ]; then
    echo "$count processes that have ended, and nobody waited for them"
    exit 1
fi
