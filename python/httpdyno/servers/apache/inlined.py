"""`.htaccess` files written into the configuration, so that no request looks for them. Pure.

A block for each file's folder comes right after the section that allows them, which then allows
none. Apache merges folders in the order of their depth, and within one in the order of the
configuration, so the block counts where the file did; where a section of the same folder would
come between, it is not offered.
"""

import posixpath
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, Origin, Reading, Survey
from httpdyno.servers.apache.lines import Line, lines_of, quoted
from httpdyno.servers.apache.overrides import is_below
from httpdyno.servers.apache.setting import reading_of
from httpdyno.servers.stack.adapter import MemberFiles

_ALLOWS = "allowoverride"


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a `<Directory>` says of the files below it."""

    scope: str
    path: str
    host: str
    is_none: bool
    origin: Origin


def allowing_scopes(survey: Survey) -> tuple[str, ...]:
    """Return the scopes in which `.htaccess` files are read."""
    return tuple(
        reading.scope
        for reading in survey.readings
        if reading.name.lower() == _ALLOWS and reading.text.lower() != "none"
    )


def override_files(survey: Survey, files: MemberFiles) -> list[str]:
    """Return the `.htaccess` files that were read."""
    reading = reading_of(survey, "AccessFileName")
    names = (reading.text if reading else ".htaccess").split()
    return sorted(path for path in files.texts if posixpath.basename(path) in names)


def why_not(survey: Survey, files: MemberFiles) -> str:
    """Return why the files cannot be written into the configuration; empty where they can."""
    found = _files_by_rule(survey, files)
    return found if isinstance(found, str) else ""


def inlinable(survey: Survey, files: MemberFiles) -> dict[str, int]:
    """Return the scopes that can do without files: scope → how many there are now."""
    found = _files_by_rule(survey, files)
    if isinstance(found, str):
        return {}
    return {rule.scope: len(paths) for rule, paths in found.items()}


def inlining(survey: Survey, files: MemberFiles) -> tuple[Edit, ...]:
    """Return the edits that allow no files and write theirs into the configuration.

    Raises:
        AdapterError: It would not be the same configuration; says why.
    """
    found = _files_by_rule(survey, files)
    if isinstance(found, str):
        raise AdapterError(f"the `.htaccess` files cannot be inlined: {found}")
    edits: list[Edit] = []
    for rule, paths in found.items():
        origin = rule.origin
        edits.append(Edit(file=origin.file, start=origin.start, end=origin.end, text="None"))
        closing = _closing(files.texts[origin.file], origin)
        if closing is None:
            raise AdapterError(f"line {origin.line} of `{origin.file}` is in no `<Directory>`")
        blocks = "".join(_block(path, files.texts[path], closing.indentation) for path in paths)
        edits.append(Edit(file=origin.file, start=closing.end, end=closing.end, text=blocks))
    return tuple(edits)


def _block(path: str, text: bytes, indentation: str) -> str:
    body = text.decode().replace("\r\n", "\n").strip("\n")
    folder = quoted(posixpath.dirname(path))
    opening = f"{indentation}<Directory {folder}>"
    return f"\n{opening}\n{body}\n{indentation}</Directory>"


def _files_by_rule(survey: Survey, files: MemberFiles) -> dict[_Rule, list[str]] | str:
    """Return the files by the rule that allows them, the outermost first; or why that is unsure."""
    paths = override_files(survey, files)
    if not paths:
        return "there are none"
    rules = _rules(survey)
    by_rule: dict[_Rule, list[str]] = {}
    for path in paths:
        rule = _rule_of(posixpath.dirname(path), rules)
        if isinstance(rule, str):
            return f"{rule} for `{path}`"
        by_rule.setdefault(rule, []).append(path)
    complaints = (_complaint(rule, by_rule[rule], survey, files) for rule in by_rule)
    return next((complaint for complaint in complaints if complaint), by_rule)


def _rules(survey: Survey) -> list[_Rule]:
    found = []
    for reading in survey.readings:
        host, slash, path = reading.scope.partition("/")
        if reading.name.lower() == _ALLOWS and slash and reading.origin is not None:
            whole = posixpath.normpath(f"/{path}")
            is_none = reading.text.lower() == "none"
            rule = _Rule(reading.scope, whole, host.strip(), is_none, reading.origin)
            found.append(rule)
    return found


def _rule_of(folder: str, rules: list[_Rule]) -> _Rule | str:
    above = [rule for rule in rules if is_below(folder, rule.path)]
    longest = max((len(rule.path) for rule in above), default=0)
    deciding = [rule for rule in above if len(rule.path) == longest]
    if len(deciding) != 1:
        return "several sections decide" if deciding else "no section decides"
    if deciding[0].is_none:
        return "files there are not read"
    return deciding[0]


def _complaint(rule: _Rule, paths: list[str], survey: Survey, files: MemberFiles) -> str:
    text = files.texts.get(rule.origin.file)
    if text is None or rule.origin.start == rule.origin.end:
        return f"line {rule.origin.line} of {rule.origin.file} is in no file of its own"
    if hidden := [path for path in files.unreadable if is_below(path, rule.path)]:
        return f"`{hidden[0]}` was not read"
    folders = {posixpath.dirname(path): path for path in paths}
    for reading in survey.readings:
        _, slash, path = reading.scope.partition("/")
        is_there = reading.origin is not None and f"/{path}".rstrip("/") in folders
        if slash and is_there and not _is_in_rule(reading, rule, text):
            return f"another section says something of `/{path}`"
    for path in paths:
        try:
            files.texts[path].decode()
        except UnicodeDecodeError:
            return f"`{path}` is no UTF-8"
    return ""


def _is_in_rule(reading: Reading, rule: _Rule, text: bytes) -> bool:
    """Whether a directive stands in the very section that allows the files."""
    if reading.origin is None or reading.origin.file != rule.origin.file:
        return False
    closing = _closing(text, rule.origin)
    opening = _opening(text, rule.origin)
    if closing is None or opening is None:
        return False
    return opening.end <= reading.origin.start <= closing.start


def _opening(text: bytes, origin: Origin) -> Line | None:
    return _section(text, origin)[0]


def _closing(text: bytes, origin: Origin) -> Line | None:
    return _section(text, origin)[1]


def _section(text: bytes, origin: Origin) -> tuple[Line | None, Line | None]:
    """Return the lines that open and close the `<Directory>` around a place."""
    opening: Line | None = None
    for line in lines_of(text):
        name = line.name.lower()
        if name == "<directory" and line.start < origin.start:
            opening = line
        elif name == "</directory>" and line.start >= origin.end:
            return opening, line
    return opening, None
