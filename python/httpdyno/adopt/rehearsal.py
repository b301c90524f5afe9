"""One start of a private copy that asks each request, and what was seen of it.

What cannot be right is found here, before any time is spent on measuring: a request that is not
answered as it should be, a backend out of reach, a folder that may not be written in.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import PurePosixPath

import msgspec

from httpdyno.adopt.burst import burst
from httpdyno.adopt.pool_look import PoolLooks
from httpdyno.advice.proposal import WorkerRoom, is_from_file
from httpdyno.errors import AdapterError
from httpdyno.experiment.answer.ask import Answer
from httpdyno.experiment.answer.coding import decoded
from httpdyno.experiment.answer.rehearsed import Asked
from httpdyno.model import Burst, Configuration, Record, ServerSpec, Workload
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.network.probe import HUNG_UP, NO_HTTP
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.attempts import Attempts
from httpdyno.servers.site.running import SiteRunning
from httpdyno.servers.site.seating import OpenSeat
from httpdyno.servers.site.server import SiteServer
from httpdyno.telemetry.account import account_of

_READY_S = 20.0
_MOST_WORDS = 20
_ERROR = 400
_OTHER_PORT = (
    "ports of FastCGI, TLS and others do so: name one where HTTP is spoken, `--listener 8080`, or "
    "the web server in front of it"
)
_AS_FOUND = "what does not start as it is cannot be tuned"
_TOO_SLOW = "`--start-timeout 1m` waits longer for it; `ready_timeout` in its study"
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
    refused: tuple[str, ...] = ()
    """What the copy tried and could not, as in `tcp 10.0.0.5:5432`, `unix:/run/db.sock` or, behind
    a wall, `write /srv/shop/cache`."""
    reached: tuple[str, ...] = ()
    """What of the outside its isolation does not keep from the copy, and it did reach."""
    unnamed: str = ""
    """Why not all that the copy tries is named; empty where it is."""
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
    server: SiteServer,
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

        def watch(seat: OpenSeat) -> None:
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
                unnamed=next((one.complaint for one in watched), ""),
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


def _look_at_nothing(running: SiteRunning) -> None:
    del running


def _answered(answer: Answer, again: Answer) -> Answered:
    wanted = answer.question.request.expect_status
    is_right = 0 < answer.status < _ERROR if wanted is None else answer.status == wanted
    n_bytes = _length(answer)
    return Answered(
        path=answer.question.request.path,
        status=answer.status,
        words=f"{answer.status} {answer.reason}".strip() if answer.status else answer.words,
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
    is_other = outcome.status == "hung" and any(e in outcome.detail for e in (HUNG_UP, NO_HTTP))
    hint = _OTHER_PORT if is_other else _TOO_SLOW if outcome.status == "hung" else _AS_FOUND
    why = f"\nit tried what a copy may not: {', '.join(refused)}" if refused else ""
    return AdapterError(
        f"a private copy does not come up as found: {outcome.detail}{why}",
        hint=hint,
    )
