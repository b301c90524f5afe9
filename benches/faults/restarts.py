"""PostgreSQL killed amid a run that is stored in it, restarted, and the run resumed.

The server is a private one on a unix socket, as another user where this one is root: PostgreSQL
refuses to be root's. What another connection saw before the kill must be there after it.
"""

import importlib.util
import os
import pwd
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa
from benches.faults.family import Count
from benches.faults.small_study import COMMAND_S, Arena, arena, said_by

_BUDGET = "60s"
_LATEST_S = 5.0
_DONE = (0, 1)
_FAILED = 3
_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/local/bin", "/usr/bin")
_ASKED = "SELECT run_id, comparison, start, block, arm, payload FROM windows"


@dataclass(kw_only=True)
class Postgres:
    """A private server."""

    programs: Path
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """What it is for httpdyno."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def make(self) -> None:
        """Make its files."""
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        words = ["-D", str(self.folder / "db"), "-U", "postgres", "-A", "trust", "--no-sync"]
        subprocess.run(
            [*self._as_user(), str(self.programs / "initdb"), *words],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = ["-D", str(self.folder / "db"), "-k", str(self.folder), "-c", "listen_addresses="]
        self.process = subprocess.Popen(
            [*self._as_user(), str(self.programs / "postgres"), *words],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline_s = time.monotonic() + COMMAND_S
        while True:
            try:
                self.rows("SELECT 1")
            except sa.exc.OperationalError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.05)
            else:
                return

    def end(self, how: signal.Signals) -> None:
        """End it: SIGKILL ends it as a crash does, its children follow by themselves."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(COMMAND_S)

    def rows(self, query: str) -> set[tuple[object, ...]]:
        """Ask something, over a connection of its own."""
        engine = sa.create_engine(self.url.replace("postgresql:", "postgresql+psycopg:", 1))
        try:
            with engine.connect() as connection:
                return {tuple(row) for row in connection.exec_driver_sql(query)}
        finally:
            engine.dispose()

    def _as_user(self) -> list[str]:
        if os.geteuid() != 0:
            return []
        return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


def measure(n: int, seed: int) -> Iterator[Count]:
    """Kill the server under n runs."""
    programs = _programs()
    if programs is None or importlib.util.find_spec("psycopg") is None:
        yield Count(name="kills tried", value=0, n=0, note="skipped: needs PostgreSQL and psycopg")
        return
    moments = random.Random(seed)
    lost: list[str] = []
    unwell: list[str] = []
    left: list[str] = []
    n_hit = 0
    with _server(programs) as server, arena() as place:
        environment = {**place.environment, "HTTPDYNO_STORE": server.url}
        stored_there = replace(place, environment=environment)
        stored_there.said("history")  # makes the tables
        for _ in range(n):
            found = _killed_under(server, stored_there, moments.uniform(0.5, _LATEST_S))
            lost += found["lost"]
            unwell += found["unwell"]
            n_hit += bool(found["hit"])
        left = [str(path) for path in place.run.glob("*run-*")]
    note = f"{n_hit} runs felt the kill"
    yield Count(name="windows lost", value=len(lost), n=n, note=_first(lost) or note)
    yield Count(name="runs told or resumed wrongly", value=len(unwell), n=n, note=_first(unwell))
    yield Count(name="folders left", value=len(left), n=n, note=_first(left))


def _killed_under(server: Postgres, place: Arena, after_s: float) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"lost": [], "unwell": [], "hit": []}
    n_before = len(server.rows("SELECT id FROM runs"))
    process = place.start("tune", str(place.folder), "--budget", _BUDGET)
    deadline_s = time.monotonic() + COMMAND_S
    while len(server.rows("SELECT id FROM runs")) == n_before and time.monotonic() < deadline_s:
        time.sleep(0.05)
    time.sleep(after_s)
    before = server.rows(_ASKED)
    server.end(signal.SIGKILL)
    said = said_by(process)
    found["hit"] += ["yes"] if said.code == _FAILED else []
    if said.code not in _DONE and not (said.code == _FAILED and said.is_one_sentence):
        found["unwell"].append(f"code {said.code}: {said.error}")
    server.start()
    gone = before - server.rows(_ASKED)
    found["lost"] += [f"{len(gone)} of {len(before)} windows"] if gone else []
    if said.code == _FAILED:
        (newest,) = server.rows("SELECT max(id) FROM runs")
        again = place.said("tune", "--resume", str(newest[0]), "--budget", _BUDGET)
        found["unwell"] += [] if again.code in _DONE else [f"code {again.code}: {again.error}"]
    return found


@contextmanager
def _server(programs: Path) -> Iterator[Postgres]:
    # Below /tmp, because a socket's path is short.
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        Path(name).chmod(0o755)
        server = Postgres(programs=programs, folder=Path(name))
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.end(signal.SIGQUIT)


def _programs() -> Path | None:
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return None
    for pattern in _FOLDERS:
        for folder in sorted(Path("/").glob(pattern[1:]), reverse=True):
            if (folder / "initdb").exists() and (folder / "postgres").exists():
                return folder
    return None


def _first(words: list[str]) -> str:
    return words[0] if words else ""
