"""The seam between windows and what is read of a server and its host while they are loaded.

A collector reads counters of one kind at both edges of a window, when no request is in flight: what
happened in between, happened for the window's requests, all of them and no others. A further kind
is a class of its own and a line in `server_collectors`; `tests.conformance.collector` has what all
of them must do. What works or asks the server while it is loaded is none: it would be measured too.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from httpdyno.model import Telemetry
from httpdyno.telemetry.account import Account, AccountCollector
from httpdyno.telemetry.host import HostCollector
from httpdyno.telemetry.limit import Groups, LimitCollector
from httpdyno.telemetry.lookups import LookupCollector
from httpdyno.telemetry.shortage import ShortageCollector


class Collector(Protocol):
    """Counters of one kind for one server. Its windows come one after the other."""

    def open(self) -> None:
        """Take note of the counters as a window opens."""

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Return `seen` with what the counters did since `open`, and nothing else changed.

        A server that is gone is no error: what was known of it stays.

        Args:
            seen: What other collectors told of the same window.
            is_last: Of the server's windows in this start: what is too slow to be read at every
                edge is read now.
        """


def server_collectors(
    account: Account,
    limits: Iterable[Groups] = (),
    n_lookups: Callable[[], int | None] | None = None,
) -> tuple[Collector, ...]:
    """Return the collectors of a server, new ones for each start.

    Args:
        account: Of the server's processes, for these collectors alone.
        limits: The control groups that limit it.
        n_lookups: Says how many questions its resolver of names was asked so far, where it has one
            of its own.
    """
    limited = tuple(limits)
    of_limits = (LimitCollector(limited),) if limited else ()
    names = () if n_lookups is None else (LookupCollector(n_lookups),)
    shortage = ShortageCollector(account.groups())
    # The account comes last: memory is slow to read, and what happens meanwhile is no window's.
    return (HostCollector(), *of_limits, shortage, *names, AccountCollector(account))
