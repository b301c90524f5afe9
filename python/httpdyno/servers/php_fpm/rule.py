"""What php-fpm wants of its settings together. Pure.

`min ≤ start ≤ max_spare ≤ max_children` holds for `pm = dynamic` only: php-fpm does not start
otherwise. What was not asked for is put right and said in a note; what was asked for and cannot
be is refused with the rule.

Source: the manual of PHP, install.fpm.configuration, and php-fpm 8.2's own words.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.model import Level, level_text
from httpdyno.servers.php_fpm.knob import JIT, KNOBS, SPARE, jit_parts, size_bytes, spare_parts

_RULE = "start, fewest and most idle children are at least 1, fewest ≤ start ≤ most ≤ max_children"


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


def complaint(name: str, level: Level) -> str:
    """Return what is wrong with a knob's level alone; empty when nothing is."""
    knob = KNOBS.get(name)
    if knob is None:
        return f"expected one of {', '.join(KNOBS)}"
    words = knob.info.complaint(level)
    text = level_text(level)
    if words:
        return words
    if name == SPARE and spare_parts(text) is None:
        return "expected three numbers, such as 2/1/3"
    if name == JIT and jit_parts(text) is None:
        return "expected off, or kind and memory, such as tracing/64M"
    if name == "realpath_cache_size" and size_bytes(text) is None:
        return "expected a size, such as 4M"
    return ""


def spare_companion(values: PoolValues, pool: str) -> tuple[str, str]:
    """Return the idle children to write besides what was asked, and why; empty when none.

    Raises:
        AdapterError: What was asked for contradicts itself.
    """
    most_children = values.text("pm.max_children")
    if values.text("pm") != "dynamic" or not most_children.isdecimal():
        return "", ""
    n_children = int(most_children)
    parts = spare_parts(values.text(SPARE))
    if parts is not None and _is_good(parts, n_children):
        return "", ""
    if SPARE in values.changed:
        raise AdapterError(
            f"`{SPARE}` {values.text(SPARE)} cannot be with `pm.max_children` {n_children} "
            f"(pool `{pool}`): {_RULE}"
        )
    new = _fitting(parts, n_children)
    text = "/".join(map(str, new))
    was = values.text(SPARE)
    return text, (
        f"`{SPARE}` of pool `{pool}` becomes {text} (was {was}), since php-fpm does not start "
        f"with {was} and `pm.max_children` {n_children}"
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
