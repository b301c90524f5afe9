"""What strace wrote, line by line, as system calls. Pure.

The lines are those of `strace -f -y -o FILE`: each begins with the id of a thread. A call that
others interrupt is written in two parts, `<unfinished ...>` and `<... NAME resumed>`; it belongs to
where it ended. One that never ended (strace let go of it, or its process died) is no call here, nor
one that the kernel begins again by itself after a signal: that is written once more.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_LINE = re.compile(r"(\d+) +(.*)", re.DOTALL)
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>")
_UNFINISHED = " <unfinished ...>"
_WHOLE = re.compile(r"(\w+)\((.*)\)\s+= (.*)", re.DOTALL)
_RESTARTED = re.compile(r"<\.\.\. resuming interrupted (\w+) \.\.\.>")
_RESULT = re.compile(r"(0x[0-9a-f]+|-?\d+)(?:<([^>]*)>)?(?: (E[A-Z0-9]+) )?")
_FILE = re.compile(r"(?:\d+|AT_FDCWD)<([^>]*)>")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_AS_SEEN_HERE = re.compile(r"/\* (\d+) in strace's PID NS \*/")
_BY_THE_KERNEL = "? ERESTART"
_NO_CALL = ("--- ", "+++ ", "[ ")
_CUT_OFF = ("<detached ...>", "<unavailable>", "<ptrace(")


@dataclass(frozen=True, slots=True)
class Call:
    """A system call that ended."""

    thread: int
    name: str
    """As the kernel calls it: `newfstatat`."""
    arguments: str
    """As strace writes them."""
    result: int | None = None
    """None of calls that do not return, such as `exit_group`."""
    error: str = ""
    """Its name where it failed: `ENOENT`."""
    made: str = ""
    """What the descriptor that it returned is of: `/etc/hosts`, `socket:[4711]`."""

    @property
    def file(self) -> str:
        """What the descriptor that is its first argument is of; empty where it is none."""
        match = _FILE.match(self.arguments)
        return match[1] if match else ""

    @property
    def files(self) -> tuple[str, ...]:
        """What all descriptors among its arguments are of."""
        return tuple(_FILE.findall(self.arguments))

    @property
    def path(self) -> str:
        """The path that it names, whole where strace tells the folder; empty without."""
        match = _STRING.search(self.arguments)
        if match is None or not match[1]:
            return ""
        path, folder = match[1], self.file
        return path if path.startswith("/") or not folder else f"{folder.rstrip('/')}/{path}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """Calls in the parts that the lines came in."""

    parts: tuple[tuple[Call, ...], ...]
    not_understood: tuple[str, ...] = ()
    """Lines that are no call and nothing else that is known."""


def trace(parts: Iterable[Sequence[str]]) -> Trace:
    """Return the calls of each part; one that began in an earlier part belongs to where it ended.

    Args:
        parts: Lines as strace wrote them, whole.
    """
    reader = _Reader()
    found = tuple(tuple(reader.read(lines)) for lines in parts)
    return Trace(parts=found, not_understood=tuple(reader.not_understood))


class _Reader:
    def __init__(self) -> None:
        self.not_understood: list[str] = []
        self._begun: dict[int, str] = {}

    def read(self, lines: Sequence[str]) -> Iterable[Call]:
        for line in lines:
            match = _LINE.fullmatch(line.rstrip("\n"))
            if match is None:
                self.not_understood.append(line)
            elif (call := self._call(int(match[1]), match[2])) is not None:
                yield call

    def _call(self, thread: int, text: str) -> Call | None:
        if text.startswith(_NO_CALL):
            if text.startswith("+++ "):  # nothing of it is resumed any more
                self._begun.pop(thread, None)
            return None
        resumed = _RESUMED.match(text)
        if resumed is not None:
            begun = self._begun.pop(thread, f"{resumed[1]}(")
            text = begun + text[resumed.end() :]
        if text.endswith(_UNFINISHED):
            self._begun[thread] = text.removesuffix(_UNFINISHED)
            return None
        if any(word in text for word in _CUT_OFF):
            return None
        whole = _WHOLE.fullmatch(text)
        if whole is None:
            self.not_understood.append(text)
            return None
        name, arguments, result = whole.groups()
        return None if result.startswith(_BY_THE_KERNEL) else _made(thread, name, arguments, result)


def _made(thread: int, name: str, arguments: str, result: str) -> Call:
    # After a stop the kernel goes on with what waited by a call of its own name.
    restarted = _RESTARTED.match(arguments)
    match = _RESULT.match(result + " ")
    # Who is begun in a namespace of its own has one number there and another in each line here.
    here = _AS_SEEN_HERE.search(result)
    return Call(
        thread=thread,
        name=restarted[1] if restarted else name,
        arguments="" if restarted else arguments,
        result=_number(here[1] if here else match[1]) if match else None,
        error=(match[3] or "") if match else "",
        made=(match[2] or "") if match else "",
    )


def _number(text: str) -> int:
    """Return a result: addresses are written in hexadecimal, modes (of `umask`) in octal."""
    if text.startswith("0x"):
        return int(text, 16)
    return int(text, 8) if text.startswith("0") else int(text)
