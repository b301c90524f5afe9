"""First words of a response header, counted when all that is measured and seen is through.

The load of a window is repeated through a relay that reads the heads of the answers: the same
requests in the same order, from as many users with the same numbers, because what a cache has
depends on who asks for what, and on how many at a time. Each request has a connection of its own.

Passes a load on to a server, and reads on the way what the heads of its answers say.

Each connection carries one answer, so nothing but its head has to be understood: neither lengths
nor chunks, and no body can look like a head.
"""

import math
import re
import select
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from msgspec import structs

from httpdyno.errors import EngineError, UsageError
from httpdyno.experiment.trial.afterwards import LEAST_WORDS_S
from httpdyno.experiment.trial.arm import crashed
from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.engine_loads import ArmLoads, Place, said, stopped_on_error
from httpdyno.experiment.trial.phases import Act, PhasedWindows, PhaseTrouble, also_opening
from httpdyno.load.message import WindowPlan
from httpdyno.metrics import sources
from httpdyno.model import (
    HeaderWords,
    Measurement,
    Method,
    Phase,
    RequestSpec,
    Study,
    Telemetry,
    Workload,
)
from httpdyno.model.header_words import FIRST_WORD, LONGEST_WORD
from httpdyno.model.workload import at_rate
from httpdyno.reason import because
from httpdyno.servers.adapter import Running
from httpdyno.servers.network.address import connected, host_header, within

_LONGEST_HEAD_BYTES = 1 << 17
_PIECE_BYTES = 1 << 16
_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d\.\d (\d{3})")
_FIRST_FINAL = 200
"""What comes below it announces an answer."""
_MOST_WORDS = 16
"""A header with more of them is no word of a few, such as an `ETag`."""
OTHER = "other"
_ROUND_MS = 100
_PATIENCE_S = 10.0
"""With a side that takes nothing."""
_LISTENED = 1024


def head_in(seen: bytes) -> bytes | None:
    """Return the head of the answer that some bytes begin with; None where it is not whole. Pure.

    Heads of what only announces an answer are passed over (RFC 9110, 15.2).
    """
    while (end := _END.search(seen)) is not None:
        head, seen = seen[: end.start()], seen[end.end() :]
        status = _STATUS.match(head)
        if status is None or int(status[1]) >= _FIRST_FINAL:
            return head
    return None


def first_word(head: bytes, name: str) -> str | None:
    """Return the first word of a header; None where a head has it not, or nothing in it. Pure.

    Of several lines with that name it is the first one's.
    """
    for line in head.splitlines()[1:]:
        key, _, value = line.decode("latin-1").partition(":")
        if key.strip().lower() == name.lower() and (found := FIRST_WORD.search(value)):
            return found[0][:LONGEST_WORD]
    return None


class Relay:
    """Listens in front of a server, for as long as it is entered as a context manager."""

    def __init__(
        self, connect: Callable[[], socket.socket], name: str, *, network: str = ""
    ) -> None:
        """Take what is needed.

        Args:
            connect: Returns a new connection to the server.
            name: Of the header that is counted.
            network: Path of the network namespace that it listens in, the server's own: in any
                other it would be a way in for whoever is there. Empty is this process's.

        Raises:
            OSError: The namespace cannot be entered.
        """
        self.counts: Counter[str] = Counter()
        """First word → answers."""
        self.n_without = 0
        self._connect = connect
        self._name = name
        self._lock = Lock()
        self._is_over = Event()
        self._carriers: list[Thread] = []
        self._listener = within(network, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        self._acceptor = Thread(target=self._accept, name="relay", daemon=True)

    @property
    def address(self) -> str:
        """Where it listens, as `ip:port`."""
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def forget(self) -> None:
        """Begin to count anew: each answer that came through was counted before it did."""
        with self._lock:
            self.counts.clear()
            self.n_without = 0

    def __enter__(self) -> Self:
        try:
            self._listener.bind(("127.0.0.1", 0))
            self._listener.listen(_LISTENED)
            self._listener.settimeout(_ROUND_MS / 1e3)
        except BaseException:
            self._listener.close()
            raise
        self._acceptor.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._acceptor.join()
        self._listener.close()
        for carrier in self._carriers:
            carrier.join()

    def _accept(self) -> None:
        while not self._is_over.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                # No file descriptor was left, or who came is gone; others come.
                self._is_over.wait(_ROUND_MS / 1e3)
                continue
            carrier = Thread(target=self._carry, args=(client,), name="relayed", daemon=True)
            try:
                carrier.start()
            except RuntimeError:  # no thread was left
                client.close()
                continue
            self._carriers = [each for each in self._carriers if each.is_alive()]
            self._carriers.append(carrier)

    def _carry(self, client: socket.socket) -> None:
        # Whoever hangs up does what may happen on any line: the load counts it.
        with suppress(OSError), client, self._connect() as server:
            for side in (client, server):
                side.settimeout(_PATIENCE_S)
                if side.family != socket.AF_UNIX:
                    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pass_on(client, server)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        seen: bytes | None = b""
        sides = {each.fileno(): each for each in (client, server)}
        ready = select.poll()
        for number in sides:
            ready.register(number, select.POLLIN)
        while not self._is_over.is_set():
            for number, _ in ready.poll(_ROUND_MS):
                side = sides[number]
                piece = side.recv(_PIECE_BYTES)
                if not piece:
                    return
                if side is client:
                    server.sendall(piece)
                    continue
                if seen is not None:
                    seen = self._look(seen + piece)
                client.sendall(piece)

    def _look(self, seen: bytes) -> bytes | None:
        """Count the answer as soon as its head is whole; return what is to be looked at again."""
        head = head_in(seen)
        if head is None:
            return seen if len(seen) <= _LONGEST_HEAD_BYTES else None
        word = first_word(head, self._name)
        with self._lock:
            if word is None:
                self.n_without += 1
            else:
                is_known = word in self.counts or len(self.counts) < _MOST_WORDS
                self.counts[word if is_known else OTHER] += 1
        return None


N_ANSWERS = 200
"""Of a server in one start; enough of them come together over the starts of a run."""
LONGEST_S = 2.0
"""What they may take of one server at the most, where no phase says otherwise."""
_PART = 9
"""Draws of its own, so that no address which a window made up comes again."""
_HOST = "host"
_NO_ANSWER = (because("experiment.no_answer"),)
_CONNECT_S = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class HeadersCounted:
    """What was counted of servers that were up side by side."""

    words: Mapping[Place, HeaderWords] = field(default_factory=dict)
    each_s: float = 0.0
    """What it took that the next start takes again."""
    once_s: float = 0.0
    """What it took that no other start of the comparison does."""

    def of_start(self, start: int, n_arms: int) -> tuple[HeaderWords | None, ...]:
        """Return those of a start's arms; (n_arms,), or empty where nothing is counted."""
        found = tuple(self.words.get(Place(start, arm)) for arm in range(n_arms))
        return () if all(each is None for each in found) else found


@dataclass(frozen=True, kw_only=True)
class HeaderCount:
    """Counts the words of a header in answers of servers that are up."""

    name: str
    """Of the header."""
    method: Method
    loads: ArmLoads
    """Of the windows, straight to the servers."""
    act: Act
    """Runs a phase's command at a server."""
    longest_s: float = LONGEST_S
    """What the answers of one server may take, where no phase says otherwise."""
    is_each: bool = False
    """Whether each start takes a turn of phases for it, since they are a figure of the start."""

    def counted(self, up: Sequence[Place]) -> HeadersCounted:
        """Return what the answers of these servers say, one server after the other."""
        began_s = time.monotonic()
        words = {place: self._of(place) for place in up}
        took_s = time.monotonic() - began_s
        if self.method.phases and not self.is_each:
            return HeadersCounted(words=words, once_s=took_s)
        return HeadersCounted(words=words, each_s=took_s)

    def _of(self, place: Place) -> HeaderWords:
        try:
            return self._phased(place) if self.method.phases else self._steady(place)
        except (EngineError, UsageError, OSError) as error:
            return HeaderWords(name=self.name, uncounted=said(str(error)))

    def _steady(self, place: Place) -> HeaderWords:
        window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=self.longest_s, n_requests=N_ANSWERS)
        return self._asked(place, window)[0]

    def _phased(self, place: Place) -> HeaderWords:
        """Take the server through one turn more, of which the last phase alone may end sooner."""
        found: dict[str, HeaderWords] = {}

        def play(
            place: Place, phase: Phase, plan: WindowPlan, number: int, open_: Callable[[], None]
        ) -> tuple[Measurement, Telemetry] | None:
            # What a phase leaves is what the next one finds; and a command that is due in the
            # middle of a window needs the whole of it.
            is_cut = phase is self.method.phases[-1] and phase.at_s is None
            n = plan.n_requests or (N_ANSWERS if is_cut else 0)
            found[phase.name], seen = self._asked(
                place, replace(plan, n_requests=n), number, phase.rate_per_s, open_
            )
            return None if seen is None else (seen, Telemetry(cpu_s=0.0))

        turn = PhasedWindows(
            phases=self.method.phases,
            decides=self.method.decides,
            measure_s=self.method.window_s,
            tail_s=0.0,
            act=self.act,
            play=play,
        )
        trouble = turn.run([(0, place)], lambda _block, _place, _seen, _telemetry: None)
        return self._turn_of(found, trouble.get(place))

    def _turn_of(
        self, found: Mapping[str, HeaderWords], trouble: PhaseTrouble | None
    ) -> HeaderWords:
        """Return the words of a turn: of each phase those, or why there are none.

        Args:
            found: Of the phases that it came to, in their order.
            trouble: Which ended it; None where none did.
        """
        why = () if trouble is None else trouble.reasons
        if found:
            why = why or (because("experiment.ended_in_phase", phase=[*found][-1]),)
        every = {
            phase.name: found[phase.name]
            # What was to be done in the middle of it was not.
            if phase.name in found and (trouble is None or trouble.phase != phase.name)
            else HeaderWords(name=self.name, uncounted=why)
            for phase in self.method.phases
        }
        own = every.pop(self.method.decides)
        return structs.replace(own, beside=every)

    def _asked(
        self,
        place: Place,
        window: WindowPlan,
        number: int = 0,
        rate_per_s: float | None = None,
        on_open: Callable[[], None] = lambda: None,
    ) -> tuple[HeaderWords, Measurement | None]:
        address, network = self.loads.addresses[place], self.loads.networks.get(place, "")
        workload = relayed(at_rate(self.loads.workloads[place.arm], rate_per_s), address)
        connect = partial(connected, address, _CONNECT_S, network)
        with Relay(connect, self.name, network=network) as relay:
            loads = replace(self.loads, addresses={place: relay.address}, networks={place: network})

            def opened() -> None:
                relay.forget()  # what users ask for first, such as a login, is in no window
                on_open()

            on_edge = also_opening(lambda _window, _is_opening: None, opened)
            handle = loads.engine_load([place], [window], (_PART, number), on_edge, workload)
            with stopped_on_error(handle):
                handle.wait(math.inf)
        words = HeaderWords(
            name=self.name,
            counts=dict(relay.counts),
            n_without=relay.n_without,
            uncounted=() if relay.counts or relay.n_without else _NO_ANSWER,
        )
        return words, next(iter(handle.measurements()), None)


def counted_headers(  # noqa: PLR0913 - whose answers are counted, by whom, and how long
    study: Study,
    request: StartRequest,
    running: Mapping[Place, Running],
    *,
    seed: int,
    cpus: Sequence[int],
    has_turn: bool = False,
    left_s: float = math.inf,
) -> HeadersCounted:
    """Return what the answers of a study's servers say in the header that it counts.

    With phases that is a whole turn, with its pauses: one start of a comparison takes it, or each
    where something is claimed of the words. So does one of a calibration, which tells what a
    comparison's first start costs.

    Args:
        study: Whose load is repeated.
        request: The first of the starts that are up side by side.
        running: The servers to ask.
        seed: The plan's.
        cpus: The client's cores; empty leaves them free.
        has_turn: Whether a start of this comparison took such a turn, and was sound.
        left_s: What these starts may still take in all. Where that is little, there are fewer
            answers; with phases it makes no difference.
    """
    is_each = "header words" in sources(study.objective.named)
    has_enough = study.method.phases and has_turn and not is_each
    if not study.counted_header or has_enough:
        return HeadersCounted()
    count = HeaderCount(
        name=study.counted_header,
        method=study.method,
        loads=ArmLoads(
            workloads=[study.load_of(arm) for arm in request.arms],
            addresses={place: each.addresses[0] for place, each in running.items()},
            networks={place: each.networks[0] for place, each in running.items()},
            cpus=cpus,
            seed=(seed, request.comparison, request.start),
        ),
        act=lambda place, command: running[place].act(command),
        longest_s=longest_s(left_s, len(running)),
        is_each=is_each,
    )
    found = count.counted([*running])
    words = {
        place: each
        if running[place].is_alive()
        # Of which answers those words are nobody knows.
        else HeaderWords(name=count.name, uncounted=(crashed(running[place]),))
        for place, each in found.words.items()
    }
    return replace(found, words=words)


def longest_s(left_s: float, n_servers: int) -> float:
    """Return what counting may take of each server. Pure.

    Args:
        left_s: What it may take of all of them; may be below 0.
        n_servers: How many they are.
    """
    return min(LONGEST_S, max(LEAST_WORDS_S, left_s / max(1, n_servers)))


def relayed(workload: Workload, address: str) -> Workload:
    """Return a workload as it is sent through a relay to a server. Pure.

    It names the server's own address, by which caches tell pages apart, and not the relay's.
    """

    def named(request: RequestSpec) -> RequestSpec:
        if any(name.lower() == _HOST for name, _ in request.headers):
            return request
        host = ("Host", host_header(address))
        return structs.replace(request, headers=(host, *request.headers))

    return structs.replace(
        workload,
        requests=tuple(map(named, workload.requests)),
        first=tuple(map(named, workload.first)),
        requests_per_connection=1,
    )
