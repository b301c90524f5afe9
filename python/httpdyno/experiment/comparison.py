"""One comparison: starts of both arms until it is decided, hopeless, or out of time."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.bench import Bench, StartRequest, block_order
from httpdyno.experiment.claim import Claim, claim, comparison
from httpdyno.experiment.event import Event, StartDone
from httpdyno.experiment.evidence import arm_status
from httpdyno.model import Comparison, Configuration, Objective, Plan, StartRecord, WindowRecord
from httpdyno.store.protocol import StudyStore
from httpdyno.units import format_duration

HOPELESS_FACTOR = 4.0
"""A comparison that would need this many times the starts it can have is ended early: the time
decides other steps. It stays `inconclusive`, with its interval, so nothing is claimed by it."""

MAX_STARTS = 400

CLOSING_RATIO = 0.03
"""Of the budget, for what comes after the last start: ending the servers, writing the report."""


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

    def __post_init__(self) -> None:
        for start in self.store.starts(self.run_id):
            self._stored.setdefault(start.comparison, []).append(start)

    @property
    def left_s(self) -> float:
        """What is left of the study's budget for starts."""
        return self.plan.study.budget_s * (1 - CLOSING_RATIO) - self.spent_s

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
        else:
            request = self._request(index, number, arms, n_blocks)
            request = replace(request, left_out=left_out)
            record = self.bench.measure_start(request, self._save)
            self.store.save_start(self.run_id, record)
        self.spent_s += record.duration_s
        return record

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
    after_s: float = 0.0
    """Planned for what comes after it, for an honest time left."""
    must_decide: bool = False
    """Refuse to go on when the fewest starts cannot fit: there is nothing else to gain."""
    precise_log_ratio: float | None = None
    """Go on after the decision until the half-width is this small, as time allows."""


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
    objective = objective or study.objective
    starts: list[StartRecord] = []
    used_s = 0.0
    while True:
        record = session.start(index, len(starts), arms, allowance.n_blocks)
        starts.append(record)
        used_s += record.duration_s
        _require_reference(starts, arms[0])
        if len(starts) == 1 and allowance.must_decide and not session.n_stored(index):
            require_budget(session, record.duration_s * study.method.min_starts, record)
        state = claim(starts, objective, min_starts=study.method.min_starts)
        session.watch(
            StartDone(
                stage=session.stage,
                n_starts=len(starts),
                interval=state.interval,
                elapsed_s=session.spent_s,
                left_s=max(0.0, _more_s(state, used_s, starts, allowance)) + allowance.after_s,
            )
        )
        if _is_over(state, starts, allowance, (study.method.min_starts, objective)):
            break
    return comparison(index, starts, arms, objective, min_starts=study.method.min_starts)


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


def _require_reference(starts: Sequence[StartRecord], configuration: Configuration) -> None:
    status, detail = arm_status(starts, 0)
    if status != "complete":
        raise TargetError(
            f"the reference configuration did not run ({status}): {detail}",
            hint=f"It is: {configuration.label()}",
        )


def _is_over(
    state: Claim,
    starts: Sequence[StartRecord],
    allowance: Allowance,
    rules: tuple[int, Objective],
) -> bool:
    min_starts, objective = rules
    used_s = math.fsum(start.duration_s for start in starts)
    if arm_status(starts, 1)[0] != "complete" or len(starts) >= MAX_STARTS:
        return True
    # The next start must fit; the fewest starts are given even when the time is over by a little.
    mean_s = used_s / len(starts)
    is_late = used_s + mean_s > allowance.time_s
    if len(starts) < min_starts:
        return is_late and used_s + mean_s * (min_starts - len(starts)) > allowance.time_s * 1.25
    if is_late and not _may_borrow(
        state, mean_s, used_s, allowance, math.log1p(objective.margin_ratio)
    ):
        return True
    if state.is_decided:
        return allowance.precise_log_ratio is None or _is_precise(state, allowance)
    reachable = allowance.time_s / mean_s
    return state.starts_needed is None or state.starts_needed > HOPELESS_FACTOR * reachable


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
    if state.is_decided:
        return 0.0
    mean_s = used_s / len(starts)
    if state.starts_needed is None:
        return allowance.time_s - used_s
    return min(allowance.time_s - used_s, (state.starts_needed - len(starts)) * mean_s)
