"""What a gunicorn says of itself by statsd while somebody looks at it.

Its packets are taken out of the kernel's buffer some hundred times a second and read through only
when the look is over. What came before is of windows, and thrown away.
"""

import time
from collections.abc import Sequence
from threading import Event, Thread

from msgspec import structs

from httpdyno.experiment.looking import Looking
from httpdyno.model import Look, OwnAccount
from httpdyno.servers.gunicorn.statsd import KeptPlace, OwnStatsd
from httpdyno.telemetry.status import StatsdTotals, statsd_status

_EVERY_S = 0.005
"""A buffer of Linux's usual 208 KiB has room for some 500 packets, of 160 answers."""


class Hearing:
    """Hears what a server sends while somebody looks at it."""

    def __init__(self, onlooker: Looking, statsd: OwnStatsd) -> None:
        """Hear these places as long as the onlooker looks."""
        self._onlooker = onlooker
        self._heard = [_Heard(place) for place in statsd.places]
        self._untold = statsd.untold
        self._is_over = Event()
        self._thread = Thread(target=self._run, name="statsd", daemon=True)

    def start(self) -> None:
        """Begin to look, and to hear."""
        self._onlooker.start()
        for each in self._heard:
            each.begin()
        self._thread.start()

    def stop(self) -> Look:
        """End both; return what was seen and heard."""
        self._is_over.set()
        self._thread.join()
        look = self._onlooker.stop()
        return structs.replace(
            look,
            own=(*look.own, *(said for each in self._heard if (said := each.account()))),
            hidden=(*look.hidden, *self._untold, *(h.trouble for h in self._heard if h.trouble)),
        )

    def _run(self) -> None:
        while not self._is_over.wait(_EVERY_S):
            for each in self._heard:
                each.take()
        for each in self._heard:
            each.take()


class _Heard:
    """One place, and what came there."""

    def __init__(self, place: KeptPlace) -> None:
        self._place = place
        self._packets: list[bytes] = []
        self._since_s = self._until_s = 0.0
        self._dropped: list[int] = []
        """Of the first packet and of the last."""

    @property
    def trouble(self) -> str:
        """Why nothing is known; empty otherwise."""
        return "" if self._packets else f"what it sends by statsd to {self._place.peer}: none came"

    def begin(self) -> None:
        """Throw away what came before."""
        for _ in self._place.packets():
            pass
        self._since_s = self._until_s = time.monotonic()

    def take(self) -> None:
        """Take what has come."""
        for packet, n_dropped in self._place.packets():
            self._packets.append(packet)
            self._dropped = [*self._dropped[:1], n_dropped]
        self._until_s = time.monotonic()

    def account(self) -> OwnAccount | None:
        """Return what all packets come to; None where none of an answer is among them."""
        told = _told(self._packets)
        if not told.n_answers and not told.n_timed:
            return None
        n_lost = self._dropped[-1] - self._dropped[0]
        status = statsd_status(StatsdTotals(), told, n_lost)
        elapsed_s = self._until_s - self._since_s
        return OwnAccount(
            server=status.server,
            of=status.of,
            n_answers=told.n_answers,
            states={},
            # Of those that were dropped it is not known what they were.
            requests_per_s=None if n_lost else told.n_answers / elapsed_s,
            answer_s=status.answer_s,
            remarks=status.remarks,
        )


def _told(packets: Sequence[bytes]) -> StatsdTotals:
    told = StatsdTotals()
    for packet in packets:
        told.add(packet)
    return told
