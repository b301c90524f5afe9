"""Adopt and tune a site again and again, killed at random, and look what of the machine changed.

`python -m benches.untouched --kills 60`: the site has planted mistakes and lies below a folder of
its own. It runs, started by hand, while copies of it come and go at its own ports. What is compared
before and after: content, owner, rights and time of each file below `/etc /var /srv /home` (or
`--below`), its own logs too; its processes; all mounts; and what is left. Other processes that are
gone are named: whether they ended by themselves only their owner knows. Nobody else may change
files there meanwhile. A run that ended before it was to be killed is not counted.
"""

import argparse
import hashlib
import http.client
import os
import random
import secrets
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from benches.fidelity.site import ended
from tests.commands import exit_on_signals
from tests.real.sites.planted import HOST, PAGES, PORT, planted_site

_BELOW = ("/etc", "/var", "/srv", "/home")
_COMMANDS = ("adopt", "tune")
_LONGEST_S = {"adopt": 4.0, "tune": 12.0}
_SERVERS = ("nginx", "php-fpm", "php-fpm8.2")
_READY_S = 15.0
_MOST_RUNS = 3
"""For each kill that is wanted."""


def main() -> int:
    """Run it; 0 where nothing differs and nothing is left."""
    # What was started is ended, however this one is.
    exit_on_signals()
    parser = argparse.ArgumentParser(prog="python -m benches.untouched", description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--below", nargs="*", default=_BELOW)
    parser.add_argument("--seed", type=int, default=None)
    wanted = parser.parse_args()
    seed = secrets.randbits(32) if wanted.seed is None else wanted.seed
    draws = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="untouched-", dir="/srv") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "site").mkdir(mode=0o755)
        site = planted_site(folder / "site")
        work = Path(tempfile.mkdtemp(prefix="untouched-"))
        work.chmod(0o755)  # the servers' users look into their run folders
        try:
            with in_production(site) as pids:
                return _run(wanted, seed, draws, (site, pids), work)
        finally:
            shutil.rmtree(work)


def _run(wanted, seed, draws, theirs, work) -> int:
    site, pids = theirs
    run = _Runner(site, work)
    began_s = time.monotonic()
    files, mounts, processes = tree(wanted.below), mount_points(), process_starts()
    names = {pid: name_of(pid) for pid in processes}
    run.whole("adopt")
    n_killed = dict.fromkeys(_COMMANDS, 0)
    n_runs = 0
    while sum(n_killed.values()) < wanted.kills and n_runs < _MOST_RUNS * wanted.kills:
        command = _COMMANDS[n_runs % 2]
        n_runs += 1
        n_killed[command] += run.killed(command, draws.uniform(0.05, _LONGEST_S[command]))
    run.whole("reap")
    after, now = tree(wanted.below), process_starts()
    differences = sorted(path for path in {*files, *after} if files.get(path) != after.get(path))
    gone = [pid for pid, start in processes.items() if now.get(pid) != start]
    theirs_gone = [pid for pid in gone if pid in pids]
    left = [pid for pid in now.keys() - processes.keys() if is_server(pid)]
    new_mounts = sorted(set(mount_points()) - set(mounts))
    others = sorted({names[pid] for pid in gone if pid not in pids})
    n_too_few = wanted.kills - sum(n_killed.values())
    print(f"seed {seed}: {n_runs} runs, killed {n_killed}, {len(files)} files looked at")
    print(f"files that differ: {len(differences)} {differences[:10]}")
    print(f"of the {len(pids)} processes of the site that are gone: {len(theirs_gone)}")
    print(f"servers left: {len(left)}; other processes that are gone: {others or 'none'}")
    print(f"mounts left: {len(new_mounts)} {new_mounts[:5]}")
    print(f"took {time.monotonic() - began_s:.0f} s")
    return 1 if differences or theirs_gone or left or new_mounts or n_too_few else 0


@contextmanager
def in_production(site):
    """Start the site as its owner does; the ids of all its processes, which end with it."""
    commands = (
        ("nginx", "-c", site.front.main, "-g", "daemon off;"),
        (site.php.program, "--nodaemonize", "--fpm-config", site.php.main),
    )
    with ExitStack() as stack:
        roots = []
        for command in commands:
            quiet = subprocess.DEVNULL
            process = subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd="/")
            stack.callback(ended, process)
            roots.append(process.pid)
        deadline_s = time.monotonic() + _READY_S
        while not _answers():
            if time.monotonic() > deadline_s:
                raise SystemExit("the site does not answer: is its port taken?")
            time.sleep(0.05)
        time.sleep(1.0)  # a process that answered is replaced, since that is planted
        yield {pid for root in roots for pid in (root, *_children(root))}


def _answers() -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", PORT, timeout=_READY_S)) as connection:
        try:
            connection.request("GET", PAGES[0], headers={"Host": HOST})
            return connection.getresponse().status == http.client.OK
        except OSError:
            return False


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def name_of(pid: int) -> str:
    """Return what a process is called."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"


class _Runner:
    """Runs commands of httpdyno on the site, with a store and run folders of their own."""

    def __init__(self, site, work: Path) -> None:
        self._site = site
        self._work = work
        self._n = 0
        self._environment = {
            **os.environ,
            "HTTPDYNO_STORE": str(work / "store.sqlite"),
            "HTTPDYNO_RUN_DIR": str(work / "run"),
        }

    def _command(self, name: str) -> list[str]:
        program = [sys.executable, "-m", "httpdyno"]
        if name == "reap":
            return [*program, "history"]
        if name == "tune":
            return [*program, "tune", "shop", "--budget", "5m"]
        self._n += 1
        folder = "shop" if self._n == 1 else f"shop-{self._n}"
        gets = [word for page in PAGES for word in ("--get", page)]
        sources = [self._site.front.main, "--with", self._site.php.main]
        return [*program, "adopt", *sources, *gets, "-o", folder]

    def whole(self, name: str) -> None:
        """Run a command to its end."""
        subprocess.run(
            self._command(name),
            cwd=self._work,
            env=self._environment,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=120,
        )

    def killed(self, name: str, after_s: float) -> bool:
        """Run a command and kill it; return whether it still ran."""
        process = subprocess.Popen(
            self._command(name),
            cwd=self._work,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return True
        return False


def tree(below) -> dict[str, tuple]:
    """Return what is to stay of each file: content, owner, rights, time.

    Folders of httpdyno's own runs are left out.
    """
    found = {}
    for top in below:
        for folder, folders, names in os.walk(top):
            folders[:] = [name for name in folders if not name.startswith("httpdyno-")]
            for name in (*folders, *names):
                path = Path(f"{folder}/{name}")
                try:
                    found[str(path)] = _facts(path)
                except FileNotFoundError:  # somebody else's, gone in between
                    found[str(path)] = ("gone",)
    return found


def _facts(path: Path) -> tuple:
    info = path.lstat()
    content = ""
    if stat.S_ISREG(info.st_mode):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    elif stat.S_ISLNK(info.st_mode):
        content = str(path.readlink())
    return content, (info.st_uid, info.st_gid), info.st_mode, info.st_mtime_ns


def mount_points() -> list[str]:
    """Return the mounts of this namespace."""
    return [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def process_starts() -> dict[int, int]:
    """Return when each process started, in ticks."""
    found = {}
    for folder in Path("/proc").iterdir():
        name = folder.name
        if name.isdigit():
            try:
                text = Path(f"/proc/{name}/stat").read_text()
            except OSError:
                continue
            found[int(name)] = int(text[text.rfind(")") + 2 :].split()[19])
    return found


def is_server(pid: int) -> bool:
    """Whether it is one of the site's servers, or of what keeps them."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
    return name_of(pid) in _SERVERS or "keeper.py" in command


if __name__ == "__main__":
    sys.exit(main())
