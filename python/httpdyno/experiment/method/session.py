"""What all stages of a run share: its evidence, its time, its outcome, and who hears of it.

What a run tells those who watch it. Pure data; `cli` turns it into words.

Which processes the servers of a start are, kept while it is measured for whoever follows it.

What all stages of a run share: its evidence, stored and new, and its time.

A method begins comparisons one after the other, each when it knows those before. So a run that goes
on does the same again: what it begins is found among what is stored, by what was measured, and the
stored starts are taken before any new one is made.

What a run found, as it grows.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from httpdyno.errors import StoreError, TargetError
from httpdyno.experiment.decide.other_sizes import judged_by_sizes
from httpdyno.experiment.decide.usable import are_too_many, disturbance, limit_broken, start_trouble
from httpdyno.experiment.decide.warning import warnings_of
from httpdyno.experiment.trial.bench import (
    CALIBRATION_INDEX,
    Bench,
    StartRequest,
    block_order,
    line_up,
)
from httpdyno.experiment.trial.budget import CLOSING_RATIO, WINDOWS_RATIO, starts_ahead
from httpdyno.model import (
    Comparison,
    Configuration,
    HostFacts,
    LadderStep,
    Outcome,
    Plan,
    RatioInterval,
    ResultWarning,
    RootProcess,
    SecondClaim,
    StartRecord,
    StartServers,
    Sweep,
    Verdict,
    WindowRecord,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.run.live_process import process_info
from httpdyno.store.run_store import StudyStore


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A new stage began: `calibrate`, `step 2 of 5`, `final`."""

    name: str
    detail: str | Reason
    """What is compared: knobs as they are called, or what it is else."""
    elapsed_s: float
    left_s: float | None
    """An honest guess of the time until the whole run ends; None where nobody can tell yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartsBegun:
    """Starts of the same arms come up, to be measured side by side."""

    n_starts: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowDone:
    """Another window ended of the starts that are up. Comes many times a second: be quick."""

    n_done: int
    n_windows: int
    """Expected of all these starts, this one included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartDone:
    """The starts that were up side by side ended; where their comparison stands."""

    stage: str
    n_starts: int
    """Of the comparison so far, all of them."""
    interval: RatioInterval | None
    elapsed_s: float
    left_s: float
    """A guess of the time until the whole run ends: no more than the budget has."""
    fewest: int = 0
    """Below so many starts nothing is claimed."""
    verdict: Verdict = "inconclusive"
    """What may be said now."""
    open_metric: str = ""
    """The metric that has not spoken yet; empty where the verdict stands."""
    decides_in_s: float | None = None
    """Time until a decision, at what was seen so far; None: out of sight."""
    allowed_s: float = math.inf
    """What the comparison may still use."""
    second: SecondClaim | None = None
    """What the second metric says so far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepDone:
    """A rung of the ladder has its verdict."""

    step: LadderStep
    is_of_ladder: bool = True
    """Whether later steps build on it where it is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PointDone:
    """A round of a sweep ended; the curve so far."""

    sweep: Sweep
    elapsed_s: float
    left_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundDone:
    """A round of all combinations of a factorial ended."""

    n_starts: int
    """That gave a figure for each."""
    n_arms: int
    """That run."""
    elapsed_s: float
    left_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FinalDone:
    """Final against start, on fresh starts."""

    comparison: Comparison


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Something that a person should know now."""

    reason: Reason


Event = (
    Stage
    | StartsBegun
    | WindowDone
    | StartDone
    | StepDone
    | PointDone
    | RoundDone
    | FinalDone
    | Notice
)


def keeping_servers(
    store: StudyStore, run_id: str, comparison: int, start: int
) -> Callable[[Sequence[Sequence[int]]], None]:
    """Return what stores the processes that the arms' servers began as, once it is told them."""

    def keep(pids: Sequence[Sequence[int]]) -> None:
        roots = tuple(tuple(_roots(each)) for each in pids)
        store.save_servers(run_id, comparison, start, StartServers(roots=roots))

    return keep


def _roots(pids: Sequence[int]) -> list[RootProcess]:
    """Return those that are there: who has died at once is told by the start."""
    known = [process_info(pid) for pid in pids]
    return [RootProcess(pid=each.pid, start_ticks=each.started_ticks) for each in known if each]


FINAL = "final"
"""The stage of the last claim."""

OVERTIME_RATIO = 0.05
"""Of the budget: what the last claim may use beyond it, rather than to leave all unproven."""


@dataclass(kw_only=True)
class Session:
    """What all stages of one run share: effects in, time out."""

    plan: Plan
    bench: Bench
    store: StudyStore
    run_id: str
    watch: Callable[[Event], None]
    spent_s: float = 0.0
    """Time of all starts so far, stored ones of a resumed run included."""
    stage: str = ""
    _first: dict[int, StartRecord] = field(default_factory=dict)
    """Of each stored comparison."""
    _stored: dict[int, list[StartRecord]] = field(default_factory=dict)
    """The complete starts of each."""
    _dropped: dict[int, list[tuple[Reason, ...]]] = field(default_factory=dict)
    """Why starts of a comparison were not used."""
    _sound: dict[int, list[StartRecord]] = field(default_factory=dict)
    """The starts of each comparison that were used."""
    _next: dict[int, int] = field(default_factory=dict)
    """The number of a comparison's next start."""
    _begun: set[int] = field(default_factory=set)
    """Numbers of the comparisons that this process began."""
    _n_done: int = 0
    """Windows that ended of the starts that are under way."""
    _n_windows: int = 0
    """Windows that they are expected to have."""

    def __post_init__(self) -> None:
        for start in self.store.starts(self.run_id):
            self._first.setdefault(start.comparison, start)
            # One that nobody finished is measured anew: its servers are gone.
            if start.is_complete:
                self._stored.setdefault(start.comparison, []).append(start)

    @property
    def left_s(self) -> float:
        """What is left of the study's budget for starts."""
        return self.plan.study.budget_s * (1 - CLOSING_RATIO) - self.spent_s

    @property
    def overtime_s(self) -> float:
        """What is left where the last claim's fewest starts could not be had otherwise."""
        return self.left_s + OVERTIME_RATIO * self.plan.study.budget_s

    def begin(self, stage: str, arms: tuple[Configuration, ...]) -> int:
        """Return the number of a comparison that begins now; what a resumed run has of it is found.

        Args:
            stage: What it is for: `step 2 of 5`, `final`.
            arms: What is compared, side by side; (n_arms,).

        Raises:
            StoreError: What is stored measured something else.
        """
        self.stage = stage
        index = self._stored_index(stage, arms)
        if index is None:
            self._require_own_history(stage, arms)
            index = max((CALIBRATION_INDEX, *self._first, *self._begun)) + 1
        self._begun.add(index)
        return index

    def has_stored(self, stage: str, arms: tuple[Configuration, ...]) -> bool:
        """Tell whether a resumed run has starts of the comparison that begins next as this one."""
        index = self._stored_index(stage, arms)
        return index is not None and self.n_stored(index) > 0

    @property
    def goes_on(self) -> bool:
        """Whether a resumed run has starts of comparisons that were not begun again yet."""
        return any(map(self.n_stored, self._left()))

    def _left(self) -> list[int]:
        known = {*self._first} - {CALIBRATION_INDEX} - self._begun
        return sorted(known)

    def _stored_index(self, stage: str, arms: tuple[Configuration, ...]) -> int | None:
        """Return the stored comparison of these arms, the earliest; None where there is none.

        The final claim rests on starts that nothing was chosen by, so never on a step's.
        """
        for index in self._left():
            first = self._first[index]
            if first.configurations == arms and (first.stage == FINAL) == (stage == FINAL):
                return index
        return None

    def _require_own_history(self, stage: str, arms: tuple[Configuration, ...]) -> None:
        """Refuse a comparison that is not stored where what is stored is of another plan.

        What is begun first follows from the plan alone. After that more time, or what was measured
        since, may decide otherwise: see `unused`.
        """
        for index in filter(self.n_stored, self._left()):
            first = self._first[index]
            if first.stage == stage and not self._begun:
                raise _other_history(self.run_id, first, arms)

    def n_stored(self, index: int) -> int:
        """Return how many starts of a comparison a resumed run already has."""
        return len(self._stored.get(index, []))

    def rest_of_batch(
        self, index: int, arms: tuple[Configuration, ...], n_blocks: int
    ) -> list[StartRecord]:
        """Return the stored starts that were up together with the last one that was returned.

        Nobody looked between them, so nobody does when a run goes on: it might decide what was not
        decided.
        """
        stored, rest = self._stored.get(index, []), []
        while 0 < (n := self._next.get(index, 0)) < len(stored):
            if stored[n].began_at != stored[n - 1].began_at:
                break
            rest += self.sound_starts(index, arms, n_blocks, 1)
        return rest

    def went_on(self, index: int) -> bool:
        """Tell whether a stored start follows that was measured next: nothing was decided there."""
        stored, n = self._stored.get(index, []), self._next.get(index, 0)
        if not 0 < n < len(stored):
            return False
        last, following = stored[n - 1].began_at, stored[n].began_at
        others = (start for of, starts in self._stored.items() if of != index for start in starts)
        return not any(last < other.began_at < following for other in others)

    def unused(self) -> Iterator[Reason]:
        """Warn where a run which went on did not come to all that is stored of it."""
        if n := sum(map(self.n_stored, self._left())):
            yield because("experiment.unused_starts", n=n)

    def n_side_by_side(self, arms: tuple[Configuration, ...]) -> int:
        """Return how many starts of these arms may be up at the same time."""
        return self.bench.n_side_by_side(arms)

    def looks_s(self, *comparisons: tuple[Configuration, ...]) -> float:
        """Return what looks at servers are expected to take, were these compared in this order."""
        return self.bench.looks_s(comparisons, is_alone=self.plan.command == "compare")

    def looked_s(self, index: int) -> float:
        """Return what looks took of the starts of a comparison that were used."""
        return math.fsum(start.looked_s for start in self.sound_so_far(index))

    def _stored_start(
        self, index: int, number: int, arms: tuple[Configuration, ...]
    ) -> StartRecord | None:
        """Return a stored start, None where there is none of that number."""
        stored = self._stored.get(index, [])
        if number >= len(stored):
            return None
        record = stored[number]
        if record.configurations != arms:
            raise _other_history(self.run_id, record, arms)
        self.spent_s += record.duration_s
        return record

    def _measured(self, requests: Sequence[StartRequest]) -> list[StartRecord]:
        """Return starts that are measured now, side by side, and stored."""
        self.watch(StartsBegun(n_starts=len(requests)))
        self._n_done, self._n_windows = 0, self._windows_of(requests)
        for request in requests:
            self.store.begin_start(self.run_id, self._under_way(request))
        records = [
            structs.replace(record, configurations=request.arms, stage=self.stage)
            for request, record in zip(
                requests, self.bench.measure_starts(requests, self._save), strict=True
            )
        ]
        for record in records:
            self.store.save_start(self.run_id, record)
            self.spent_s += record.duration_s
        return records

    def sound_start(
        self,
        index: int,
        arms: tuple[Configuration, ...],
        n_blocks: int,
        *,
        left_out: frozenset[int] = frozenset(),
        references: tuple[int, ...] = (0,),
    ) -> StartRecord:
        """Return a comparison's next start that can be used, see `sound_starts`."""
        [record] = self.sound_starts(
            index, arms, n_blocks, 1, left_out=left_out, references=references
        )
        return record

    def sound_starts(  # noqa: PLR0913 - what is to be started, and what must run
        self,
        index: int,
        arms: tuple[Configuration, ...],
        n_blocks: int,
        n_starts: int,
        *,
        left_out: frozenset[int] = frozenset(),
        references: tuple[int, ...] = (0,),
    ) -> list[StartRecord]:
        """Return a comparison's next starts that can be used; those that cannot are tried again.

        Fewer than asked for, but at least one, where an arm that is no reference failed in one.

        What a resumed run has stored of starts that cannot is passed over, and not charged to its
        time: whatever was wrong then may be mended.

        Args:
            index: Of the comparison.
            arms: Side by side.
            n_blocks: Of windows.
            n_starts: How many; as many of them as there is room for are up at the same time.
            left_out: Arms that are not started.
            references: Arms that must run as they should. Without any, some arm must run.

        Raises:
            TargetError: Several in a row could not be used.
        """
        sound: list[StartRecord] = []
        failures: list[StartRecord] = []
        while len(sound) < n_starts:
            stored = self._stored_start(index, self._next.get(index, 0), arms)
            n_more = 1 if stored else min(n_starts - len(sound), self.n_side_by_side(arms))
            first = self._next.get(index, 0)
            self._next[index] = first + n_more
            requests = [
                replace(self._request(index, number, arms, n_blocks), left_out=left_out)
                for number in range(first, first + n_more)
            ]
            n_before = len(sound)
            failed: list[tuple[StartRecord, tuple[Reason, ...]]] = []
            for record in [stored] if stored else self._measured(requests):
                why = start_trouble(record, references, self.plan.study)
                if not why:
                    sound.append(record)
                    self._sound.setdefault(index, []).append(record)
                    continue
                self._dropped.setdefault(index, []).append(why)
                if stored:
                    self.spent_s -= record.duration_s
                else:
                    failed.append((record, why))
            if len(sound) > n_before:
                failures.clear()
            elif failed:
                # Those that were up at the same time are one failure: one thing met them all.
                record, why = failed[-1]
                failures.append(record)
                # A start that fails slowly must not be tried beyond the budget.
                if are_too_many(failures) or self.left_s < record.duration_s * len(failed):
                    reference = arms[references[0]] if references else None
                    raise self._failed(failures, why, reference)
            if failed:
                again = because("experiment.tried_again", n=len(failed), why=failed[-1][1])
                self.watch(Notice(reason=again))
            if any({*record.statuses} != {"complete"} for record in sound):
                # That is told at once: what it cut short beside it is not measured again first.
                break
        return sound

    def sound_so_far(self, index: int) -> list[StartRecord]:
        """Return the starts of a comparison that were used; none of one that begins."""
        return list(self._sound.get(index, ()))

    def dropped_warnings(self, index: int) -> tuple[ResultWarning, ...]:
        """Warn where starts of a comparison were tried again."""
        dropped = self._dropped.get(index, [])
        if not dropped:
            return ()
        return warnings_of([because("experiment.dropped_starts", n=len(dropped), why=dropped[-1])])

    def _failed(
        self,
        failures: Sequence[StartRecord],
        why: tuple[Reason, ...],
        reference: Configuration | None,
    ) -> TargetError:
        if disturbance(failures[-1]):
            what, which = "disturbed", ""
        elif reference is None:
            method = self.plan.study.method
            level = f"level of {method.knob}" if method.kind == "sweep" else "combination"
            what, which = f"no {level} runs,", ""
        else:
            is_start = reference == self.plan.study.start_configuration()
            what = f"the {'starting' if is_start else 'reference'} configuration failed"
            which = f"it is {reference.label()}; "
        n = len(failures)
        return TargetError(
            f"{what} in "
            + (f"{n} starts in a row" if n > 1 else "a start that leaves no time for another"),
            hint=f"{which}once that is mended, `--resume {self.run_id}` measures on, with "
            "`--accept-changes` where files were changed for it",
            why=why,
        )

    def _under_way(self, request: StartRequest) -> StartRecord:
        return StartRecord(
            comparison=request.comparison,
            start=request.start,
            began_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            duration_s=0.0,
            statuses=(),
            stage=self.stage,
            is_complete=False,
            configurations=request.arms,
        )

    def _request(
        self, index: int, number: int, arms: tuple[Configuration, ...], n_blocks: int
    ) -> StartRequest:
        method = self.plan.study.method
        seed, n_arms, min_starts = self.plan.seed, len(arms), method.min_starts
        limit_s = self.left_s / max(1, min_starts - number)
        # The first start is made for the others of its plan's first claim, too.
        ahead = starts_ahead(self.plan)
        return StartRequest(
            comparison=index,
            start=number,
            arms=arms,
            order=block_order(n_arms, n_blocks, seed=seed, comparison=index, start=number),
            line_up=line_up(n_arms, seed=seed, comparison=index, start=number),
            window_s=method.window_s,
            lead_in_s=method.lead_in_s,
            warm_up_s=method.warm_up_s,
            warm_up_requests=method.warm_up_requests,
            limit_s=limit_s,
            windows_s=limit_s * WINDOWS_RATIO * (1.0 if self.spent_s else min_starts / ahead.first),
            # What cannot fit into the budget is refused before any of it is spent.
            n_needed=0 if self.spent_s else min_starts,
            ahead=ahead,
            is_alone=self.plan.command == "compare",
            tell=keeping_servers(self.store, self.run_id, index, number),
        )

    def _save(self, window: WindowRecord) -> None:
        self.store.save_window(self.run_id, window)
        self._n_done += 1
        n_windows = max(self._n_windows, self._n_done)
        self.watch(WindowDone(n_done=self._n_done, n_windows=n_windows))

    def _windows_of(self, requests: Sequence[StartRequest]) -> int:
        """Return how many windows these starts are expected to have.

        As many as asked for, or as the last start of the comparison had: long latencies ask for
        fewer and longer ones.
        """
        first = requests[0]
        n_each = len(first.order) * (len(first.arms) - len(first.left_out))
        before = self._sound.get(first.comparison)
        return len(requests) * min(n_each, len(before[-1].windows) if before else n_each)


def _other_history(run_id: str, record: StartRecord, arms: tuple[Configuration, ...]) -> StoreError:
    had, wanted = ("; ".join(each.label() for each in of) for of in (record.configurations, arms))
    return StoreError(
        f"start {record.start} of comparison {record.comparison} of run {run_id} measured {had}, "
        f"where {wanted} is to be measured now",
        hint="another version of httpdyno, or another budget, decided otherwise; begin a new run",
    )


class GrowingOutcome:
    """The outcome as it grows; stored at every step so that nothing found is lost."""

    def __init__(self, session: Session, host: HostFacts) -> None:
        self._session = session
        before = session.store.outcome(session.run_id)
        # A resumed run keeps what is known until it has found it again.
        self.found = (
            structs.replace(before, status="running", ended_by=(), plan=session.plan)
            if before
            else self._new(host)
        )

    def _new(self, host: HostFacts) -> Outcome:
        session = self._session
        return Outcome(
            id=session.run_id,
            status="running",
            plan=session.plan,
            host=host,
            began_at=datetime.now(UTC).isoformat(timespec="seconds"),
            duration_s=0.0,
            configuration=session.plan.reference or session.plan.study.start_configuration(),
        )

    def note(self, **found: Any) -> Outcome:  # noqa: ANN401 - fields of Outcome
        """Take in what was found, and store it."""
        known = structs.replace(self.found, duration_s=self._session.spent_s, **found)
        self.found = judged_by_sizes(known)
        self._session.store.save_outcome(self._session.run_id, self.found)
        return self.found

    def warn(self, *warnings: Reason | ResultWarning) -> None:
        """Attach warnings to the outcome, each once: a reason is one of the whole."""
        each_once = dict.fromkeys(self.found.warnings)
        for each in warnings:
            each_once |= dict.fromkeys(warnings_of([each]) if isinstance(each, Reason) else [each])
        self.note(warnings=tuple(each_once))

    def conclude(self, final: Comparison | None) -> Reason | None:
        """Take in the last claim; return the limit that its configuration breaks, None if none."""
        self.note(final=final)
        objective = self._session.plan.study.objective
        broken = limit_broken(final.b, objective) if final else None
        if broken is not None:
            self.warn(because("experiment.final_breaks_limit", why=broken))
        return broken

    def settle(
        self,
        best: Configuration,
        arms: tuple[Configuration, Configuration] | None = None,
        *,
        withdrawn: Reason | None = None,
    ) -> None:
        """Say which configuration won, and what differs in the server's files.

        Args:
            best: What was found.
            arms: Between which the files differ; start and result unless given.
            withdrawn: Why it is not settled on, but the start is.
        """
        start = self._session.plan.study.start_configuration()
        result = best if withdrawn is None else start
        diff = self._session.bench.configuration_diff(*(arms or (start, result)))
        self.note(configuration=result, overlay_diff=diff, withdrawn=withdrawn)
