"""php-fpm's configuration as its files say it: sections, what is in force of them, and where. Pure.

Tried with PHP 8.2: `include` is followed where it stands, its files in the order of their names;
the section that was open in the last of them goes on after it; a section that comes again
continues; of a setting that comes again the last counts, but of `php_value[x]`, `env[x]` and their
like the first; and `php_admin_value` counts before `php_value`.
"""

import fnmatch
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from httpdyno.errors import AdapterError
from httpdyno.model import Origin
from httpdyno.servers.php_fpm.ini import Entry, parsed

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
