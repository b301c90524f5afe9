# Makes a PostgreSQL cluster in its own run folder and becomes its server: serve.sh DATABASE.sql OPTION …
#
# PostgreSQL does not run as root, so for root the folder and the server are another user's. Over the loopback
# port nobody gets in but the role `page`, which has no password and no rights beyond those of the SQL file.
# What its processes share is in that folder too: in /dev/shm it would stay behind where they are killed.
set -eu
sql=$1
shift
as=""
if [ "$(id -u)" -eq 0 ]; then
  chown postgres . "$sql"
  as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
$as initdb --pgdata data --username postgres --no-sync --no-instructions --encoding UTF8 --locale C
$as sh -c 'printf "%s\n" "host postgres page 127.0.0.1/32 trust" >data/pg_hba.conf'
$as sh -c 'printf "%s\n" "dynamic_shared_memory_type = mmap" >>data/postgresql.conf'
$as postgres --single -j -D data postgres <"$sql"
exec $as postgres -D data -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off "$@"
