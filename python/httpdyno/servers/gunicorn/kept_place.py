"""Where gunicorns of a study send statsd: kept for as long as they run, and heard now and then.

Nobody makes them send it: what is in force does, whatever set it. A packet to a port of loopback
where nobody is comes back refused, and gunicorn writes every second one of them into its log with a
traceback, which doubles the CPU time of a small answer. Were somebody there only while it is looked
at, what is seen would be of another server than what was timed. So the place is taken as soon as
the server is ready. In between nobody reads: the kernel drops what it has no room for, which costs
the server no more and no less than to be heard.

A place that is not the study's own is left alone: somebody of the machine may want it.

Source: gunicorn 27's gunicorn/instrument/statsd.py (`_sock_send`); udp(7), on ECONNREFUSED.
"""

import socket
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from httpdyno.errors import AdapterError, TargetError
from httpdyno.servers.adapter import Accompanied, Running
from httpdyno.servers.gunicorn.statsd import heard, place_to_hear, sending
from httpdyno.servers.network.address import network_of

_NAME = b"gunicorn"
_MOST_BYTES = 1 << 16
_AT_ONCE = 1 << 14
"""More packets than a socket's buffer holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptPlace:
    """A port of loopback where gunicorns send statsd, and nobody else of the machine is."""

    peer: str
    """`127.0.0.1:8125`, in their network."""
    ports: frozenset[int]
    """That they send from: others may send there, too."""
    place: socket.socket

    def packets(self) -> Iterator[tuple[bytes, int]]:
        """Yield theirs that have come and were not read, with how many had been dropped by then."""
        for _ in range(_AT_ONCE):
            try:
                packet, port, n_dropped = heard(self.place, _MOST_BYTES)
            except OSError:  # none is there, or the place was let go
                return
            if port in self.ports:
                yield packet, n_dropped


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnStatsd:
    """What is known of the statsd that a study's server sends."""

    places: tuple[KeptPlace, ...] = ()
    untold: tuple[str, ...] = ()
    """What cannot be heard, and why."""

    def close(self) -> None:
        """Let the places go; idempotent."""
        for each in self.places:
            each.place.close()


NO_STATSD = OwnStatsd()


def own_statsd(running: Running) -> OwnStatsd:
    """Take the places that a server which is ready sends statsd to, where they are the study's own.

    They are where its network is its own, or where the port has the number of one that it listens
    at: `statsd_host = "127.0.0.1:{{ port }}"`. What answers none of the load is not asked.
    """
    ports = {each.rpartition(":")[2] for each in running.addresses if not _is_unix(each)}
    others = running.companions().values() if isinstance(running, Accompanied) else ()
    beside = {pid for each in others for pid in each.root_pids}
    places: list[KeptPlace] = []
    untold: list[str] = []
    for pid in running.root_pids:
        if pid in beside or not _is_gunicorn(pid):
            continue
        for peer, senders in _peers(pid).items():
            what = f"what it sends by statsd to {peer}"
            if not (network_of(pid) or peer.rpartition(":")[2] in ports):
                untold.append(f"{what}: that place is the machine's, not the study's")
                continue
            try:
                place = place_to_hear(pid, peer)
            except TargetError:
                untold.append(f"{what}: somebody else is there")
                continue
            place.setblocking(False)
            places.append(KeptPlace(peer=peer, ports=frozenset(senders), place=place))
    return OwnStatsd(places=tuple(places), untold=tuple(untold))


def _peers(pid: int) -> dict[str, list[int]]:
    """Return where on loopback a process sends packets, and from which ports."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    with suppress(AdapterError):  # it has just ended
        for each in sending(pid):
            if ip_address(each.peer.rpartition(":")[0].strip("[]")).is_loopback:
                found[each.peer].append(each.port)
    return found


def _is_gunicorn(pid: int) -> bool:
    # With setproctitle it writes `gunicorn: master [shop]` there.
    try:
        return _NAME in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _is_unix(address: str) -> bool:
    return address.startswith("unix:")
