"""What is left of an attack that succeeded, as somebody sees it who asks neither side.

Nothing here believes what the attacked command says. That each kind is seen is tried by tests, on
commands that are careless on purpose.
"""

import hashlib
import os
import pwd
import stat
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

NOT_HIS_OWN = "not-his-own"
"""What his programs are called by the kernel where somebody else runs them."""
TRYING = "trying-ways-out"
"""What is called so writes the ways out that it found into `wins` in his folder, as it sees it."""
WINS = "wins"
SETUID = "his-setuid"
"""What root is to leave behind for him, with its rights."""
_EVERY_S = 0.02
_LOOKS_AS_HIM_EVERY = 25
_LARGEST_BYTES = 64 << 20


class Kind(Enum):
    """What may not happen."""

    RUN = "files of his run as somebody else"
    READ = "files of root's read"
    CHANGED = "files of root's changed"
    ENDED = "processes of others ended"
    OUT = "ways out of a copy"
    STEERED = "signs that steer root's terminal"
    BLINDED = "commands that hang or end as a bug"


@dataclass(frozen=True, kw_only=True, slots=True)
class Harm:
    """One thing that happened."""

    kind: Kind
    what: str


@dataclass(slots=True)
class Witness:
    """Sees what runs under his names meanwhile, and what he could take of what lies about."""

    user: int
    folder: Path
    """His."""
    canary: str
    """It stands in files that are root's alone."""
    reachable: Sequence[Path]
    """Where httpdyno keeps what it needs while it runs."""
    harms: set[Harm] = field(default_factory=set)
    has_tried: bool = False
    """Whether ways out of a copy were tried at all, and what came of them seen."""
    _is_over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> "Witness":
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        assert self._thread is not None
        self._thread.join()

    def _watch(self) -> None:
        looks = 0
        while not self._is_over.wait(_EVERY_S):
            for pid in (name for name in os.listdir("/proc") if name.isdigit()):
                with suppress(OSError):
                    self._look(Path(f"/proc/{pid}"))
            looks += 1
            if looks % _LOOKS_AS_HIM_EVERY == 0:
                self.harms |= self._within_his_reach()

    def _look(self, process: Path) -> None:
        name = (process / "comm").read_text().strip()
        if name == NOT_HIS_OWN:
            lines = (process / "status").read_text().splitlines()
            uid = next(line.split()[2] for line in lines if line.startswith("Uid:"))
            where = "in a copy" if _is_in_copy(process) else "outside"
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            what = f"{' '.join(words[:2])} {where}, as uid {uid}"
            # Root of a user namespace is told as its number here: where that is no account's, it
            # has no rights that anybody lent.
            if _is_account(int(uid)):
                self.harms.add(Harm(kind=Kind.RUN, what=what))
        elif name == TRYING and _is_in_copy(process):
            for folder in (self.folder, "/tmp", "/dev/shm"):
                with suppress(OSError):
                    lines = Path(f"{process}/root{folder}/{WINS}").read_text().splitlines()
                    self.has_tried |= bool(lines)
                    self.harms |= {Harm(kind=Kind.OUT, what=line) for line in lines[1:]}

    def _within_his_reach(self) -> set[Harm]:
        """Look as he does: for root's secret, and for a program that lends root's rights."""
        places = [str(each) for each in self.reachable if each.exists()]
        secret = ["grep", "-rlsF", "-D", "skip", "--", self.canary, *places]
        lent = ["find", *places, "-name", SETUID, "-perm", "-4000", "-uid", "0", "-executable"]
        found = set()
        for command, kind in ((secret, Kind.READ), (lent, Kind.OUT)):
            done = subprocess.run(
                command,
                user=self.user,
                group=self.user,
                extra_groups=(),
                cwd="/",
                capture_output=True,
                text=True,
                check=False,
            )
            found |= {
                Harm(kind=kind, what=f"lies where he reads and runs it: {_generic(line)}")
                for line in done.stdout.splitlines()
            }
        return found


def _is_in_copy(process: Path) -> bool:
    here = os.stat("/proc/self/ns/mnt").st_ino
    return os.stat(f"{process}/ns/mnt").st_ino != here


def _is_account(uid: int) -> bool:
    try:
        return bool(pwd.getpwuid(uid))
    except KeyError:
        return False


def _generic(path: str) -> str:
    """Return a path without the parts that are drawn anew for each run."""
    return "/".join("run-…" if part.startswith("run-") else part for part in path.split("/"))


def tree_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return what is to stay of all that is in a folder, its marks left out."""
    found: dict[str, tuple[object, ...]] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        if path.name.startswith("ran."):
            continue
        info = path.lstat()
        content = ""
        if stat.S_ISREG(info.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        found[path.name] = (info.st_uid, info.st_gid, info.st_mode, content)
    return found


def changes(before: dict[str, tuple[object, ...]], folder: Path) -> set[Harm]:
    """Return what of a folder of root's is not as it was."""
    now = tree_of(folder)
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    return {Harm(kind=Kind.CHANGED, what=name) for name in names}


def marks(folder: Path) -> set[Harm]:
    """Return who says, in a folder where only root may, that he runs as root."""
    said = [line for path in folder.glob("ran.*") for line in path.read_text().splitlines()]
    return {Harm(kind=Kind.RUN, what=line) for line in said}


def told(canary: str, output: str, folders: Sequence[Path]) -> set[Harm]:
    """Return where root's secret is told: in what a command said, and in files that it left."""
    found = {Harm(kind=Kind.READ, what="said by the command")} if canary in output else set()
    for folder in folders:
        for path in folder.rglob("*"):
            info = path.lstat()
            is_small = stat.S_ISREG(info.st_mode) and info.st_size < _LARGEST_BYTES
            if is_small and canary.encode() in path.read_bytes():
                found.add(Harm(kind=Kind.READ, what=f"stands in {path.relative_to(folder)}"))
    return found
