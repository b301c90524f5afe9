"""The server's user against root: whether a poller gets at what root's Apache reads or removes.

Every start is a race. An attacker runs as the user that Apache answers as, looks for new places
without a pause and tries to change what root will read, or to make root give away or remove what
lies elsewhere.
"""

import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benches.faults.family import Count

from httpdyno.model import Configuration, Effective, FileEntry, ServerSpec
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.apache import Apache
from httpdyno.servers.apache.made import server_user
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.templates import TemplateStack

_ATTACKER = Path(__file__).with_name("attacker.py")
_READY_S = 20.0
_BASE = """
DocumentRoot "{{ run }}/site"
<Directory "{{ run }}/site">
    Require all granted
</Directory>
"""


def measure(n: int, seed: int) -> Iterator[Count]:
    """Start Apache n times under attack."""
    del seed  # the races are drawn by the scheduler
    with tempfile.TemporaryDirectory(prefix="faults-races-") as name:
        study = Path(name)
        study.chmod(0o755)
        write_study(study)
        with victim_folder() as victim:
            n_up, wins = 0, 0
            said: list[str] = []
            for _ in range(n):
                came_up, won = race(study, victim)
                n_up += came_up
                wins += bool(won)
                said += won
            yield Count(name="starts that the attacker won", value=wins, n=n, note=_first(said))
            yield Count(name="starts that did not come up", value=n - n_up, n=n)
            yield Count(name="links followed by root", value=harm(victim), n=n)


def write_study(folder: Path) -> None:
    """Write what the server is started with."""
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text("hello", encoding="utf-8")
    (folder / "base.conf.j2").write_text(_BASE, encoding="utf-8")


def race(study: Path, victim: Path) -> tuple[bool, list[str]]:
    """Start and stop Apache under attack; return whether it came up, and what the attacker won."""
    spec = ServerSpec(
        adapter="apache",
        base="base.conf.j2",
        files=(FileEntry(source="site", to="site"),),
        settings={"modules": "dir mime"},
        writable=("state",),
    )
    configuration = Configuration(values={"MaxRequestWorkers": 4})
    with new_run_root() as root, attacker(victim, root.folder, root.memory_folder) as won:
        place = root.new_place("race")
        running = TemplateStack(Apache()).spawn(spec, study, configuration, place)
        if isinstance(running, NotRunning):
            return False, won()
        answer = running.await_ready(_READY_S)
        running.stop()
        return isinstance(answer, Effective), won()


@contextmanager
def attacker(victim: Path, *runs: Path) -> Iterator["_Won"]:
    """Let the attacker loose on the run's folders; what is given says what it won so far."""
    user = pwd.getpwnam(server_user())
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", str(_ATTACKER), str(user.pw_uid), str(user.pw_gid)),
                *(str(victim), *map(str, runs)),
            ],
            stdout=subprocess.PIPE,
            stderr=said,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            os.set_blocking(process.stdout.fileno(), False)
            yield _Won(process.stdout.fileno())
        finally:
            process.kill()
            process.communicate()


class _Won:
    """What an attacker said."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._said = b""

    def __call__(self) -> list[str]:
        try:
            while piece := os.read(self._handle, 65_536):
                self._said += piece
        except BlockingIOError:
            pass
        return self._said.decode().splitlines()


@contextmanager
def victim_folder() -> Iterator[Path]:
    """Make a folder of root's that links will lead to."""
    with tempfile.TemporaryDirectory(prefix="faults-victim-") as name:
        victim = Path(name)
        victim.chmod(0o755)
        (victim / "deep").mkdir()
        (victim / "deep" / "precious").write_text("mine", encoding="utf-8")
        yield victim


def harm(victim: Path) -> int:
    """Return how many of the victim's files are gone or not the owner's any more."""
    expected = [victim, victim / "deep", victim / "deep" / "precious"]
    return sum(not path.exists() or path.stat().st_uid != os.geteuid() for path in expected)


def _first(said: list[str]) -> str:
    return said[0] if said else ""
