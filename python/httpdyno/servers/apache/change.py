"""The smallest change of their files that puts values in force. Pure."""

from collections.abc import Mapping

from httpdyno.errors import AdapterError
from httpdyno.model import ChangeSet, Edit, KnobInfo, Level, Reading, Survey
from httpdyno.servers.apache.inlined import inlining
from httpdyno.servers.apache.lines import Line, lines_of
from httpdyno.servers.apache.links import following
from httpdyno.servers.apache.offer import offered, split_name
from httpdyno.servers.apache.rule import RULED, companions
from httpdyno.servers.apache.setting import TLS_CACHE, argument_text, reading_of, size_span
from httpdyno.servers.apache.spare import FOUND, spare_values
from httpdyno.servers.apache.tunable import COMPANIONS, HTACCESS, KNOBS, LINK_CHECKS, SPARE
from httpdyno.servers.stack.adapter import MemberFiles


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
    notes: tuple[str, ...] = ()
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
        bare = split_name(name)[0]
        reason = "is no knob of Apache" if bare not in KNOBS else "cannot be set in this server"
        raise AdapterError(f"`{name}` {reason}", hint="`httpdyno inspect` lists what can be set.")
    if complaint := info.complaint(level):
        raise AdapterError(f"`{name}` is {argument_text(level)}: {complaint}")


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
        where = "its command line" if origin is None else origin.file
        raise AdapterError(
            f"`{reading.name}` is set by {where}, which cannot be changed",
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
