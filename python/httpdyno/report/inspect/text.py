"""What runs here, as text: a paragraph for each server, labels at the left."""

import shlex
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.model import Listener, Reading, level_text
from httpdyno.report.inspect.census_text import CENSUS_LABEL, census_row, census_tables
from httpdyno.report.inspect.finding import RULE_SEVERITIES, Finding
from httpdyno.report.inspect.loaded_beside import BESIDE_LABELS
from httpdyno.report.inspect.loaded_text import LOADED_LABELS, loaded_rows, room_at_end
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.pool_text import (
    POOL_LABELS,
    age,
    detail_rows,
    memory_row,
    worker_table,
)
from httpdyno.report.inspect.proof import proofs
from httpdyno.report.shared.phrase import plural
from httpdyno.report.shared.prose import Prose

_LABEL_WIDTH = 18
_N_SETTINGS = 16
"""So many are shown; JSON has all of them."""
_N_HINTS = 6
"""So many are shown; JSON has all of them."""
_FINDING = "!"
_STYLES = {"bad": "red", "hint": "cyan"}
LABELS = (
    *("runs", "listens", "hosts", "serves", "log", "set", "limits", "files"),
    *POOL_LABELS,
    CENSUS_LABEL,
    *LOADED_LABELS,
    *BESIDE_LABELS,
    *("bad", "doubtful", "hint"),
    _FINDING,
)
"""Of the rows of a server."""
_LONGEST_NAME = 20
"""Of a log's format; what is longer is the format itself."""


def inspect_text(page: Page) -> RenderableType:
    """Return a paragraph for each server, and whether private copies are possible."""
    if not page.servers and not page.passed_over:
        return Text("no server of a known kind runs here, and none is configured")
    parts: list[RenderableType] = []
    for server in page.servers:
        parts.append(_paragraph(server, page.now_s))
        if server.is_named and server.observed is not None:
            parts += [Text(""), worker_table(server.observed, server.served)]
        for table in census_tables(server.asked) if server.asked else ():
            parts += [Text(""), table]
        parts.append(Text(""))
    if last := [*_passed_over(page), *_proven(page), *_copied(page)]:
        parts.append(_table(last))
    else:
        parts.pop()
    return Group(*parts)


def _passed_over(page: Page) -> Iterator[tuple[str, str]]:
    for user, n in page.passed_over:
        yield "not looked at", f"… {n:,} more of {user}, whose other processes took too long"


def _proven(page: Page) -> Iterator[tuple[str, str]]:
    for proof in proofs(page):
        tried = ", ".join(f"{each.knob}={level_text(each.value)}" for each in proof.tried)
        yield (
            "to prove it",
            f"`{shlex.join(proof.command)}`, then `httpdyno tune` of the study that it writes; "
            f"tried: {tried}",
        )


def _copied(page: Page) -> Iterator[tuple[str, str]]:
    reason = page.isolation_reason
    if page.isolation:
        yield "a private copy", f"possible: {page.isolation}{f' ({reason})' if reason else ''}"
    elif reason:
        yield "a private copy", f"not possible: {reason}"


def _paragraph(server: Server, now_s: float) -> Table:
    seen, member = server.seen, server.seen.found.member
    table = _table([])
    title = f"{member.kind} {seen.version}".strip()
    what = member.main or " ".join(member.command) or "(its main file is not known)"
    table.add_row(Text(title, "bold"), Prose(Text(what, "cyan")))
    for label, value in _rows(server, now_s):
        table.add_row(Text(f"  {label}", "dim"), Prose(Text(value)))
    hints = [each for each in server.findings if each.severity == "hint"]
    for finding in server.findings:
        if finding not in hints[_N_HINTS:]:
            table.add_row(_mark(finding), Prose(_said(finding)))
    if (more := len(hints) - _N_HINTS) > 0:
        table.add_row(_mark(hints[0]), f"and {more:,} more (`--json -` has all)")
    return table


def _mark(finding: Finding) -> Text:
    """Return what stands at its left: a rule's severity, of others a mark."""
    is_rule = finding.severity in RULE_SEVERITIES
    word = finding.severity if is_rule else _FINDING
    return Text(f"  {word}", _STYLES.get(finding.severity, "yellow"))


def _said(finding: Finding) -> Text:
    # By its name a rule is found in the manual.
    name = f" [{finding.name}]" if finding.severity in RULE_SEVERITIES else ""
    return Text.assemble(str(finding), (name, "dim"))


def _table(rows: list[tuple[str, str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(min_width=_LABEL_WIDTH, no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in rows:
        table.add_row(Text(label), Prose(Text(value)))
    return table


def _rows(server: Server, now_s: float) -> Iterator[tuple[str, str]]:
    survey = server.seen.survey
    yield "runs", _running(server, now_s)
    if listens := _listens(server):
        yield "listens", listens
    listeners = survey.listeners if survey else ()
    if names := dict.fromkeys(name for each in listeners for name in each.names):
        yield "hosts", ", ".join(names)
    if server.backends:
        yield (
            "serves",
            "; ".join(f"→ {to} ({by})" if by else f"→ {to}" for to, by in server.backends),
        )
    # Each scope that names a log has it once more.
    logs = dict.fromkeys((e.path, e.log_format) for e in (survey.logs if survey else ()))
    for path, log_format in logs:
        is_named = len(log_format) <= _LONGEST_NAME
        yield "log", f"{path}  {log_format if is_named else 'own format'}"
    if settings := _settings(server):
        yield "set", settings
    yield from _bounds(server)


def _bounds(server: Server) -> Iterator[tuple[str, str]]:
    seen, found = server.seen, server.seen.found
    limits = [f"{name}={value}" for name, value in (found.unit.limits if found.unit else ())]
    if found.open_files_limit:
        limits.insert(0, f"open files {found.open_files_limit}")
    if limits:
        yield "limits", ", ".join(limits)
    if server.observed is not None:
        yield "memory", memory_row(server.observed)
        if server.is_named:
            at_end = tuple(room_at_end(server.loaded)) if server.loaded else ()
            yield from detail_rows(server.observed, at_end)
    if server.asked is not None:
        yield CENSUS_LABEL, census_row(server.asked)
    if server.loaded is not None:
        yield from loaded_rows(server.loaded)
    if seen.n_files:
        yield "files", f"{plural(seen.n_files, 'file')} read, {plural(len(seen.knobs), 'knob')}"


def _running(server: Server, now_s: float) -> str:
    found = server.seen.found
    if found.root is None:
        return f"not now; unit {found.member.unit}" if found.member.unit else "not now"
    n = len(found.below)
    children = f", {n:,} {'child' if n == 1 else 'children'}" if n else ""
    user = f" of {found.root.user}" if found.root.user else ""
    unit = f"; unit {found.member.unit}" if found.member.unit else ""
    since = age(now_s - found.root.started_at_s)
    beside = ", ".join(f"{each.name} ({each.pid})" for each in found.beside)
    if beside:
        is_or_are = "is" if len(found.beside) == 1 else "are"
        beside = f"; {beside} of its unit {is_or_are} not below it, and in no figure"
    return f"process {found.root.pid}{user}{children}, for {since}{unit}{beside}"


def _listens(server: Server) -> str:
    survey = server.seen.survey
    configured = {each.address: each for each in survey.listeners} if survey else {}
    actual = [each.address for each in server.seen.found.listens]
    shown = [_listener(address, configured.get(address)) for address in dict.fromkeys(actual)]
    absent = [address for address in configured if address not in actual]
    if server.seen.found.root is None:
        return ", ".join(_listener(address, configured[address]) for address in absent)
    if absent and not server.seen.found.hidden:
        shown.append(f"configured, but not listened at: {', '.join(absent)}")
    return ", ".join(shown)


def _listener(address: str, configured: Listener | None) -> str:
    return f"{address} (TLS)" if configured and configured.is_tls else address


def _settings(server: Server) -> str:
    survey = server.seen.survey
    if survey is None:
        return ""
    set_there = [each for each in survey.readings if each.origin is not None]
    knobs = {*server.seen.knobs}
    # What can be tuned is what people look for; the rest is in JSON.
    set_there = [each for each in set_there if _name(each) in knobs] or set_there
    shown = [_setting(each) for each in set_there[:_N_SETTINGS]]
    if len(set_there) > _N_SETTINGS:
        shown.append(f"and {len(set_there) - _N_SETTINGS:,} more (`--json -` has all)")
    return ", ".join(shown)


def _setting(reading: Reading) -> str:
    return f"{_name(reading)} {reading.text}"


def _name(reading: Reading) -> str:
    return f"{reading.name}@{reading.scope}" if reading.scope else reading.name
