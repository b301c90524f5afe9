"""What can be set of php-fpm and of the PHP in it.

What it costs to apply a setting was tried with PHP 8.2: each was changed under a running server
and read back after a reload (USR2). Settings of OPcache's own memory are PHP_INI_SYSTEM. A pool's
`php_admin_value` does not change them, although `ini_get` tells the pool's value then.

Source: the manual of PHP, "php-fpm.conf" (install.fpm.configuration), "OPcache runtime
configuration" (opcache.configuration) and "Runtime configuration" (ini.core).

What php-fpm wants of its settings together. Pure.

`min ≤ start ≤ max_spare ≤ max_children` holds for `pm = dynamic` only: php-fpm does not start
otherwise. What was not asked for is put right and said in a note; what was asked for and cannot
be is refused with the rule.

Source: the manual of PHP, install.fpm.configuration, and php-fpm 8.2's own words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.model import KnobInfo, Level, level_text
from httpdyno.model.rows import rows
from httpdyno.reason import Reason, because
from httpdyno.servers.php_fpm.configuration import truth

SPARE = "pm.spare_servers"
SPARE_PARTS = ("pm.start_servers", "pm.min_spare_servers", "pm.max_spare_servers")
"""What a level of the bundle writes, in the order of its three numbers."""
JIT = "opcache.jit"
JIT_BUFFER = "opcache.jit_buffer_size"
OFF = "off"
_JIT_OFF = frozenset({"", "0", "off", "disable", "no", "false"})
_SIZE = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MANUAL = "php.net/manual/en/"


class PhpKnob(KnobInfo, frozen=True, kw_only=True):
    """A row of `settings.toml`: a knob, and where it is written."""

    place: Literal["pool", "global", "ini"]
    compiled: str | None = None
    """What is compiled in; None where that depends on the version."""
    since: tuple[int, int] = (5, 3)
    """The first PHP that has it."""
    is_per_pool: bool = False
    """Of an ini setting: whether a pool's `php_admin_value` puts it in force."""

    @property
    def info(self) -> KnobInfo:
        """Return what is a knob of it."""
        return self.bare()

    @property
    def is_opcache(self) -> bool:
        """Whether it is nothing without OPcache."""
        return self.name.startswith("opcache.")


KNOBS = {
    name: replace(row, source=_MANUAL + row.source)
    for name, row in rows("httpdyno.servers.php_fpm", "settings.toml", PhpKnob).items()
}


def level_of(knob: KnobInfo, text: str) -> Level | None:
    """Return a setting's text as a level; None where it is none of this knob's."""
    if knob.kind == "boolean":
        return truth(text)
    if knob.kind == "integer":
        seconds = re.fullmatch(r"(-?\d+)s?" if knob.unit == "s" else r"(-?\d+)", text.strip())
        return int(seconds[1]) if seconds else None
    return text


def size_bytes(text: str) -> int | None:
    """Return a size such as `64M` in bytes; None where it is none."""
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) * _FACTOR[match[2].lower()] if match else None


def jit_text(kind: str, buffer: str) -> str:
    """Return what two settings make of the compiler, as a level of `opcache.jit`."""
    if kind.strip().lower() in _JIT_OFF or not size_bytes(buffer):
        return OFF
    return f"{kind.strip().lower()}/{buffer.strip()}"


def is_same(name: str, one: str, other: str) -> bool:
    """Whether two texts of a knob mean the same to PHP."""
    if one == other:
        return True
    info = KNOBS[name].info
    if info.kind == "boolean":
        return truth(one) is not None and truth(one) is truth(other)
    if name == JIT:
        return jit_parts(one) is not None and jit_parts(one) == jit_parts(other)
    if name == "realpath_cache_size":
        return size_bytes(one) is not None and size_bytes(one) == size_bytes(other)
    return level_of(info, one) is not None and level_of(info, one) == level_of(info, other)


def jit_parts(text: str) -> tuple[str, int] | None:
    """Return kind and bytes of a level of `opcache.jit`; None where it is none."""
    if text.lower() == OFF:
        return OFF, 0
    kind, slash, buffer = text.partition("/")
    n_bytes = size_bytes(buffer)
    if not slash or not n_bytes or not re.fullmatch(r"tracing|function|on|\d{4}", kind.lower()):
        return None
    # `on` is PHP's other word for it.
    return ("tracing" if kind.lower() == "on" else kind.lower()), n_bytes


def spare_parts(text: str) -> tuple[int, int, int] | None:
    """Return start, fewest idle and most idle of a level of the bundle; None where it is none."""
    match = re.fullmatch(r"(\d+)/(\d+)/(\d+)", text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolValues:
    """Settings of one pool that go together, as texts: as found, and as asked for."""

    found: Mapping[str, str]
    asked: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return what is to be in force; empty where nothing says it."""
        return self.asked.get(name, self.found.get(name, ""))

    @property
    def changed(self) -> frozenset[str]:
        """What is asked for and not as found."""
        return frozenset(n for n, text in self.asked.items() if text != self.found.get(n))


def check(name: str, level: Level) -> None:
    """Refuse what a knob cannot have, whatever else is set.

    Raises:
        ValueError: With what was expected: `a size, such as 4M`.
    """
    knob = KNOBS.get(name)
    if knob is None:
        raise ValueError(f"one of {', '.join(KNOBS)}")
    knob.info.check(level)
    text = level_text(level)
    if name == SPARE and spare_parts(text) is None:
        raise ValueError("three numbers, such as 2/1/3")
    if name == JIT and jit_parts(text) is None:
        raise ValueError("off, or kind and memory, such as tracing/64M")
    if name == "realpath_cache_size" and size_bytes(text) is None:
        raise ValueError("a size, such as 4M")


def spare_companion(values: PoolValues, pool: str) -> tuple[tuple[int, int, int], Reason] | None:
    """Return the idle children to write besides what was asked, and why; None when none.

    Raises:
        AdapterError: What was asked for contradicts itself.
    """
    most_children = values.text("pm.max_children")
    if values.text("pm") != "dynamic" or not most_children.isdecimal():
        return None
    n_children = int(most_children)
    parts = spare_parts(values.text(SPARE))
    if parts is not None and _is_good(parts, n_children):
        return None
    if SPARE in values.changed:
        raise AdapterError(
            f"`{SPARE}` {values.text(SPARE)} cannot be with `pm.max_children` {n_children} "
            f"(pool `{pool}`): start, fewest and most idle children are at least 1, "
            "fewest ≤ start ≤ most ≤ max_children"
        )
    new = _fitting(parts, n_children)
    return new, because(
        "php_fpm.other_spare",
        name=SPARE,
        pool=pool,
        new="/".join(map(str, new)),
        was=values.text(SPARE),
        n=n_children,
    )


def _is_good(parts: tuple[int, int, int], n_children: int) -> bool:
    start, least, most = parts
    return 1 <= least <= start <= most <= n_children


def _fitting(parts: tuple[int, int, int] | None, n_children: int) -> tuple[int, int, int]:
    """Return the nearest that php-fpm takes; a quarter to a half where there was none."""
    if parts is None or 0 in parts:
        quarter = max(1, n_children // 4)
        return quarter, quarter, max(quarter, n_children // 2)
    start, least, most = parts
    most = min(most, n_children)
    least = min(least, most)
    return min(max(start, least), most), least, most
