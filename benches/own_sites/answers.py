"""Whether each start of an application's copy answers as the rehearsed one and as the real server.

The real servers run, as their owner starts them, while they are adopted and copies come and go.
Each page is asked as by somebody new and as by one visitor with cookies, and compared whole but for
tokens and times. What a copy may not do has to be told by its name; else a difference is silent.
"""

import hashlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from benches.own_sites.applications import Application, Kind
from benches.own_sites.ground import Ground, Server

from httpdyno.catalog import open_study
from httpdyno.errors import HttpdynoError
from httpdyno.model import level_text
from httpdyno.servers.network.address import within

SAME, REFUSED, DIFFERS, NOT_TAKEN = "same", "refused by name", "DIFFERS", "NOT TAKEN"
NOT_RUN = "not run"
_READY_S = 20.0
_COMMAND_S = 600.0
_STARTS = 2
_HOST = "localhost"
_BAD_GATEWAY = 502
NO_COMPARE = "0s"
_SHORT = 200
_MOST_LINES = 8
_CHANGED = "files of the real one changed"
_REACHED = "socket of the real one was reached"
_MASKS = (
    # Of this one `adopt` has to tell.
    (r"object cache: \S+", "object cache"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?", "TIME"),
    (r"\d\d? \w{3} \d{4} \d\d:\d\d(:\d\d)?", "TIME"),
    (r"\d\d(:|%3A)\d\d(, |%2C\+?|%2C%20)\d\d? ?(%20|\+)?\w+", "TIME"),
    (r"\b20\d{12}\b|\b1[6-9]\d{8}(\.\d+)?\b", "TIME"),
    (r"(ResponseTime\D{1,3}|[Tt]ime usage: |(cpu|wall)time\":\")[\d.]+", "TOOK"),
    (r"\b(?=[a-z]*\d)[0-9a-z]{26}\b", "TOKEN"),
    (r"\b[0-9a-fA-F]{12,}\b", "TOKEN"),
    (r"(?=[\w+-]*\d)(?=[\w+-]*[A-Z])[\w+-]{18,}={0,2}", "TOKEN"),
)
"""What differs from answer to answer of one server, and what stands for it."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """An answer."""

    status: int
    body: str
    location: str = ""
    kind: str = ""

    @property
    def lines(self) -> list[str]:
        """What of it has to be the same each time."""
        head = f"{self.status} {self.kind} {self.location}"
        return [masked(head), *masked(self.body).splitlines()]


@dataclass(frozen=True, kw_only=True)
class Row:
    """What came of an application."""

    name: str
    word: str
    """`SAME`, `REFUSED`, `DIFFERS`, `NOT_TAKEN` where a command failed and no page was named, or
    `NOT_RUN` where the real one did not."""
    differences: tuple[str, ...] = ()
    """Where something is not as of the real server: who, which page, and both lines."""
    named: tuple[str, ...] = ()
    """What httpdyno said of it."""
    n_compared: int = 0
    took_s: float = 0.0

    @property
    def is_right(self) -> bool:
        """Whether nothing differs silently."""
        return self.word in {SAME, REFUSED}


def tried(name: str, kind: Kind, packages: Path, budget: str) -> Row:
    """Write an application, start it, adopt it, and compare all answers."""
    began_s = time.monotonic()
    with ExitStack() as stack:
        root, data = (
            Path(stack.enter_context(_folder(name, below))) for below in (kind.root, kind.data)
        )
        work = Path(stack.enter_context(_folder("applications", tempfile.gettempdir())))
        ground = Ground(root=root, data=data, packages=packages)
        try:
            application = kind.write(ground)
            asked = stack.enter_context(_answered_socket(application.socket))
            stack.enter_context(in_production(application, ground, work))
            trial = _Trial(application, ground, work)
            trial.look_at_real()
            trial.compare(asked, budget)
        except (HttpdynoError, OSError, subprocess.SubprocessError) as error:
            took_s = time.monotonic() - began_s
            return Row(name=name, word=NOT_RUN, differences=(str(error),), took_s=took_s)
    return Row(
        name=name,
        word=judged(application, trial.differences, trial.named),
        differences=tuple(trial.differences),
        named=tuple(trial.named),
        n_compared=trial.n_compared,
        took_s=time.monotonic() - began_s,
    )


@contextmanager
def _folder(name: str, below: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(
        prefix=f"{name}-", dir=below, ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o755)
        yield folder


def judged(application: Application, differences: Sequence[str], named: Sequence[str]) -> str:
    """Return what a row is called. Pure."""
    if not differences:
        if application.socket is None:
            return SAME
        return REFUSED if any(str(application.socket) in each for each in named) else DIFFERS
    differing = {each for each in application.pages if any(f" {each}:" in d for d in differences)}
    told = {each for each in application.pages if any(f" {each}" in one for one in named)}
    # What touches the real one is never right, whatever is said.
    if any(_CHANGED in each or _REACHED in each for each in differences):
        return DIFFERS
    if not differing:
        return NOT_TAKEN
    return REFUSED if differing <= told else DIFFERS


def masked(text: str) -> str:
    """Return a text without what is of one answer alone. Pure."""
    for pattern, name in _MASKS:
        text = re.sub(pattern, name, text)
    return text


def first_difference(real: Page, copy: Page) -> str:
    """Return both lines where an answer first differs; empty where it does not. Pure."""
    theirs, ours = real.lines, copy.lines
    for number in range(max(len(theirs), len(ours))):
        one = theirs[number] if number < len(theirs) else "(nothing more)"
        other = ours[number] if number < len(ours) else "(nothing more)"
        if one != other:
            at = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
            begin = max(0, at - 30)
            if len(copy.body) < 2 * _SHORT:
                other, begin = " ".join(copy.body.split()), 0
            return f"`{one[begin : begin + _SHORT]}` became `{other[begin : begin + _SHORT]}`"
    return ""


class _Trial:
    """One application, its real answers, and what copies of it are compared with."""

    def __init__(self, application: Application, ground: Ground, work: Path) -> None:
        self._application = application
        self._ground = ground
        self._run = _Commands(work, ground.packages)
        self._cookies: dict[str, str] = {}
        self.differences: list[str] = []
        self.n_compared = 0
        pages, port = application.pages, ground.port
        asking(port, pages)  # what is cached is written once
        self._new, self._again = asking(port, pages), asking(port, pages)
        asking(port, pages, cookies=self._cookies)
        self._visited = asking(port, pages, cookies=dict(self._cookies))

    @property
    def named(self) -> list[str]:
        """What httpdyno said of wrong answers and of what a copy may not."""
        return self._run.named

    def look_at_real(self) -> None:
        """See that the real one works, and answers alike.

        Raises:
            HttpdynoError: Nothing can be compared with its answers.
        """
        first = self._application.pages[0]
        for path in self._application.pages:
            if why := first_difference(self._new[path], self._again[path]):
                raise HttpdynoError(f"the real one differs from itself {path}: {why}")
        if self._application.greeting not in self._new[first].body:
            text = " ".join(self._new[first].lines)[:_SHORT]
            raise HttpdynoError(f"the real one does not work {first}: `{text}`")

    def compare(self, asked: Sequence[float], budget: str) -> None:
        """Adopt it, and compare the answers of each start."""
        before, n_asked = _digests(self._ground), len(asked)
        pages = self._application.pages
        words = [word for page in pages for word in ("--get", page)]
        # A cell, since what a wall leaves open is another question.
        options = ("-o", "study", "--host", _HOST, "--isolation", "cell")
        self._do("adopt", *options, *words, *self._application.source)
        told = self._run.work / "study/rehearsal.json"
        if told.is_file():
            self._sizes("the rehearsal", msgspec.json.decode(told.read_bytes())["answered"])
            self._check()
            for number in range(_STARTS):
                self._start(f"start {number + 1}")
            self._sides(budget)
        if changed := sorted(k for k, v in _digests(self._ground).items() if before.get(k) != v):
            self.differences.append(f"{_CHANGED}: {', '.join(changed[:3])}")
        if len(asked) > n_asked:
            self.differences.append(f"a {_REACHED}, {len(asked) - n_asked} times")

    def _do(self, *words: str, codes: tuple[int, ...] = (0,)) -> None:
        if complaint := self._run(*words, codes=codes):
            self.differences.append(complaint)

    def _sizes(self, who: str, answered: Sequence[Mapping[str, Any]]) -> None:
        for each in answered:
            path, found = each["path"], (each["status"], each["n_bytes"])
            page = self._new[path]
            sizes = sorted(len(one[path].body) for one in (self._new, self._again))
            slack = self._application.slack_bytes
            self.n_compared += 1
            if page.status != found[0] or not sizes[0] - slack <= found[1] <= sizes[1] + slack:
                real = f"{page.status} of {sizes[0]} bytes"
                self.differences.append(f"{who} {path}: {real} became {found[0]} of {found[1]}")

    def _check(self) -> None:
        self._do("study", "check", "study", "--json", "check.json")
        file = self._run.work / "check.json"
        if file.is_file():
            answers = msgspec.json.decode(file.read_bytes())["answers"]
            named = [{**each, "path": each["request"].partition(" ")[2]} for each in answers]
            self._sizes("check", named)

    def _start(self, who: str) -> None:
        pages = self._application.pages
        with self._run.served() as up:
            if up is None:
                self.differences.append(f"{who} {pages[0]}: it does not come up")
                return
            port = int(up["addresses"][0].rpartition(":")[2])

            def asked() -> tuple[dict[str, Page], dict[str, Page]]:
                return asking(port, pages), asking(port, pages, cookies=dict(self._cookies))

            new, visited = within(up["network"], asked) if up["network"] else asked()
        for whose, real, copy in (("", self._new, new), (" with cookies", self._visited, visited)):
            for path in pages:
                self.n_compared += 1
                if why := first_difference(real[path], copy[path]):
                    self.differences.append(f"{who}{whose} {path}: {why}")

    def _sides(self, budget: str) -> None:
        """Have the starts of `compare` say whether an answer was wrong."""
        knobs = open_study(str(self._run.work / "study")).knobs
        tried = [(knob, level) for knob in knobs for level in knob.levels if level != knob.start]
        if tried and budget != NO_COMPARE:
            knob, level = tried[0]
            candidate = f"{knob.name}={level_text(level)}"
            self._do("compare", "study", "--b", candidate, "--budget", budget, codes=(0, 1))


def asking(
    port: int, pages: Sequence[str], cookies: dict[str, str] | None = None
) -> dict[str, Page]:
    """Ask each page once; what is set is kept in `cookies`, or forgotten where there are none."""
    found = {}
    for path in pages:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_READY_S)
        headers = {"Host": _HOST}
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read().decode("latin-1")
        except (OSError, http.client.HTTPException) as error:
            found[path] = Page(status=0, body=str(error))
            continue
        finally:
            connection.close()
        for each in answer.headers.get_all("Set-Cookie") or ():
            name, _, value = each.partition(";")[0].partition("=")
            if cookies is not None:
                cookies[name] = value
        found[path] = Page(
            status=answer.status,
            body=body,
            location=answer.headers.get("Location", ""),
            kind=answer.headers.get("Content-Type", ""),
        )
    return found


@contextmanager
def in_production(application: Application, ground: Ground, shell: Path) -> Iterator[None]:
    """Start an application as its owner does; all of it ends with it.

    Args:
        application: As it is written.
        ground: Where.
        shell: Where the owner stands, who starts commands there.

    Raises:
        HttpdynoError: It does not come up.
    """
    with ExitStack() as stack:
        for server in reversed(application.servers):
            stack.enter_context(_started(server, ground.packages, shell))
        deadline_s = time.monotonic() + _READY_S
        first = application.pages[0]
        while not 0 < asking(ground.port, (first,))[first].status < _BAD_GATEWAY:
            if time.monotonic() > deadline_s:
                raise HttpdynoError("the real servers do not come up")
            time.sleep(0.05)
        yield


@contextmanager
def _started(server: Server, packages: Path, shell: Path) -> Iterator[None]:
    # A service finds little in its environment; what is a command, what its owner's shell has.
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **libraries(packages)}
    is_command = "--" in server.source
    if is_command:
        environment |= {name: os.environ[name] for name in ("HOME", "USER") if name in os.environ}
    process = subprocess.Popen(
        server.command,
        env=environment,
        cwd=shell if is_command else "/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def _answered_socket(path: Path | None) -> Iterator[list[float]]:
    """Answer at a socket as an object cache does; when it was asked."""
    asked: list[float] = []
    if path is None:
        yield asked
        return
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        path.chmod(0o777)
        path.parent.chmod(0o755)
        listening.listen(64)

        def answer() -> None:
            with suppress(OSError):
                while True:
                    peer, _ = listening.accept()
                    asked.append(time.monotonic())
                    with peer, suppress(OSError):
                        peer.sendall(b"+PONG\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield asked
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def libraries(packages: Path) -> dict[str, str]:
    """Return the variable by which unpacked extensions find the libraries that they need."""
    folders = sorted({str(path.parent) for path in packages.glob("usr/lib/*/lib*.so.*")})
    return {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}


def told(row: Row) -> list[str]:
    """Return the lines that tell of an application; each difference once. Pure."""
    head = f"{row.name:<17}{row.word:<17}{row.n_compared:>3} answers {row.took_s:>5.0f} s"
    shown = row.named if row.word == REFUSED else () if row.is_right else row.differences
    kinds: dict[str, str] = {}
    for each in shown:
        kinds.setdefault(each.partition(": ")[2] or each, each)
    lines = [f"  {each}" for each in kinds.values()]
    return [head, *lines[:_MOST_LINES]]


class _Commands:
    """Runs commands of httpdyno with a store of their own."""

    def __init__(self, work: Path, packages: Path) -> None:
        self.work = work
        self.named: list[str] = []
        self._environment = {
            **os.environ,
            **libraries(packages),
            "LANG": "C.UTF-8",
            "HTTPDYNO_STORE": str(work / "store.sqlite"),
            "HTTPDYNO_RUN_DIR": str(work / "run"),
        }

    def __call__(self, *words: str, codes: tuple[int, ...]) -> str:
        """Run a command to its end and keep what it told; return how it failed, or nothing."""
        name = " ".join(words[:2]) if words[0] == "study" else words[0]
        try:
            done = subprocess.run(
                self._command(words),
                cwd=self.work,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_COMMAND_S,
            )
        except subprocess.TimeoutExpired:
            return f"`{name}` did not end within {_COMMAND_S:.0f} s"
        said = f"{done.stdout}\n{done.stderr}"
        self.named += [f"{name}: {line}" for line in telling(said)]
        last = " | ".join(line for line in said.splitlines() if line.strip())[-2 * _SHORT :]
        is_right = done.returncode in codes
        return "" if is_right else f"`{name}` ended with {done.returncode}: {last}"

    @contextmanager
    def served(self) -> Iterator[Mapping[str, Any] | None]:
        """Start the study's server; what its JSON says, or None where it did not come up."""
        file = self.work / "served.json"
        file.unlink(missing_ok=True)
        process = subprocess.Popen(
            self._command(("study", "serve", "study", "--json", file.name)),
            cwd=self.work,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield self._told(process, file)
        finally:
            process.terminate()
            said, _ = process.communicate(timeout=60)
            self.named += [f"serve: {line}" for line in telling(said)]

    def _told(self, process: subprocess.Popen[str], file: Path) -> Mapping[str, Any] | None:
        deadline_s = time.monotonic() + 2 * _READY_S
        while process.poll() is None and time.monotonic() < deadline_s:
            with suppress(OSError, msgspec.DecodeError):
                return msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
            time.sleep(0.05)
        return None

    def _command(self, words: Sequence[str]) -> list[str]:
        return [sys.executable, "-m", "httpdyno", *words]


def telling(said: str) -> list[str]:
    """Return the lines of a command that tell of something wrong. Pure."""
    words = (
        "wrong response",
        "answered wrong",
        "refused",
        "may not reach",
        "may not write",
        "error:",
    )
    lines = [line.strip() for line in said.splitlines()]
    return [line for line in lines if any(word in line for word in words)]


def _digests(ground: Ground) -> dict[str, str]:
    found = {}
    for top in (ground.root, ground.data):
        for path in top.rglob("*"):
            if path.is_file() and not path.is_symlink():
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
