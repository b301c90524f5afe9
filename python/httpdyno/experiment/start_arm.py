"""One arm of a start, from its server's coming up to its end."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from httpdyno.experiment.arm_load import Place, said
from httpdyno.experiment.silent_server import crashed
from httpdyno.model import Configuration, Effective, LogLines, TrialStatus
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Running
from httpdyno.servers.gunicorn.statsd import NO_STATSD, OwnStatsd, own_statsd
from httpdyno.servers.run.live_process import children_of
from httpdyno.telemetry.log import LogTail

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
    tried: tuple[str, ...] = ()
    """What it tried to reach outside, and was refused."""
    statsd: OwnStatsd = NO_STATSD
    """What it sends of itself."""

    @classmethod
    def of(cls, spawned: Running | NotRunning) -> "Arm":
        """Return the arm of what was spawned."""
        if isinstance(spawned, NotRunning):
            return cls(running=None, status=spawned.status, detail=said(spawned.detail))
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
            self.fail(answer.status, *said(answer.detail))
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
            if arm.running is not None and (words := arm.running.network_trouble()):
                arm.fail("unstable", *said(words))
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
