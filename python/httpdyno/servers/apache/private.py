"""What lets a copy run in its seat: nothing in a cell of root, addresses and paths in a wall. Pure.

No edit changes how many lines a file has, so that a line which the server names is one of theirs.
"""

import posixpath
import re
from collections.abc import Iterator

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, Listener, Reading, Survey
from httpdyno.servers.apache.lines import Line, lines_of, quoted, words
from httpdyno.servers.apache.macro import address_in_macro, macro_lines, path_in_macro
from httpdyno.servers.apache.proxied import passed_on, with_addresses
from httpdyno.servers.apache.reader import CERTIFICATES
from httpdyno.servers.apache.surveyed import listen_address
from httpdyno.servers.stack.adapter import MemberFiles, Seat

CELL = "cell"
_WALL = "wall"
_FASTCGI = "fcgid_module"
_ROOT_ONLY = frozenset({"user", "group"})
_BEFORE_IT = "remoteipproxyprotocol"
"""What only a load balancer in front speaks; none is in front of a copy."""
_LOGS = frozenset({"customlog", "transferlog", "errorlog", "globallog", "forensiclog"})
_FILES = frozenset({"cacheroot", "davlockdb"})
_PATHS = (
    _LOGS
    | _FILES
    | {
        *("pidfile", "scoreboardfile", "coredumpdirectory", "mutex", "sslsessioncache"),
        "defaultruntimedir",
    }
)
_WITH_FILE = ("shmcb:", "dbm:", "file:", "fcntl:", "flock:")
_PREFIX = re.compile(r"^\w+:")
_SIZE = re.compile(r"\(\d+\)$")


def private_edits(survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
    """Return the edits that let it run in the seat.

    Raises:
        AdapterError: The seat has no address for one of theirs, a macro cannot be edited, or
            something cannot be had behind a wall.
    """
    edits: list[Edit] = []
    if seat.kind == _WALL:
        _check_balancers(survey)
        _check_fastcgi(survey)
    for file, text in files.texts.items():
        names = {line.arguments_start: line for line in lines_of(text)}
        for reading in survey.readings:
            if reading.origin is not None and reading.origin.file == file:
                line = names.get(reading.origin.start)
                edits += [] if line is None else _edits(reading, line, file, (survey, seat))
        if seat.kind != CELL:
            edits += _line_edits(file, list(names.values()), (survey, seat))
            edits += _macro_edits(file, list(names.values()), (survey, seat))
    return tuple(edits)


def _check_balancers(survey: Survey) -> None:
    members = [r for r in survey.readings if r.name.lower() == "balancermember"]
    if members and "slotmem_shm_module" in survey.modules:
        origin = members[0].origin
        where = f" (line {origin.line} of `{origin.file}`)" if origin is not None else ""
        raise AdapterError(
            f"Apache keeps what its balancers{where} share in /dev/shm, where a copy behind a wall "
            "may not write",
            hint="Have a cell: `--isolation cell`.",
        )


def _check_fastcgi(survey: Survey) -> None:
    if _FASTCGI in survey.modules:
        raise AdapterError(
            "mod_fcgid keeps the table of its processes in /dev/shm, where a copy behind a wall "
            "may not write",
            hint="Have a cell: `--isolation cell`.",
        )


def _edits(reading: Reading, line: Line, file: str, context: tuple[Survey, Seat]) -> list[Edit]:
    survey, seat = context
    name = reading.name.lower()
    is_of_root = name in _ROOT_ONLY and not seat.is_root
    if is_of_root or (name == _BEFORE_IT and seat.kind != CELL):
        return [_blank(line, file)]
    if seat.kind == CELL or not words(reading.text):
        return []
    if name == "listen":
        return [_listen(reading, line, file, seat)]
    root = survey.reading("ServerRoot")
    if name in CERTIFICATES:
        path = posixpath.join(root.text if root else "/", *words(reading.text)[:1])
        # A stand-in lies in the copy's own place.
        is_hidden = path in survey.stand_ins
        return [_arguments(line, file, quoted(seat.path(path)))] if is_hidden else []
    if name in _PATHS:
        mapped = _mapped(reading, root.text if root else "/", seat)
        return [] if mapped is None else [_mapped_edit(line, file, mapped)]
    passing = with_addresses(reading, line.arguments, survey, seat)
    return [] if passing is None else [_arguments(line, file, passing)]


def _mapped_edit(line: Line, file: str, mapped: str) -> Edit:
    """Return an edit of a path; a cache's size behind it stays for others to change."""
    edit = _arguments(line, file, mapped)
    size = _SIZE.search(line.arguments)
    if size is None:
        return edit
    return structs.replace(edit, end=edit.end - len(size[0]), text=_SIZE.sub("", edit.text))


def _listen(reading: Reading, line: Line, file: str, seat: Seat) -> Edit:
    address, *protocol = words(reading.text)
    return _arguments(line, file, " ".join([seat.port(listen_address(address)), *protocol]))


def _mapped(reading: Reading, root: str, seat: Seat) -> str | None:
    """Return a directive's arguments with its path in the copy's own place; None: it has none."""
    path, *rest = words(reading.text)
    name = reading.name.lower()
    if name in _LOGS and path.startswith("|"):
        # A program may do anything with the lines; the file has them all the same.
        path = posixpath.join(root, f"piped-{reading.name}-{_slug(reading.scope)}.log".lower())
    elif name in _LOGS and path.startswith("syslog"):
        path = posixpath.join(root, "syslog.log")
    if name in {"mutex", "sslsessioncache"} and not path.startswith(_WITH_FILE):
        return None
    place = _SIZE.sub("", _PREFIX.sub("", path))
    mapped = path.replace(place, seat.path(posixpath.join(root, place)), 1)
    return " ".join([quoted(mapped), *(quoted(word) for word in rest)])


def _line_edits(file: str, lines: list[Line], context: tuple[Survey, Seat]) -> list[Edit]:
    """Return edits of lines that no dump has: hosts' addresses, and what is included."""
    survey, seat = context
    root = survey.reading("ServerRoot")
    edits = []
    for line in lines:
        name = line.name.lower()
        given = words(line.arguments)
        if name == "<virtualhost":
            mapped = " ".join(_host_address(word, survey, seat) for word in given)
            edits.append(_arguments(line, file, mapped))
        elif name == "<proxy" and "${" not in line.arguments:
            mapped = passed_on(name, line.arguments, survey, seat)
            edits += [_arguments(line, file, mapped)] if mapped != line.arguments else []
        elif name in {"include", "includeoptional"} and given and "${" not in given[0]:
            path = posixpath.join(root.text if root else "/", given[0])
            edits.append(_arguments(line, file, quoted(seat.path(path))))
    return edits


def _macro_edits(file: str, lines: list[Line], context: tuple[Survey, Seat]) -> Iterator[Edit]:
    """Yield edits of what macros write, listen at and pass on to.

    Raises:
        AdapterError: One text would not be right for each use of a macro.
    """
    survey, seat = context
    root = survey.reading("ServerRoot")
    for found in macro_lines(file, lines, survey):
        line, name = found.line, found.line.name.lower()
        new = line.arguments
        if name == "<virtualhost":
            if any(_has_open_port(word) for word in words(new)):
                raise found.complaint(f"{line.name}>")
        elif name == "listen" and found.uses:
            address, *protocol = words(new)
            if not listen_address(address).rpartition(":")[2].isdecimal():
                raise found.complaint(line.name)
            new = " ".join([seat.port(listen_address(address)), *protocol])
        elif name in _LOGS | _FILES and found.uses:
            new = path_in_macro(found, root.text if root else "/", seat)
        elif name != "<proxy":  # a section of its own, of which `_line_edits` has the address
            new = address_in_macro(found, survey, seat)
        if new != line.arguments:
            yield _arguments(line, file, new)


def _has_open_port(text: str) -> bool:
    port = text.rpartition(":")[2]
    return ":" in text and not (port.isdecimal() or port == "*" or text.endswith("]"))


def _host_address(text: str, survey: Survey, seat: Seat) -> str:
    name, _, port = text.rpartition(":")
    if not port.isdecimal():
        return text
    for listener in survey.listeners:
        if _is_at(listener, name, port):
            mapped = seat.port(listener.address)
            return f"*:{mapped.rpartition(':')[2]}" if name in {"*", "_default_"} else mapped
    return text


def _is_at(listener: Listener, name: str, port: str) -> bool:
    at, _, listened = listener.address.rpartition(":")
    return listened == port and (name in {"*", "_default_", at} or at in {"0.0.0.0", "[::]"})  # noqa: S104


def _blank(line: Line, file: str) -> Edit:
    text = "\n" * (line.number - line.first)
    return Edit(file=file, start=line.start, end=line.end, text=text, purpose="private")


def _arguments(line: Line, file: str, text: str) -> Edit:
    """Return an edit of the arguments; a line that goes on keeps its number of lines."""
    return Edit(
        file=file,
        start=line.arguments_start,
        end=line.arguments_end,
        text="\\\n" * line.joints + text,
        purpose="private",
    )


def _slug(scope: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", scope).strip("-") or "server"
