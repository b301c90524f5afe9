"""What strace wrote, as system calls: their kinds, their processes, what is no request's. Pure.

The lines are those of `strace -f -y -o FILE`: each begins with the id of a thread. A call that
others interrupt is written in two parts, `<unfinished ...>` and `<... NAME resumed>`; it belongs to
where it ended. One that never ended (strace let go of it, or its process died) is no call here, nor
one that the kernel begins again by itself after a signal: that is written once more.

A call's kind is what it asks of the kernel, not its name of the year: `stat`, `lstat` and `fstat`
are one call today, `newfstatat`, and differ in its flags; `fcntl` is a lock where it asks for one.

A connection costs calls whatever is asked over it: it is accepted, set up, waited for at its end
and closed. With keep-alive many requests share that, without it each has it; so it is counted
apart. `/etc/localtime` is looked at when a new second has begun: requests that are asked one a time
see it more often than those under load.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

_LINE = re.compile(r"(\d+) +(.*)", re.DOTALL)
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>")
_UNFINISHED = " <unfinished ...>"
_WHOLE = re.compile(r"(\w+)\((.*)\)\s+= (.*)", re.DOTALL)
_RESTARTED = re.compile(r"<\.\.\. resuming interrupted (\w+) \.\.\.>")
_RESULT = re.compile(r"(0x[0-9a-f]+|-?\d+)(?:<([^>]*)>)?(?: (E[A-Z0-9]+) )?")
_FILE = re.compile(r"(?:\d+|AT_FDCWD)<([^>]*)>")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_AS_SEEN_HERE = re.compile(r"/\* (\d+) in\sstrace's\sPID\sNS \*/")
_BY_THE_KERNEL = "? ERESTART"
_NO_CALL = ("--- ", "+++ ", "[ ")
_CUT_OFF = ("<detached ...>", "<unavailable>", "<ptrace(")


@dataclass(frozen=True, slots=True)
class TracedCall:
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
class CallTrace:
    """Calls in the parts that the lines came in."""

    parts: tuple[tuple[TracedCall, ...], ...]
    not_understood: tuple[str, ...] = ()
    """Lines that are no call and nothing else that is known."""


def trace(parts: Iterable[Sequence[str]]) -> CallTrace:
    """Return the calls of each part; one that began in an earlier part belongs to where it ended.

    Args:
        parts: Lines as strace wrote them, whole.
    """
    reader = _Reader()
    found = tuple(tuple(reader.read(lines)) for lines in parts)
    return CallTrace(parts=found, not_understood=tuple(reader.not_understood))


class _Reader:
    def __init__(self) -> None:
        self.not_understood: list[str] = []
        self._begun: dict[int, str] = {}

    def read(self, lines: Sequence[str]) -> Iterable[TracedCall]:
        for line in lines:
            match = _LINE.fullmatch(line.rstrip("\n"))
            if match is None:
                self.not_understood.append(line)
            elif (call := self._call(int(match[1]), match[2])) is not None:
                yield call

    def _call(self, thread: int, text: str) -> TracedCall | None:
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


def _made(thread: int, name: str, arguments: str, result: str) -> TracedCall:
    # After a stop the kernel goes on with what waited by a call of its own name.
    restarted = _RESTARTED.match(arguments)
    match = _RESULT.match(result + " ")
    # Who is begun in a namespace of its own has one number there and another in each line here.
    here = _AS_SEEN_HERE.search(result)
    return TracedCall(
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


Kind = Literal[
    "stat",
    "lstat",
    "fstat",
    "open",
    "access",
    "readlink",
    "getcwd",
    "read",
    "write",
    "close",
    "poll",
    "accept",
    "socket",
    "lock",
    "sync",
    "futex",
    "fork",
    "time",
    "other",
]
NAMES: dict[Kind, tuple[str, ...]] = {
    "stat": ("stat", "newfstatat", "statx", "fstatat64"),
    "lstat": ("lstat",),
    "fstat": ("fstat",),
    "open": ("open", "openat", "openat2", "creat"),
    "access": ("access", "faccessat", "faccessat2"),
    "readlink": ("readlink", "readlinkat"),
    "getcwd": ("getcwd",),
    "read": ("read", "readv", "pread64", "preadv", "preadv2", "recvfrom", "recvmsg", "recvmmsg"),
    "write": (
        *("write", "writev", "pwrite64", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg"),
        *("sendfile", "splice", "tee", "copy_file_range"),
    ),
    "close": ("close", "close_range"),
    "poll": (
        *("poll", "ppoll", "select", "pselect6"),
        *("epoll_wait", "epoll_pwait", "epoll_pwait2"),
    ),
    "accept": ("accept", "accept4"),
    "socket": ("socket", "socketpair", "connect"),
    "lock": ("flock",),
    "sync": ("fsync", "fdatasync", "sync_file_range", "msync", "sync", "syncfs"),
    "futex": ("futex", "futex_waitv"),
    "fork": ("fork", "vfork", "clone", "clone3", "execve", "execveat"),
    "time": ("times", "getrusage", "gettimeofday", "clock_gettime", "time"),
}
"""In the order in which they are shown; whatever else there is, is `other`."""
KINDS: tuple[Kind, ...] = (*NAMES, "other")
COUNTED: tuple[str, ...] = (*KINDS, ".htaccess", "missing")
"""All that calls of an answer are told by: kinds, and two kinds of looks for files among them."""
BY_PATH: frozenset[Kind] = frozenset({"stat", "lstat", "open", "access", "readlink"})
"""Those that look for a file."""
TRANSFERS: frozenset[Kind] = frozenset({"read", "write"})
_LOCKING = ("F_SETLK", "F_OFD_SETLK")
"""Commands of fcntl, and how those that wait begin."""
_KIND_OF: dict[str, Kind] = {name: kind for kind, names in NAMES.items() for name in names}


def kind_of(call: TracedCall) -> Kind:
    """Return a call's kind."""
    kind = _KIND_OF.get(call.name, "other")
    if call.name == "fcntl" and any(word in call.arguments for word in _LOCKING):
        return "lock"
    if kind != "stat":
        return kind
    if "AT_EMPTY_PATH" in call.arguments and not call.path:
        return "fstat"
    return "lstat" if "AT_SYMLINK_NOFOLLOW" in call.arguments else "stat"


Part = Literal["request", "connection", "zone"]
_ZONE = "/etc/localtime"
_OF_CONNECTIONS = frozenset(
    {"close", "shutdown", "fcntl", "ioctl", "setsockopt", "getsockopt", "getsockname"}
    | {"getpeername", "epoll_ctl"}
)


class RequestFrame:
    """Tells calls of a trace apart, in the order in which they ended."""

    def __init__(self) -> None:
        self.n_accepted = 0
        """Connections, without those of unix sockets."""
        self._listeners: set[str] = set()
        self._connections: set[str] = set()
        self._shut: set[str] = set()
        self._zone: set[str] = set()

    def learn(self, calls: Iterable[TracedCall]) -> None:
        """Take note of the sockets that somebody listens at, before calls are told apart."""
        self._listeners |= {each.file for each in calls if kind_of(each) == "accept"}

    def part(self, call: TracedCall) -> Part:
        """Return what a call belongs to."""
        if call.path == _ZONE:
            self._zone |= {call.made} - {""}
            return "zone"
        if call.file in self._zone:
            return "zone"
        return "connection" if self._is_of_connection(call) else "request"

    def _is_of_connection(self, call: TracedCall) -> bool:
        kind, file = kind_of(call), call.file
        if kind == "accept":
            # Programs of one server speak with each other through unix sockets.
            self.n_accepted += not call.error and "AF_UNIX" not in call.arguments
            self._connections |= {call.made} - {""}
            return True
        if kind == "poll":
            return not (self._listeners | self._shut).isdisjoint(call.files)
        if file not in self._connections:
            return False
        if call.name == "shutdown":
            self._shut.add(file)
        # At its end nothing is read.
        is_end = kind == "read" and call.result == 0
        return call.name in _OF_CONNECTIONS or is_end or file in self._shut


_BEGINNING = frozenset({"clone", "clone3", "fork", "vfork"})
_SPOKEN_THROUGH = re.compile(r"(socket|pipe|TCP|TCPv6|UNIX|UDP|UDPv6)(-\w+)?:")


class Processes:
    """Follows a trace as it goes on."""

    def __init__(self, process_of: Mapping[int, int]) -> None:
        """Begin with those that there were.

        Args:
            process_of: Thread → process.
        """
        self._process_of = dict(process_of)
        self._begun_by: dict[int, int] = {}

    def of(self, call: TracedCall) -> int:
        """Return the process that made a call."""
        return self._process_of.setdefault(call.thread, call.thread)

    def working(self, calls: Iterable[TracedCall]) -> set[int]:
        """Return the processes that work at what is going on, and take note of those that begin.

        Others only do what they do every second: they wait, and look after their children.
        """
        found: set[int] = set()
        for call in calls:
            process = self.of(call)
            if call.name in _BEGINNING and call.result:
                self._began(call, process, call.result)
            if _is_work(call):
                found.add(process)
        seen = set(self._process_of.values())
        return {each for each in seen if not found.isdisjoint(self._line(each))}

    def _began(self, call: TracedCall, process: int, thread: int) -> None:
        if "CLONE_THREAD" in call.arguments:
            self._process_of[thread] = process
        else:
            self._process_of[thread] = thread
            self._begun_by[thread] = process

    def _line(self, process: int) -> list[int]:
        """Return a process, who began it, who began that one, and so on, as far as it was seen."""
        line = [process]
        while (mother := self._begun_by.get(line[-1])) is not None and mother not in line:
            line.append(mother)
        return line


def _is_work(call: TracedCall) -> bool:
    kind = kind_of(call)
    if kind == "accept":
        return not call.error
    return bool(
        kind in TRANSFERS
        and call.result is not None
        and call.result > 0
        and _SPOKEN_THROUGH.match(call.file)
    )
