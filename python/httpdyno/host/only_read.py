"""Commands that only show: while they read a study, no program is started on its word.

What asks a server's program for its version, or an interpreter for a module, stands in many places,
in plugins too. So it is not left to each of them: Python tells of every program before it is
started (PEP 578), and while only reading, all are refused but httpdyno's own.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from httpdyno.errors import NotRunError

_STARTS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    }
)
_OWN = ["-I", "-S", "-c"]
"""How httpdyno starts its own programs, by its own interpreter and without anybody's packages."""


class _Reading:
    """Whether it is only read, and whether Python tells us of programs yet."""

    depth = 0
    is_told = False


@contextmanager
def only_reading() -> Iterator[None]:
    """Let no program be started meanwhile, in any thread.

    What would start one raises `NotRunError`.
    """
    if not _Reading.is_told:
        sys.addaudithook(_refuse)  # it stays, and costs next to nothing
        _Reading.is_told = True
    _Reading.depth += 1
    try:
        yield
    finally:
        _Reading.depth -= 1


def check_may_start(program: str) -> None:
    """Refuse to start a program by one of httpdyno's own, which the interpreter cannot tell.

    Raises:
        NotRunError: It is only read.
    """
    if _Reading.depth:
        raise NotRunError(f"`{program}` was not run, because nothing is to be run")


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if _Reading.depth and event in _STARTS and not _is_own(event, arguments):
        raise NotRunError(f"`{_words(event, arguments)}` was not run, because nothing is to be run")


def _is_own(event: str, arguments: tuple[object, ...]) -> bool:
    words = _command(arguments)
    return event == "subprocess.Popen" and words[:4] == [sys.executable, *_OWN]


def _words(event: str, arguments: tuple[object, ...]) -> str:
    return " ".join(_command(arguments)[:2]) or event


def _command(arguments: tuple[object, ...]) -> list[str]:
    given = arguments[1] if len(arguments) > 1 else (arguments[:1])
    if isinstance(given, str) or not isinstance(given, Sequence):
        return [str(given)]
    return [str(each) for each in given]
