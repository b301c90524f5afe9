"""Edits of Apache's files: those that put values in force, those that a copy needs. Pure.

What a macro says of paths and addresses, put into the copy's own place behind a wall. Pure.

A macro's lines are text with parameters, and one edit has to be right for each of its uses. What
comes of the uses is known from what is in force; where no one edit is right, it is said by name.

The smallest change of their files that puts values in force. Pure.

What lets a copy run in its seat: nothing in a cell of root, addresses and paths in a wall. Pure.

No edit changes how many lines a file has, so that a line which the server names is one of theirs.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.model import ChangeSet, Edit, KnobInfo, Level, Listener, Reading, Survey
from httpdyno.reason import Reason
from httpdyno.servers.apache.knob import (
    COMPANIONS,
    FOUND,
    HTACCESS,
    LINK_CHECKS,
    OWN_KNOBS,
    RULED,
    SPARE,
    TLS_CACHE,
    argument_text,
    companions,
    reading_of,
    size_span,
    spare_values,
)
from httpdyno.servers.apache.reading import CERTIFICATES, following, inlining
from httpdyno.servers.apache.survey import (
    listen_address,
    offered,
    passed_on,
    passes_on,
    split_name,
    with_addresses,
)
from httpdyno.servers.apache.text import Line, lines_of, quoted, words
from httpdyno.servers.stack.adapter import MemberFiles, Seat

_NO_FILE = ("|", "syslog")
_TO_FILE = "macro-{}-{}.log"


_MACRO = re.compile(r"macro '(.*?)' \(defined on line (\d+) of \"(.*?)\"\) used on ")


@dataclass(frozen=True, kw_only=True, slots=True)
class MacroLine:
    """A line of a macro that is used."""

    line: Line
    macro: str
    file: str
    uses: tuple[str, ...]
    """Its arguments as they come of each use."""

    def complaint(self, what: str) -> AdapterError:
        """Return what says that the line cannot be what a copy needs."""
        return AdapterError(
            f"line {self.line.number} of `{self.file}`, in the macro `{self.macro}`: {what} "
            f"`{self.line.arguments}` cannot be moved into the copy's own place behind a wall",
            hint="Have a cell, where nothing is rewritten: `--isolation cell`.",
        )


def macro_lines(file: str, lines: Sequence[Line], survey: Survey) -> Iterator[MacroLine]:
    """Yield the lines of a file's macros that are used, each with what comes of it."""
    by_macro: dict[tuple[str, int, str], list[Reading]] = {}
    for reading in survey.readings:
        if reading.origin is not None and (used := _MACRO.match(reading.origin.file)):
            by_macro.setdefault((used[1], int(used[2]), used[3]), []).append(reading)
    opening: Line | None = None
    for line in lines:
        name = line.name.lower()
        if name == "<macro":
            opening = line
        elif name == "</macro>":
            opening = None
        elif opening is not None:
            macro = (words(opening.arguments) or [""])[0]
            definition = (macro.lower(), opening.number, file)
            if definition in by_macro:
                of_line = [
                    reading.text
                    for reading in by_macro[definition]
                    if reading.origin is not None
                    and reading.origin.line == line.nth - opening.nth
                    and reading.name.lower() == name
                ]
                yield MacroLine(
                    line=line,
                    macro=macro,
                    file=file,
                    uses=tuple(of_line),
                )


def path_in_macro(found: MacroLine, root: str, seat: Seat) -> str:
    """Return the line's arguments with its path below the seat.

    Raises:
        AdapterError: No one text is right for all uses.
    """
    given = words(found.line.arguments)
    if not given:
        return found.line.arguments
    paths = [words(use)[0] for use in found.uses if words(use)]
    if paths and all(path.startswith(_NO_FILE) for path in paths):
        # A program may do anything with the lines; the file has them all the same.
        name = _TO_FILE.format(found.macro, found.line.name).lower()
        new = seat.path(posixpath.join(root, re.sub(r"[^a-z0-9.]+", "-", name)))
        return " ".join([quoted(new), *map(quoted, given[1:])])
    top = seat.path("/").rstrip("/")
    for before in (top, f"{top}{root.rstrip('/')}/"):
        if paths and all(_is_right(before, path, root, seat) for path in paths):
            return " ".join([quoted(f"{before}{given[0]}"), *map(quoted, given[1:])])
    raise found.complaint(found.line.name)


def address_in_macro(found: MacroLine, survey: Survey, seat: Seat) -> str:
    """Return the line's arguments with the copy's addresses for what is passed on.

    Raises:
        AdapterError: They depend on how the macro is used.
    """
    name = found.line.name.lower()
    if not passes_on(name, found.line.arguments):
        return found.line.arguments
    new = passed_on(name, found.line.arguments, survey, seat)
    if new == found.line.arguments and any(
        passed_on(name, use, survey, seat) != use for use in found.uses
    ):
        raise found.complaint(found.line.name)
    return new


def _is_right(before: str, path: str, root: str, seat: Seat) -> bool:
    return not path.startswith(_NO_FILE) and (
        f"{before}{path}" == seat.path(posixpath.join(root, path))
    )


def changes(survey: Survey, files: MemberFiles, values: Mapping[str, Level]) -> ChangeSet:
    """Return what puts the values in force; nothing for those that are already.

    Raises:
        AdapterError: A value cannot be set here, or does not go with the others; says the rule.
    """
    known = offered(survey)
    for name, level in values.items():
        _check(name, level, known)
    wanted = {name: level for name, level in values.items() if not _is_in_force(name, level, known)}
    asked = {name: level for name, level in values.items() if type(level) is int}
    spare = spare_values(survey, str(wanted.pop(SPARE, FOUND)), asked)
    is_inlined = wanted.pop(HTACCESS, FOUND) != FOUND
    is_followed = wanted.pop(LINK_CHECKS, FOUND) != FOUND
    added: dict[str, int] = {}
    notes: tuple[Reason, ...] = ()
    if spare or not RULED.isdisjoint(wanted):
        added, notes = companions(survey, {**asked, **spare})
    directives = {name: argument_text(level) for name, level in wanted.items()}
    directives |= {name: str(number) for name, number in {**spare, **added}.items()}
    edits = _edits(survey, files, directives)
    if is_inlined:
        edits += inlining(survey, files)
    if is_followed:
        edits += following(survey, files)
    return ChangeSet(edits=tuple(edits), notes=notes)


def _check(name: str, level: Level, known: Mapping[str, KnobInfo]) -> None:
    info = known.get(name)
    if info is None:
        is_known = split_name(name)[0] in OWN_KNOBS
        raise AdapterError(
            f"`{name}` {'cannot be set in this server' if is_known else 'is no knob of Apache'}",
            hint="`httpdyno inspect` lists what can be set.",
        )
    try:
        info.check(level)
    except ValueError as error:
        raise AdapterError(f"`{name}` is {argument_text(level)}: expected {error}") from error


def _is_in_force(name: str, level: Level, known: Mapping[str, KnobInfo]) -> bool:
    default = known[name].default
    return default is not None and type(default) is type(level) and default == level


def _edits(survey: Survey, files: MemberFiles, directives: Mapping[str, str]) -> list[Edit]:
    edits: list[Edit] = []
    for name, text in directives.items():
        directive, scope = split_name(name)
        reading = reading_of(survey, directive, scope)
        if reading is None:
            edits.append(_inserted(survey, files, directive, text))
        elif edit := _replaced(reading, files, text):
            edits.append(edit)
    return edits


def _replaced(reading: Reading, files: MemberFiles, text: str) -> Edit | None:
    origin = reading.origin
    if origin is None or origin.file not in files.texts or origin.start == origin.end:
        raise AdapterError(
            f"`{reading.name}` is set by {'its command line' if origin is None else origin.file}, "
            "which cannot be changed",
            hint="Set it in a file of the configuration.",
        )
    if text == reading.text:
        return None
    start, end = origin.start, origin.end
    if reading.name == TLS_CACHE and text.isdecimal():
        # Of a cache only its size changes; where it lies may be another edit's.
        size = size_span(files.texts[origin.file][start:end])
        start, end = start + size[0], start + size[1]
    return Edit(file=origin.file, start=start, end=end, text=text)


def _inserted(survey: Survey, files: MemberFiles, directive: str, text: str) -> Edit:
    """Return a line after the one that it goes with, else after the main file's last one."""
    neighbour = COMPANIONS.get(directive, "")
    for _ in COMPANIONS:
        reading = reading_of(survey, neighbour) if neighbour else None
        origin = reading.origin if reading is not None else None
        if origin is not None and origin.file in files.texts and origin.start < origin.end:
            lines = lines_of(files.texts[origin.file])
            line = next(line for line in lines if line.arguments_start == origin.start)
            return _after(line, origin.file, files, f"{directive} {text}")
        neighbour = COMPANIONS.get(neighbour, "")
    root = survey.reading("ServerRoot")
    if root is None or root.origin is None or root.origin.file not in files.texts:
        raise AdapterError(f"there is no file that `{directive}` could be written to")
    main = root.origin.file
    return _after(_last_outside(files.texts[main]), main, files, f"{directive} {text}")


def _last_outside(text: bytes) -> Line | None:
    """Return the last line of a file that is in no section; one that closes a section is."""
    depth, last = 0, None
    for line in lines_of(text):
        if line.name.startswith("</"):
            depth = max(0, depth - 1)
        elif line.name.startswith("<"):
            depth += 1
        last = line if depth == 0 else last
    return last


def _after(line: Line | None, file: str, files: MemberFiles, text: str) -> Edit:
    content = files.texts[file]
    if line is None:
        gap = "" if content.endswith(b"\n") or not content else "\n"
        return Edit(file=file, start=len(content), end=len(content), text=f"{gap}{text}\n")
    newline = "\r\n" if content[line.end : line.end + 2] == b"\r\n" else "\n"
    return Edit(file=file, start=line.end, end=line.end, text=f"{newline}{line.indentation}{text}")


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
                edits += [] if line is None else _private_edits(reading, line, file, (survey, seat))
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


def _private_edits(
    reading: Reading, line: Line, file: str, context: tuple[Survey, Seat]
) -> list[Edit]:
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
