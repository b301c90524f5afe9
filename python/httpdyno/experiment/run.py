"""A whole run in order: calibrate, climb or sweep, prove on fresh starts, tell."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from httpdyno.errors import HttpdynoError, TargetError, UsageError
from httpdyno.experiment.bench import Bench
from httpdyno.experiment.calibration import N_STARTS, Pace, pace
from httpdyno.experiment.claim import limit_broken
from httpdyno.experiment.comparison import Allowance, Session, run_comparison
from httpdyno.experiment.event import Event, FinalDone, Notice, Stage
from httpdyno.experiment.evidence import arm_summary, window_caveats
from httpdyno.experiment.ladder import climb, fewest_s, final_comparison, final_reserve_s
from httpdyno.experiment.sweep import run_sweep
from httpdyno.model import (
    Caveat,
    Comparison,
    Configuration,
    HostFacts,
    LadderStep,
    Outcome,
    Plan,
    StartRecord,
    Study,
    level_text,
)
from httpdyno.store.protocol import StudyStore
from httpdyno.units import format_change, format_duration, format_guess

CALIBRATION_INDEX = 0
"""Comparisons are numbered: 0 is the A/A calibration, then the steps, last the final one."""


def run_plan(
    plan: Plan, *, bench: Bench, store: StudyStore, run_id: str, watch: Callable[[Event], None]
) -> Outcome:
    """Do what the plan says; return what was found, also when interrupted.

    Every window, start and step is stored as it ends. Run again with the same `run_id`, it takes
    the stored starts first and goes on where they end.

    Raises:
        HttpdynoError: The study cannot go on; what was found so far is stored.
    """
    session = Session(plan=plan, bench=bench, store=store, run_id=run_id, watch=watch)
    report = _Report(session)
    report.doubt(*_host_caveats(report.outcome.host))
    try:
        if plan.compare is not None:
            _compare(session, report, plan.compare)
        elif plan.study.method.kind == "sweep":
            _sweep(session, report)
        else:
            _ladder(session, report)
    except KeyboardInterrupt:
        return report.note(
            status="interrupted",
            message=f"interrupted; `httpdyno study run --resume {run_id}` goes on from here",
        )
    except HttpdynoError as error:
        report.note(status="failed", message=f"{error}")
        raise
    return report.note(status="complete")


def _ladder(session: Session, report: "_Report") -> None:
    plan = session.plan
    tempo = _calibrate(session, report, n_comparisons=len(plan.steps) + 1)
    _require_time(session, tempo)
    steps, best = climb(session, tempo, lambda done: report.note(steps=done))
    report.doubt(*_not_tried(session, tempo, steps))
    # Comparisons are numbered: steps, then their second tries, then the final one.
    final = final_comparison(session, tempo, 2 * len(plan.steps) + 1, best)
    report.note(steps=steps, final=final)
    report.doubt(*_broken_final(final, plan.study))
    report.settle(best)


def _require_time(session: Session, tempo: Pace) -> None:
    """Refuse a budget in which not even one step could be proven."""
    needed_s = fewest_s(session, tempo) + final_reserve_s(session, tempo)
    if session.left_s < needed_s and not session.n_stored(1):
        whole_s = session.spent_s + (len(session.plan.steps) + 1.1) * fewest_s(session, tempo)
        raise UsageError(
            f"a budget of {format_duration(session.plan.study.budget_s)} is too short to prove "
            f"even one step: a start of both arms takes {format_duration(tempo.start_s)}, and "
            f"each claim needs {session.plan.study.method.min_starts}",
            hint=f"all steps take about {format_duration(whole_s * 1.1)}; see `--budget`",
        )


def _not_tried(session: Session, tempo: Pace, steps: Sequence[LadderStep]) -> list[Caveat]:
    """Return the doubt that steps were left out for want of time."""
    last = max((step.comparison.index for step in steps), default=0)
    left = [f"{step.knob} → {level_text(step.to)}" for step in session.plan.steps[last:]]
    if not left:
        return []
    more_s = len(left) * fewest_s(session, tempo)
    words = (
        f"not tried for want of time: {', '.join(left)}; "
        f"about {format_duration(more_s)} more would do"
    )
    session.watch(Notice(message=words))
    return [Caveat(kind="steps_not_tried", message=words)]


def _sweep(session: Session, report: "_Report") -> None:
    study = session.plan.study
    curve = run_sweep(session, 1, lambda sweep: report.note(sweep=sweep))
    report.note(sweep=curve)
    best = study.start_configuration().replaced(study.method.knob, curve.knee)
    starts = [s for s in session.store.starts(session.run_id, 1) if len(s.statuses) > 1]
    # Two of the sweep's arms cost what their share of its starts' time was.
    start_s = starts[0].duration_s / len(starts[0].statuses) * 2
    tempo = Pace(
        n_blocks=study.method.blocks_per_start,
        start_s=start_s,
        overhead_s=0.0,
        block_s=0.0,
        figures={},
    )
    final = final_comparison(session, tempo, 2, best)
    report.note(final=final)
    report.doubt(*_broken_final(final, study))
    report.settle(best)


def _compare(
    session: Session, report: "_Report", arms: tuple[Configuration, Configuration]
) -> None:
    study = session.plan.study
    session.stage = "comparison"
    session.watch(
        Stage(
            name="comparison",
            detail=", ".join(
                f"{name} {level_text(old)} → {level_text(new)}"
                for name, (old, new) in arms[0].changes(arms[1]).items()
            )
            or "a configuration against itself",
            elapsed_s=0.0,
            left_s=study.budget_s,
        )
    )
    allowance = Allowance(
        time_s=session.left_s,
        must_decide=True,
        limit_s=session.left_s,
        n_blocks=study.method.blocks_per_start,
        start_s=0.0,
    )
    result = run_comparison(session, 1, arms, allowance)
    session.watch(FinalDone(comparison=result))
    report.note(final=result)
    broken = _broken_final(result, study)
    report.doubt(*broken)
    report.settle(arms[1] if result.verdict == "better" and not broken else arms[0], arms)


def _calibrate(session: Session, report: "_Report", *, n_comparisons: int) -> Pace:
    study = session.plan.study
    session.stage = "calibration"
    session.watch(
        Stage(
            name="calibration",
            detail="the starting configuration against itself",
            elapsed_s=session.spent_s,
            left_s=study.budget_s,
        )
    )
    start = study.start_configuration()
    blocks = min(study.method.blocks_per_start, max(2, study.method.blocks_per_start // 2))
    starts = [
        session.start(CALIBRATION_INDEX, number, (start, start), blocks)
        for number in range(N_STARTS)
    ]
    for record in starts:
        for status, detail in zip(record.statuses, record.details, strict=True):
            if status != "complete":
                raise _not_running(status, detail, start)
    tempo = pace(starts, study, n_comparisons=n_comparisons)
    report.note(calibration=tempo.figures)
    seen = [
        structs.replace(each, message=f"in the calibration: {each.message}")
        for each in window_caveats(starts)
    ]
    report.doubt(*seen, *_broken_start(starts, study))
    session.watch(Notice(message=_calibration_words(tempo, study.budget_s)))
    return tempo


def _broken_final(final: Comparison | None, study: Study) -> list[Caveat]:
    broken = limit_broken(final.b, study.objective) if final else ""
    words = f"the configuration measured at last breaks a limit: {broken}"
    return [Caveat(kind="final_breaks_limit", message=words)] if broken else []


def _host_caveats(host: HostFacts) -> list[Caveat]:
    if host.client_cpus:
        return []
    words = (
        f"the load client and the server shared {host.n_cpus} cores: throughput is lower than with "
        "a client elsewhere, and its ratios are, if anything, nearer to 1"
    )
    return [Caveat(kind="shared_cores", message=words)]


def _broken_start(starts: Sequence[StartRecord], study: Study) -> list[Caveat]:
    arm = arm_summary(starts, 0, study.start_configuration())
    broken = limit_broken(arm, study.objective)
    words = f"the starting configuration itself breaks a limit: {broken}"
    return [Caveat(kind="start_breaks_limit", message=words)] if broken else []


def _not_running(status: str, detail: str, configuration: Configuration) -> TargetError:
    return TargetError(
        f"the starting configuration did not run ({status}): {detail}",
        hint=f"It is: {configuration.label()}",
    )


def _calibration_words(tempo: Pace, budget_s: float) -> str:
    words = f"starting both servers and loading them takes about {format_guess(tempo.start_s)}"
    detectable = tempo.figures.get("detectable_ratio")
    if detectable is None:
        return words
    return (
        f"{words}; a difference of about {format_change(detectable)} or more can be proven in "
        f"{format_duration(budget_s)}"
    )


class _Report:
    """The outcome as it grows; stored at every step so that nothing found is lost."""

    def __init__(self, session: Session) -> None:
        self._session = session
        before = session.store.outcome(session.run_id)
        # A resumed run keeps what is known until it has found it again.
        self.outcome = (
            structs.replace(before, status="running", message="") if before else self._new()
        )

    def _new(self) -> Outcome:
        session = self._session
        return Outcome(
            id=session.run_id,
            status="running",
            plan=session.plan,
            host=session.bench.host(),
            began_at=datetime.now(UTC).isoformat(timespec="seconds"),
            duration_s=0.0,
            configuration=session.plan.study.start_configuration(),
        )

    def note(self, **found: Any) -> Outcome:  # noqa: ANN401 - fields of Outcome
        """Take in what was found, and store it."""
        self.outcome = structs.replace(self.outcome, duration_s=self._session.spent_s, **found)
        self._session.store.save_outcome(self._session.run_id, self.outcome)
        return self.outcome

    def doubt(self, *caveats: Caveat) -> None:
        """Attach doubts to the outcome, each once."""
        known = self.outcome.caveats
        self.note(caveats=(*known, *(each for each in caveats if each not in known)))

    def settle(
        self, best: Configuration, arms: tuple[Configuration, Configuration] | None = None
    ) -> None:
        """Say which configuration won, and what differs in the server's files."""
        start, final = arms or (self._session.plan.study.start_configuration(), best)
        diff = self._session.bench.configuration_diff(start, final)
        self.note(configuration=best, overlay_diff=diff)
