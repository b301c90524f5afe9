"""A live run that others' kills and commands must not touch."""

import re
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import psutil
from benches.faults.small_study import COMMAND_S, Arena

_POLL_S = 0.05
_ANSWER_S = 30.0
_SAID = re.compile(r"(http://\S+)\n(?s:.*)process (\d+);")


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveRun:
    """A study's server, kept by `httpdyno study serve`."""

    process: subprocess.Popen[str]
    server: psutil.Process
    url: str
    folders: tuple[Path, ...]

    @classmethod
    def begun(cls, place: Arena) -> "LiveRun":
        """Start one, and wait until its server is up.

        Raises:
            RuntimeError: It does not come up.
        """
        process = place.start("study", "serve", str(place.folder), to=place.folder / "live.txt")
        deadline_s = time.monotonic() + COMMAND_S
        while not (said := _SAID.search((place.folder / "live.txt").read_text())):
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError(f"no live run: {(place.folder / 'live.txt').read_text()}")
            time.sleep(_POLL_S)
        name = f"run-{process.pid}-*"
        folders = (*place.run.glob(name), *place.memory.glob(f"httpdyno-*/{name}"))
        return cls(
            process=process,
            server=psutil.Process(int(said[2])),
            url=said[1],
            folders=folders,
        )

    @property
    def port(self) -> str:
        """As sources name it: `:8080`."""
        return ":" + self.url.rstrip("/").rpartition(":")[2]

    def complaint(self) -> str:
        """Return what was done to it; empty where nothing was."""
        if self.process.poll() is not None:
            return f"httpdyno ended with {self.process.returncode}"
        if not self.server.is_running() or self.server.status() == psutil.STATUS_ZOMBIE:
            return "its server was ended"
        gone = [str(folder) for folder in self.folders if not folder.exists()]
        if gone or not self.folders:
            return f"its folder was removed: {gone}"
        try:
            with urllib.request.urlopen(self.url, timeout=_ANSWER_S) as answer:
                return "" if answer.status == HTTPStatus.OK else f"it answers {answer.status}"
        except (urllib.error.URLError, OSError) as error:
            return f"it does not answer: {error}"
