"""Servers as their owner starts them, into the background or not; all of them end again."""

import ctypes
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
from benches.own_sites.answers import asking
from benches.own_sites.evening import Server

from httpdyno.errors import HttpdynoError

_PR_SET_CHILD_SUBREAPER = 36
_READY_S = 20.0
_END_S = 10.0
_BAD_GATEWAY = 502


def adopt_orphans() -> None:
    """Let what goes into the background be a child of this process, so that it can be ended."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Running:
    """The servers of one site."""

    def __init__(self, folder: Path, port: int, path: str) -> None:
        self._folder = folder
        self._port = port
        self._path = path
        self._masters: list[psutil.Process] = []

    def start(self, servers: Sequence[Server]) -> None:
        """Start all, and wait until the front answers.

        Raises:
            HttpdynoError: It does not.
        """
        before = set(psutil.Process().children())
        with (self._folder / "log/started.log").open("ab") as log:
            for server in servers:
                subprocess.Popen(
                    server.command,
                    cwd=self._folder,
                    env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **server.variables},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        deadline_s = time.monotonic() + _READY_S
        try:
            while not 0 < self.status() < _BAD_GATEWAY:
                if time.monotonic() > deadline_s:
                    said = (self._folder / "log/started.log").read_text()[-300:]
                    raise HttpdynoError(f"the real one answers {self.status()}: {said}")
                time.sleep(0.05)
        finally:
            # One that went into the background is there by now, and its parent is gone.
            self._masters = [each for each in psutil.Process().children() if each not in before]

    def status(self) -> int:
        """Return what its page is answered with; 0 where it is not."""
        return asking(self._port, (self._path,))[self._path].status

    def stop(self) -> None:
        """End them; their workers end with them."""
        family = [each for one in self._masters for each in _with_children(one)]
        for one in self._masters:
            with suppress(psutil.Error):
                one.terminate()
        _, left = psutil.wait_procs(family, timeout=_END_S)
        for one in left:
            with suppress(psutil.Error):
                one.kill()
        psutil.wait_procs(left, timeout=_END_S)
        self._masters = []


def started_as(server: Server, command: Sequence[str], shown: str, work: Path) -> Server:
    """Return a server with what a run shows in how it is started: arguments and variables.

    Raises:
        HttpdynoError: What is shown does not fit what it is started with.
    """
    sections = dict(_sections(shown))
    variables = dict(server.variables)
    for line in sections.pop("environment", "").splitlines():
        if line.startswith("+") and not line.startswith("+++"):
            name, _, value = line.partition(": ")[2].partition("=")
            variables[name] = value
    told = next((text for name, text in sections.items() if name.startswith("command line")), "")
    arguments = list(command)
    if told:
        file, patch = work / "arguments", work / "arguments.patch"
        file.write_text("".join(f"{each}\n" for each in arguments))
        patch.write_text(told)
        done = subprocess.run(
            ["patch", "--fuzz=0", str(file), str(patch)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise HttpdynoError(f"the command line is not as shown: {done.stdout}")
        arguments = file.read_text().splitlines()
    return replace(server, command=tuple(arguments), variables=variables)


def _sections(shown: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a diff: what each is of, and its text."""
    for part in re.split(r"^(?=--- )", shown, flags=re.MULTILINE):
        if part.startswith("--- "):
            yield part.splitlines()[0].removeprefix("--- "), part


def _with_children(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return [process, *process.children(recursive=True)]
    return []
