# Tells Apache to begin anew, and waits until its children are gone: whoever comes after that meets none
# of the old ones, which would drop what they are at.

set -e
parent=$(cat "$1")
children=$(cat "/proc/$parent/task/$parent/children")
kill -HUP "$parent"
for child in $children; do
    while kill -0 "$child" 2>/dev/null; do
        sleep 0.01
    done
done
