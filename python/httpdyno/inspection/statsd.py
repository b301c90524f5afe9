"""`--status statsd`: what gunicorn sends of itself, heard where nobody else listens.

Packets go to whoever has the port, so httpdyno has it only where it is free, and lets it go in the
end. All that come are taken in at once: they would not wait for the next look.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread

from httpdyno.errors import TargetError
from httpdyno.load.target import is_loopback
from httpdyno.report.shared.phrase import oxford
from httpdyno.servers.gunicorn.statsd import heard, place_to_hear, sending
from httpdyno.telemetry.status import StatsdTotals, Status, statsd_status

STATSD = "statsd"
_POLL_S = 0.1
_MOST_BYTES = 1 << 16


@contextmanager
def statsd_status_of(pid: int) -> Iterator[Callable[[], Status]]:
    """Listen where a process sends statsd, as long as the block runs; give what it said since.

    Args:
        pid: Of gunicorn's arbiter.

    Raises:
        TargetError: It sends nothing, not to this machine, or somebody listens there.
        AdapterError: Its sockets may not be seen.
    """
    peer = _peer(pid)
    with place_to_hear(pid, peer) as place:
        place.settimeout(_POLL_S)
        told: defaultdict[int, StatsdTotals] = defaultdict(StatsdTotals)
        lock, is_over = Lock(), Event()
        n_lost, before = 0, StatsdTotals()

        def listen() -> None:
            nonlocal n_lost
            while not is_over.is_set():
                try:
                    packet, port, n_dropped = heard(place, _MOST_BYTES)
                except TimeoutError:
                    continue
                with lock:
                    told[port].add(packet)
                    n_lost = max(n_lost, n_dropped)

        def said() -> Status:
            """Return what came of this one: others may send to the same place."""
            nonlocal before
            ports = {each.port for each in sending(pid) if each.peer == peer}
            with lock:
                now = sum((told[port] for port in ports if port in told), StatsdTotals())
                found = statsd_status(before, now, n_lost)
            before = now
            return found

        thread = Thread(target=listen, name=STATSD, daemon=True)
        thread.start()
        try:
            yield said
        finally:
            is_over.set()
            thread.join()


def _peer(pid: int) -> str:
    """Return where a process sends statsd."""
    peers = sorted({each.peer for each in sending(pid)})
    near = [peer for peer in peers if is_loopback(peer)]
    if len(near) == 1:
        return near[0]
    if near:
        raise TargetError(
            f"process {pid} sends packets to {oxford(near)}: which of them is statsd is not known"
        )
    if peers:
        raise TargetError(
            f"process {pid} sends packets to {oxford(peers)}, not to this machine's loopback",
            hint="whoever is there hears them",
        )
    raise TargetError(
        f"process {pid} sends no statsd over UDP",
        hint="gunicorn does with `--statsd-host 127.0.0.1:8125`",
    )
