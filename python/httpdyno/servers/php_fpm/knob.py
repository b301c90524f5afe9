"""What can be set of php-fpm and of the PHP in it.

What it costs to apply a setting was tried with PHP 8.2: each was changed under a running server
and read back after a reload (USR2). Settings of OPcache's own memory are PHP_INI_SYSTEM. A pool's
`php_admin_value` does not change them, although `ini_get` tells the pool's value then.

Source: the manual of PHP, "php-fpm.conf" (install.fpm.configuration), "OPcache runtime
configuration" (opcache.configuration) and "Runtime configuration" (ini.core).
"""

import re
from typing import Literal

from msgspec.structs import replace

from httpdyno.model import KnobInfo, Level
from httpdyno.model.rows import rows
from httpdyno.servers.php_fpm.ini import truth

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
