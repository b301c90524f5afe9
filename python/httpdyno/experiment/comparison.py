"""One comparison: starts of both arms until it is decided, hopeless, or out of time."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from httpdyno.errors import StoreError, TargetError, UsageError
from httpdyno.experiment.bench import Bench, StartRequest, block_order
from httpdyno.experiment.caveat import dropped_starts
from httpdyno.experiment.claim import MAY_LOSE, Claim, Terms, claim, comparison
from httpdyno.experiment.event import Event, Notice, StartDone
from httpdyno.experiment.soundness import disturbance, start_trouble
from httpdyno.model import (
    Caveat,
    Comparison,
    Configuration,
    Objective,
    Plan,
    StartRecord,
    WindowRecord,
)
from httpdyno.store.protocol import StudyStore
from httpdyno.units import format_duration

HOPELESS_FACTOR = 4.0
"""A comparison that would need this many times the starts it can have is ended early: the time
decides other steps. It stays `inconclusive`, with its interval, so nothing is claimed by it."""

MAX_STARTS = 400

N_FAILED_STARTS = 3
"""A start that fails is tried again. So many in a row are no accident: they end the run."""

N_DISTURBED_STARTS = 10
"""So many in a row in which this process stood still: nothing can be measured here now. It takes
more of them, because it is nobody's fault, and passes."""

CLOSING_RATIO = 0.03
"""Of the budget, for what comes after the last start: ending the servers, writing the report."""

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
    _stored: dict[int, list[StartRecord]] = field(default_factory=dict)
    _dropped: dict[int, list[str]] = field(default_factory=dict)
    """Why starts of a comparison were not used."""
    _next: dict[int, int] = field(default_factory=dict)
    """The number of a comparison's next start."""

    def __post_init__(self) -> None:
        for start in self.store.starts(self.run_id):
            self._stored.setdefault(start.comparison, []).append(start)

    @property
    def left_s(self) -> float:
        """What is left of the study's budget for starts."""
        return self.plan.study.budget_s * (1 - CLOSING_RATIO) - self.spent_s

    @property
    def overtime_s(self) -> float:
        """What is left where the last claim's fewest starts could not be had otherwise."""
        return self.left_s + OVERTIME_RATIO * self.plan.study.budget_s

    def n_stored(self, index: int) -> int:
        """Return how many starts of a comparison a resumed run already has."""
        return len(self._stored.get(index, []))

    def start(
        self,
        index: int,
        number: int,
        arms: tuple[Configuration, ...],
        n_blocks: int,
        left_out: frozenset[int] = frozenset(),
    ) -> StartRecord:
        """Return a start: the stored one where there is one, else measured now and stored."""
        stored = self._stored.get(index, [])
        if number < len(stored):
            record = stored[number]
            if record.configurations and record.configurations != arms:
                raise _other_history(self.run_id, record, arms)
        else:
            request = self._request(index, number, arms, n_blocks)
            request = replace(request, left_out=left_out)
            record = self.bench.measure_start(request, self._save)
            record = structs.replace(record, configurations=arms)
            self.store.save_start(self.run_id, record)
        self.spent_s += record.duration_s
        return record

    def sound_start(
        self,
        index: int,
        arms: tuple[Configuration, ...],
        n_blocks: int,
        *,
        left_out: frozenset[int] = frozenset(),
        references: tuple[int, ...] = (0,),
    ) -> StartRecord:
        """Return a comparison's next start that can be used; those that cannot are tried again.

        What a resumed run has stored of such starts is passed over, and not charged to its time:
        whatever was wrong then may be mended.

        Args:
            index: Of the comparison.
            arms: Side by side.
            n_blocks: Of windows.
            left_out: Arms that are not started.
            references: Arms that must run as they should. Without any, some arm must run.

        Raises:
            TargetError: Several in a row could not be used.
        """
        failures: list[StartRecord] = []
        while True:
            number = self._next.get(index, 0)
            self._next[index] = number + 1
            record = self.start(index, number, arms, n_blocks, left_out)
            words = start_trouble(record, references, self.plan.study)
            if not words:
                return record
            self._dropped.setdefault(index, []).append(words)
            if number < self.n_stored(index):
                self.spent_s -= record.duration_s
                continue
            failures.append(record)
            # A start that fails slowly must not be tried beyond the budget.
            if _are_too_many(failures) or self.left_s < record.duration_s:
                reference = arms[references[0]] if references else None
                raise self._failed(failures, words, reference)
            # A server's last words are many lines; where that goes on, the error has them all.
            self.watch(Notice(message=f"a start is tried again: {words.splitlines()[0]}"))

    def dropped_caveats(self, index: int) -> tuple[Caveat, ...]:
        """Return the doubt that starts of a comparison were tried again."""
        return dropped_starts(self._dropped.get(index, []))

    def _failed(
        self, failures: Sequence[StartRecord], words: str, reference: Configuration | None
    ) -> TargetError:
        n, record = len(failures), failures[-1]
        times = f"{n} starts in a row" if n > 1 else "a start that leaves no time for another"
        resume = (
            f"once that is mended, `--resume {self.run_id}` measures on, with `--accept-changes` "
            "where files were changed for it"
        )
        if disturbance(record):
            return TargetError(f"disturbed in {times}: {words}", hint=resume)
        if reference is None:
            knob = self.plan.study.method.knob
            return TargetError(f"no level of {knob} runs, in {times}: {words}", hint=resume)
        is_start = reference == self.plan.study.start_configuration()
        name = "starting" if is_start else "reference"
        return TargetError(
            f"the {name} configuration failed in {times}: {words}",
            hint=f"it is {reference.label()}; {resume}",
        )

    def _request(
        self, index: int, number: int, arms: tuple[Configuration, ...], n_blocks: int
    ) -> StartRequest:
        method = self.plan.study.method
        order = block_order(
            len(arms), n_blocks, seed=self.plan.seed, comparison=index, start=number
        )
        min_starts = method.min_starts
        return StartRequest(
            comparison=index,
            start=number,
            arms=arms,
            order=order,
            window_s=method.window_s,
            lead_in_s=method.lead_in_s,
            warm_up_s=method.warm_up_s,
            limit_s=self.left_s / max(1, min_starts - number),
            # What cannot fit into the budget is refused before any of it is spent.
            n_needed=0 if self.spent_s else min_starts,
        )

    def _save(self, window: WindowRecord) -> None:
        self.store.save_window(self.run_id, window)


@dataclass(frozen=True, kw_only=True, slots=True)
class Allowance:
    """What a comparison may use."""

    time_s: float
    limit_s: float
    """What it may borrow from later steps, in all, when a decision is that near."""
    n_blocks: int
    start_s: float
    """Expected time of one start."""
    whole_s: float = 0.0
    """What its fewest starts may use, in all: half of them prove nothing, so they go before what
    comes later and is not begun."""
    after_s: float = 0.0
    """Planned for what comes after it, for an honest time left."""
    must_decide: bool = False
    """Refuse to go on when the fewest starts cannot fit: there is nothing else to gain."""
    is_last: bool = False
    """Nothing comes after it: what it does not use decides nothing else."""
    precise_log_ratio: float | None = None
    """Go on after the decision until the half-width is this small, as time allows."""
    may_lose_ratio: float = MAY_LOSE
    """What of the metric the tie breaker may give away for what it decides by."""


def run_comparison(
    session: Session,
    index: int,
    arms: tuple[Configuration, Configuration],
    allowance: Allowance,
    objective: Objective | None = None,
) -> Comparison:
    """Measure starts of both arms until the comparison is decided, hopeless, or out of time.

    Looking after every start is allowed: the interval is valid at all of them together. The
    study's objective decides unless another is given.

    Raises:
        TargetError: The reference itself does not run.
    """
    study = session.plan.study
    terms = Terms(
        objective=objective or study.objective,
        min_starts=study.method.min_starts,
        requests=study.workload.requests,
        may_lose_ratio=allowance.may_lose_ratio,
    )
    starts: list[StartRecord] = []
    began_s = session.spent_s
    while True:
        record = session.sound_start(index, arms, allowance.n_blocks)
        starts.append(record)
        used_s = session.spent_s - began_s
        state = claim(starts, terms)
        is_first = len(starts) == 1 and not session.n_stored(index)
        if is_first and allowance.must_decide and not state.is_decided:
            require_budget(session, record.duration_s * study.method.min_starts, record)
        more_s = max(0.0, _more_s(state, used_s, starts, allowance)) + allowance.after_s
        session.watch(
            StartDone(
                stage=session.stage,
                n_starts=len(starts),
                interval=state.interval,
                elapsed_s=session.spent_s,
                left_s=min(more_s, max(0.0, session.left_s)),
            )
        )
        if _is_over(state, used_s, starts, (allowance, terms)):
            break
    result = comparison(index, starts, arms, terms)
    return structs.replace(result, caveats=(*result.caveats, *session.dropped_caveats(index)))


def unaffordable(
    session: Session,
    index: int,
    arms: tuple[Configuration, Configuration],
    needed_s: float,
) -> Comparison:
    """Return a comparison for which there is no time, saying what it takes."""
    study = session.plan.study
    terms = Terms(objective=study.objective, min_starts=study.method.min_starts)
    words = (
        f"no time was left for {terms.min_starts} starts of both, "
        f"which take about {format_duration(needed_s)}"
    )
    return structs.replace(comparison(index, [], arms, terms), reason=words, needed_s=needed_s)


def require_budget(session: Session, needed_s: float, first: StartRecord) -> None:
    """Refuse a budget in which nothing can be claimed, once the cost of a start is known.

    Raises:
        UsageError: With the time that it takes.
    """
    if needed_s - first.duration_s > session.left_s:
        study = session.plan.study
        raise UsageError(
            f"a budget of {format_duration(study.budget_s)} is too short to claim anything: "
            f"a start of all arms takes {format_duration(first.duration_s)}, "
            f"and it takes {study.method.min_starts} of them",
            hint=f"it takes about {format_duration(needed_s / (1 - CLOSING_RATIO) * 1.05)}; "
            "see `--budget`",
        )


def _are_too_many(failures: Sequence[StartRecord]) -> bool:
    """Tell whether starts have failed too often in a row; those that were disturbed count apart."""
    n_disturbed = sum(bool(disturbance(each)) for each in failures)
    n_failed = len(failures) - n_disturbed
    return n_failed >= N_FAILED_STARTS or n_disturbed >= N_DISTURBED_STARTS


def _other_history(run_id: str, record: StartRecord, arms: tuple[Configuration, ...]) -> StoreError:
    had, wanted = ("; ".join(each.label() for each in of) for of in (record.configurations, arms))
    return StoreError(
        f"start {record.start} of comparison {record.comparison} of run {run_id} measured {had}, "
        f"where {wanted} is to be measured now",
        hint="another version of httpdyno decided otherwise; begin a new run",
    )


def _is_over(
    state: Claim,
    used_s: float,
    starts: Sequence[StartRecord],
    rules: tuple[Allowance, Terms],
) -> bool:
    allowance, terms = rules
    is_long = len(starts) >= MAX_STARTS and not allowance.is_last
    if state.verdict in {"failed", "not_measured"} or is_long:
        return True
    # The next start must fit; the fewest starts are given while there is time for them at all.
    mean_s = used_s / len(starts)
    if len(starts) < terms.min_starts:
        left = terms.min_starts - len(starts)
        return used_s + mean_s * left > max(allowance.time_s, allowance.whole_s)
    is_late = used_s + mean_s > allowance.time_s
    margin = math.log1p(terms.objective.margin_ratio)
    if is_late and not _may_borrow(state, mean_s, used_s, allowance, margin):
        return True
    if state.is_decided:
        return allowance.precise_log_ratio is None or _is_precise(state, allowance)
    reachable = HOPELESS_FACTOR * allowance.time_s / mean_s
    is_hopeless = state.starts_needed is None or state.starts_needed > reachable
    return is_hopeless and not allowance.is_last


def _may_borrow(
    state: Claim, mean_s: float, used_s: float, allowance: Allowance, margin: float
) -> bool:
    """Tell whether a few more starts, within the limit, are expected to bring the decision."""
    if state.is_decided or state.starts_needed is None or state.interval is None:
        return False
    if abs(math.log(state.interval.ratio)) <= margin:
        return False  # what is heading for `equivalent` is worth its own time, not others'
    missing = max(1, state.starts_needed - state.n_starts)
    return missing <= state.n_starts and used_s + missing * mean_s <= allowance.limit_s


def _is_precise(state: Claim, allowance: Allowance) -> bool:
    if state.interval is None or allowance.precise_log_ratio is None:
        return True
    spread = state.interval.high / state.interval.low
    return spread <= (1 + allowance.precise_log_ratio) ** 2


def _more_s(
    state: Claim, used_s: float, starts: Sequence[StartRecord], allowance: Allowance
) -> float:
    """Guess how long this comparison still goes on."""
    if state.is_decided and (allowance.precise_log_ratio is None or _is_precise(state, allowance)):
        return 0.0
    mean_s = used_s / len(starts)
    if state.is_decided or state.starts_needed is None:
        return allowance.time_s - used_s
    return min(allowance.time_s - used_s, (state.starts_needed - len(starts)) * mean_s)
