"""Advice of the founding documents that has no figures there, and what studies find of it here."""

import functools
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import msgspec

from httpdyno.book.found import Host, host_text
from httpdyno.catalog import open_study
from httpdyno.errors import StoreError
from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.design.smoke_test import rehearse
from httpdyno.host.foreign_files import is_there
from httpdyno.metrics import named
from httpdyno.model import Comparison, Configuration, Outcome, Record, Step, Study, Verdict
from httpdyno.registry import load_target
from httpdyno.report.shared.message import joined, text, texts
from httpdyno.report.study.verdict import decider, deciding, evidence_text, verdict_badge
from httpdyno.servers.limits.limit_group import limits_complaint
from httpdyno.store import Store
from httpdyno.store.database import store_location


class Advice(Record, frozen=True):
    """One advice, and the bundled study that asks it. It goes by the study's name."""

    study: str
    chapter: str
    """The documents, and where in them."""
    says: str
    """What they say, in one sentence."""
    claim: str = ""
    """The study's change that is about it: `knob → level`, or a candidate's name. Empty: the
    first."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return self.study

    @property
    def command(self) -> str:
        """That runs its study."""
        return f"httpdyno book run {self.name}"


class Told(Record, frozen=True):
    """What a run of the study found of the advice."""

    name: str
    claim: str
    """The change: `knob → level`, or a candidate's name."""
    verdict: Verdict
    badge: str
    """The verdict in a word or two, with how the candidate failed, where it did."""
    says: str
    """Which figure, by how much, with its interval; or why there is none."""
    measured_at: str
    """ISO 8601, UTC: when the run began."""
    run_id: str
    """Of the stored run, for `httpdyno report`."""
    metric: str = ""
    """What the verdict rests on; empty where nothing was measured."""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    """None where nothing bounds it."""
    confidence: float | None = None
    n_starts: int = 0
    host: str = ""
    """Processor, cores and kernel."""
    server: str = ""
    """What the server says of itself."""
    seed: int | None = None


class AdviceHere(Record, frozen=True):
    """An advice with what this machine has to say of it."""

    advice: Advice
    title: str
    """Of the study."""
    claim: str
    """That is told of a run."""
    budget_s: float
    """What the study may take."""
    reason: str = ""
    """Why it cannot run here; empty where it can."""
    now: Told | None = None
    """What was found here last."""

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return self.advice.name


@functools.cache
def all_advice() -> tuple[Advice, ...]:
    """Return what is declared, in the order of the documents."""
    text = files("httpdyno.book").joinpath("advice.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, tuple[Advice, ...]])["advice"]


def advice(name: str) -> Advice | None:
    """Return the one of that name; None where there is none."""
    return next((each for each in all_advice() if each.name == name), None)


def advice_here(asked: Sequence[Advice]) -> list[AdviceHere]:
    """Return what this machine has to say of each: whether it can run, and what came out last.

    That is of the newest stored run that compared just the change which the advice is about, by
    whatever command.

    Raises:
        StoreError: There is a store that cannot be opened.
    """
    with _kept_runs() as store:
        return [_here(each, store) for each in asked]


def change_of(each: Advice, study: Study) -> Step:
    """Return the change of the study that is about the advice."""
    steps = make_plan(study, seed=0).steps
    return next(step for step in steps if each.claim in {"", step.label})


def told_of(outcome: Outcome, name: str, change: Step) -> Told | None:
    """Return what a run says of a change; None where it says nothing.

    Args:
        outcome: Of a run of the study, by its own method or by `compare`.
        name: Of the advice.
        change: That the advice is about. A ladder compares it with the best so far; what `compare`
            was told to begin from has to be the study's start.
    """
    for compared in _comparisons(outcome):
        if _is_of(compared, change) and compared.verdict != "not_measured":
            return _told(outcome, name, change, compared)
    return None


@contextmanager
def _kept_runs() -> Iterator[Store | None]:
    """Yield the store; None where nothing was ever stored: looking makes none."""
    file = store_location().file
    if file is not None and not is_there(file):
        yield None
        return
    with Store.open() as store:
        yield store


def _here(each: Advice, store: Store | None) -> AdviceHere:
    study = open_study(each.study)
    change = change_of(each, study)
    return AdviceHere(
        advice=each,
        title=study.title,
        claim=change.label,
        budget_s=study.budget_s,
        reason=_reason_not(study),
        now=None if store is None else _last(store, each.name, study, change),
    )


def _reason_not(study: Study) -> str:
    """Return why a study cannot be run; empty where it can."""
    missing = list(texts(load_target(study).missing(study.server)))
    if complaint := limits_complaint(limits for _, limits in study.limits):
        missing.append(text(complaint))
    return "; ".join(missing)


def _last(store: Store, name: str, study: Study, change: Step) -> Told | None:
    for run_id in store.run_ids_of(study.name):
        try:
            outcome = store.outcome(run_id)
        except StoreError:
            continue  # One that cannot be read must not hide the others.
        if outcome is not None and _is_bundled(outcome, study) and _asks_as_it(outcome, study):
            told = told_of(outcome, name, change)
            if told is not None:
                return told
    return None


def _is_bundled(outcome: Outcome, study: Study) -> bool:
    """Whether a run is of the bundled study, wherever httpdyno was then, and of no copy of it."""
    n = len(("httpdyno", "studies", study.name))
    return Path(outcome.plan.study.folder).parts[-n:] == Path(study.folder).parts[-n:]


def _asks_as_it(outcome: Outcome, study: Study) -> bool:
    """Whether the phase and the metrics that decide are the study's own, and no command's."""
    asked, own = outcome.plan.study, study
    return (asked.method.decides, asked.objective.metric, asked.objective.tie_breaker) == (
        own.method.decides,
        own.objective.metric,
        own.objective.tie_breaker,
    )


def _comparisons(outcome: Outcome) -> Iterator[Comparison]:
    plan = outcome.plan
    if plan.command == "compare":
        reference = plan.compare[0] if plan.compare else plan.reference
        if reference != plan.study.start_configuration():
            return
        # Of several candidates each is a step; of two configurations there is one comparison.
        if plan.compare and outcome.final is not None:
            yield outcome.final
    for step in outcome.steps:
        yield step.comparison


def _is_of(compared: Comparison, change: Step) -> bool:
    """Whether the two differ by just that change."""
    a, b = compared.a.configuration.values, compared.b.configuration.values
    differ = {knob: level for knob, level in b.items() if a.get(knob) != level}
    asked = {knob: level for knob, level in change.values.items() if a.get(knob) != level}
    return bool(differ) and differ == asked


def _told(outcome: Outcome, name: str, change: Step, compared: Comparison) -> Told:
    interval, words = deciding(compared), evidence_text(compared)
    if interval is not None and not compared.decided_by:
        words = f"{named(compared.metric).label} {words}"
    # A ladder compares with the best so far, which is not the study's start any more.
    start = outcome.plan.study.start_configuration().values
    best = {k: v for k, v in compared.a.configuration.values.items() if start.get(k) != v}
    if best:
        words += f"; over the best so far, {Configuration(values=best).label()}"
    return Told(
        name=name,
        claim=change.label,
        verdict=compared.verdict,
        badge=verdict_badge(compared),
        says=words,
        measured_at=outcome.began_at,
        run_id=outcome.id,
        metric=decider(compared) if interval else "",
        ratio=interval.ratio if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval and interval.high < math.inf else None,
        confidence=interval.confidence if interval else None,
        n_starts=compared.n_starts,
        host=host_text(outcome.host),
        server=outcome.host.server,
        seed=outcome.plan.seed,
    )


def run_advice(here: AdviceHere, host: Host, *, budget_s: float, seed: int) -> Told:
    """Run the study of an advice, which stores it, and return what it says of the advice.

    Raises:
        HttpdynoError: It cannot run here, or the time is too short for any claim.
        KeyboardInterrupt: Somebody wants it to end; what was measured is stored.
    """
    study = open_study(here.advice.study)
    plan = make_plan(study, seed=seed, budget_s=budget_s)
    rehearse(plan, load_target(study))
    outcome = host.run_plan(plan)
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    return told_of(outcome, here.name, change_of(here.advice, study)) or Told(
        name=here.name,
        claim=here.claim,
        verdict="not_measured",
        badge="not measured",
        says=joined(outcome.ended_by) or "the time was over before it",
        measured_at=outcome.began_at,
        run_id=outcome.id,
        host=host_text(outcome.host),
        server=outcome.host.server,
        seed=seed,
    )
