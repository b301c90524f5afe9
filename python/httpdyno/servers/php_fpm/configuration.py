"""php-fpm's and PHP's configuration read from files: sections, settings, where they stand.

PHP's INI dialect, read with byte spans: of `php.ini` and of php-fpm's configuration. Pure.

php-fpm gives its files to the same scanner line by line, so no value of it goes over several
lines; in `php.ini` one in double quotes may. `;` begins a comment anywhere outside of quotes, `#`
nowhere. Section names keep their blanks, and neither they nor names care for upper and lower case
in php-fpm. All this was tried with PHP 8.2.

php-fpm's configuration as its files say it: sections, what is in force of them, and where. Pure.

Tried with PHP 8.2: `include` is followed where it stands, its files in the order of their names;
the section that was open in the last of them goes on after it; a section that comes again
continues; of a setting that comes again the last counts, but of `php_value[x]`, `env[x]` and their
like the first; and `php_admin_value` counts before `php_value`.

`php.ini` and the folder of further ini files: what they set, and where. Pure.

Of a setting that comes again the last one counts, over all files: `php.ini` first, then those of
the folder by name. What stands below `[PATH=…]` or `[HOST=…]` counts only there, and is left out.

Reading a member's files from disk: php-fpm's own, and the ini files of the PHP in it.
"""

import fnmatch
import os
import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.model import Member, Origin
from httpdyno.servers.link import is_kernels
from httpdyno.servers.php_fpm.installation import ini_places, option_of, program_of
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.snapshot import TheirFiles

_LINE_END = re.compile(rb"\r\n|\r|\n")
_KEY = re.compile(rb"[^=\n\r;&|^$~(){}!\"\[\x00]+")
_SECTION = re.compile(rb"\[([^\]\r\n]*)\]")
_INDEX = re.compile(rb"\[[ \t]*([^\]\r\n]*?)[ \t]*\]")
_BLANK = b" \t"
ON = frozenset({"1", "on", "yes", "true"})
OFF = frozenset({"", "0", "off", "no", "false", "none", "null"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A section's head, as `[www]`."""

    name: str
    line: int
    """From 1."""
    start: int
    end: int
    """The byte after its last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One setting: `name = value`, `name[] = value` or `name[index] = value`."""

    name: str
    index: str | None
    """What stands in the brackets; None without any."""
    text: str
    """Its value, without quotes and comment; words for true and false, and what PHP calculates
    with (`1|2`), as they stand there."""
    line: int
    """From 1."""
    key_start: int
    start: int
    """First byte of the value, quotes included."""
    end: int
    """The byte after the value's last; nothing was there where it equals `start`."""
    line_end: int
    """The byte after its last line's end, or the length of the text."""


def parsed(text: bytes, *, file: str, by_line: bool) -> tuple[Section | Entry, ...]:
    """Return sections and settings, in their order.

    Args:
        text: A whole file.
        file: Its path, for messages.
        by_line: Whether a quoted value has to end in its line, as php-fpm has it.

    Raises:
        AdapterError: A line is not understood; says which.
    """
    return tuple(_Scanner(text, file, by_line=by_line).items())


def truth(text: str) -> bool | None:
    """Return what a switch is set to; None where it says neither."""
    word = text.strip().lower()
    return True if word in ON else False if word in OFF else None


class _Scanner:
    def __init__(self, text: bytes, file: str, *, by_line: bool) -> None:
        self._text = text
        self._file = file
        self._by_line = by_line
        self._line_ends: list[int] | None = None
        self._at = 3 if text.startswith(b"\xef\xbb\xbf") else 0

    def items(self) -> list[Section | Entry]:
        found: list[Section | Entry] = []
        while self._at < len(self._text):
            self._skip_blank()
            character = self._peek()
            if character in {b"\n", b"\r"}:
                self._at += 1
            elif character == b";":
                self._to_line_end()
            elif character == b"[":
                found.append(self._section())
            elif character:
                found.append(self._entry())
        return found

    def _section(self) -> Section:
        match = _SECTION.match(self._text, self._at)
        if match is None:
            raise self._complaint("a section's name does not end")
        # What follows in the same line is a setting already.
        self._at = match.end()
        return Section(
            name=_decoded(match[1]),
            line=self._line_of(match.start()),
            start=match.start(),
            end=match.end(),
        )

    def _entry(self) -> Entry:
        key_start = self._at
        key = _KEY.match(self._text, self._at)
        if key is None:
            raise self._complaint("there is no name of a setting")
        self._at = key.end()
        index = _INDEX.match(self._text, self._at)
        if index is not None:
            self._at = index.end()
        self._skip_blank()
        if self._peek() != b"=":
            # php-fpm refuses a name without a value; in php.ini it is as if it were not there.
            if self._by_line:
                raise self._complaint(f"`{_decoded(key[0]).strip()}` has no value")
            start = end = self._at
            value = ""
            self._to_line_end()
        else:
            self._at += 1
            self._skip_blank()
            start, (value, end) = self._at, self._value()
        self._skip_line_end()
        return Entry(
            name=_decoded(key[0]).strip(),
            index=None if index is None else _decoded(index[1]).strip("\"'"),
            text=value,
            line=self._line_of(key_start),
            key_start=key_start,
            start=start,
            end=end,
            line_end=self._at,
        )

    def _value(self) -> tuple[str, int]:
        """Return the text and where it ends; goes to the line's end."""
        pieces: list[bytes] = []
        end = self._at
        while (character := self._peek()) not in {b"", b"\n", b"\r"}:
            if character == b";":
                self._to_line_end()
                break
            if character == b'"':
                pieces.append(self._in_double_quotes())
                end = self._at
                self._skip_blank()
            elif character == b"'":
                pieces.append(self._in_single_quotes())
                end = self._at
                self._skip_blank()
            elif self._text.startswith(b"${", self._at):
                pieces.append(self._variable())
                end = self._at
            else:
                pieces.append(character)
                self._at += 1
                end = end if character in {b" ", b"\t"} else self._at
        text = b"".join(pieces)
        # Blanks behind the last word are in front of a comment or of the line's end.
        last = self._text[end - 1 : end]
        return _decoded(text if last in {b'"', b"'"} else text.rstrip(_BLANK)), end

    def _in_double_quotes(self) -> bytes:
        opened, pieces = self._at, bytearray()
        self._at += 1
        while (character := self._peek()) != b'"':
            if not character or (self._by_line and character in {b"\n", b"\r"}):
                self._at = opened
                raise self._complaint("a quote is not closed")
            if character == b"\\" and self._text[self._at + 1 : self._at + 2] in {b'"', b"\\"}:
                self._at += 1
                character = self._peek()
            pieces += character
            self._at += 1
        self._at += 1
        return bytes(pieces)

    def _in_single_quotes(self) -> bytes:
        """Return what the quotes hold; PHP drops the line's rest where they hold nothing."""
        line_end = _LINE_END.search(self._text, self._at) if self._by_line else None
        last = line_end.start() if line_end else len(self._text)
        closing = self._text.find(b"'", self._at + 1, last)
        if closing <= self._at + 1:
            self._to_line_end()
            return b""
        inside = self._text[self._at + 1 : closing]
        self._at = closing + 1
        return inside

    def _variable(self) -> bytes:
        line_end = _LINE_END.search(self._text, self._at)
        last = line_end.start() if line_end else len(self._text)
        closing = self._text.find(b"}", self._at, last)
        if closing < 0:
            raise self._complaint("a `${` is not closed")
        name = self._text[self._at : closing + 1]
        self._at = closing + 1
        return name

    def _peek(self) -> bytes:
        return self._text[self._at : self._at + 1]

    def _skip_blank(self) -> None:
        while self._peek() in {b" ", b"\t"}:
            self._at += 1

    def _to_line_end(self) -> None:
        match = _LINE_END.search(self._text, self._at)
        self._at = match.start() if match else len(self._text)

    def _skip_line_end(self) -> None:
        match = _LINE_END.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _line_of(self, at: int) -> int:
        if self._line_ends is None:
            self._line_ends = [match.end() for match in _LINE_END.finditer(self._text)]
        return 1 + bisect_right(self._line_ends, at)

    def _complaint(self, words: str) -> AdapterError:
        return AdapterError(f"{words} ({self._file}:{self._line_of(self._at)})")


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", errors="surrogateescape")


GLOBAL = "global"
INCLUDE = "include"
_ADMIN = ("php_admin_value", "php_admin_flag")
_USER = ("php_value", "php_flag")
_DEEPEST = 4
"""Levels of includes that php-fpm allows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One setting, and the file that it stands in."""

    file: str
    section: str
    """`global`, the pool's name, or empty in front of any section."""
    entry: Entry

    @property
    def origin(self) -> Origin:
        """Where its value stands."""
        entry = self.entry
        return Origin(file=self.file, line=entry.line, start=entry.start, end=entry.end)


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """Where a section is opened."""

    file: str
    section: str
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolConfiguration:
    """All settings of php-fpm's own files, in the order in which it reads them."""

    settings: tuple[Setting, ...]
    heads: tuple[Head, ...]
    pools: tuple[str, ...]
    """Names, as first written."""
    unmatched: tuple[tuple[str, Origin], ...] = ()
    """Patterns of `include` that nothing matches: php-fpm goes on without."""

    def last(self, section: str, name: str) -> Setting | None:
        """Return the setting of that name that counts; None where nothing sets it."""
        found = [
            s
            for s in self.of_section(section)
            if s.entry.index is None and s.entry.name.lower() == name
        ]
        return found[-1] if found else None

    def php_value(self, pool: str, name: str) -> Setting | None:
        """Return what sets an ini value for a pool; None where nothing of the pool does."""
        for kinds in (_ADMIN, _USER):
            for setting in self.of_section(pool):
                if setting.entry.name.lower() in kinds and setting.entry.index == name:
                    return setting
        return None

    def of_section(self, section: str) -> tuple[Setting, ...]:
        """Return a section's settings, in their order."""
        return tuple(s for s in self.settings if s.section == section)


@dataclass(slots=True)
class _Reading:
    texts: Mapping[str, bytes]
    prefix: str
    settings: list[Setting] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)
    pools: dict[str, str] = field(default_factory=dict)
    """Name in lower case → as first written."""
    unmatched: list[tuple[str, Origin]] = field(default_factory=list)
    section: str = ""

    def read(self, file: str, depth: int) -> None:
        for item in parsed(self.texts[file], file=file, by_line=True):
            if isinstance(item, Entry):
                setting = Setting(file=file, section=self.section, entry=item)
                self.settings.append(setting)
                if item.name == INCLUDE and item.index is None:
                    self._include(setting, depth)
                continue
            name = item.name
            self.section = GLOBAL if name.lower() == GLOBAL else self._pool(name)
            self.heads.append(Head(file=file, section=self.section, end=item.end))

    def _pool(self, name: str) -> str:
        return self.pools.setdefault(name.lower(), name)

    def _include(self, setting: Setting, depth: int) -> None:
        if depth >= _DEEPEST:
            raise AdapterError(f"includes go too deep ({setting.file}:{setting.entry.line})")
        pattern = posixpath.join(self.prefix, setting.entry.text)
        files = matching(pattern, self.texts)
        if not files:
            self.unmatched.append((pattern, setting.origin))
        for file in files:
            self.read(file, depth + 1)


def pool_configuration(
    texts: Mapping[str, bytes], main: str, *, prefix: str = "/usr"
) -> PoolConfiguration:
    """Return what php-fpm reads from its main file on.

    Args:
        texts: Path → content, of all files.
        main: Its main configuration file.
        prefix: What relative patterns of `include` start from.

    Raises:
        AdapterError: A file is missing or not understood; says file and line.
    """
    if main not in texts:
        raise AdapterError(f"`{main}` is not there")
    reading = _Reading(texts=texts, prefix=prefix)
    reading.read(main, 0)
    return PoolConfiguration(
        settings=tuple(reading.settings),
        heads=tuple(reading.heads),
        pools=tuple(reading.pools.values()),
        unmatched=tuple(reading.unmatched),
    )


def matching(pattern: str, paths: Mapping[str, bytes]) -> list[str]:
    """Return the paths that a pattern of `include` matches, in the order of their names.

    As for a shell, `*` and `?` match neither `/` nor the dot that a name begins with.
    """
    wanted = pattern.split("/")
    return sorted(path for path in paths if _is_match(path.split("/"), wanted))


def _is_match(parts: list[str], wanted: list[str]) -> bool:
    return len(parts) == len(wanted) and all(
        fnmatch.fnmatchcase(part, want) and (not part.startswith(".") or want.startswith("."))
        for part, want in zip(parts, wanted, strict=True)
    )


_SOMEWHERE = ("path=", "host=")


@dataclass(frozen=True, kw_only=True, slots=True)
class IniConfiguration:
    """All settings of the ini files that hold for the whole server, in their order."""

    main: str
    """`php.ini`; empty where there is none."""
    folder: str
    """Where further files are read; empty where none are."""
    settings: tuple[Setting, ...]
    files: tuple[str, ...]
    """Those of the folder that are read, in their order."""

    def last(self, name: str) -> Setting | None:
        """Return the setting of that name that counts; None where nothing sets it."""
        found = [s for s in self.settings if s.entry.name == name and s.entry.index is None]
        return found[-1] if found else None


def ini_configuration(texts: Mapping[str, bytes], main: str, folder: str) -> IniConfiguration:
    """Return what PHP reads of its ini files.

    Args:
        texts: Path → content, of all files.
        main: `php.ini`; empty for none.
        folder: Where files ending in `.ini` are read too; empty for none.

    Raises:
        AdapterError: A line is not understood; says file and line.
    """
    files = tuple(
        sorted(p for p in texts if folder and posixpath.dirname(p) == folder and p.endswith(".ini"))
    )
    settings: list[Setting] = []
    for file in (*([main] if main in texts else []), *files):
        is_everywhere = True
        for item in parsed(texts[file], file=file, by_line=False):
            if isinstance(item, Section):
                is_everywhere = not item.name.lower().startswith(_SOMEWHERE)
            elif is_everywhere and isinstance(item, Entry):
                settings.append(Setting(file=file, section="", entry=item))
    return IniConfiguration(main=main, folder=folder, settings=tuple(settings), files=files)


_PREFIX = "/usr"
"""Compiled into the packages of Debian and RHEL; `-p` is another one."""
_DEEPEST_INCLUDE = 5
_WILD = re.compile(r"[*?\[]")


def prefix_of(member: Member) -> str:
    """Return what relative paths of its configuration start from."""
    return member.prefix or option_of(member.command, "-p", "--prefix") or _PREFIX


def read_files(member: Member) -> MemberFiles:
    """Read the configuration and all that it includes.

    Raises:
        AdapterError: A file is not there, cannot be read or understood; says file and line.
    """
    read = TheirFiles(user=member.user)
    patterns: dict[str, None] = {}
    _read_included(member.main, prefix_of(member), read, patterns, 0)
    # Whoever wrote a file that it does not understand is told now.
    pool_configuration(read.texts, member.main, prefix=prefix_of(member))
    inis, folder = _ini_paths(member, read)
    for path in inis:
        _content(path, read)
    patterns |= {f"{folder}/*.ini": None} if folder else {}
    return MemberFiles(
        texts=read.texts, real=read.real, rights=read.rights, patterns=tuple(patterns)
    )


def pools_of(member: Member, files: MemberFiles) -> PoolConfiguration:
    """Return what php-fpm's own files say.

    Raises:
        AdapterError: A file is missing or not understood; says file and line.
    """
    return pool_configuration(files.texts, member.main, prefix=prefix_of(member))


def ini_of(member: Member, files: MemberFiles) -> IniConfiguration:
    """Return what the ini files say.

    Raises:
        AdapterError: A line is not understood; says file and line.
    """
    return ini_configuration(files.texts, *_ini_place(member, files.texts))


def _ini_place(member: Member, paths: Iterable[str]) -> tuple[str, str]:
    known = set(paths)
    folders = {posixpath.dirname(path) for path in known if path.endswith(".ini")}
    places = ini_places(member.main, program_of(member))
    if named := option_of(member.command, "-c", "--php-ini"):
        is_file = named in known or named.endswith(".ini")
        places = ((named if is_file else posixpath.join(named, "php.ini"), places[0][1]),)
    for php_ini, folder in places:
        if php_ini in known or folder in folders:
            return php_ini, folder
    return places[0]


def _read_included(
    file: str, prefix: str, read: TheirFiles, patterns: dict[str, None], depth: int
) -> None:
    if file in read.texts or depth > _DEEPEST_INCLUDE:
        return
    for item in parsed(_content(file, read), file=file, by_line=True):
        if isinstance(item, Entry) and item.name == INCLUDE and item.index is None:
            pattern = posixpath.join(prefix, item.text)
            if _WILD.search(pattern):
                patterns[pattern] = None
            for found in _on_disk(pattern, read):
                _read_included(found, prefix, read, patterns, depth + 1)


def _on_disk(pattern: str, read: TheirFiles) -> list[str]:
    """Return the files that a pattern matches, as `matching` would among known paths."""
    *folders, last = (part for part in pattern.split("/") if part)
    found = [""]
    for part in folders:
        found = [path for path in _named(found, part, read) if read.is_folder(path)]
    paths = [path for path in _named(found, last, read) if _is_file(path)]
    return matching(pattern, dict.fromkeys(paths, b""))


def _named(folders: Iterable[str], part: str, read: TheirFiles) -> list[str]:
    if not _WILD.search(part):
        return [f"{folder}/{part}" for folder in folders]
    is_like = re.compile(fnmatch.translate(part)).match
    return [f"{f}/{name}" for f in folders for name in read.names(f or "/") if is_like(name)]


def _ini_paths(member: Member, read: TheirFiles) -> tuple[list[str], str]:
    """Return the ini files, and the folder of which all are read; empty where there is none."""
    found: list[str] = []
    places = ini_places(member.main, program_of(member))
    candidates = [p for php_ini, folder in places for p in (php_ini, *_in_folder(folder, read))]
    php_ini, folder = _ini_place(member, [p for p in candidates if _is_file(p)])
    if _is_file(php_ini):
        found.append(php_ini)
    return [*found, *_in_folder(folder, read)], folder


def _in_folder(folder: str, read: TheirFiles) -> list[str]:
    names = [name for name in read.names(folder) if name.endswith(".ini")]
    return sorted(path for name in names if _is_file(path := f"{folder}/{name}"))


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not is_kernels(path)  # noqa: PTH113 - of a text


def _content(file: str, read: TheirFiles) -> bytes:
    try:
        return read.content(file)
    except FileNotFoundError as error:
        raise AdapterError(f"`{file}` is not there") from error
    except OSError as error:
        raise AdapterError(
            f"`{file}` cannot be read: {reason(error)}",
            hint="Run it as a user who may read the server's configuration, such as with `sudo`.",
        ) from error
