"""What of the book is asked for on a command line, in which time, and what is known of it here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from httpdyno.book.advice import Advice, AdviceHere, Told, advice, all_advice
from httpdyno.book.declared import Timed, experiment, experiments, way_of, whole_s
from httpdyno.book.experiment import Experiment
from httpdyno.book.result import Now, UnderWay, kept_results, under_way
from httpdyno.cli.book_advice import advice_here
from httpdyno.cli.book_needs import reason_not
from httpdyno.cli.standard_streams import tell
from httpdyno.errors import UsageError
from httpdyno.study.complaint import nearest
from httpdyno.units import duration_s

RESUME = "`httpdyno book run --all --resume`"
_OVERHEAD = 1.15
"""Coming up, looking and ending are beside the budgets; what they take more is the others' loss."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to be run, as asked for on the command line."""

    names: Sequence[str]
    is_all: bool
    is_resumed: bool
    has_advice: bool
    """Whether all is the advice, too."""


def broken_off(request: Request, seed: int | None) -> UnderWay | None:
    """Return the run that goes on; None where a new one begins.

    Raises:
        UsageError: There is none, or what was asked for is its own to say.
    """
    if request.has_advice and not request.is_all:
        raise UsageError("`--advice` is for `--all`", hint="`httpdyno book run NAME` runs one")
    if not request.is_resumed:
        return None
    if not request.is_all:
        raise UsageError("`--resume` is for `--all`", hint=RESUME)
    if request.has_advice:
        raise UsageError(
            "the run that goes on knows whether it has the advice",
            hint="leave out `--advice` with `--resume`",
        )
    if seed is not None:
        raise UsageError(
            "the run that goes on has its own seed", hint="leave out `--seed` with `--resume`"
        )
    before = under_way()
    if before is None:
        raise UsageError("no `book run --all` was broken off here", hint="leave out `--resume`")
    return before


def limit_s_of(
    budget: str | None, asked: Sequence[Experiment | AdviceHere], before: UnderWay | None
) -> float:
    """Return the time for all that is asked for.

    Raises:
        UsageError: It is no time.
    """
    if budget is not None:
        given_s = duration_s(budget, "--budget")
        if given_s <= 0:
            raise UsageError(f"a budget of `{budget}` is no time at all", hint="`--budget 30m`")
        return given_s
    if before is not None and before.budget_s is not None:
        whole = _all_runnable(has_advice=before.has_advice)
        return before.budget_s * whole_s(asked) / whole_s(whole)
    return round_s(asked)


def round_s(asked: Sequence[Timed]) -> float:
    """Return the time after which none of these goes on, where no other is given."""
    return whole_s(asked) * _OVERHEAD


def what_is_asked(request: Request, before: UnderWay | None) -> list[Experiment | AdviceHere]:
    """Return what is to be run, in order.

    Raises:
        UsageError: Nothing is named, or too much, or something cannot run here.
    """
    if bool(request.names) == request.is_all:
        raise UsageError(
            "name experiments, or give `--all`, not both", hint="`httpdyno book` lists them"
        )
    if not request.is_all:
        return _those(request.names)
    has_advice = request.has_advice if before is None else before.has_advice
    asked = _all_runnable(has_advice=has_advice, is_told=True)
    if before is None:
        return asked
    found: list[Now | Told] = [*kept_results().values()]
    found += [each.now for each in asked if isinstance(each, AdviceHere) and each.now]
    done = {now.name for now in found if now.measured_at >= before.began_at}
    return [each for each in asked if each.name not in done]


def _those(names: Sequence[str]) -> list[Experiment | AdviceHere]:
    """Return what these names are of, as it is run: two of the same data are one."""
    asked: dict[str, Experiment | AdviceHere] = {}
    for name in names:
        each = named(name)
        if isinstance(each, Advice):
            [here] = advice_here([each])
            asked[here.name], reason = here, here.reason
        else:
            one = way_of(each)
            asked[one.name], reason = one, reason_not(one)
        if reason:
            raise UsageError(f"{name} cannot be run here: {reason}")
    return [*asked.values()]


def _all_runnable(*, has_advice: bool, is_told: bool = False) -> list[Experiment | AdviceHere]:
    """Return all that can run here; what is left out may be told."""
    reasons = reasons_not()
    asked: list[Experiment | AdviceHere] = [*runnable(reasons)]
    left = {each.name: reasons[each.name] for each in experiments() if not each.same_as}
    if has_advice:
        advised = advice_here(all_advice())
        asked += [here for here in advised if not here.reason]
        left |= {here.name: here.reason for here in advised}
    for name, reason in left.items():
        if is_told and reason:
            tell(f"left out: {name}: {reason}")
    return asked


def runnable(reasons: Mapping[str, str]) -> list[Experiment]:
    """Return those that can run here, without those that another stands for."""
    return [each for each in experiments() if not (each.same_as or reasons[each.name])]


def named(name: str) -> Experiment | Advice:
    """Return what goes by that name.

    Raises:
        UsageError: Nothing does.
    """
    each = experiment(name) or advice(name)
    if each is None:
        known = [one.name for one in experiments()] + [one.name for one in all_advice()]
        raise UsageError(
            f"no experiment is called `{name}`",
            hint=nearest(name, known) or "`httpdyno book` lists them",
        )
    return each


def reasons_not() -> Mapping[str, str]:
    """Return of each experiment why it cannot run here; empty where it can."""
    return {each.name: reason_not(each) for each in experiments()}


def results_here() -> dict[str, Now]:
    """Return what is kept, also under the names of those that were printed twice."""
    kept = kept_results()
    names = {each.name: way_of(each).name for each in experiments()}
    return {name: kept[of] for name, of in names.items() if of in kept}
