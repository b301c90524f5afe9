"""A study that is measured in seconds, folders of its own to do that in, and httpdyno on them."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

COMMAND_S = 120.0
"""More than any command here may take, on a busy machine."""
_STUDY = """
format = 1
name = "kills"
title = "A run to be killed"

[server]
adapter = "gunicorn"

[server.settings]
application = "small:application"

[[server.files]]
from = "small.py"
to = "small.py"

[[knobs]]
name = "workers"
start = 1
levels = [2, 3]

[workload]
connections = 2

[method]
window = "50ms"
lead_in = "10ms"
warm_up = "20ms"
blocks_per_start = 2

[budget]
time = "60s"
"""
_APPLICATION = """
def application(environ, start_response):
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a command came to."""

    code: int
    text: str
    """Of both its outputs."""

    @property
    def error(self) -> str:
        """Its one sentence of what is wrong, or the end of what it said instead."""
        lines = [line for line in self.text.splitlines() if line.startswith("error: ")]
        return lines[0] if len(lines) == 1 else self.text.strip()[-300:]

    @property
    def is_one_sentence(self) -> bool:
        """Whether it says once what is wrong, and nothing that looks like a bug."""
        n_errors = sum(line.startswith("error: ") for line in self.text.splitlines())
        return n_errors == 1 and "Traceback" not in self.text


@dataclass(frozen=True, kw_only=True, slots=True)
class Arena:
    """Folders of httpdyno's own, and a study."""

    folder: Path
    environment: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def data(self) -> Path:
        """Where the store is."""
        return self.folder / "data"

    @property
    def run(self) -> Path:
        """Where servers live."""
        return self.folder / "run"

    @property
    def memory(self) -> Path:
        """Where they live in memory."""
        return Path(self.environment["HTTPDYNO_MEMORY_DIR"])

    def start(
        self, *words: str, to: Path | None = None, before: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        """Start a command.

        Args:
            words: What `httpdyno` is given.
            to: Where its outputs go; a pipe where that is nowhere.
            before: A program that runs it.
        """
        with ExitStack() as stack:
            process = subprocess.Popen(
                [*before, str(Path(sys.executable).with_name("httpdyno")), *words],
                env=self.environment,
                stdout=stack.enter_context(to.open("w")) if to else subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=self.folder,
            )
        self.started.append(process)
        return process

    def kill(self, process: subprocess.Popen[str]) -> None:
        """Kill a command; what it left may hold its outputs, so nobody reads them to their end."""
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()

    def end(self) -> None:
        """End what still runs, as it is where the bench is interrupted."""
        for process in self.started:
            if process.poll() is None:
                process.terminate()
                said_by(process)

    def said(self, *words: str) -> Said:
        """Run a command to its end."""
        return said_by(self.start(*words))

    def stored(self) -> dict[str, set[tuple[object, ...]]]:
        """Return what any other process sees in the store now: complete starts, and windows."""
        file = self.data / "httpdyno.db"
        if not file.exists():
            return {"starts": set(), "windows": set()}
        with closing(sqlite3.connect(file, timeout=COMMAND_S)) as connection:
            is_made = connection.execute(
                "SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'"
            ).fetchone()[0]
            if not is_made:
                return {"starts": set(), "windows": set()}
            return {name: set(connection.execute(query)) for name, query in _QUERIES.items()}

    def is_whole(self) -> bool:
        """Whether the store's own check finds nothing wrong."""
        file = self.data / "httpdyno.db"
        if not file.exists():
            return True
        with closing(sqlite3.connect(file, timeout=COMMAND_S)) as connection:
            return bool(connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok")

    def newest(self) -> tuple[str, str] | None:
        """Return the id and the status of the run that was begun last; None when there is none."""
        file = self.data / "httpdyno.db"
        if not self.stored()["starts"] and not file.exists():
            return None
        with closing(sqlite3.connect(file, timeout=COMMAND_S)) as connection:
            try:
                row = connection.execute(
                    "SELECT id, status FROM runs ORDER BY id DESC LIMIT 1"
                ).fetchone()
            except sqlite3.OperationalError:  # killed before there were tables
                return None
        return (str(row[0]), str(row[1])) if row else None


_QUERIES = {
    "starts": "SELECT run_id, comparison, start, payload FROM starts WHERE is_complete",
    "windows": "SELECT run_id, comparison, start, block, arm, payload FROM windows",
}


def said_by(process: subprocess.Popen[str]) -> Said:
    """Wait for a command's end; one that does not come is killed, and its code is None's."""
    try:
        text, _ = process.communicate(timeout=COMMAND_S)
    except subprocess.TimeoutExpired:
        process.kill()
        text, _ = process.communicate()
        text += f"\nit took longer than {COMMAND_S:.0f} s"
    return Said(code=process.returncode, text=text)


@contextmanager
def arena() -> Iterator[Arena]:
    """Folders and a study, removed at the end."""
    shared = Path("/dev/shm")
    home = shared if os.access(shared, os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="faults-", dir="/var/tmp") as name,
        tempfile.TemporaryDirectory(prefix="faults-", dir=home) as memory,
    ):
        folder = Path(name)
        for each in (folder, Path(memory)):
            each.chmod(0o755)
        (folder / "study.toml").write_text(_STUDY, encoding="utf-8")
        (folder / "small.py").write_text(_APPLICATION, encoding="utf-8")
        environment = {
            **os.environ,
            "HTTPDYNO_RUN_DIR": str(folder / "run"),
            "HTTPDYNO_DATA_DIR": str(folder / "data"),
            "HTTPDYNO_MEMORY_DIR": memory,
        }
        environment.pop("HTTPDYNO_STORE", None)
        place = Arena(folder=folder, environment=environment)
        try:
            yield place
        finally:
            place.end()
