"""A look at a server under load, and what it says of itself meanwhile.

Servers looked at from inside under the load of their windows, when those are through.

What looks takes time of the cores, and so it never looks while a window is timed, and nothing that
comes before a window is other because of it. A configuration is looked at once in a run: in the
first start that has it, one server after the other.

What a gunicorn says of itself by statsd while somebody looks at it.

Its packets are taken out of the kernel's buffer some hundred times a second and read through only
when the look is over. What came before is of windows, and thrown away.

Who looks at a server that was started here, and what it says of itself meanwhile.

It says so where its configuration has a status page. It is asked some times a second, by requests
of its own; never while a window is timed. A gunicorn that sends statsd is heard.

Servers that run already, looked at under a little more of a load when all is measured.

Who looks takes time of the cores, so it is never while anything is timed. The stretch of load that
comes for it has connections of its own: what was measured is over by then, and has none of it.
"""

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Protocol

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.load.engine import Edge, LoadHandle, RunningLoad, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.load.target import UNIX
from httpdyno.model import Look, Measurement, OfWorkers, OwnAccount, Workload
from httpdyno.model.look import LEAST_SAMPLES
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import Running
from httpdyno.servers.gunicorn.statsd import NO_STATSD, KeptPlace, OwnStatsd
from httpdyno.servers.network.probe import StatusPage
from httpdyno.telemetry.account import account_of
from httpdyno.telemetry.profile.profiler import DependencyTrees, Profiler
from httpdyno.telemetry.status import StatsdTotals, Status, served_by_pid, statsd_status, status

LOOK_S = 1.0
"""Of load for each look."""
LONG_LOOK_S = 4.0
"""Of load for a look at a pool whose workers end and are replaced."""
STRETCHES_S = (LOOK_S, LONG_LOOK_S)
"""The one, and then the other where that was too short."""
MOST_RATIO = 0.1
"""Of what was measured of a server that runs: so much more nobody has to ask for."""
_SETTLED = 0.3
"""Of a window: users come in before."""
_POLL_S = 0.1
_SPARE_S = 0.02
"""The look ends by so much before the load does."""


class Looking(Protocol):
    """Who looks at a server once, as `Profiler` does."""

    def start(self) -> None:
        """Begin to look."""

    def stop(self) -> Look:
        """End it, and return what was seen."""


class WindowLooks:
    """Looks in some windows; give `on_edge` to `start_load`."""

    def __init__(self, onlookers: Sequence[Looking | None], plan: Sequence[WindowPlan]) -> None:
        """Look in some windows.

        Args:
            onlookers: Who looks in each window; None: nobody. (n_windows,)
            plan: The windows; (n_windows,).
        """
        self._onlookers = {n: each for n, each in enumerate(onlookers) if each is not None}
        self._measured_s = [window.measure_s for window in plan]
        self._is_over = Event()
        self._threads: dict[int, Thread] = {}
        self._looks: dict[int, Look] = {}

    def on_edge(self, window: int, is_opening: bool) -> None:
        """Begin to look, or see that it has ended."""
        if window not in self._onlookers:
            return
        if is_opening:
            self._threads[window] = Thread(target=self._look, args=(window,), daemon=True)
            self._threads[window].start()
        else:
            self.end(window)

    def end(self, window: int) -> None:
        """See that nobody looks any more."""
        if thread := self._threads.pop(window, None):
            self._is_over.set()
            thread.join()
            self._is_over.clear()

    def end_all(self) -> None:
        """See that nobody looks any more, whatever became of the load."""
        for window in [*self._threads]:
            self.end(window)

    def of(self, window: int, measurement: Measurement, workload: Workload) -> Look | None:
        """Return what was seen in a window that has ended; None where nobody looked."""
        look = self._looks.get(window)
        return None if look is None else with_client(look, measurement, workload)

    def _look(self, window: int) -> None:
        load_s = self._measured_s[window]
        if self._is_over.wait(load_s * _SETTLED):
            return
        onlooker = self._onlookers[window]
        try:
            onlooker.start()
            self._is_over.wait(load_s * (1 - _SETTLED) - _SPARE_S)
            self._looks[window] = onlooker.stop()
        except Exception as error:  # what was not seen ends no study, and is told
            fault = because("experiment.fault_of_httpdyno", words=repr(error))
            self._looks[window] = Look(seconds=0.0, n_samples=0, hidden=(fault,))


def looks_in(
    onlookers: Sequence[Looking],
    plan: Sequence[WindowPlan],
    start: Callable[[Edge], RunningLoad],
    workloads: Sequence[Workload],
    is_over: Callable[[], bool] = lambda: False,
) -> dict[int, Look]:
    """Look at servers under a load that is there for that alone; by window, of those it reached.

    Args:
        onlookers: One for each window; (n_windows,).
        plan: The windows; (n_windows,).
        start: Starts the load, with what is to be called at its windows' edges.
        workloads: What is asked in each; (n_windows,).
        is_over: Whether an end is asked for, before that of the load.
    """
    watch = WindowLooks(onlookers, plan)
    handle = start(watch.on_edge)
    try:
        while not is_over() and not handle.wait(_POLL_S):
            pass
    finally:
        handle.stop()
        handle.wait(math.inf)
        watch.end_all()
    seen = zip(handle.measurements(), workloads, strict=False)
    found = {n: watch.of(n, each, workload) for n, (each, workload) in enumerate(seen)}
    return {n: look for n, look in found.items() if look is not None}


def stretches_within_s(measured_s: float, n_servers: int = 1) -> tuple[float, ...]:
    """Return the stretches that are short beside what was measured; (0 … 2,). Pure.

    Args:
        measured_s: How long all servers together were loaded.
        n_servers: That are looked at, one after the other.
    """
    each_s = MOST_RATIO * measured_s / n_servers
    return tuple(s for n, s in enumerate(STRETCHES_S, 1) if sum(STRETCHES_S[:n]) <= each_s)


def wants_longer(look: Look) -> bool:
    """Whether a look must be longer to tell of the server and not of a moment; pure.

    Who replaces workers does that by a clock: Apache's parent looks once a second, so a second
    holds a full pool, an empty one, or any part of either: those that ended and wait to be
    replaced are such a part. Where each answer takes a process of its own, it is the answers that
    begin them, and a second holds many. And a pool of hundreds is looked at so seldom, for what
    that takes, that a second says nothing.
    """
    n_changes = look.births + look.deaths
    if look.n_samples < LEAST_SAMPLES:
        return True
    n_ended = look.doing.get("zombie", 0.0)
    if look.workers < _HARDLY_ANY or (n_ended >= _HARDLY_ANY and n_changes < look.answers / 2):
        return True
    return 0 < n_changes < look.answers / 2


_HARDLY_ANY = 0.5


def with_client(look: Look, measurement: Measurement, workload: Workload) -> Look:
    """Return a look with what only the client knows. Pure."""
    evidence = measurement.evidence
    offered_per_s = evidence.offered_per_s if workload.is_open_loop else 0.0
    # These three overlap: what a quota or the machine's host takes shows as a stop, if it lasts.
    held_back = max(
        evidence.client_frozen_ratio, evidence.client_throttled_ratio, evidence.client_stolen_ratio
    )
    client_cores = measurement.client_cpu_s / measurement.total_s if measurement.total_s else 0.0
    return structs.replace(
        look,
        answers=measurement.throughput_per_s * look.seconds,
        offered=offered_per_s * look.seconds,
        clients=evidence.busy_connections,
        client_cpu_s=client_cores * look.seconds,
        client_lost_ratio=evidence.client_wait_ratio + held_back,
        client_limit=measurement.limited_by,
    )


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
    def trouble(self) -> Reason | None:
        """Why nothing is known; None otherwise."""
        if self._packets:
            return None
        return because("experiment.no_statsd_came", peer=self._place.peer)

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


_ASKED_EVERY_S = 0.25
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
            self._is_over.wait(_ASKED_EVERY_S)


class _Asked:
    """One page, and what it said so far."""

    def __init__(self, page: StatusPage) -> None:
        self._page: StatusPage | None = page
        self._last: Status | None = None
        self._states: Counter[str] = Counter()
        self._n_answers = 0
        self._n_late = 0

    @property
    def trouble(self) -> Reason | None:
        """Why nothing is known, where it might have been; None otherwise."""
        if self._n_answers or not self._n_late:
            return None
        return because("experiment.no_status_in_time")

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


@dataclass(frozen=True, kw_only=True, slots=True)
class MoreLoad:
    """What a running server is loaded with while it is looked at."""

    address: str
    workload: Workload
    threads: int = 1
    cpus: tuple[int, ...] = ()
    seed: int = 0
    spin_s: float = 0.0

    def start(self, window: WindowPlan, on_edge: Edge) -> LoadHandle:
        """Begin to load it."""
        return start_load(
            self.workload,
            [self.address],
            [window],
            threads=self.threads,
            cpus=self.cpus,
            seed=self.seed,
            spin_s=self.spin_s,
            on_edge=on_edge,
        )


def seen_under(
    load: MoreLoad,
    root_pids: Sequence[int],
    stretches_s: Sequence[float],
    is_over: Callable[[], bool],
    say: Callable[[Reason], None],
) -> Look | None:
    """Return what was seen of a server, for longer where that is to be; None at an end before.

    Args:
        load: What it is loaded with.
        root_pids: The processes whose trees it is.
        stretches_s: How long each look takes; the second only where the first was too short.
        is_over: Whether an end is asked for.
        say: Told of each stretch before it begins.
    """
    look = None
    for load_s in stretches_s:
        say(because("experiment.more_of_the_load", more_s=load_s))
        window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=load_s)
        found = looks_in(
            [Profiler(root_pids)],
            [window],
            partial(load.start, window),
            [load.workload],
            is_over,
        )
        look = found.get(0)
        if look is None or is_over():
            return None
        if not wants_longer(look):
            break
    return look


def doubt_of(look: Look, address: str, stretches_s: Sequence[float]) -> Reason | None:
    """Return why nothing is to be said of who answered; None where nothing speaks against it."""
    # A container's port is forwarded by the kernel, while a proxy of it listens there too.
    if not (look.cpu_s or look.connections or address.startswith(UNIX)):
        return because("experiment.listener_was_idle", address=address)
    if wants_longer(look) and len(stretches_s) < len(STRETCHES_S):
        return because("experiment.look_says_nothing", looked_s=look.seconds)
    return None
