"""A configuration read as text: its files, and what is in force as far as text tells.

Nothing is run. Files are read for all that `Include` names, also where a condition that text
cannot tell may leave it out; what is in force is better known from Apache's own dump.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.servers.apache.directive import TRANSPARENT, Directive, Section
from httpdyno.servers.apache.include import Files, included, is_pattern
from httpdyno.servers.apache.lines import Line, lines_of, words
from httpdyno.servers.apache.variables import filled, resolved

_DEEPEST = 128
"""Files inside files, as httpd 2.4 itself has it."""
_MOST_LINES, _MOST_INCLUDES = 300_000, 20_000
"""Of all files, each as often as it is included: that may be twice in each of twice as many."""
_STATIC_NAMES = ("so", "watchdog", "log_config", "logio", "version", "unixd")
STATIC_MODULES = ("core_module", "http_module", *(f"{name}_module" for name in _STATIC_NAMES))
"""Compiled in by Debian; others load them, which comes to the same."""
_STATIC_SOURCES = ("core.c", "http_core.c", *(f"mod_{name}.c" for name in _STATIC_NAMES))
_VERSION = (2, 4, 999)
_BOTH = 2
_MPM_SOURCES = {"mpm_event": "event.c", "mpm_worker": "worker.c", "mpm_prefork": "prefork.c"}


@dataclass(kw_only=True, slots=True)
class Walked:
    """What a configuration's text says."""

    texts: dict[str, bytes] = field(default_factory=dict)
    directives: list[Directive] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    """As `ssl_module`, in the order that they are loaded."""
    module_files: list[str] = field(default_factory=list)
    loads: list[tuple[str, str, int]] = field(default_factory=list)
    """Of each of these its name, and the file and the line that load it."""
    server_root: str = ""
    patterns: list[str] = field(default_factory=list)
    """Includes of wildcards, absolute; one of a whole folder ends in `/`."""
    unknown: list[str] = field(default_factory=list)
    """Includes that name a variable which nobody sets."""


@dataclass(frozen=True, slots=True)
class _Macro:
    parameters: tuple[str, ...]
    lines: tuple[Line, ...]
    where: str
    nth: int
    """Of its opening line, among those that are not empty."""


@dataclass(slots=True)
class _Open:
    """A section that is open, and whether what is in it counts."""

    section: Section
    counts: bool
    is_certain: bool


def walked(
    main: str,
    files: Files,
    *,
    server_root: str,
    variables: Mapping[str, str],
    defines: Sequence[str] = (),
) -> Walked:
    """Read a main file and all that it includes.

    Args:
        main: Its path.
        files: Where it is read from.
        server_root: What relative paths start from, until `ServerRoot` says otherwise.
        variables: The environment that Apache is started with.
        defines: What its command line gives with `-D`.

    Raises:
        AdapterError: A file is not there or cannot be read, or includes itself; says file and line.
    """
    walk = _Walk(files, server_root, dict(variables), set(defines))
    walk.file(main, ())
    walk.said.server_root = walk.server_root
    return walk.said


class _Walk:
    def __init__(
        self, files: Files, server_root: str, variables: dict[str, str], defines: set[str]
    ) -> None:
        self.said = Walked()
        self.server_root = server_root
        self._files = files
        self._variables = variables
        self._defines = defines
        self._known = {*STATIC_MODULES, *_STATIC_SOURCES}
        self._macros: dict[str, _Macro] = {}
        self._open: list[_Open] = []
        self._n_lines = 0
        self._n_files = 0
        self._taken_apart: dict[str, list[Line]] = {}
        self._named_by: list[str] = []

    def file(self, path: str, named_by: tuple[str, ...]) -> None:
        if len(named_by) > _DEEPEST:
            raise AdapterError(
                f"`{path}` is included from itself, or too deep: {named_by[-1]}",
                hint="Take the `Include` out.",
            )
        if path not in self.said.texts:
            self.said.texts[path] = self._content(path, named_by)
        if path not in self._taken_apart:
            self._taken_apart[path] = lines_of(self.said.texts[path])
        self._lines(self._taken_apart[path], path, named_by)

    def _content(self, path: str, named_by: tuple[str, ...]) -> bytes:
        try:
            return self._files.content(path)
        except OSError as error:
            by = f", which {named_by[-1]} includes," if named_by else ""
            hint = "Run it again with `sudo`." if isinstance(error, PermissionError) else ""
            raise AdapterError(
                f"`{path}`{by} cannot be read: {reason(error)}", hint=hint
            ) from error

    def _lines(self, lines: Sequence[Line], file: str, named_by: tuple[str, ...]) -> None:
        macro: tuple[Line, list[Line]] | None = None
        depth = len(self._open)
        self._n_lines += len(lines)
        self._n_files += 1
        if self._n_lines > _MOST_LINES or self._n_files > _MOST_INCLUDES:
            raise AdapterError(
                f"`{file}` was not understood: with all that includes and macros make of it, it is "
                f"more than {_MOST_LINES:,} lines, or {_MOST_INCLUDES:,} files and uses of macros"
            )
        for line in lines:
            name = line.name.lower()
            if macro is not None:
                if name == "</macro>":
                    self._define_macro(macro[0], macro[1], file)
                    macro = None
                else:
                    macro[1].append(line)
            elif name == "<macro":
                macro = (line, [])
            elif name.startswith("</"):
                if len(self._open) > depth:
                    self._open.pop()
            elif name.startswith("<"):
                self._enter(line, file)
            else:
                self._directive(line, file, named_by)
        del self._open[depth:]

    @property
    def _counts(self) -> bool:
        return all(opened.counts for opened in self._open)

    @property
    def _is_certain(self) -> bool:
        return all(opened.is_certain for opened in self._open)

    @property
    def _is_perl(self) -> bool:
        return bool(self._open) and self._open[-1].section.kind.lower() == "perl"

    def _enter(self, line: Line, file: str) -> None:
        kind = line.name.removeprefix("<")
        arguments = resolved(line.arguments, self._variables)
        counts = is_certain = True
        if kind.lower() in TRANSPARENT:
            counts, is_certain = self._condition(kind.lower(), arguments)
        section = Section(kind, arguments, file, line.number)
        self._open.append(_Open(section, counts, is_certain))

    def _condition(self, kind: str, arguments: str) -> tuple[bool, bool]:
        """Return whether what is in it counts, and whether that is certain."""
        wanted = (words(arguments) or [""])[0]
        is_negated = wanted.startswith("!")
        name = wanted.removeprefix("!")
        if kind == "ifmodule":
            return (name in self._known) != is_negated, False
        if kind == "ifdefine":
            return (name in self._defines) != is_negated, True
        if kind == "ifversion":
            return _is_version(words(arguments)), False
        if kind == "iffile":
            return self._files.is_there(self._absolute(name)) != is_negated, False
        return not is_negated, False

    def _directive(self, line: Line, file: str, named_by: tuple[str, ...]) -> None:
        # What looks like a directive there is Perl: `use` is no macro.
        name = "" if self._is_perl else line.name.lower()
        arguments = resolved(line.arguments, self._variables)
        if name in {"include", "includeoptional"}:
            self._include(name, (words(arguments) or [""])[0], line, (file, named_by))
            return
        if not self._counts:
            return
        given = words(arguments)
        match name, given:
            case "define", [defined, *value]:
                self._defines.add(defined)
                if value:
                    self._variables[defined] = value[0]
            case "undefine", [defined, *_]:
                self._defines.discard(defined)
                self._variables.pop(defined, None)
            case "loadmodule", [identifier, path, *_]:
                self._load(identifier, path)
                self.said.loads.append((identifier, file, line.number))
            case "serverroot", [root, *_]:
                self.server_root = posixpath.normpath(root)
            case "use", [macro, *values]:
                self._use(macro, values, (file, line.number), named_by)
            case _:
                open_here = (opened.section for opened in self._open)
                inner = tuple(s for s in open_here if s.kind.lower() not in TRANSPARENT)
                found = Directive(line.name, arguments, inner, file, line.number)
                self.said.directives.append(found)

    def _load(self, identifier: str, path: str) -> None:
        source = _MPM_SOURCES.get(identifier.removesuffix("_module"))
        self._known |= {identifier, source or f"{Path(path).stem}.c"}
        if identifier == "php_module" or identifier.startswith("php"):
            self._known.add("mod_php.c")
        self.said.modules.append(identifier)
        self.said.module_files.append(self._absolute(path))

    def _include(
        self, name: str, pattern: str, line: Line, where: tuple[str, tuple[str, ...]]
    ) -> None:
        file, named_by = where
        place = f"line {line.number} of `{file}`"
        if "${" in pattern:
            self.said.unknown.append(f"{place}: `{pattern}`")
            return
        path = self._absolute(pattern)
        if is_pattern(path):
            self.said.patterns.append(path)
        elif self._files.is_folder(path):
            self.said.patterns.append(f"{path.rstrip('/')}/")
        for hit in included(path, self._files):
            if not self._files.is_there(hit) and not is_pattern(pattern):
                is_needed = name == "include" and self._counts and self._is_certain
                if not is_needed:
                    continue
            self.file(hit, (*named_by, place))

    def _absolute(self, path: str) -> str:
        return path if path.startswith("/") else posixpath.join(self.server_root, path)

    def _define_macro(self, opening: Line, lines: list[Line], file: str) -> None:
        name, *parameters = words(opening.arguments) or [""]
        if self._counts:
            where = f'(defined on line {opening.number} of "{file}")'
            self._macros[name.lower()] = _Macro(tuple(parameters), tuple(lines), where, opening.nth)

    def _use(
        self, name: str, values: list[str], at: tuple[str, int], named_by: tuple[str, ...]
    ) -> None:
        macro = self._macros.get(name.lower())
        if macro is None or len(named_by) > _DEEPEST:
            return
        # A parameter whose name begins with that of another one goes first.
        given = dict(zip(macro.parameters, values, strict=False))
        names = sorted(filter(None, given), key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, names)) or "(?!)")

        def of_use(text: str) -> str:
            return filled(pattern, lambda use: given[use[0]], text)

        expanded = [
            Line(
                number=line.nth - macro.nth,
                first=line.nth - macro.nth,
                nth=line.nth - macro.nth,
                start=0,
                end=0,
                name=of_use(line.name),
                arguments=of_use(line.arguments),
                arguments_start=0,
                arguments_end=0,
                joints=0,
                indentation="",
            )
            for line in macro.lines
        ]
        file = f"macro '{name.lower()}' {macro.where} used on line {at[1]} of \"{at[0]}\""
        self._lines(expanded, file, (*named_by, file))


def _is_version(condition: Sequence[str]) -> bool:
    """Whether an `<IfVersion>` holds for the newest 2.4; patterns are taken to hold."""
    operator, wanted = condition if len(condition) == _BOTH else ("=", "".join(condition[-1:]))
    if not re.fullmatch(r"\d+(\.\d+){0,2}", wanted):
        return True
    parts = [int(part) for part in wanted.split(".")]
    ours = _VERSION[: len(parts)] if operator in {"=", "=="} else _VERSION
    order = (ours > tuple(parts)) - (ours < tuple(parts))
    accepted = {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}
    return accepted.get(operator, order == 0)
