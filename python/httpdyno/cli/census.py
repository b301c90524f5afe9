"""`httpdyno inspect --census URL`: the system calls of requests to a server that runs."""

from collections.abc import Sequence
from pathlib import Path

from httpdyno.cli.standard_streams import tell
from httpdyno.errors import UsageError
from httpdyno.load.one_by_one import OneByOne
from httpdyno.load.target import check_permitted, parse_url, resolve
from httpdyno.report.inspect.facts import Asked
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.source import Source, parse_source
from httpdyno.telemetry.syscalls.strace import census_of


def source_of(url: str, source: Source | None) -> Source:
    """Return the server that is traced: the one that is named, else whoever listens at the URL.

    Raises:
        UsageError: The URL is none, or may not be asked.
        TargetError: Its host has no address.
    """
    target = parse_url(url)
    check_permitted(target, resolve(target), allowed_host=None)
    return source or parse_source([f":{target.port}"], Path.cwd())


def asked(url: str, n: int, found: Sequence[Found]) -> Asked:
    """Ask the server for a URL some times, one request after the other, and count its calls.

    Args:
        url: What is asked for; it may be (`source_of`).
        n: So many requests are counted.
        found: The server; it must be one, and run.

    Raises:
        UsageError: It is not one that runs.
        TargetError: It did not answer, or may not be traced.
        RevertError: It is still traced.
    """
    target = parse_url(url)
    roots = [(each.member.kind, each.root.pid) for each in found if each.root is not None]
    if len(roots) != 1:
        raise UsageError(
            f"a census is taken of one server that runs, and {len(roots):,} of these do",
            hint="name one: `pid:N`, or `:PORT` for whoever listens there",
        )
    [(kind, pid)] = roots
    one_by_one = OneByOne(target)
    one_by_one.ask()
    tell(f"strace traces {kind} {pid} for some seconds, and slows it down meanwhile")
    census = census_of([pid], one_by_one.ask, n)
    return Asked(url=target.url, census=census, answers=tuple(sorted(one_by_one.answers.items())))
