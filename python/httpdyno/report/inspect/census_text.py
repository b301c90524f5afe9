"""System calls per request as text: a row, a table of kinds, a table of files."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from httpdyno.report.inspect.facts import Asked
from httpdyno.report.shared.message import texts
from httpdyno.report.shared.phrase import plural
from httpdyno.telemetry.syscalls.count import LookedFor, PerRequest, SyscallProfile
from httpdyno.telemetry.syscalls.trace import Kind

CENSUS_LABEL = "calls"
N_FILES = 15
"""So many files have a line of their own; JSON has more."""
_WIDTH = 16
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
        f"besides {_figure(census.connection)} for its connection",
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
    table = _table("  call")
    table.add_column("a request", justify="right", no_wrap=True)
    table.add_column("fewest … most", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    for each in census.kinds:
        more = f", and {len(each.names) - _N_NAMES} more" if len(each.names) > _N_NAMES else ""
        names = ", ".join(each.names[:_N_NAMES]) + more
        note = "; ".join(_notes(each.kind, census))
        of_kind = note or ("" if names == each.kind else names)
        table.add_row(f"  {each.kind}", _figure(each.calls), _span(each.calls), of_kind)
    return table


def _notes(kind: Kind, census: SyscallProfile) -> Iterator[str]:
    if kind == "open" and census.missing_opens.mean:
        yield f"{_figure(census.missing_opens)} of no file"
    if kind == "open" and census.htaccess_opens.mean:
        yield f"{_figure(census.htaccess_opens)} of `.htaccess`"
    if kind == "socket":
        yield ", ".join(f"{each.address} {_figure(each.calls)}" for each in census.connected)


def _files(census: SyscallProfile) -> Table:
    table = _table("  looked for by")
    table.add_column("a request", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    shown = census.files[:N_FILES]
    for each in shown:
        table.add_row(f"  {', '.join(each.kinds)}", _figure(each.calls), _found(each))
    if (more := census.n_files - len(shown)) > 0:
        table.add_row("", "", Text(plural(more, "more file"), "dim"))
    return table


def _found(file: LookedFor) -> str:
    return f"{file.path}{' (not there)' if file.is_missing else ''}"


def _table(name: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(name, min_width=_WIDTH, no_wrap=True)
    return table


def _figure(calls: PerRequest) -> str:
    """Return a mean with as many digits as it has."""
    return f"{calls.low:,}" if calls.is_same else f"{calls.mean:,.2f}"


def _span(calls: PerRequest) -> str:
    return f"{calls.low:,}" if calls.is_same else f"{calls.low:,} … {calls.high:,}"
