"""A whole run in order: calibrate, climb or sweep, prove on fresh starts, tell."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from httpdyno.errors import HttpdynoError, UsageError
from httpdyno.experiment import caveat
from httpdyno.experiment.bench import Bench
from httpdyno.experiment.calibration import N_STARTS, Pace, pace
from httpdyno.experiment.claim import MAY_LOSE, METRIC_NAMES, limit_broken
from httpdyno.experiment.comparison import Allowance, Session, run_comparison
from httpdyno.experiment.event import Event, FinalDone, Notice, Stage
from httpdyno.experiment.evidence import RATIO_OF_METRIC, arm_summary
from httpdyno.experiment.inputs import changed_names, input_digests
from httpdyno.experiment.ladder import (
    climb,
    fewest_s,
    final_comparison,
    final_reserve_s,
    learnt,
)
from httpdyno.experiment.sweep import run_sweep
from httpdyno.model import (
    Caveat,
    Comparison,
    Configuration,
    LadderStep,
    Level,
    Outcome,
    Plan,
    Study,
    level_text,
)
from httpdyno.store.protocol import StudyStore
from httpdyno.units import format_change, format_duration, format_guess

CALIBRATION_INDEX = 0
"""Comparisons are numbered: 0 is the A/A calibration, then the steps, last the final one."""


def run_plan(  # noqa: PLR0913 - effects in, each by its name
    plan: Plan,
    *,
    bench: Bench,
    store: StudyStore,
    run_id: str,
    watch: Callable[[Event], None],
    doubts: Sequence[Caveat] = (),
) -> Outcome:
    """Do what the plan says; return what was found, also when interrupted.

    Every window, start and step is stored as it ends. Run again with the same `run_id`, it takes
    the stored starts first and goes on where they end.

    Args:
        plan: What to do.
        bench: Where starts are measured.
        store: Where they are kept.
        run_id: The run's id in the store.
        watch: Is told what happens.
        doubts: What is known against the result before it is there.

    Raises:
        HttpdynoError: The study cannot go on; what was found so far is stored.
    """
    session = Session(plan=plan, bench=bench, store=store, run_id=run_id, watch=watch)
    report = _Report(session)
    report.doubt(*caveat.shared_cores(report.outcome.host), *doubts)
    before = input_digests(plan.study) if plan.inputs else {}
    try:
        if plan.compare is not None:
            _compare(session, report, plan.compare)
        elif plan.study.method.kind == "sweep":
            _sweep(session, report)
        else:
            _ladder(session, report)
        report.doubt(*_changed_amid(plan, before))
    except KeyboardInterrupt:
        report.doubt(*_changed_amid(plan, before))
        return report.note(
            status="interrupted",
            message=f"interrupted; `httpdyno study run --resume {run_id}` goes on from here",
        )
    except HttpdynoError as error:
        report.note(status="failed", message=f"{error}")
        raise
    return report.note(status="complete")


def _changed_amid(plan: Plan, before: dict[str, str]) -> tuple[Caveat, ...]:
    """Return the doubt that files were changed while they were measured with."""
    names = changed_names(before, input_digests(plan.study)) if before else []
    return caveat.changed_amid_run(names)


def _ladder(session: Session, report: "_Report") -> None:
    plan = session.plan
    tempo = _calibrate(session, report, n_comparisons=len(plan.steps) + 1)
    _require_time(session, tempo)
    session.watch(Notice(message=_calibration_words(tempo, plan.study.budget_s)))
    steps, best = climb(session, tempo, lambda done: report.note(steps=done))
    tempo = learnt(tempo, steps)
    _leave_out(session, report, tempo, steps)
    # What decided the steps decides the whole: the metric alone, unless its tie breaker kept some.
    is_by_tie = any(step.kept and step.comparison.decided_by for step in steps)
    objective = plan.study.objective
    if not is_by_tie:
        objective = structs.replace(objective, tie_breaker="")
    # Comparisons are numbered: steps, then their second tries, then the final one.
    final = final_comparison(session, tempo, 2 * len(plan.steps) + 1, best, objective)
    report.note(steps=steps, final=final)
    broken = _broken_final(final, plan.study)
    report.doubt(*caveat.final_breaks_limit(broken))
    n_kept = sum(step.kept for step in steps)
    what = "the change that was kept" if n_kept == 1 else f"the {n_kept} changes that were kept"
    report.settle(best, withdrawn=_withdrawn(final, broken, what))


def _withdrawn(final: Comparison | None, broken: str, what: str) -> str:
    """Return why the start stays although a better one was found on the way; empty if it does not.

    What the steps found is chosen because it came out well; the final claim, on fresh starts, is
    what one may believe. Without its word nothing is settled on but the start.
    """
    if final is None or (final.verdict == "better" and not broken):
        return ""
    if broken:
        return f"the start stays: {what} breaks a limit: {broken}"
    words = {
        "worse": "came out worse on fresh starts",
        "equivalent": "made no difference on fresh starts",
        "failed": "failed on fresh starts",
    }.get(final.verdict, "could not be proven on fresh starts")
    name = METRIC_NAMES[final.decided_by or final.metric]
    why = f"{name}: {final.reason}" if final.ratios else final.reason
    return f"the start stays: {what} {words} ({why})"


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


def _leave_out(
    session: Session, report: "_Report", tempo: Pace, steps: Sequence[LadderStep]
) -> None:
    """Say which steps were left out for want of time, and how much more they take."""
    last = max((step.comparison.index for step in steps), default=0)
    left = session.plan.steps[last:]
    if not left:
        report.note(not_tried=(), needed_s=None)
        return
    needed_s = len(left) * fewest_s(session, tempo)
    names = ", ".join(f"{step.knob} → {level_text(step.to)}" for step in left)
    words = f"not tried for want of time: {names}; about {format_duration(needed_s)} more would do"
    session.watch(Notice(message=words))
    report.note(not_tried=left, needed_s=needed_s)
    report.doubt(*caveat.steps_not_tried(words))


def _sweep(session: Session, report: "_Report") -> None:
    study = session.plan.study
    curve, pair_s, doubts = run_sweep(session, 1, lambda sweep: report.note(sweep=sweep))
    report.note(sweep=curve)
    report.doubt(*session.dropped_caveats(1), *caveat.within("on the curve", doubts))
    start = study.start_configuration()
    best = start.replaced(study.method.knob, curve.knee)
    of_start = next(p.arm for p in curve.points if p.level == start.values[study.method.knob])
    if of_start.status != "complete":
        report.doubt(*caveat.start_fails(of_start.status, of_start.detail))
        report.settle(best)
        return
    tempo = Pace(
        n_blocks=study.method.blocks_per_start,
        start_s=pair_s,
        overhead_s=0.0,
        block_s=0.0,
        figures={},
    )
    final = final_comparison(session, tempo, 2, best, study.objective)
    report.note(final=final)
    broken = _broken_final(final, study)
    report.doubt(*caveat.final_breaks_limit(broken))
    what = f"{study.method.knob} {level_text(curve.knee)}, the curve's knee,"
    is_tie = _wins_tie(final, curve.knee, start.values[study.method.knob])
    report.settle(best, withdrawn="" if is_tie and not broken else _withdrawn(final, broken, what))


def _wins_tie(final: Comparison | None, knee: Level, start: Level) -> bool:
    """Tell whether the knee stands by being fewer, as on the curve: nothing shows a difference.

    As with other tie breakers, little may be lost by it, and that is proven.
    """
    interval = final.ratios.get(RATIO_OF_METRIC[final.metric]) if final else None
    if final is None or interval is None or isinstance(knee, str) or isinstance(start, str):
        return False
    if caveat.is_unsteady(final.caveats):
        return False  # its figures contradict each other, so they prove nothing
    is_tie = final.verdict in {"equivalent", "inconclusive"}
    return is_tie and knee < start and interval.low >= 1 - MAY_LOSE


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
        whole_s=session.overtime_s,
        n_blocks=study.method.blocks_per_start,
        start_s=0.0,
        is_last=True,
    )
    result = run_comparison(session, 1, arms, allowance)
    session.watch(FinalDone(comparison=result))
    report.note(final=result)
    broken = _broken_final(result, study)
    report.doubt(*caveat.final_breaks_limit(broken))
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
        session.sound_start(CALIBRATION_INDEX, (start, start), blocks, references=(0, 1))
        for _ in range(N_STARTS)
    ]
    report.doubt(*session.dropped_caveats(CALIBRATION_INDEX))
    tempo = pace(starts, study, n_comparisons=n_comparisons)
    report.note(calibration=tempo.figures)
    seen = caveat.within("in the calibration", caveat.window_caveats(starts))
    broken = limit_broken(arm_summary(starts, 0, start), study.objective)
    report.doubt(*seen, *caveat.start_breaks_limit(broken))
    return tempo


def _broken_final(final: Comparison | None, study: Study) -> str:
    """Return the limit that the final configuration breaks; empty where it keeps all."""
    return limit_broken(final.b, study.objective) if final else ""


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
            structs.replace(before, status="running", message="", plan=session.plan)
            if before
            else self._new()
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
        self,
        best: Configuration,
        arms: tuple[Configuration, Configuration] | None = None,
        *,
        withdrawn: str = "",
    ) -> None:
        """Say which configuration won, and what differs in the server's files.

        Args:
            best: What was found.
            arms: Between which the files differ; start and result unless given.
            withdrawn: Why it is not settled on, but the start is.
        """
        start = self._session.plan.study.start_configuration()
        result = start if withdrawn else best
        diff = self._session.bench.configuration_diff(*(arms or (start, result)))
        self.note(configuration=result, overlay_diff=diff, withdrawn=withdrawn)
