"""Which processes the servers of a start are, kept while it is measured for whoever follows it."""

from collections.abc import Callable, Sequence

from httpdyno.model import RootProcess, StartServers
from httpdyno.servers.run.live_process import process_info
from httpdyno.store.run_store import StudyStore


def keeping_servers(
    store: StudyStore, run_id: str, comparison: int, start: int
) -> Callable[[Sequence[Sequence[int]]], None]:
    """Return what stores the processes that the arms' servers began as, once it is told them."""

    def keep(pids: Sequence[Sequence[int]]) -> None:
        roots = tuple(tuple(_roots(each)) for each in pids)
        store.save_servers(run_id, comparison, start, StartServers(roots=roots))

    return keep


def _roots(pids: Sequence[int]) -> list[RootProcess]:
    """Return those that are there: who has died at once is told by the start."""
    known = [process_info(pid) for pid in pids]
    return [RootProcess(pid=each.pid, start_ticks=each.started_ticks) for each in known if each]
