"""The manual of nginx's knobs says what the program has."""

from pathlib import Path

import httpdyno
from httpdyno.model import KnobInfo, level_text
from httpdyno.servers.nginx.catalogue import TUNABLES

MANUAL = Path(httpdyno.__file__).parents[2] / "docs/nginx.md"


def values(info: KnobInfo) -> str:
    if info.kind == "boolean":
        return "`false`, `true`"
    if info.choices:
        return ", ".join(f"`{choice}`" for choice in info.choices)
    if info.minimum is None or info.maximum is None:
        return "text"
    unit = {"s": " s", "bytes": " bytes"}.get(info.unit, "")
    return f"{info.minimum:,.0f} … {info.maximum:,.0f}{unit}"


def table() -> str:
    lines = ["| knob | what it is | values | default | effect | seen |", "| --- " * 6 + "|"]
    for name, each in TUNABLES.items():
        info = each.info
        default = "–" if info.default is None else f"`{level_text(info.default)}`"
        seen = "yes" if info.evidence == "seen" else ""
        what = f"{info.summary}. *{info.risk}*" if info.risk else info.summary
        cells = (f"`{name}`", what, values(info), default, info.effect, seen)
        lines.append(f"| {' | '.join(cells)} |".replace("|  |", "| |"))
    return "\n".join(lines)


def test_the_manual_has_every_knob_as_it_is():
    assert f"\n{table()}\n" in MANUAL.read_text(encoding="utf-8"), table()
