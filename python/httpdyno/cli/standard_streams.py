"""The only way to a terminal: results on stdout, everything else on stderr.

What a server says, what its log holds and how a study is called are other people's words. On their
way through here they lose what would steer a terminal (`foreign_text.visible`); nothing else in
this package prints.
"""

import io
import logging
import os
import sys
from contextlib import suppress

from httpdyno.errors import OutputError
from httpdyno.host.foreign_text import reason, visible
from httpdyno.reason import Reason

EXIT_NOT_BORNE_OUT = 1
"""Done, and the answer is no: what the steps kept was taken back at the end."""
EXIT_USAGE = 2
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_UNREAD = 141
"""As a shell says of a program that SIGPIPE ended."""


_STANDARD = (0, 1, 2)
_RED, _CYAN = 31, 36


def say(*lines: str) -> None:
    """Print lines on stdout."""
    for line in lines:
        print(visible(line))


def say_raw(text: str) -> None:
    """Write a document on stdout, with the line ends that it has."""
    sys.stdout.write(visible(text))


def say_patch(data: bytes) -> None:
    """Write a patch on stdout: every byte as it is, but for a terminal, which it must not steer."""
    if sys.stdout.isatty():
        say_raw(data.decode(errors="replace"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def tell(*lines: str) -> None:
    """Print lines on stderr."""
    for line in lines:
        print(visible(line), file=sys.stderr)


def tell_why(why: Reason) -> None:
    """Print the sentence of a reason on stderr."""
    from httpdyno.report.shared.message import text  # noqa: PLC0415 - most say nothing so

    tell(text(why))


def tell_error(text: str) -> None:
    """Print what is wrong on stderr."""
    _tell_coloured("error", _RED, text)


def tell_hint(text: str) -> None:
    """Print what to do on stderr."""
    _tell_coloured("hint", _CYAN, text)


def _tell_coloured(word: str, colour: int, text: str) -> None:
    print(f"{_coloured(word, colour)}: {visible(text)}", file=sys.stderr)


def log_to_stderr(level: int) -> None:
    """Let the program's log go to stderr, the same way."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Visible("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


def guard_streams() -> None:
    """Make stdout and stderr such that one which is closed or full is a sentence, not a surprise.

    What cannot be written to stdout is lost to whoever asked for it, so that is an error; what
    cannot be written to stderr must not end a run.
    """
    for number in _STANDARD:
        _see_that_it_is_open(number)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout = _stream(_Out(1, "wb", closefd=False), encoding)
    sys.stderr = _stream(_Err(2, "wb", closefd=False), encoding, is_by_line=True)


def let_stdout_go_nowhere() -> None:
    """Let what is still to be printed go nowhere, so that the interpreter's end is quiet too."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    with suppress(OSError, ValueError):
        sys.stdout.flush()


class _Visible(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


class _Out(io.FileIO):
    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(
                f"stdout cannot be written: {reason(error)}",
                hint="What was measured in a study is stored: `httpdyno report` shows it.",
            ) from error


class _Err(io.FileIO):
    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError:
            return len(data)


def _stream(raw: io.FileIO, encoding: str, *, is_by_line: bool = False) -> io.TextIOWrapper:
    is_by_line = is_by_line or raw.isatty()
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(
        buffered, encoding=encoding, errors="backslashreplace", line_buffering=is_by_line
    )


def _see_that_it_is_open(number: int) -> None:
    """Fill the place of a closed descriptor, so that no file of ours can come to stand there."""
    try:
        os.fstat(number)
    except OSError:
        # For reading only: what is written there fails, as it would have.
        handle = os.open(os.devnull, os.O_RDONLY)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)


def _coloured(text: str, colour: int) -> str:
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[1;{colour}m{text}\x1b[0m"
