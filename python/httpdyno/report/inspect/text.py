"""What runs here, as text: a paragraph for each server, labels at the left."""

import shlex
import statistics
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.advice.curve import ALIKE_RATIO, MOST_LOST_RATIO, HighWater, LifeRow, PrivateCurve
from httpdyno.model import Listener, Reading, level_text
from httpdyno.report.inspect.facts import Asked
from httpdyno.report.inspect.finding import RULE_SEVERITIES, Finding
from httpdyno.report.inspect.loaded import Loaded, Times
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.proof import proofs
from httpdyno.report.shared import message
from httpdyno.report.shared.bottleneck import WHAT_LIMITED, WHAT_MAY_HELP, behind_text, verdict_rows
from httpdyno.report.shared.interval import bounded_text
from httpdyno.report.shared.log_text import log_texts
from httpdyno.report.shared.message import texts
from httpdyno.report.shared.phrase import NOTHING, age_text, oxford, plural
from httpdyno.report.shared.unseen import BOUNDS, COUNTERS, unseen_disk, why_text
from httpdyno.report.shared.view import Grid, labelled, table_of
from httpdyno.telemetry.kernel import HostMemory, Sockets
from httpdyno.telemetry.observed import Observed, WorkerReading
from httpdyno.telemetry.pool import RESERVE_RATIO, MemoryBound, rss_bytes, size
from httpdyno.telemetry.syscalls.count import KindCalls, PerRequest, SyscallProfile
from httpdyno.telemetry.syscalls.trace import Kind
from httpdyno.telemetry.worker import Worker, is_of_memory
from httpdyno.units import (
    format_bytes,
    format_duration,
    format_percent,
    format_rate,
)

_LABEL_WIDTH = 18
_NAME_WIDTH = 16
_N_SETTINGS = 16
"""So many are shown; JSON has all of them."""
_N_HINTS = 6
"""So many are shown; JSON has all of them."""
_FINDING = "!"
_INDENT = "  "
_STYLES = {"bad": "red", "hint": "cyan"}
LABELS = (
    *("runs", "listens", "hosts", "serves", "log", "set", "limits", "files"),
    *("memory", "room", "formulas", "queue", "pressure", "calls"),
    *("loaded", WHAT_LIMITED, WHAT_MAY_HELP, "samples", "answers", "disk", "run queue", "zombies"),
    *("errors", "aged", "growth", "unshares", "life", "together", "fattens"),
    *("bad", "doubtful", "hint", _FINDING),
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
        parts.append(labelled(last, width=_LABEL_WIDTH))
    else:
        parts.pop()
    return Group(*parts)


def _passed_over(page: Page) -> Iterator[tuple[str, str]]:
    for user, n in page.passed_over:
        yield "skipped", f"{n:,} more processes of {user}: the others took too long to read"


def _proven(page: Page) -> Iterator[tuple[str, str]]:
    for proof in proofs(page):
        tried = ", ".join(f"{each.knob}={level_text(each.value)}" for each in proof.tried)
        yield (
            "to prove it",
            f"`{shlex.join(proof.command)}`, then `httpdyno tune` of the study that it writes; "
            f"tried: {tried}",
        )


def _copied(page: Page) -> Iterator[tuple[str, str]]:
    reason = message.text(page.isolation_reason) if page.isolation_reason else ""
    if page.isolation:
        yield "a private copy", f"possible: {page.isolation}{f' ({reason})' if reason else ''}"
    elif reason:
        yield "a private copy", f"not possible: {reason}"


def _paragraph(server: Server, now_s: float) -> Table:
    seen, member = server.seen, server.seen.found.member
    title = Text(f"{member.kind} {seen.version}".strip(), "bold")
    what = member.main or " ".join(member.command) or "(main file unknown)"
    rows: list[tuple[str | Text, str | Text]] = [(title, Text(what, "cyan"))]
    rows += [(Text(f"  {label}", "dim"), value) for label, value in _rows(server, now_s)]
    hints = [each for each in server.findings if each.severity == "hint"]
    rows += [(_mark(each), _said(each)) for each in server.findings if each not in hints[_N_HINTS:]]
    if (more := len(hints) - _N_HINTS) > 0:
        rows.append((_mark(hints[0]), f"and {more:,} more (`--json -` has all)"))
    return labelled(rows, width=_LABEL_WIDTH)


def _mark(finding: Finding) -> Text:
    """Return what stands at its left: a rule's severity, of others a mark."""
    is_rule = finding.severity in RULE_SEVERITIES
    word = finding.severity if is_rule else _FINDING
    return Text(f"  {word}", _STYLES.get(finding.severity, "yellow"))


def _said(finding: Finding) -> Text:
    # By its name a rule is found in the manual.
    name = f" [{finding.name}]" if finding.severity in RULE_SEVERITIES else ""
    return Text.assemble(str(finding), (name, "dim"))


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


def _below(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table that stands below a paragraph."""
    return table_of(Grid(head=head, rows=rows), indent=_INDENT, least=_NAME_WIDTH)


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
        yield "calls", census_row(server.asked)
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
    since = age_text(now_s - found.root.started_at_s)
    beside = ", ".join(f"{each.name} ({each.pid})" for each in found.beside)
    if beside:
        is_or_are = "is" if len(found.beside) == 1 else "are"
        beside = f"; {beside} of its unit {is_or_are} not below the parent; not counted"
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


# What its processes occupy, each of them, and how many more fit.

N_WORKERS = 20
"""So many have a line of their own; JSON has all of them."""
_HEAD = ("own", "PSS", "shared", "RSS", "CPU", "age")
_SERVED = "requests"


def memory_row(observed: Observed) -> str:
    """Return what all of them occupy, and what resident sizes would have said."""
    pool = observed.pool
    n = sum(pool.states.values()) - len(pool.zombies)
    processes = plural(n, "process") if n == 1 else f"{n:,} processes"
    resident = f"RSS {'is' if n == 1 else 'adds up to'} {format_bytes(pool.rss_bytes)}"
    if pool.pss_bytes is None or pool.uss_bytes is None or pool.shared_bytes is None:
        reasons = texts([*filter(is_of_memory, observed.hidden)])
        of = "" if pool.n_hidden == n else f" (of {pool.n_hidden:,})"
        return f"{processes}, {', '.join(reasons)}{of}; {resident}"
    if n == 1:
        return f"{format_bytes(pool.pss_bytes)} in {processes}; {resident}"
    return (
        f"{format_bytes(pool.pss_bytes)} in {processes}: {format_bytes(pool.uss_bytes)} of their "
        f"own and {format_bytes(pool.shared_bytes)} shared; {resident}"
    )


def detail_rows(observed: Observed, at_end: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield what is said of a server that somebody named.

    Args:
        observed: Its processes.
        at_end: How many workers fit at the ends of their lives, where that was looked at.
    """
    if observed.bound is not None:
        yield "room", "; ".join([_room(observed.bound), *at_end])
        yield "formulas", _formulas(observed.bound)
    elif observed.no_bound:
        yield "room", why_text(observed.no_bound)
    if observed.sockets is not None and (queue := _queue(observed.sockets)):
        yield "queue", queue
    yield "pressure", _pressure(observed.host)


def worker_table(observed: Observed, served: Mapping[int, int] | None = None) -> Table:
    """Return a table of the parent, the workers with most memory of their own, and the rest.

    Args:
        observed: All of them.
        served: Requests since it began, by pid, of those of whom it is known; of nobody without a
            column for it.
    """
    living = [each for each in observed.workers if not each.is_zombie]
    parents = [each for each in living if each.pid == observed.root_pid]
    workers = sorted((each for each in living if each not in parents), key=size, reverse=True)
    shown = [([each], f"{each.pid} {each.name}", age_text(each.age_s)) for each in parents]
    shown += [
        ([each], f"{each.pid} {each.name}", age_text(each.age_s)) for each in workers[:N_WORKERS]
    ]
    if rest := workers[N_WORKERS:]:
        shown.append((rest, f"{len(rest):,} more", ""))
    rows = [(name, *_figures(each), age, *_served(each, served)) for each, name, age in shown]
    head = ("  process", *_HEAD, *([_SERVED] if served else []))
    return _below(head, rows)


def _served(workers: Sequence[Worker], served: Mapping[int, int] | None) -> list[str]:
    if not served:
        return []
    known = [served[each.pid] for each in workers if each.pid in served]
    return [f"{sum(known):,}" if known else NOTHING]


def _figures(workers: Sequence[Worker]) -> tuple[str, ...]:
    """Return their sums, for all columns but the last."""
    known = [each.memory for each in workers if each.memory is not None]
    cpu_s = sum(each.cpu_s for each in workers)
    resident = format_bytes(sum(map(rss_bytes, workers)))
    cpu = f"{cpu_s:,.2f} s"
    if len(known) < len(workers):
        return (NOTHING, NOTHING, NOTHING, resident, cpu)
    return (
        format_bytes(sum(each.uss_bytes for each in known)),
        format_bytes(sum(each.pss_bytes for each in known)),
        format_bytes(sum(each.shared_bytes for each in known)),
        resident,
        cpu,
    )


def _room(bound: MemoryBound) -> str:
    whole = format_bytes(bound.available_bytes)
    reserve = f"{format_percent(RESERVE_RATIO)} of {whole} ({BOUNDS[bound.limited_by]}) in reserve"
    if bound.n is None:
        return f"no worker has memory of its own; {reserve}"
    room = format_bytes(bound.available_bytes - bound.reserve_bytes)
    each = f"{format_bytes(bound.each_bytes)}, the largest worker's own"
    if bound.kernel_bytes:
        own, kernel = format_bytes(bound.each_bytes), format_bytes(bound.kernel_bytes)
        each = f"({own}, the largest worker's own, + {kernel} of the kernel for it)"
    return (
        f"{plural(bound.n, 'worker')}: ({room} − {format_bytes(bound.once_bytes)} counted "
        f"once) / {each}; {reserve}"
    )


def _formulas(bound: MemoryBound) -> str:
    said = (
        ("T / RSS", bound.n_by_rss),
        ("(T − child)/(child − shared)", bound.n_by_child),
        ("(T − shared)/(child − shared)", bound.n_by_shared),
        ("(T − parent's PSS)/own", bound.n_by_parent),
    )
    return ", ".join(f"{name} {n:,}" for name, n in said if n is not None)


def _queue(sockets: Sockets) -> str:
    said = [
        f"{each.address} {each.waiting:,} of {each.backlog:,} waiting" for each in sockets.queues
    ]
    said += [f"{n:,} {state}" for state, n in sorted(sockets.states.items())]
    if sockets.overflows is not None:
        said.append(f"{plural(sockets.overflows, 'overflow')} in its network so far")
    return ", ".join([*said, *texts(sockets.hidden)])


def _pressure(host: HostMemory) -> str:
    waited = [
        f"{name} {format_percent(each.some_ratio)}" for name, each in sorted(host.pressure.items())
    ]
    waited = [f"tasks waited for {', '.join(waited)} of the last 10 s"] if waited else []
    return "; ".join([*waited, f"{plural(host.swap_ins, 'page')} read back from swap so far"])


# System calls per request.

N_FILES = 15
"""So many files have a line of their own; JSON has more."""
_N_NAMES = 8


def census_row(asked: Asked) -> str:
    """Return what a request takes, of whom it is said, and what that may not be."""
    census = asked.census
    answers = ", ".join(f"{n:,} with {status}" for status, n in asked.answers)
    said = [
        f"{_figure(census.total)} for each request of {asked.url}, "
        + (
            f"the same in all {census.n_requests:,}"
            if census.is_same
            else f"{census.total.low:,} … {census.total.high:,} in {census.n_requests:,}"
        ),
        f"plus {_figure(census.connection)} for its connection",
        f"answered: {answers}",
        f"{_traced(census)}, at rest {plural(census.rest_calls, 'call')} in {census.rest_s:.1f} s",
        *texts(census.warnings),
    ]
    return "; ".join(said)


def census_tables(asked: Asked) -> Iterator[Table]:
    """Yield a table of the kinds that were seen, one of the files that are looked for."""
    yield _kinds(asked.census)
    if asked.census.files:
        yield _files(asked.census)


def _traced(census: SyscallProfile) -> str:
    processes = "1 process was" if census.n_traced == 1 else f"{census.n_traced:,} processes were"
    return f"{processes} traced, {census.n_took_part:,} took part"


def _kinds(census: SyscallProfile) -> Table:
    rows = [
        (each.kind, _figure(each.calls), _span(each.calls), _remark(each, census))
        for each in census.kinds
    ]
    return _below(("  call", "a request", "fewest … most", ""), rows)


def _remark(calls: KindCalls, census: SyscallProfile) -> str:
    """Return what is to be known of calls of a kind; else their names, if they have others."""
    if note := "; ".join(_notes(calls.kind, census)):
        return note
    more = f", and {len(calls.names) - _N_NAMES} more" if len(calls.names) > _N_NAMES else ""
    names = ", ".join(calls.names[:_N_NAMES]) + more
    return "" if names == calls.kind else names


def _notes(kind: Kind, census: SyscallProfile) -> Iterator[str]:
    if kind == "open" and census.missing_opens.mean:
        yield f"{_figure(census.missing_opens)} found no file"
    if kind == "open" and census.htaccess_opens.mean:
        yield f"{_figure(census.htaccess_opens)} of `.htaccess`"
    if kind == "socket":
        yield ", ".join(f"{each.address} {_figure(each.calls)}" for each in census.connected)


def _files(census: SyscallProfile) -> Table:
    rows = [
        (
            ", ".join(each.kinds),
            _figure(each.calls),
            f"{each.path}{' (not there)' if each.is_missing else ''}",
        )
        for each in census.files[:N_FILES]
    ]
    if (more := census.n_files - len(rows)) > 0:
        rows.append(("", "", plural(more, "more file")))
    return _below(("  lookup", "a request", ""), rows)


def _figure(calls: PerRequest) -> str:
    """Return a mean with as many digits as it has."""
    return f"{calls.low:,}" if calls.is_same else f"{calls.mean:,.2f}"


def _span(calls: PerRequest) -> str:
    return f"{calls.low:,}" if calls.is_same else f"{calls.low:,} … {calls.high:,}"


# Under a load: what answers took, how memory grew, and what went wrong.

_N_AGES = 6
_N_NAMED = 4
_N_KINDS = 4
"""Of lines of its error logs."""
_ALIKE = 0.01
"""Two times that differ by less are one."""


def loaded_rows(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """Yield what is said of a load and of the samples beside it."""
    yield "loaded", _load(loaded)
    if loaded.look is not None and loaded.bottleneck is not None:
        yield from verdict_rows(loaded.look, loaded.bottleneck)
    yield "samples", _samples(loaded)
    yield from beside_rows(loaded)
    if ages := _ages(loaded.seen.readings):
        since = "" if loaded.seen.counted_by == "status page" else " since the first sample"
        yield "aged", f"own by requests{since}: {ages}"
    yield "growth", _growth(loaded)
    if loaded.growth.curve is not None and loaded.growth.curve.rise_bytes > 0:
        yield "unshares", _unshares(loaded.growth.curve)
    if loaded.lives:
        yield "life", _lives(loaded)
    if loaded.joint is not None:
        yield "together", _joint(loaded.joint)
    if loaded.high_water:
        yield "fattens", oxford([_step(each) for each in loaded.high_water])


def _load(loaded: Loaded) -> str:
    rate = format_rate(loaded.n_completed / loaded.seconds) if loaded.seconds > 0 else ""
    return (
        f"{oxford(loaded.urls)} for {format_duration(loaded.seconds)} over "
        f"{plural(loaded.connections, 'connection')}: {loaded.n_completed:,} right answers, "
        f"{rate}, {plural(loaded.n_errors, 'error')}"
    )


def _samples(loaded: Loaded) -> str:
    seen = loaded.seen
    share = seen.looks_cost_s / loaded.seconds if loaded.seconds > 0 else 0.0
    born = f", {seen.n_born:,} of them new" if seen.n_born else ""
    return (
        f"{plural(len(seen.readings), 'reading')} of {plural(len(seen.of_workers()), 'worker')}"
        f"{born}, for {format_percent(share)} of a core; requests of each by "
        f"{COUNTERS[seen.counted_by]}"
    )


def _ages(readings: tuple[WorkerReading, ...]) -> str:
    """Return medians over readings of about the same age: that of the workers' own sizes."""
    ordered = sorted(readings, key=lambda each: each.n_requests)
    if len(ordered) < 2 * _N_AGES:
        return ""
    size = len(ordered) / _N_AGES
    said = []
    for k in range(_N_AGES):
        part = ordered[round(k * size) : round((k + 1) * size)]
        n = statistics.median(each.n_requests for each in part)
        own = statistics.median(each.uss_bytes for each in part)
        said.append(f"{n:,.0f} {format_bytes(own)}")
    return ", ".join(said)


def _growth(loaded: Loaded) -> str:
    growth = loaded.growth
    word = {"leak": "a leak", "cannot_tell": "unknown yet"}.get(growth.verdict, growth.verdict)
    more = growth.more_requests
    advice = f"; it takes {more:,} more requests of each worker" if more else ""
    return f"{word}: {message.text(growth.reason)}{advice}"


def _unshares(curve: PrivateCurve) -> str:
    ends = (curve.rise_low_bytes, curve.rise_high_bytes)
    rise = bounded_text(curve.rise_bytes, ends, format_bytes, ", 95 % over workers")
    return (
        f"from {format_bytes(curve.start_bytes)} by {rise}, 95 % of it after "
        f"{curve.n_risen:,} requests"
    )


def room_at_end(loaded: Loaded) -> Iterator[str]:
    """Yield for each configured life how many workers fit at the end of it."""
    for life in dict.fromkeys((each.n, each.unit) for each in loaded.configured):
        n, unit = life
        names = oxford([each.setting for each in loaded.configured if (each.n, each.unit) == life])
        row = next((each for each in loaded.lives if each.n_requests == n), None)
        if n is None:
            own = f"u of a worker that nothing ends ({names} 0)"
        else:
            own = f"u at the age where {names} ends it ({n:,} {unit})"
        if row is None:
            yield f"{own} is unknown, because its growth is"
        elif row.each_bytes is None:
            yield f"{own} has no bound: it leaks"
        else:
            yield f"{_fit(row)} with {own}, {format_bytes(row.each_bytes)} with the kernel's part"


def _lives(loaded: Loaded) -> str:
    told = [
        after
        for before, after in zip((None, *loaded.lives), loaded.lives, strict=False)
        if before is None
        or after.configured
        or _has_cost(loaded)
        or before.n_workers != after.n_workers
    ]
    rows = "; ".join(_life(each) for each in told)
    if told[-1] is not loaded.lives[-1]:
        rows += ", and as many of any longer life"
    connections = [each.setting for each in loaded.configured if each.unit == "connections"]
    kept = (
        f"; {oxford(connections)} counts connections, taken here as one request each: over one "
        "that is kept alive a worker serves several"
        if connections and any(each.n for each in loaded.configured)
        else ""
    )
    return (
        f"{rows}; with {format_bytes(loaded.reserve_bytes)} in reserve{kept}; {_respawning(loaded)}"
    )


def _respawning(loaded: Loaded) -> str:
    cost = loaded.respawn
    if cost is None:
        return "the cost of replacing a worker is unknown (`--respawn`)"
    ends = (cost.spawn_low_s, cost.spawn_high_s)
    spawn = bounded_text(cost.spawn_s, ends, format_duration, ", 95 %")
    return (
        f"replacing a worker takes {spawn} of the server's time, a request "
        f"{format_duration(cost.serve_s)}"
    )


def _joint(row: LifeRow) -> str:
    lives = "for good" if row.n_requests is None else f"for {row.n_requests:,} requests"
    return (
        f"{_fit(row)} that live {lives} each: the most that fit while replacing them "
        f"takes at most {format_percent(MOST_LOST_RATIO)} of the rate; within "
        f"{format_percent(ALIKE_RATIO)} the longer life wins"
    )


def _has_cost(loaded: Loaded) -> bool:
    return any(each.kept_ratio is not None for each in loaded.lives)


def _life(row: LifeRow) -> str:
    name = "for good" if row.n_requests is None else f"{row.n_requests:,} requests"
    if row.configured:
        name += f" (as configured: {oxford(row.configured)})"
    if row.each_bytes is None:
        return f"{name} no bound: it leaks"
    kept = "" if row.kept_ratio is None else f" at {format_percent(row.kept_ratio)} of the rate"
    return f"{name} {_fit(row)} of {format_bytes(row.each_bytes)}{kept}"


def _fit(row: LifeRow) -> str:
    return "any number" if row.n_workers is None else plural(row.n_workers, "worker")


def _step(each: HighWater) -> str:
    sign = "−" if each.step_bytes < 0 else "+"
    return f"{each.url} {sign}{format_bytes(abs(each.step_bytes))}"


def beside_rows(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """Yield what answers took, what disks and CPUs had to do, and what went wrong."""
    if answers := "; ".join(_answers(loaded)):
        yield "answers", answers
    if disk := _disk(loaded):
        yield "disk", disk
    if (waiting := loaded.seen.run_queue) is not None:
        yield (
            "run queue",
            f"{waiting:.1f} threads ran or were ready on the machine's "
            f"{plural(loaded.seen.host_cpus, 'CPU')} on average, the load client's included",
        )
    if zombies := loaded.seen.zombies:
        named = oxford(zombies[:_N_NAMED])
        more = f" and {len(zombies) - _N_NAMED:,} more" if len(zombies) > _N_NAMED else ""
        yield "zombies", f"{len(zombies):,} at once at most: {named}{more}"
    for text in log_texts(loaded.log, _N_KINDS) or [_no_log(loaded)]:
        yield "errors", text


def _answers(loaded: Loaded) -> Iterator[str]:
    """Yield what an answer took the client, and of the server's CPUs."""
    latency, service = loaded.latency, loaded.service_time
    if latency is not None and (text := _times(latency)):
        yield f"latency {text}"
        if service is not None and not _is_alike(latency, service):
            yield f"from sending, without connecting: {_times(service)}"
    if (each_s := loaded.cpu_s_per_request) is not None:
        cores = (loaded.seen.cpu_s or 0.0) / loaded.seconds if loaded.seconds > 0 else 0.0
        missing = [behind_text(loaded.behind)] if loaded.behind else []
        missing += ["children that nobody waits for"] if loaded.seen.misses_cpu else []
        without = f", without {', '.join(missing)}" if missing else ""
        errors = plural(loaded.n_errors, "error")
        told = f" for a right answer, {errors} included" if loaded.n_errors else ""
        yield (
            f"{format_duration(each_s)} of the server's CPU time{told}, {cores:.2f} cores{without}"
        )


def _times(times: Times) -> str:
    told = (("p50", times.p50_s), ("p99", times.p99_s))
    return ", ".join(f"{name} {format_duration(s)}" for name, s in told if s is not None)


def _is_alike(one: Times, other: Times) -> bool:
    pairs = ((one.p50_s, other.p50_s), (one.p99_s, other.p99_s))
    return all(a is None or b is None or abs(a - b) <= _ALIKE * a for a, b in pairs)


def _disk(loaded: Loaded) -> str:
    """Return what was read from disks and written, in all, a second and an answer."""
    disk = loaded.seen.disk
    if disk is None or disk.moved is None or not disk.seconds:
        return unseen_disk(disk)
    answer = "a right answer" if loaded.n_errors else "an answer"
    told = []
    for amount, word in ((disk.moved.read_bytes, "read"), (disk.moved.written_bytes, "written")):
        text = f"{format_bytes(amount)} {word}"
        if amount:
            text += f" ({format_bytes(amount / disk.seconds)}/s"
            each = amount / loaded.n_completed if loaded.n_completed else 0.0
            text += f", {format_bytes(each)} {answer})"
        told.append(text)
    hidden = f"; some processes: {why_text(disk.hidden)}" if disk.hidden else ""
    return f"{' and '.join(told)}{hidden}"


def _no_log(loaded: Loaded) -> str:
    """Return why no line of an error log is shown."""
    if not loaded.logs:
        return "its error log is unknown"
    if loaded.log is None:
        return f"{oxford(loaded.logs)} cannot be read"
    return f"no new warning or error in {oxford(loaded.logs)}"
