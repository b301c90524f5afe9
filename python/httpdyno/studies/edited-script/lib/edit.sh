# Puts the second edition of the site in the place of the first, and has Apache begin anew where the file
# `restart` says so: edit.sh RUN.

set -e
cp "$1/edition-2/page.pl" "$1/edition-2/items.txt" "$1/site/"
if [ "$(cat "$1/restart")" = graceful ]; then
    kill -USR1 "$(cat "$1/httpd.pid")"
fi
