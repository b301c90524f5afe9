"""Who looks at a server that was started here, and what it says of itself meanwhile.

It says so where its configuration has a status page. It is asked some times a second, by requests
of its own; never while a window is timed. A gunicorn that sends statsd is heard (`own_statsd.py`).
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from threading import Event, Thread

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.experiment.looking import Looking
from httpdyno.experiment.own_statsd import Hearing
from httpdyno.model import Look, OfWorkers, OwnAccount
from httpdyno.servers.adapter import Running
from httpdyno.servers.gunicorn.statsd import NO_STATSD, OwnStatsd
from httpdyno.servers.network.probe import StatusPage
from httpdyno.telemetry.account import account_of
from httpdyno.telemetry.profile.profiler import DependencyTrees, Profiler
from httpdyno.telemetry.status import Status, served_by_pid, status

_EVERY_S = 0.25
_PATIENCE_S = 0.5
_MOST_PAGES = 3


def looking_at(running: Running, statsd: OwnStatsd = NO_STATSD) -> Looking:
    """Return who looks at a server, asks it where it has a status page, and hears its statsd."""
    onlooker = Profiler(
        running.root_pids,
        running.networks[0],
        account=account_of(running),
        companions=[
            DependencyTrees(name=name, root_pids=each.root_pids, account=account_of(each))
            for name, each in running.companions().items()
        ],
    )
    pages: Sequence[StatusPage] = ()
    with suppress(OSError, AdapterError):  # it has just ended
        pages = running.status_pages()[:_MOST_PAGES]
    looking = Asking(onlooker, pages) if pages else onlooker
    return Hearing(looking, statsd) if statsd != NO_STATSD else looking


class Asking:
    """Has a server say what it is at while somebody looks at it."""

    def __init__(self, onlooker: Looking, pages: Sequence[StatusPage]) -> None:
        """Ask these pages as long as the onlooker looks."""
        self._onlooker = onlooker
        self._asked = [_Asked(page) for page in pages]
        self._is_over = Event()
        self._thread = Thread(target=self._run, name="status", daemon=True)

    def start(self) -> None:
        """Begin to look, and to ask."""
        self._onlooker.start()
        self._thread.start()

    def stop(self) -> Look:
        """End both; return what was seen and said."""
        try:
            look = self._onlooker.stop()
        finally:
            self._is_over.set()
            self._thread.join()
        return structs.replace(
            look,
            own=tuple(account for each in self._asked if (account := each.account())),
            hidden=(*look.hidden, *(each.trouble for each in self._asked if each.trouble)),
        )

    def _run(self) -> None:
        while not self._is_over.is_set():
            for each in self._asked:
                each.ask(self._is_over)
            self._is_over.wait(_EVERY_S)


class _Asked:
    """One page, and what it said so far."""

    def __init__(self, page: StatusPage) -> None:
        self._page: StatusPage | None = page
        self._last: Status | None = None
        self._states: Counter[str] = Counter()
        self._n_answers = 0
        self._n_late = 0

    @property
    def trouble(self) -> str:
        """Why nothing is known, where it might have been; empty otherwise."""
        if self._n_answers or not self._n_late:
            return ""
        return "what its status page says: there was no answer in time"

    def ask(self, is_over: Event) -> None:
        """Ask once more, unless it is no such page."""
        if self._page is None or is_over.is_set():
            return
        try:
            said = status(self._page.text(_PATIENCE_S))
        except TimeoutError:
            self._n_late += 1
            return
        except OSError:
            said = None
        # What comes when the load may be over is of another moment.
        if is_over.is_set():
            return
        if said is None:
            self._page = None
            return
        self._last = said
        self._states.update(said.states if self._page.is_apart else said.others)
        self._n_answers += 1

    def account(self) -> OwnAccount | None:
        """Return the means of all that was said."""
        if self._last is None:
            return None
        return OwnAccount(
            server=self._last.server,
            of=self._last.of,
            n_answers=self._n_answers,
            states={name: n / self._n_answers for name, n in self._states.items() if n},
            requests=_requests(self._served()),
        )

    def _served(self) -> Sequence[int]:
        """Return requests of each worker: asked for once, at the end, since the page is long."""
        if self._page is None:
            return ()
        try:
            return [*served_by_pid(self._page.workers_text(_PATIENCE_S)).values()]
        except OSError:
            return ()


def _requests(served: Sequence[int]) -> OfWorkers | None:
    if not served:
        return None
    return OfWorkers(median=float(statistics.median(served)), largest=float(max(served)))
