"""One arm of a start, from its coming up to its end, and what befell it.

What a server under load that gave no right answer in a whole window did, in a word.

One arm of a start, from its server's coming up to its end.

What hard limits do to the arms of a start.

The disk below the servers of starts that were up together.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from httpdyno.errors import AdapterError
from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.model import Configuration, Effective, LogLines, Measurement, RequestSpec, TrialStatus
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Running
from httpdyno.servers.gunicorn.statsd import NO_STATSD, OwnStatsd, own_statsd
from httpdyno.servers.run.folder import RunRoot
from httpdyno.servers.run.live_process import children_of
from httpdyno.servers.run.root import ROOT_VARIABLE, full_disk
from httpdyno.telemetry.log import LogTail

_TIMEOUTS = ("timeout", "connect_timeout")


def silence(
    measurement: Measurement,
    running: Running,
    workers: Collection[int],
    requests: Sequence[RequestSpec] = (),
) -> tuple[TrialStatus, tuple[Reason, ...]]:
    """Return how the server failed, and what is known of it.

    `crashed` where a process of it died, `infeasible` where it answered but not rightly, or cut
    every connection; `hung` where it did not answer.

    Args:
        measurement: Of a window without a right answer.
        running: The server.
        workers: The root processes' children when it was ready.
        requests: Of the workload, for what was expected of the answers.
    """
    seen = _seen(measurement, requests)
    if not running.is_alive():
        return "crashed", (crashed(running), seen)
    if measurement.statuses:
        return "infeasible", (seen,)
    if any(kind in measurement.errors for kind in _TIMEOUTS):
        return "hung", (seen,)
    gone = set(workers) - children_of(running.root_pids)
    if gone:
        died = because(
            "experiment.workers_died", n=len(gone), of=len(workers), words=running.last_words()
        )
        return "crashed", (died, seen)
    return "infeasible", (seen,)


def _seen(measurement: Measurement, requests: Sequence[RequestSpec]) -> Reason:
    """Return `568 wrong status; 568 came with 200, where 201 is expected`."""
    kinds = [because("experiment.so_many", n=n, kind=k) for k, n in measurement.errors.items()]
    came = [because("experiment.came_with", n=n, status=s) for s, n in measurement.statuses.items()]
    if not kinds or not came:
        only = kinds or came
        return because(
            "experiment.no_right_answer_but" if only else "experiment.no_right_answer", what=only
        )
    expected = list(dict.fromkeys(str(each.expect_status or "2xx or 3xx") for each in requests))
    is_other = "wrong_status" in measurement.errors and bool(expected)
    return because(
        "experiment.no_right_answer_of" if is_other else "experiment.no_right_answer_with",
        kinds=kinds,
        came=came,
        expected=expected,
    )


def crashed(running: Running) -> Reason:
    """Return what a dead server said at last."""
    words = running.last_words()
    return because("experiment.crashed" if words else "experiment.crashed_silently", words=words)


READY_TIMEOUT_S = 20.0

FAILED_BEFORE = (because("experiment.failed_before"),)
"""Why an arm is not started again."""


@dataclass(kw_only=True)
class Arm:
    """One arm of a start, as it comes along."""

    running: Running | None
    status: TrialStatus = "complete"
    detail: tuple[Reason, ...] = ()
    """Why it is not complete."""
    ready_s: float = 0.0
    """For how long it was waited for."""
    came_up_s: float | None = None
    """How long it took from its spawning on, as itself tells; None where it does not."""
    is_awaited: bool = False
    effective: Effective = field(default_factory=Effective)
    workers: frozenset[int] = frozenset()
    """The root process's children when it was ready."""
    log_tail: LogTail | None = None
    """Its error logs since then; None where it does not say where they are."""
    log_lines: LogLines | None = None
    """What came into them until its load was over."""
    tried: tuple[str | Reason, ...] = ()
    """What it tried to reach outside, and was refused."""
    statsd: OwnStatsd = NO_STATSD
    """What it sends of itself."""

    @classmethod
    def of(cls, spawned: Running | NotRunning) -> "Arm":
        """Return the arm of what was spawned."""
        if isinstance(spawned, NotRunning):
            return cls(running=None, status=spawned.status, detail=(spawned.detail,))
        return cls(running=spawned)

    def await_ready(self) -> None:
        """Wait until it answers and says what it runs with, or fail; once."""
        if self.running is None or self.is_awaited:
            return
        self.is_awaited = True
        began_s = time.monotonic()
        answer = self.running.await_ready(READY_TIMEOUT_S)
        self.ready_s = time.monotonic() - began_s
        if isinstance(answer, NotRunning):
            self.fail(answer.status, answer.detail)
            return
        self.came_up_s = self.running.ready_s
        self.effective = answer
        self.workers = children_of(self.running.root_pids)
        if logs := self.running.error_logs():
            self.log_tail = LogTail(logs)
        self.statsd = own_statsd(self.running)

    def read_log(self) -> None:
        """Keep what came into its error logs, and what it tried to reach.

        While it is up, once nothing is timed any more.
        """
        if self.log_tail is not None:
            self.log_lines = self.log_tail.lines()
        if self.running is not None:
            self.tried = self.running.tried()

    def fail(self, status: TrialStatus, *why: Reason) -> None:
        """See it as failed, and why."""
        self.status, self.detail = status, why

    @property
    def is_up(self) -> bool:
        """Whether it runs and nothing is wrong with it."""
        return self.running is not None and self.status == "complete"


def hung_alike(
    configurations: Sequence[Configuration], arms: Mapping[int, Arm], number: int
) -> Arm | None:
    """Return an arm of the same configuration that hung before it was spawned: another would too.

    Whoever compares a configuration with itself does not wait for the same thing twice.
    """
    return next(
        (
            arm
            for other, arm in arms.items()
            if configurations[other] == configurations[number]
            and arm.running is None
            and arm.status == "hung"
        ),
        None,
    )


def see_crashes(arms: Sequence[Arm]) -> None:
    """See those as crashed whose server is gone."""
    for arm in arms:
        if arm.is_up and arm.running is not None and not arm.running.is_alive():
            arm.fail("crashed", crashed(arm.running))


def see_networks(starts: Sequence[Sequence[Arm]]) -> bool:
    """Call starts disturbed in which a server lost its own network; tell whether one did.

    Without its resolver it waits for names that nobody tells it: whatever was seen of it then is no
    configuration's doing. Starts beside it may have had their load cut short.
    """
    lost = set[int]()
    for start, arms in enumerate(starts):
        for arm in arms:
            if arm.running is not None and (gone := arm.running.network_trouble()):
                arm.fail("unstable", gone)
                lost.add(start)
    if lost:
        cut_others_short(starts, lost, because("experiment.beside_lost_network"))
    return bool(lost)


def cut_others_short(
    starts: Sequence[Sequence[Arm]],
    ended: Collection[int],
    why: Reason = because("experiment.beside_fell_silent"),  # noqa: B008 - frozen
) -> None:
    """Call the starts disturbed whose load ended because of servers of those of these numbers."""
    for start, arms in enumerate(starts):
        for arm in arms:
            if start not in ended and arm.is_up:
                arm.fail("unstable", why)


def blame_nobody(arms: Sequence[Arm], still_s: float) -> None:
    """Call a start disturbed in which this process itself was not there to look."""
    for arm in arms:
        arm.fail("unstable", because("experiment.stood_still", still_s=still_s))


def running_in(starts: Sequence[Sequence[Arm]]) -> dict[Place, Running]:
    """Return the servers that are up and sound, by start and arm."""
    return {
        Place(start, number): arm.running
        for start, arms in enumerate(starts)
        for number, arm in enumerate(arms)
        if arm.is_up and arm.running is not None
    }


def logs_of(arms: Sequence[Arm]) -> tuple[LogLines | None, ...]:
    """Return what came into the logs of a start's arms; empty where none can be read."""
    found = tuple(arm.log_lines for arm in arms)
    return () if all(lines is None for lines in found) else found


def came_up_of(arms: Sequence[Arm]) -> tuple[float | None, ...]:
    """Return how long each of a start's arms took to be ready; (n_arms,)."""
    return tuple(arm.came_up_s for arm in arms)


def see_limits(arms: Iterable[Arm]) -> None:
    """See those as infeasible that ran into their memory limits; before they are ended.

    Whatever else was wrong with one of them, and whatever it had measured: a server that loses
    processes and begins them anew may well look fast.
    """
    for arm in arms:
        if arm.running is not None and (hit := arm.running.limit_hit()):
            arm.fail("infeasible", hit)


def memory_limit_bytes(arms: Sequence[Arm]) -> int | None:
    """Return the memory that arms of one configuration may each have; None without a limit.

    Where one server of several has a limit, what all of them may have is not known.
    """
    least: list[int] = []
    for arm in arms:
        if arm.running is None:
            continue
        limits = [each.values.memory_bytes for each in arm.running.limits]
        limited = [each for each in limits if each is not None]
        if not limited or len(limited) < len(arm.running.root_pids):
            return None
        least.append(sum(limited))
    return min(least, default=None)


_NOT_FOR_WANT_OF_ROOM = ("complete", "infeasible")


def require_room(arms: Sequence[Arm], root: RunRoot) -> None:
    """Give up where a server failed and had no room: that is no fault of its configuration.

    To be asked before the servers end: their folders, which made the disk full, go with them.

    Raises:
        AdapterError: It is so.
    """
    if all(arm.status in _NOT_FOR_WANT_OF_ROOM for arm in arms):
        return
    if why := full_disk(root.folder, root.memory_folder):
        raise AdapterError(
            why=[because("run.not_up_and", why=why)],
            hint=f"free some space, or set `{ROOT_VARIABLE}` to a folder on another disk",
        )
