"""The process that works out what studies say, started with the first question and asked again.

Templates and patterns of strangers run there (`evaluator_program`), with bounds that the kernel
keeps and no rights. jinja2's immutable sandbox alone would not do: `'a' * 10**9`, a loop over a
loop and a macro that calls itself have no bound there. The process is nobody's, without
environment, files or children. The kernel ends it after 5 s of CPU time for one text; it has
512 MiB and writes 16 MiB at most. It starts once for a command; a render costs 0.2 ms. What a
stranger wrote may take for ever, so it must be possible to end the answer from outside.

`experiment.answer.reading` does the same with the patterns of what may differ, on whole answers.
"""

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from httpdyno.errors import AdapterError, UsageError
from httpdyno.units import format_bytes

LIMIT_S = 5.0
"""Processor time for one question, a thousand times what a large template takes."""
MEMORY_BYTES = 512 << 20
MOST_BYTES = 16 << 20
"""Of what a template may write."""
_WAIT_S = 60.0
"""For an answer, however busy the machine is."""
_MOST_ANSWER_BYTES = 8 * MOST_BYTES
_LENGTH_BYTES = 8
_INHERITED = ("LD_LIBRARY_PATH",)
"""Without which some interpreters do not start."""
_SOURCE = str(Path(__file__).parent.parent.parent.parent)
_PROGRAM = """
import sys
kind, sys.path[:] = sys.argv[1], sys.argv[6:]
from httpdyno.servers.sandbox.evaluator_program import main
main(sys.argv[1:5])
"""


Bound = Literal["time", "memory", "size", "depth"]
_BOUNDS = frozenset(("time", "memory", "size", "depth"))


class OverBoundError(Exception):
    """An answer was not to be had within a bound; the message says which, after `it`."""


class Evaluator:
    """Answers questions of one kind; started when first asked, usable from any thread.

    Args:
        kind: What is asked.
        limit_s: Processor time for each question.
        memory_bytes: That answering may take.
        most_bytes: Of what a template may write.
    """

    def __init__(
        self,
        kind: Literal["templates", "patterns"],
        *,
        limit_s: float = LIMIT_S,
        memory_bytes: int = MEMORY_BYTES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._kind = kind
        self._limit_s = limit_s
        self._memory_bytes = memory_bytes
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the answer.

        Raises:
            OverBoundError: It takes too long, or too much memory, or is too large.
            AdapterError: No process can be started.
        """
        text = json.dumps(question, ensure_ascii=False).encode("utf-8", "surrogatepass")
        with self._lock:
            try:
                said = self._said(len(text).to_bytes(_LENGTH_BYTES, "big") + text)
            except BaseException:
                self._end()  # whatever it is at
                raise
            answer: dict[str, Any] = json.loads(said.decode("utf-8", "surrogatepass"))
            if (error := answer.get("error")) in _BOUNDS:
                self._end()  # what it holds is not known
                raise self._bound(error)
        return answer

    def close(self) -> None:
        """End the process; another one is started where it is asked again."""
        with self._lock:
            self._end()

    def _said(self, question: bytes) -> bytes:
        for is_again in (False, True):
            process = self._started()
            try:
                _write(process, question)
                break
            except BrokenPipeError:
                # Ended by somebody else since it was asked last.
                self._end()
                if is_again:
                    raise AdapterError("the process that renders templates ends at once") from None
        end_s = time.monotonic() + _WAIT_S
        length = self._read(process, _LENGTH_BYTES, end_s)
        n_bytes = int.from_bytes(length, "big")
        if n_bytes > _MOST_ANSWER_BYTES:
            raise self._bound("size")
        return self._read(process, n_bytes, end_s)

    def _read(self, process: "subprocess.Popen[bytes]", n_bytes: int, end_s: float) -> bytes:
        handle = _handle(process.stdout)
        parts, left = [], n_bytes
        while left:
            if not select.select([handle], [], [], max(0.0, end_s - time.monotonic()))[0]:
                raise OverBoundError(f"takes more than {_WAIT_S:g} s")
            part = os.read(handle, min(left, 1 << 20))
            if not part:
                raise self._bound("time")
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _bound(self, error: Bound) -> OverBoundError:
        match error:
            case "time":
                return OverBoundError(f"takes more than {self._limit_s:g} s of processor time")
            case "memory":
                most = format_bytes(self._memory_bytes)
                return OverBoundError(f"takes more than {most} of memory")
            case "size":
                return OverBoundError(f"writes more than {format_bytes(self._most_bytes)}")
        return OverBoundError("goes too deep")

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        bounds = (f"{self._limit_s}", f"{self._memory_bytes}", f"{self._most_bytes}")
        paths = [_SOURCE, *(os.path.abspath(each) for each in sys.path if each)]  # noqa: PTH100
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", "-c", _PROGRAM, self._kind, *bounds, "", *paths],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={name: os.environ[name] for name in _INHERITED if name in os.environ},
                start_new_session=True,
            )
        except OSError as error:
            raise AdapterError(f"no process can be started: {error.strerror}") from error
        _ALL.append(self)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        process.wait()
        if self in _ALL:
            _ALL.remove(self)


_ALL: list[Evaluator] = []


def close_all() -> None:
    """End the processes of all, before this one ends or becomes another program."""
    for each in list(_ALL):
        each.close()


atexit.register(close_all)


def _write(process: "subprocess.Popen[bytes]", text: bytes) -> None:
    handle, view = _handle(process.stdin), memoryview(text)
    while view:
        view = view[os.write(handle, view) :]


def _handle(stream: Any) -> int:  # noqa: ANN401 - a pipe's end
    return int(stream.fileno())


_LIMIT_S = 1.0
"""Many times what a pattern takes on the first lines of a log."""
_matcher = Evaluator("patterns", limit_s=_LIMIT_S)


class PatternError(UsageError):
    """A pattern is none, or takes too long."""


def fits(pattern: str, text: str) -> bool:
    """Whether a pattern of Python's `re` fits somewhere in a text; `^` is the begin of a line.

    Raises:
        PatternError: It is none, or takes more time or memory than any that is of use.
    """
    try:
        said = _matcher.ask({"pattern": pattern, "text": text})
    except OverBoundError as error:
        raise PatternError(
            f"it {error} on {len(text):,} characters",
            hint="repeat what cannot be split in several ways: `[0-9:]+`, not `(\\d+:?)+`",
        ) from error
    if "error" in said:
        raise PatternError(str(said["words"]))
    return bool(said["found"])
