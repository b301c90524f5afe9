"""Apache's configuration as text: logical lines, directives, includes, variables.

One directive of a configuration, wherever it is known from.

A configuration file as Apache takes it apart: logical lines, and where they stand. Pure.

A backslash at the very end of a line joins it with the next one, also in comments; Apache names
such a line by its last number, in its dump and in its complaints.

Which files an `Include` names, in the order that Apache reads them; on disk, or of a copy.

The variables that Apache's configuration is read with: Debian keeps them in `envvars`.

A configuration read as text: its files, and what is in force as far as text tells.

Nothing is run. Files are read for all that `Include` names, also where a condition that text
cannot tell may leave it out; what is in force is better known from Apache's own dump.
"""

import os
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Protocol

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.model import Member, Origin
from httpdyno.servers.stack.adapter import Seat
from httpdyno.servers.stack.environment import readable_variables

TRANSPARENT = frozenset({"ifmodule", "ifdefine", "ifversion", "ifdirective", "iffile", "ifsection"})
"""Sections that only decide whether what is in them counts."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section that is open where a directive stands."""

    kind: str
    """Such as `VirtualHost`."""
    arguments: str
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive in force, its variables filled in."""

    name: str
    arguments: str
    sections: tuple[Section, ...]
    """The outermost first, without transparent ones."""
    file: str
    """As the server names it: a path, or `-c/-C directives`, or `macro 'x' …`."""
    line: int

    @property
    def host(self) -> Section | None:
        """The virtual host that it stands in."""
        found = (s for s in self.sections if s.kind.lower() == "virtualhost")
        return next(found, None)


_PHYSICAL = re.compile(rb"[^\n]*(?:\n|\Z)")
_NAME = re.compile(rb"(?:\\\r?\n|[ \t\f\v\r])*([^\s]+)")
_SPACE = re.compile(rb"(?:\\\r?\n|[ \t\f\v\r])*")
_JOINT = re.compile(r"\\\r?\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A logical line that holds a directive, or opens or closes a section."""

    number: int
    """As Apache names it: of its last physical line, from 1."""
    first: int
    """Of its first physical line."""
    nth: int
    """Which one of those that are not empty it is, comments too: so Apache counts in a macro."""
    start: int
    """Byte at which its first physical line starts."""
    end: int
    """Byte after its text; the end of its last physical line is not part of it."""
    name: str
    """The directive, or `<Section` or `</Section>`, as it is written."""
    arguments: str
    """As one line, with quotes; without the `>` of a section."""
    arguments_start: int
    arguments_end: int
    joints: int
    """How many times its arguments go on in a further physical line."""
    indentation: str


def lines_of(text: bytes) -> list[Line]:
    """Return the logical lines of a file that are no comments and not empty."""
    found: list[Line] = []
    start = number = first = nth = 0
    begun: int | None = None
    for match in _PHYSICAL.finditer(text):
        if match.start() == match.end() and begun is None:
            continue
        number += 1
        if begun is None:
            begun, first = match.start(), number
        bare = match[0].removesuffix(b"\n").removesuffix(b"\r")
        if bare.endswith(b"\\") and match[0].endswith(b"\n"):
            continue
        start, begun = begun, None
        end = match.start() + len(bare)
        nth += bool(text[start:end].strip())
        line = _line(text, start, end, (first, number, nth))
        if line is not None:
            found.append(line)
    return found


def _line(text: bytes, start: int, end: int, numbers: tuple[int, int, int]) -> Line | None:
    while end > start and text[end - 1 : end] in (b" ", b"\t", b"\r", b"\f", b"\v"):
        end -= 1
    match = _NAME.match(text, start, end)
    if match is None or match[1].startswith(b"#"):
        return None
    raw = match[1]
    name_end = match.end(1)
    is_section = raw.startswith(b"<") and not raw.startswith(b"</")
    if is_section and raw.endswith(b">"):
        raw, name_end = raw[:-1], name_end - 1
    # A name runs up to a continuation, too.
    raw = raw.removesuffix(b"\\")
    at = name_end
    if (space := _SPACE.match(text, at, end)) is not None:
        at = space.end()
    arguments_end = end
    if is_section and text[end - 1 : end] == b">":
        arguments_end -= 1
    arguments_end = max(arguments_end, at)
    joined = _JOINT.sub("", _decoded(text[at:arguments_end]))
    first_line = text[start:end]
    return Line(
        number=numbers[1],
        first=numbers[0],
        nth=numbers[2],
        start=start,
        end=end,
        name=_decoded(raw),
        arguments=joined.strip(),
        arguments_start=at,
        arguments_end=arguments_end,
        joints=text.count(b"\n", at, arguments_end),
        indentation=_decoded(first_line[: len(first_line) - len(first_line.lstrip(b" \t"))]),
    )


def _decoded(text: bytes) -> str:
    # What is read is stored, as UTF-8; what is changed is a span of bytes, whatever they are.
    return text.decode("utf-8", errors="replace")


def words(arguments: str) -> list[str]:
    r"""Return arguments without their quotes, as Apache splits them; `\"` is a quote inside."""
    found: list[str] = []
    at = 0
    while at < len(arguments):
        if arguments[at].isspace():
            at += 1
            continue
        quote = arguments[at] if arguments[at] in "\"'" else ""
        at += len(quote)
        word = ""
        while at < len(arguments):
            character = arguments[at]
            if character == "\\" and arguments[at + 1 : at + 2] in ("\\", quote or "\\"):
                word += arguments[at + 1]
                at += 2
                continue
            if character == quote or (not quote and character.isspace()):
                break
            word += character
            at += 1
        at += 1
        found.append(word)
    return found


def quoted(argument: str) -> str:
    r"""Return one argument as it is written: in quotes where it needs them."""
    if argument and not re.search(r"[\s\"'\\]", argument):
        return argument
    return '"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Places:
    """Where directives stand in the files that were read."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts
        self._lines: dict[str, dict[int, Line]] = {}

    def lines(self, file: str) -> dict[int, Line]:
        """Return a file's logical lines by Apache's numbers; empty where it was not read."""
        if file not in self._lines:
            text = self._texts.get(file)
            self._lines[file] = {} if text is None else {n.number: n for n in lines_of(text)}
        return self._lines[file]

    def line(self, file: str, number: int, name: str) -> Line | None:
        """Return the line if that is what stands there; None where Apache made it up itself.

        Directives of `-c`, of macros and of Perl have no line of their own.
        """
        line = self.lines(file).get(number)
        return line if line is not None and line.name.lower() == name.lower() else None

    def origin(self, file: str, number: int, name: str) -> Origin:
        """Return where a directive's arguments stand; no span where no file has them."""
        line = self.line(file, number, name)
        if line is None:
            return Origin(file=file, line=number, start=0, end=0)
        return Origin(file=file, line=number, start=line.arguments_start, end=line.arguments_end)


_WILD = re.compile(r"[*?\[]")


class Files(Protocol):
    """Where a configuration is read from."""

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; empty where it is none."""

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""

    def is_there(self, path: str) -> bool:
        """Whether there is anything."""

    def content(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            OSError: It is not there, or cannot be read.
        """


class Held:
    """Files that were read before."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts
        self._names: dict[str, set[str]] = {}
        for path in texts:
            below = path
            while below not in {"", "/"}:
                folder, name = posixpath.split(below)
                self._names.setdefault(folder, set()).add(name)
                below = folder

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; empty where it is none."""
        return list(self._names.get(posixpath.normpath(folder), ()))

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        return posixpath.normpath(path) in self._names

    def is_there(self, path: str) -> bool:
        """Whether there is anything."""
        return path in self._texts or self.is_folder(path)

    def content(self, path: str) -> bytes:
        """Return a file's bytes."""
        if path not in self._texts:
            raise FileNotFoundError(path)
        return self._texts[path]


def is_pattern(path: str) -> bool:
    """Whether a path has a wildcard: then it may name nothing."""
    return bool(_WILD.search(path))


def included(path: str, files: Files) -> list[str]:
    """Return the files of an absolute path, which may be a folder or have wildcards.

    A folder stands for all files below it; names are in the order of their bytes; a leading dot is
    matched by a dot alone. What has no wildcard is returned whether it is there or not.
    """
    if not is_pattern(path):
        return _below(path, files)
    found = [""]
    *folders, last = [part for part in path.split("/") if part]
    for part in folders:
        hits = [hit for folder in found for hit in _matching(folder, part, files)]
        found = [hit for hit in hits if files.is_folder(hit)]
    hits = [hit for folder in found for hit in _matching(folder, last, files)]
    return [file for hit in hits for file in _below(hit, files)]


def _matching(folder: str, part: str, files: Files) -> list[str]:
    if not _WILD.search(part):
        return [f"{folder}/{part}"] if files.is_there(f"{folder}/{part}") else []
    names = [
        name
        for name in files.names(folder or "/")
        if fnmatchcase(name, part) and (part.startswith(".") or not name.startswith("."))
    ]
    return [f"{folder}/{name}" for name in sorted(names, key=os.fsencode)]


def _below(path: str, files: Files) -> list[str]:
    if not files.is_folder(path):
        return [path]
    bare = path.rstrip("/")
    names = sorted(files.names(path), key=os.fsencode)
    return [file for name in names for file in _below(f"{bare}/{name}", files)]


_SETS = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)")
_VARIABLE = re.compile(r"\$\{([^}]+)\}")
_USES = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SOURCE = '[ ! -e "$1" ] || . "$1" >/dev/null 2>&1; exec env -0'
_LONGEST = 64 << 10
"""Characters of a line once it is filled in: each `Define` may double what the last one set."""
_NOT_THEIRS = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})


def envvars_file(member: Member) -> str:
    """Return where Debian's control script keeps the variables of this main file."""
    return str(PurePosixPath(member.main).parent / "envvars")


def written_variables(text: str, member: Member) -> dict[str, str]:
    """Return what a file of `NAME=value` lines sets, without running it.

    What a shell would compute (`$(…)`) is left out; a `SUFFIX` is that of Debian's second and
    further instances, in `/etc/apache2-NAME`.
    """
    folder = str(PurePosixPath(member.main).parent)
    known = {"SUFFIX": folder.removeprefix("/etc/apache2") if "apache2-" in folder else ""}
    for line in text.splitlines():
        match = _SETS.fullmatch(line)
        if match is None or "$(" in match[2] or "`" in match[2] or match[1] == "SUFFIX":
            continue
        value = match[2].partition(" #")[0].strip().strip("\"'")
        known[match[1]] = filled(_USES, lambda use: known.get(use[1] or use[2], ""), value)
    return {name: value for name, value in known.items() if name != "SUFFIX"}


def own_variables(member: Member) -> dict[str, str]:
    """Return the variables that its service gives it, as far as they can be read."""
    return {"PATH": PATH, "LANG": "C"} | readable_variables(member)


def sourced_variables(member: Member, seat: Seat) -> dict[str, str]:
    """Return the whole environment that its control script would start it with.

    Raises:
        AdapterError: The file is not one that a shell takes.
    """
    own = own_variables(member)
    folder = str(PurePosixPath(member.main).parent)
    file = envvars_file(member)
    said = seat.run(
        ["/bin/sh", "-c", _SOURCE, "sh", file],
        environment={**own, "APACHE_CONFDIR": folder},
        user=member.user,
    )
    if said.exit_code != 0:
        raise AdapterError(
            f"`{file}` cannot be read by a shell: {said.errors.strip()}",
            hint=f"Try `sh -c '. {file}'`.",
        )
    pairs = (entry.partition("=") for entry in said.output.split("\0") if entry)
    return own | {name: value for name, _, value in pairs if name not in _NOT_THEIRS}


def resolved(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with each `${NAME}` filled in; one that nobody sets stays as it is."""
    return filled(_VARIABLE, lambda use: variables.get(use[1], use[0]), text)


def filled(pattern: re.Pattern[str], value_of: Callable[[re.Match[str]], str], text: str) -> str:
    """Return a text with what matches put in.

    Raises:
        AdapterError: It becomes longer than anything that anybody wrote to run.
    """
    n_left = _LONGEST

    def one(use: re.Match[str]) -> str:
        nonlocal n_left
        value = value_of(use)
        n_left -= len(value)
        if n_left < 0:
            raise AdapterError(
                f"`{text[:60]}` becomes longer than {_LONGEST >> 10} KiB once its variables are "
                "filled in"
            )
        return value

    return pattern.sub(one, text)


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
    where: tuple[str, int]
    """File and line of its definition."""
    nth: int
    """Of its opening line, among those that are not empty."""


_MACRO_FORM = (
    'macro \'{name}\' (defined on line {line} of "{file}") used on line {user_line} of "{user}"'
)
"""What Apache calls the place of a line that a macro makes."""


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
            raise AdapterError(
                f"`{path}`{by} cannot be read: {reason(error)}",
                hint="Run it again with `sudo`." if isinstance(error, PermissionError) else "",
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
            where = (file, opening.number)
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
        defined, line = macro.where
        file = _MACRO_FORM.format(
            name=name.lower(), file=defined, line=line, user=at[0], user_line=at[1]
        )
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
