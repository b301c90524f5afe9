"""What can be set of php-fpm and of the PHP in it.

What it costs to apply a setting was tried with PHP 8.2: each was changed under a running server
and read back after a reload (USR2). Settings of OPcache's own memory are PHP_INI_SYSTEM. A pool's
`php_admin_value` does not change them, although `ini_get` tells the pool's value then.

Source: the manual of PHP, "php-fpm.conf" (install.fpm.configuration), "OPcache runtime
configuration" (opcache.configuration) and "Runtime configuration" (ini.core).
"""

import re
from dataclasses import dataclass
from typing import Literal

from httpdyno.model import KnobInfo, Level
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
_FPM = "php.net/manual/en/install.fpm.configuration.php#"
_OPCACHE = "php.net/manual/en/opcache.configuration.php#ini."
_CORE = "php.net/manual/en/ini.core.php#ini."


@dataclass(frozen=True, kw_only=True, slots=True)
class PhpKnob:
    """A knob, and where it is written."""

    info: KnobInfo
    place: Literal["pool", "global", "ini"]
    default: str | None
    """What is compiled in; None where that depends on the version."""
    since: tuple[int, int] = (5, 3)
    """The first PHP that has it."""
    is_per_pool: bool = False
    """Of an ini setting: whether a pool's `php_admin_value` puts it in force."""

    @property
    def is_opcache(self) -> bool:
        """Whether it is nothing without OPcache."""
        return self.info.name.startswith("opcache.")


def _pool(info: KnobInfo, default: str | None, since: tuple[int, int] = (5, 3)) -> PhpKnob:
    return PhpKnob(info=info, place="pool", default=default, since=since)


_DECLARED = (
    _pool(
        KnobInfo(
            name="pm",
            summary="how many children run: always all, as many as are busy, or only when asked",
            kind="choice",
            choices=("static", "dynamic", "ondemand"),
            cost="reload",
            effect="memory",
            evidence="said",
            changes_at_rest=True,
            source=f"{_FPM}pm",
        ),
        None,
    ),
    _pool(
        KnobInfo(
            name="pm.max_children",
            summary="most requests that are answered at once, a process each",
            kind="integer",
            minimum=1,
            maximum=100_000,
            scale="log",
            cost="reload",
            effect="memory",
            risk="each child has memory of its own; too many, and the machine swaps",
            source=f"{_FPM}pm.max-children",
            pool="workers",
        ),
        None,
    ),
    _pool(
        KnobInfo(
            name=SPARE,
            summary="children at the start, fewest idle, most idle, such as 2/1/3 (`pm = dynamic`)",
            kind="text",
            scale="log",
            cost="reload",
            effect="memory",
            changes_at_rest=True,
            source=f"{_FPM}pm.start-servers",
        ),
        None,
    ),
    _pool(
        KnobInfo(
            name="pm.max_requests",
            summary="requests after which a child is replaced; 0 is never",
            kind="integer",
            minimum=0,
            maximum=1_000_000_000,
            scale="log",
            cost="reload",
            risk="with 0 a leak grows for ever",
            source=f"{_FPM}pm.max-requests",
            pool="requests",
        ),
        "0",
    ),
    _pool(
        KnobInfo(
            name="pm.max_spawn_rate",
            summary="most children that are started in one second",
            kind="integer",
            minimum=1,
            maximum=100_000,
            scale="log",
            cost="reload",
            source=f"{_FPM}pm.max-spawn-rate",
        ),
        "32",
        (8, 1),
    ),
    _pool(
        KnobInfo(
            name="listen.backlog",
            summary="connections that may wait for a child; -1 is all that the kernel allows",
            kind="integer",
            minimum=-1,
            maximum=65_535,
            scale="log",
            cost="restart",
            evidence="seen",
            source=f"{_FPM}listen-backlog",
        ),
        None,
    ),
    PhpKnob(
        info=KnobInfo(
            name="process_control_timeout",
            summary="how long a reload waits for requests under way",
            kind="integer",
            unit="s",
            minimum=0,
            maximum=86_400,
            cost="reload",
            risk="no speed: with 0 a reload cuts off what is under way",
            source=f"{_FPM}process-control-timeout",
        ),
        place="global",
        default="0",
    ),
)


def _ini(
    info: KnobInfo,
    default: str | None,
    *,
    is_per_pool: bool = False,
    since: tuple[int, int] = (5, 5),
) -> PhpKnob:
    return PhpKnob(info=info, place="ini", default=default, is_per_pool=is_per_pool, since=since)


_INI = (
    _ini(
        KnobInfo(
            name="opcache.enable",
            summary="keep compiled scripts in memory that all children share",
            kind="boolean",
            cost="reload",
            effect="memory",
            evidence="said",
            source=f"{_OPCACHE}opcache.enable",
        ),
        "1",
        is_per_pool=True,
    ),
    _ini(
        KnobInfo(
            name="opcache.memory_consumption",
            summary="memory for compiled scripts",
            kind="integer",
            unit="MB",
            minimum=8,
            maximum=1 << 20,
            scale="log",
            cost="reload",
            effect="memory",
            evidence="said",
            source=f"{_OPCACHE}opcache.memory-consumption",
        ),
        "128",
    ),
    _ini(
        KnobInfo(
            name="opcache.interned_strings_buffer",
            summary="memory for texts that scripts have in common",
            kind="integer",
            unit="MB",
            minimum=0,
            maximum=1 << 12,
            scale="log",
            cost="reload",
            effect="memory",
            evidence="said",
            source=f"{_OPCACHE}opcache.interned-strings-buffer",
        ),
        "8",
    ),
    _ini(
        KnobInfo(
            name="opcache.max_accelerated_files",
            summary="scripts that are kept at most",
            kind="integer",
            minimum=200,
            maximum=1_000_000,
            scale="log",
            cost="reload",
            effect="memory",
            evidence="said",
            source=f"{_OPCACHE}opcache.max-accelerated-files",
        ),
        "10000",
    ),
    _ini(
        KnobInfo(
            name="opcache.revalidate_freq",
            summary="how long a script's file is not looked at again",
            kind="integer",
            unit="s",
            minimum=0,
            maximum=86_400,
            scale="log",
            cost="reload",
            effect="stale",
            risk="a changed script is answered as it was for so long",
            evidence="said",
            source=f"{_OPCACHE}opcache.revalidate-freq",
        ),
        "2",
        is_per_pool=True,
    ),
    _ini(
        KnobInfo(
            name="opcache.validate_timestamps",
            summary="look whether scripts were changed",
            kind="boolean",
            cost="reload",
            effect="stale",
            risk="without it a changed script is not seen before a reload: deploys must reload",
            evidence="said",
            source=f"{_OPCACHE}opcache.validate-timestamps",
        ),
        "1",
        is_per_pool=True,
    ),
    _ini(
        KnobInfo(
            name=JIT,
            summary="compile to machine code: off, or kind and memory, such as tracing/64M",
            kind="text",
            cost="reload",
            risk="rarely compiled wrong; not with debuggers",
            evidence="said",
            source=f"{_OPCACHE}opcache.jit",
        ),
        None,
        since=(8, 0),
    ),
    _ini(
        KnobInfo(
            name="realpath_cache_size",
            summary="memory of each child for the real paths of files",
            kind="text",
            scale="log",
            cost="reload",
            effect="memory",
            evidence="said",
            source=f"{_CORE}realpath-cache-size",
        ),
        "4096K",
        is_per_pool=True,
    ),
    _ini(
        KnobInfo(
            name="realpath_cache_ttl",
            summary="how long a real path is kept",
            kind="integer",
            unit="s",
            minimum=0,
            maximum=86_400,
            scale="log",
            cost="reload",
            effect="stale",
            risk="a link that was changed leads to the old file for so long",
            evidence="said",
            source=f"{_CORE}realpath-cache-ttl",
        ),
        "120",
        is_per_pool=True,
    ),
    _ini(
        KnobInfo(
            name="zend.assertions",
            summary="whether assertions are compiled: -1 not at all, 0 not evaluated, 1 evaluated",
            kind="integer",
            minimum=-1,
            maximum=1,
            cost="reload",
            evidence="said",
            source=f"{_CORE}zend.assertions",
        ),
        "1",
        since=(7, 0),
    ),
)

KNOBS = {knob.info.name: knob for knob in (*_DECLARED, *_INI)}


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
