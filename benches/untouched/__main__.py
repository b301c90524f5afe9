"""Adopt and tune a site again and again, killed at random, and look what of the machine changed.

`python -m benches.untouched --kills 60`: the site has planted mistakes and lies below a folder of
its own. What is compared before and after: content, owner, rights and time of each file below
`/etc /var /srv /home` (or `--below`), all processes that were there, all mounts, and what is left.
Nobody else may change files there meanwhile.
"""

import argparse
import hashlib
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
from pathlib import Path

from tests.real.sites.planted import PAGES, planted_site

_BELOW = ("/etc", "/var", "/srv", "/home")
_COMMANDS = ("adopt", "tune")
_LONGEST_S = {"adopt": 4.0, "tune": 12.0}
_SERVERS = ("nginx", "php-fpm", "php-fpm8.2")


def main() -> int:
    """Run it; 0 where nothing differs and nothing is left."""
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
            return _run(wanted, seed, draws, site, work)
        finally:
            shutil.rmtree(work)


def _run(wanted, seed, draws, site, work) -> int:
    run = _Runner(site, work)
    began_s = time.monotonic()
    files, mounts, processes = tree(wanted.below), mount_points(), process_starts()
    run.whole("adopt")
    n_killed = dict.fromkeys(_COMMANDS, 0)
    for number in range(wanted.kills):
        command = _COMMANDS[number % 2]
        n_killed[command] += run.killed(command, draws.uniform(0.05, _LONGEST_S[command]))
    run.whole("reap")
    after = tree(wanted.below)
    differences = sorted(path for path in {*files, *after} if files.get(path) != after.get(path))
    gone = [pid for pid, start in processes.items() if process_starts().get(pid) != start]
    left = [pid for pid in process_starts().keys() - processes.keys() if is_server(pid)]
    new_mounts = sorted(set(mount_points()) - set(mounts))
    print(f"seed {seed}: {wanted.kills} runs, killed {n_killed}, {len(files)} files looked at")
    print(f"files that differ: {len(differences)} {differences[:10]}")
    print(f"processes of before that are gone: {len(gone)}; servers left: {len(left)}")
    print(f"mounts left: {len(new_mounts)} {new_mounts[:5]}")
    print(f"took {time.monotonic() - began_s:.0f} s")
    return 1 if differences or left or new_mounts else 0


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
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        command = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
    return name in _SERVERS or "keeper.py" in command


if __name__ == "__main__":
    sys.exit(main())
