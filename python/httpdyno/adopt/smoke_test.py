"""One start of a private copy that asks each request, and what was seen of it.

What cannot be right is found here, before any time is spent on measuring: a request that is not
answered as it should be, a backend out of reach, a folder that may not be written in.

A burst of load shows what only shows when many ask at once. Only GET is sent, and only what the
study asks anyway. Nothing is measured: other things may run on this machine meanwhile. What counts
is what the kernel and the copy say of it: queues that were full, requests that were turned away,
handshakes, whether CPUs were idle while connections waited.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import structs

from httpdyno.adopt.memory import PoolLooks
from httpdyno.advice.proposal import WorkerRoom, is_from_file
from httpdyno.errors import AdapterError
from httpdyno.experiment.answer.ask import Answer, decoded
from httpdyno.experiment.answer.likeness import Asked
from httpdyno.host.sock_diag import Diagnosis
from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import Burst, Configuration, Measurement, Record, ServerSpec, Workload
from httpdyno.reason import Reason, because
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.network.probe import HUNG_UP, NO_HTTP
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.attempts import Attempts
from httpdyno.servers.sandbox.sandbox import OpenSandbox
from httpdyno.servers.stack.copies import CopyStack
from httpdyno.servers.stack.running import RunningCopy
from httpdyno.telemetry.account import ReadyTime, account_of
from httpdyno.telemetry.kernel import cpu_ticks, tcp_extensions

BURST_S = 2.0
_LOOK_S = 0.05
_ASIDE_S = 0.4
"""Between two looks at more than sockets, and the more the longer such a look takes."""
_ASIDE_RATIO = 0.1
"""Of the time, at most, for those."""
_DRAIN_S = 1.0
_TIMEOUT_S = 5.0
_OVERFLOWS = "ListenOverflows"


def burst(
    running: RunningCopy,
    load: Workload,
    duration_s: float,
    *,
    aside: Callable[[], None] | None = None,
) -> Burst | None:
    """Load a copy for a moment; None where there is nothing to ask it for.

    Args:
        running: The copy, which is ready.
        load: The study's, of which what is no GET is left out.
        duration_s: For so long.
        aside: Called now and then while it is loaded.

    Raises:
        EngineError: The engine cannot run it.
    """
    asked = tuple(
        structs.replace(each, expect_status=None) for each in load.requests if each.method == "GET"
    )
    if not asked or duration_s <= 0:
        return None
    account = account_of(running)
    network = running.seat.network
    overflows, cpu_s, machine = _overflows(network), account.read().cpu_s, cpu_ticks()
    began_s = time.monotonic()
    queues = _Queues()
    ready = ReadyTime(account)
    handle = start_load(
        structs.replace(load, requests=asked, timeout_s=_TIMEOUT_S),
        running.addresses,
        [WindowPlan(arm=0, lead_in_s=0.0, measure_s=duration_s)],
        networks=running.networks,
        drain_s=_DRAIN_S,
    )
    aside_s = began_s + _ASIDE_S
    with ExitStack() as stack:
        stack.callback(handle.stop)
        diagnosis = _opened(network, stack)
        while not handle.wait(_LOOK_S):
            queues.look(diagnosis)
            now_s = time.monotonic()
            if now_s >= aside_s:
                ready.look()
                if aside is not None:
                    aside()
                took_s = time.monotonic() - now_s
                aside_s = now_s + max(_ASIDE_S, took_s / _ASIDE_RATIO)
    cpu_s = account.read().cpu_s - cpu_s
    idle, total = (now - then for now, then in zip(cpu_ticks(), machine, strict=True))
    took_s = time.monotonic() - began_s
    [measured] = handle.measurements()
    after = _overflows(network)
    return _burst_of(
        measured,
        load.connections,
        took_s,
        queues=queues,
        ready_s=ready.for_each_run_s(cpu_s),
        overflows=None if overflows is None or after is None else after - overflows,
        cpu_s=cpu_s,
        idle_ratio=idle / total if total > 0 else 0.0,
    )


def _burst_of(  # noqa: PLR0913 - what there is to tell
    measured: Measurement,
    connections: int,
    took_s: float,
    *,
    queues: "_Queues",
    ready_s: float | None,
    overflows: int | None,
    cpu_s: float,
    idle_ratio: float,
) -> Burst:
    n_answers = sum(measured.statuses.values())
    return Burst(
        duration_s=took_s,
        connections=connections,
        n_answers=n_answers,
        n_failed=max(0, measured.offered - n_answers),
        statuses=dict(sorted(measured.statuses.items())),
        n_connects=measured.connects,
        n_handshakes_full=measured.handshakes_full,
        n_handshakes_resumed=measured.handshakes_resumed,
        waiting=queues.waiting,
        unread=queues.unread,
        overflows=overflows,
        cpu_s=max(0.0, cpu_s),
        ready_s=ready_s,
        idle_ratio=idle_ratio,
    )


@dataclass(kw_only=True, slots=True)
class _Queues:
    """Where clients of a copy wait, by some looks."""

    waiting: dict[str, int] = field(default_factory=dict)
    _unread: dict[str, list[int]] = field(default_factory=dict)
    _n_looks: int = 0

    @property
    def unread(self) -> dict[str, int]:
        """As `Burst` has it. Something that was sent just now is unread at some look anywhere."""
        whole = {k: [*v, *[0] * (self._n_looks - len(v))] for k, v in self._unread.items()}
        return {k: n for k, v in whole.items() if (n := statistics.median_low(v)) > 0}

    def look(self, diagnosis: Diagnosis | None) -> None:
        """Look once; of a copy that has no network of its own nothing is known."""
        if diagnosis is None:
            return
        with suppress(AdapterError):
            listening = diagnosis.listening()
            ports = {each.address: _port(each.address) for each in listening}
            unread = diagnosis.unread({port for port in ports.values() if port})
            self._n_looks += 1
            for each in listening:
                if each.waiting > self.waiting.get(each.address, 0):
                    self.waiting[each.address] = each.waiting
            for address, port in ports.items():
                if n := unread.get(port, 0):
                    self._unread.setdefault(address, []).append(n)


def _opened(network: str, stack: ExitStack) -> Diagnosis | None:
    if not network:
        return None
    with suppress(AdapterError):
        return stack.enter_context(closing(Diagnosis(network)))
    return None


def _port(address: str) -> int:
    """Return the port of a listening address; 0 of a unix socket."""
    port = address.rpartition(":")[2]
    return int(port) if port.isdecimal() and not address.startswith("unix:") else 0


def _overflows(network: str) -> int | None:
    """Return the count of a copy's own network; None where it has none of its own."""
    if not network:
        return None
    with suppress(OSError, ValueError):
        text = (Path(network).parent.parent / "net/netstat").read_text()
        return tcp_extensions(text).get(_OVERFLOWS, 0)
    return None


_READY_S = 20.0
_MOST_WORDS = 20
_ERROR = 400
_SAME_RATIO = 0.05
_SAFE = ("GET", "HEAD")


class Answered(Record, frozen=True):
    """What came of one request."""

    path: str
    status: int
    """0 where there was no answer."""
    words: str
    """The status line, or why there was none."""
    time_s: float
    is_expected: bool
    n_bytes: int = 0
    n_bytes_again: int = 0
    """Of the same request, asked once more."""
    location: str = ""
    """Where it leads to instead."""
    coding: str = ""
    """How it was compressed, as in `gzip`; empty where it was not."""
    is_file: bool | None = None
    """Whether nginx or Apache answered it from a file, as its ETag says; None where none says."""

    @property
    def differs(self) -> bool:
        """Whether the two answers differ by more than one would overlook."""
        more = max(self.n_bytes, self.n_bytes_again)
        return abs(self.n_bytes - self.n_bytes_again) > _SAME_RATIO * more


class RehearsalReport(Record, frozen=True):
    """What one start of the copy showed."""

    ready_s: float
    """From its start until it was ready, with what prepares it."""
    answered: tuple[Answered, ...]
    left_out: tuple[str, ...] = ()
    """Requests that are sent only under load: their method changes something."""
    written: tuple[str, ...] = ()
    """Files that the copy wrote, by the paths that it has for them."""
    refused: tuple[str | Reason, ...] = ()
    """What the copy tried and could not, as in `tcp 10.0.0.5:5432`, `unix:/run/db.sock` or, behind
    a wall, `write /srv/shop/cache`."""
    reached: tuple[str | Reason, ...] = ()
    """What of the outside its isolation does not keep from the copy, and it did reach."""
    unnamed: Reason | None = None
    """Why not all that the copy tries is named; None where it is."""
    words: tuple[str, ...] = ()
    """The end of what its members said."""
    effective: dict[str, str] = msgspec.field(default_factory=dict)
    pss_bytes: int | None = None
    """Of all members together, after the requests."""
    n_processes: int = 0
    isolation: str = ""
    burst: Burst | None = None
    """What some clients at a time did to it; None where none was sent."""
    prepare_s: float = 0.0
    """What of `ready_s` the commands took that prepare it."""
    rooms: tuple[WorkerRoom, ...] = ()
    """How many workers memory has room for, of each pool; empty where nobody looked."""
    unused: tuple[str, ...] = ()
    """Pools of which no worker did anything from its start to the end of the load, as `php@jobs`.
    """

    @property
    def wrong(self) -> tuple[Answered, ...]:
        """Requests that were not answered as they should be."""
        return tuple(each for each in self.answered if not each.is_expected)

    @property
    def has_compressed(self) -> bool:
        """Whether any request was answered compressed."""
        return any(each.coding for each in self.answered)

    @property
    def static_share(self) -> float | None:
        """Of the requests that were answered right: from files; None where that is not known."""
        right = [each.is_file for each in self.answered if each.is_expected]
        told = [each for each in right if each is not None]
        return sum(told) / len(told) if told else None


def rehearse_site(  # noqa: PLR0913 - what one start is
    server: CopyStack,
    spec: ServerSpec,
    load: Workload,
    asked: Asked,
    *,
    burst_s: float = 0.0,
    pools: PoolLooks | None = None,
) -> RehearsalReport:
    """Start the copy as found, ask each request twice, then all at once for a moment, and end it.

    After that they are asked once more: so it is seen what time and load change.

    Args:
        server: Of the site.
        spec: How it is known to be ready, and what runs before.
        load: The study's.
        asked: Asks what measured starts are asked, and keeps what is answered.
        burst_s: How long the burst is; 0 is none.
        pools: Looks at the memory of its pools under load; None: nobody does.

    Raises:
        AdapterError: It does not come up; says its own words.
        EngineError: The burst cannot be sent.
        RevertError: A process could not be ended.
    """
    with new_run_root() as root, ExitStack() as stack:
        watched: list[Attempts] = []

        def watch(seat: OpenSandbox) -> None:
            if seat.kind != "open":
                watched.append(stack.enter_context(Attempts(seat)))

        began_s = time.monotonic()
        place = root.new_place("rehearsal")
        # As found: no knob has a value of its own.
        running = server.spawn_seated(spec, Configuration(), place, on_seat=watch)
        if isinstance(running, NotRunning):
            raise _not_up(running, watched)
        try:
            # Each member may ask for more.
            effective = running.await_ready(_READY_S)
            if isinstance(effective, NotRunning):
                raise _not_up(effective, watched, running.addresses)
            ready_s = time.monotonic() - began_s
            look = pools.look if pools else _look_at_nothing
            look(running)
            rounds = [asked.whole_round(running) for _ in range(2)]
            answered = tuple(_answered(*each) for each in zip(*rounds, strict=True))
            sent = burst(running, load, burst_s, aside=lambda: look(running))
            look(running)
            asked.round(running)
            account = account_of(running)
            memory = account.memory()
            return RehearsalReport(
                ready_s=ready_s,
                answered=answered,
                left_out=tuple(e.path for e in load.requests if e.method not in _SAFE),
                written=running.seat.written(),
                refused=tuple(each for one in watched for each in one.refused()),
                reached=tuple(each for one in watched for each in one.reached()),
                unnamed=next((one.complaint for one in watched), None),
                words=tuple(running.last_words().splitlines()[-_MOST_WORDS:]),
                effective=effective.values,
                pss_bytes=memory.pss_bytes if memory else None,
                n_processes=account.read().n_processes,
                isolation=running.seat.kind,
                burst=sent,
                prepare_s=running.prepare_s,
                rooms=pools.rooms() if pools else (),
                unused=pools.unused() if pools else (),
            )
        finally:
            running.stop()


def folders_of(written: Sequence[str], ignored: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the smallest folders that hold the files, without those below ignored ones. Pure."""
    folders: list[str] = []
    for folder in sorted({str(PurePosixPath(file).parent) for file in written}):
        inside = (*ignored, *folders)
        if not any(folder == each or folder.startswith(f"{each.rstrip('/')}/") for each in inside):
            folders.append(folder)
    return tuple(folders)


def _look_at_nothing(running: RunningCopy) -> None:
    del running


def _answered(answer: Answer, again: Answer) -> Answered:
    wanted = answer.question.request.expect_status
    is_right = 0 < answer.status < _ERROR if wanted is None else answer.status == wanted
    n_bytes = _length(answer)
    return Answered(
        path=answer.question.request.path,
        status=answer.status,
        words=text(answer.why) if answer.why else f"{answer.status} {answer.reason}".strip(),
        time_s=answer.duration_s,
        is_expected=is_right,
        n_bytes=n_bytes,
        # An answer of another kind has another length, and is told by its status.
        n_bytes_again=_length(again) if again.status == answer.status else n_bytes,
        location=answer.location,
        coding=answer.coding,
        is_file=is_from_file(answer.etag, answer.modified, n_bytes),
    )


def _length(answer: Answer) -> int:
    """Return how long an answer's body is, decoded; a large one is not read to its end."""
    if answer.coding:
        with suppress(ValueError):
            return len(decoded(answer.body, answer.coding))
    return len(answer.body) if answer.length is None else answer.length


def _not_up(
    outcome: NotRunning, watched: Sequence[Attempts], asked: Sequence[str] = ()
) -> AdapterError:
    # What nobody answered of ours, while it was waited for, are packets in its network as well.
    ours = {f"tcp {address}" for address in asked}
    refused = [each for one in watched for each in one.refused() if each not in ours][:_MOST_WORDS]
    is_other = outcome.status == "hung" and not outcome.detail.codes().isdisjoint(_OTHERS)
    if is_other:
        way_out = because("adopt.other_port")
    elif outcome.status == "hung":
        way_out = because("adopt.too_slow")
    else:
        way_out = because("adopt.as_found")
    why = outcome.detail
    if refused:
        why = because("adopt.also_tried", why=why, refused=refused)
    return AdapterError("a private copy does not come up as found", why=[why], hints=[way_out])


_OTHERS = frozenset({HUNG_UP, NO_HTTP})
"""What ports of other protocols do."""
