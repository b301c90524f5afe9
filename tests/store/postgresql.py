"""A private PostgreSQL server: its files in a folder of its own, reached by a unix socket only.

A shell makes and keeps it: when the pipe from us ends, however we did, also before there is a
server, the shell stops it and removes the folder. PostgreSQL refuses to run as root, so for root it
is another user's.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

FOLDERS = tuple(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)))
"""Where Debian has its programs, besides `PATH`."""
USER = "nobody"
DEADLINE_S = 30.0
_KEEP = """
folder=$1 initdb=$2 postgres=$3; shift 3
if "$@" "$initdb" -D "$folder/data" -U postgres -A trust --no-sync >"$folder/log" 2>&1 </dev/null
then
  "$@" "$postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off \\
    >"$folder/log" 2>&1 </dev/null &
  read -r _
  # Until it listens to signals it does not hear this one.
  while kill -INT $! 2>/dev/null; do sleep 0.05; done
  wait $!
else
  read -r _
fi
rm -rf "$folder"
"""


@contextmanager
def postgresql() -> Iterator[str]:
    """Give the URL of a new server, as httpdyno takes it; it is gone afterwards."""
    programs = [program("initdb"), program("postgres")]
    # A short path: the name of a socket has 107 bytes at most.
    folder = Path(tempfile.mkdtemp(prefix="httpdyno-pg-"))
    if os.geteuid() == 0:
        user = pwd.getpwnam(USER)
        os.chown(folder, user.pw_uid, user.pw_gid)
    # In a session of its own: what a terminal's Ctrl-C ends is we, and then it by the pipe.
    keeper = subprocess.Popen(
        ["sh", "-c", _KEEP, "sh", str(folder), *programs, *_as_user()],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert keeper.stdin is not None
    try:
        url = f"postgresql://postgres@/postgres?host={folder}"
        _wait_until_it_answers(url, folder / "log")
        yield url
    finally:
        keeper.stdin.close()
        keeper.wait(DEADLINE_S)


def engine_of(url: str) -> sa.Engine:
    """Return a way to such a server that httpdyno has no part in."""
    return sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))


def program(name: str) -> str:
    """Return where one of PostgreSQL's programs is."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *FOLDERS])
    found = shutil.which(name, path=path)
    assert found is not None, f"`{name}` is not installed"
    return found


def _as_user() -> list[str]:
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={USER}", "--regid=nogroup", "--clear-groups"]


def _wait_until_it_answers(url: str, log: Path) -> None:
    engine = engine_of(url)
    deadline_s = time.monotonic() + DEADLINE_S
    try:
        while True:
            try:
                with engine.connect():
                    return
            except sa.exc.OperationalError as error:
                if time.monotonic() > deadline_s:
                    said = log.read_text() if log.exists() else ""
                    raise AssertionError(f"no answer: {said}") from error
                time.sleep(0.02)
    finally:
        engine.dispose()
