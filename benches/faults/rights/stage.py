"""An attacker with an account, root who does its work beside him, and what neither may touch."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from benches.faults.rights.evidence import Harm, Kind, Witness, changes, marks, told, tree_of

ATTACKER, BYSTANDER = "games", "news"
"""Accounts that every Debian has, and nobody uses."""
PORT = 18_080
WITHIN_S = 40.0
"""A command that takes longer hangs; where it may, it says how long."""
_PROGRAM = Path(__file__).with_name("his_program.c")
_WAY_OUT = Path(__file__).with_name("way_out.py")
_READY_S = 10.0
_LONGEST_SAID = 16 << 20
_BUG = 70
# Not by `-m`, which would import from wherever root stands.
HTTPDYNO = (str(Path(sys.executable).with_name("httpdyno")),)


@dataclass(kw_only=True)
class Stage:
    """Made anew for each way."""

    folder: Path
    """Root's; anybody may enter it."""
    program: Sequence[str]
    """What root runs: httpdyno, but for tests of what is seen."""
    user: int
    open_to_all: Sequence[Path] = ()
    """Folders besides its own in which he and root may leave files for each other."""
    canary: str = field(default_factory=lambda: f"canary-{secrets.token_hex(12)}")
    outputs: list[str] = field(default_factory=list)
    harms: set[Harm] = field(default_factory=set)
    closing: ExitStack = field(default_factory=ExitStack)

    @property
    def home(self) -> Path:
        """His folder."""
        return self.folder / "home"

    @property
    def root_only(self) -> Path:
        """Where nobody but root may look."""
        return self.folder / "root-only"

    @property
    def secret(self) -> Path:
        """A file of root's; each of its lines would be an error in any configuration."""
        return self.root_only / "secret"

    @property
    def settings(self) -> Path:
        """A file of root's that nginx understands, and whose words are told of a server."""
        return self.root_only / "settings.conf"

    @property
    def work(self) -> Path:
        """Where root's httpdyno keeps its store, its run folders, and where root stands."""
        return self.folder / "work"

    @property
    def bystander(self) -> str:
        """What those are called whom all this does not concern."""
        return f"bystander-of-{self.folder.name}"

    @property
    def mark(self) -> str:
        """His command that says who runs it."""
        return str(self.home / "mark")

    @property
    def url(self) -> str:
        """Where he serves."""
        return f"http://127.0.0.1:{PORT}"

    def his(self, name: str, content: str | bytes, *, mode: int = 0o644) -> Path:
        """Write a file of his; return it."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
        path.chmod(mode)
        self.give(path)
        return path

    def give(self, path: Path) -> None:
        """Let him have a file, and the folders above it that are in his."""
        for each in (path, *path.parents):
            if each == self.home or self.home not in each.parents:
                break
            os.chown(each, self.user, self.user, follow_symlinks=False)

    def link(self, name: str, target: Path | str) -> Path:
        """Have him link a name in his folder to a file of root's; return it."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        self.give(path)
        return path

    def fifo(self, name: str) -> Path:
        """Have him make a FIFO that nobody writes to; return it."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path, 0o644)
        self.give(path)
        return path

    def named(self, name: str) -> Path:
        """Have him put his program under a name; return it."""
        return self.his(name, (self.home / "mark").read_bytes(), mode=0o755)

    def library(self) -> Path:
        """Return his library, which tells who loads it."""
        path = self.home / "his.so"
        _compiled(self, path, "-DLIBRARY", "-shared", "-fPIC")
        return path

    def runs(
        self,
        *words: str | Path,
        title: str = "",
        environment: Mapping[str, str] = {},
        cwd: Path | None = None,
        user: int | None = None,
        ready: int = 0,
    ) -> int:
        """Have him run something until the way's end; return its process.

        Args:
            words: The command.
            title: What it calls itself in place of its own name.
            environment: What it has.
            cwd: Where it runs, else in his folder.
            user: Who runs it, else he.
            ready: It is waited for until it listens at this port; 0 does not wait.
        """
        whose = self.user if user is None else user
        command = [str(word) for word in words]
        process = subprocess.Popen(
            [title or command[0], *command[1:]],
            executable=command[0],
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment},
            cwd=cwd or self.home,
            user=whose,
            group=whose,
            extra_groups=(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.closing.callback(_ended, process)
        if ready:
            _await_listening(ready, process)
        else:
            sleep(0.1)  # until it is what was asked for, not what forked it
        return process.pid

    def serves(self, name: str, *words: str | Path, title: str = "", **options: Any) -> int:
        """Have him run his program under a name, as a server; return its process."""
        return self.runs(self.named(name), *words, title=title, ready=PORT, **options)

    def root(
        self,
        *words: object,
        cwd: Path | None = None,
        environment: Mapping[str, str] = {},
        within_s: float = WITHIN_S,
        may_last: bool = False,
    ) -> str:
        """Have root run httpdyno; return what it said, which evidence is looked for in.

        Args:
            words: Of its command line.
            cwd: Where root stands, else in a folder of its own.
            environment: What root has besides.
            within_s: By when it must end, in seconds.
            may_last: Whether it goes on until it is ended then.
        """
        process = subprocess.Popen(
            [*self.program, *map(str, words)],
            cwd=cwd or self.work,
            env={**os.environ, **self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        what = " ".join(map(str, words[:2]))
        try:
            said = process.communicate(timeout=within_s)[0]
        except subprocess.TimeoutExpired:
            if not may_last:
                self.blinded(f"`{what}` had not ended after {within_s:.0f} s")
            process.send_signal(signal.SIGTERM)
            try:
                said = process.communicate(timeout=_READY_S)[0]
            except subprocess.TimeoutExpired:
                process.kill()
                said = process.communicate()[0]
        text = said[:_LONGEST_SAID].decode(errors="replace")
        if process.returncode == _BUG or "Traceback (most recent call last)" in text:
            last = text.strip().splitlines()[-1:] or [""]
            self.blinded(f"`{what}` ended with {process.returncode}: {last[0][:100]}")
        if "\x1b" in text or "\u202e" in text:
            self.harms.add(Harm(kind=Kind.STEERED, what=f"by `{what}`"))
        words_short = " ".join(map(str, words)).replace(str(self.folder), "…")
        self.outputs.append(f"$ {words_short}  → {process.returncode}\n{text}")
        return text

    def blinded(self, what: str) -> None:
        """Note that a command came to nothing."""
        self.harms.add(Harm(kind=Kind.BLINDED, what=what.replace(str(self.folder), "…")))

    @property
    def environment(self) -> dict[str, str]:
        """What root's httpdyno has besides root's own."""
        return {
            "HTTPDYNO_DATA_DIR": str(self.work / "data"),
            "HTTPDYNO_RUN_DIR": str(self.folder / "run"),
            "NO_COLOR": "1",
            # What stands in root's own environment is root's too.
            "ROOTS_PASSWORD": self.canary,
        }


@contextmanager
def set_stage(
    program: Sequence[str] = HTTPDYNO, *, open_to_all: Sequence[Path] = ()
) -> Iterator[Stage]:
    """Set everything up; when the way is gone, all harm that was done is in `harms`.

    What is seen meanwhile is in it at once.

    Args:
        program: What root runs.
        open_to_all: Folders besides its own in which it may leave what he can take.
    """
    user, other = (pwd.getpwnam(name).pw_uid for name in (ATTACKER, BYSTANDER))
    with tempfile.TemporaryDirectory(prefix="faults-rights-", dir="/srv") as name, ExitStack() as s:
        folder = Path(name)
        folder.chmod(0o755)
        stage = Stage(folder=folder, program=program, user=user, open_to_all=open_to_all)
        for each, mode in ((stage.home, 0o755), (stage.root_only, 0o700), (stage.work, 0o755)):
            each.mkdir()
            each.chmod(mode)
        os.chown(stage.home, user, user)
        stage.secret.write_text(f"{stage.canary} {{ {stage.canary} }};\n" * 3, encoding="utf-8")
        stage.settings.write_text(
            f"server {{ listen 127.0.0.1:{PORT}; server_name {stage.canary}.example; }}\n",
            encoding="utf-8",
        )
        for each in (stage.secret, stage.settings):
            each.chmod(0o600)
        _compiled(stage, stage.home / "mark")
        bystanders = [_bystander(stage, s, uid) for uid in (0, other)]
        before = tree_of(stage.root_only)
        reachable = (folder / "run", stage.work, stage.home, *open_to_all)
        witness = Witness(
            user=user,
            folder=stage.home,
            canary=stage.canary,
            reachable=reachable,
            harms=stage.harms,
        )
        with witness, stage.closing:
            yield stage
        is_adopted = (stage.home / "targets.json").exists() and (stage.work / "shop").exists()
        if is_adopted and not witness.has_tried:
            stage.blinded("his server was adopted, and its ways out were not seen to be tried")
        stage.harms |= marks(stage.root_only) | changes(before, stage.root_only)
        stage.harms |= told(stage.canary, "".join(stage.outputs), (stage.work, stage.home))
        for process in bystanders:
            if process.poll() is not None:
                stage.harms.add(Harm(kind=Kind.ENDED, what="a bystander"))


def _bystander(stage: Stage, stack: ExitStack, uid: int) -> "subprocess.Popen[bytes]":
    """Start somebody whom all this does not concern; root's is in a folder of root's."""
    handle = os.open(stage.root_only if uid == 0 else "/", os.O_RDONLY)
    process = subprocess.Popen(
        [stage.bystander, "600"],
        pass_fds=(handle,),
        executable="/usr/bin/sleep",
        cwd=stage.root_only if uid == 0 else "/",
        user=uid,
        group=uid,
        extra_groups=(),
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(handle)
    stack.callback(_ended, process)
    return process


def _compiled(stage: Stage, path: Path, *options: str) -> None:
    settings = {"USER": stage.user, "PORT": PORT}
    texts = {"HOME": stage.home, "MARKS": stage.root_only}
    subprocess.run(
        [
            *("cc", "-w", "-O1", "-o", str(path), *options, str(_PROGRAM)),
            *(f"-D{name}={value}" for name, value in settings.items()),
            *(f'-D{name}="{value}"' for name, value in texts.items()),
        ],
        check=True,
    )
    stage.give(path)


def _await_listening(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline_s = monotonic() + _READY_S
    while process.poll() is None and monotonic() < deadline_s:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        sleep(0.02)
    raise RuntimeError(f"{process.args!r} does not listen at {port}")


def bystanders(stage: Stage) -> list[int]:
    """Return their processes."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            words = Path(f"/proc/{name}/cmdline").read_bytes()
            found += [int(name)] if words.startswith(stage.bystander.encode()) else []
    return found


def _ended(process: "subprocess.Popen[bytes]") -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


@contextmanager
def repeated(action: Callable[[], object]) -> Iterator[None]:
    """Do something again and again, without a pause, in a thread."""
    is_over = threading.Event()

    def again() -> None:
        while not is_over.is_set():
            with suppress(OSError):
                action()

    thread = threading.Thread(target=again, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def way_out(stage: Stage) -> Path:
    """Have him write the script that tries ways out of a copy; return it."""
    shutil.copy(_WAY_OUT, stage.home / "way_out.py")
    stage.give(stage.home / "way_out.py")
    return stage.home / "way_out.py"
