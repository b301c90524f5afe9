"""What of the book is asked for, whether it can run here, and running it within a time."""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import msgspec

from httpdyno.book.advice import (
    Advice,
    AdviceHere,
    Told,
    advice,
    advice_here,
    all_advice,
    run_advice,
)
from httpdyno.book.count import count
from httpdyno.book.experiment import (
    Count,
    Experiment,
    Pair,
    Script,
    Timed,
    experiment,
    experiments,
    way_of,
    whole_s,
)
from httpdyno.book.found import Asked, Found, Host, host_text
from httpdyno.book.pair import pair
from httpdyno.book.result import Now, UnderWay, keep, kept_results, under_way
from httpdyno.book.script import script
from httpdyno.catalog import open_study
from httpdyno.errors import AdapterError, HttpdynoError, UsageError
from httpdyno.host.runnable import said_by
from httpdyno.model import MachineCard
from httpdyno.registry import load_target
from httpdyno.report.shared.message import error_text, texts
from httpdyno.servers.staging import clean_environment
from httpdyno.study.complaint import nearest
from httpdyno.telemetry.host import host_facts
from httpdyno.units import duration_s, format_guess

RESUME = "`httpdyno book run --all --resume`"
_OVERHEAD = 1.15
"""Coming up, looking and ending are beside the budgets; what they take more is the others' loss."""
_PACKAGES = {"ab": "apache2-utils", "LWP::UserAgent": "libwww-perl"}
"""Of Debian, where they are not called like what is needed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What is to be run, as asked for on the command line."""

    names: Sequence[str]
    is_all: bool
    is_resumed: bool
    has_advice: bool
    """Whether all is the advice, too."""


@dataclass(kw_only=True, slots=True)
class Round:
    """Experiments and advice to run, and what came of them so far."""

    asked: Sequence[Experiment | AdviceHere]
    seed: int
    limit_s: float
    """For all of them together. Where that is less than their own budgets add up to, each has its
    share of what is left, so what one does not use is the others'."""
    stretch: float = 1.0
    """What each may take at most, over its own budget: more than 1 where more time is given."""
    card: MachineCard
    """What the machine takes, to stand beside each result."""
    show: Callable[[Experiment | AdviceHere, Now | Told], None]
    done: list[Now | Told] = field(default_factory=list)
    n_failed: int = 0
    """Those that could not be measured, or for which no time was left."""
    n_left: int = 0
    """Of them those that were not begun, because the time was over."""


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
        whole, _ = _all_runnable(has_advice=before.has_advice)
        return before.budget_s * whole_s(asked) / whole_s(whole)
    return round_s(asked)


def round_s(asked: Sequence[Timed]) -> float:
    """Return the time after which none of these goes on, where no other is given."""
    return whole_s(asked) * _OVERHEAD


def what_is_asked(
    request: Request, before: UnderWay | None, tell: Callable[[str], None]
) -> list[Experiment | AdviceHere]:
    """Return what is to be run, in order; what all of them leave out is told.

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
    asked, left_out = _all_runnable(has_advice=has_advice)
    for name, reason in left_out.items():
        tell(f"left out: {name}: {reason}")
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


def _all_runnable(*, has_advice: bool) -> tuple[list[Experiment | AdviceHere], dict[str, str]]:
    """Return all that can run here, and why the others cannot, by name."""
    reasons = reasons_not()
    asked: list[Experiment | AdviceHere] = [*runnable(reasons)]
    left = {each.name: reasons[each.name] for each in experiments() if not each.same_as}
    if has_advice:
        advised = advice_here(all_advice())
        asked += [here for here in advised if not here.reason]
        left |= {here.name: here.reason for here in advised}
    return asked, {name: reason for name, reason in left.items() if reason}


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


def reason_not(each: Experiment) -> str:
    """Return why it cannot be run; empty where it can."""
    one = way_of(each)
    if one.way is None:
        return one.reason
    programs: list[str] = []
    missing: list[str] = []
    match one.way:
        case Count(of=of) if of:
            programs = ["strace"]
        case Script(commands=commands, perl_modules=modules):
            programs = [*dict.fromkeys(each.partition(" ")[0] for each in commands.values())]
            missing += [_missing(each) for each in modules if not _has_module(each)]
        case _:
            pass
    if one.way.study:
        study = open_study(one.way.study)
        missing += texts(load_target(study).missing(study.server))
    missing += [_missing(p) for p in programs if p != "httpdyno" and not shutil.which(p)]
    return "; ".join(missing)


def _missing(name: str) -> str:
    return f"{name} is not installed (Debian: {_PACKAGES.get(name, name)})"


def _has_module(name: str) -> bool:
    """Whether perl finds a module."""
    file = f"{name.replace('::', '/')}.pm"
    code = f'exit !grep {{ -e "$_/{file}" }} @INC'
    try:
        return said_by(["perl", "-e", code], environment=clean_environment()).exit_code == 0
    except AdapterError:
        return False


def results_here() -> dict[str, Now]:
    """Return what is kept, also under the names of those that were printed twice."""
    kept = kept_results()
    names = {each.name: way_of(each).name for each in experiments()}
    return {name: kept[of] for name, of in names.items() if of in kept}


def run_round(round_: Round, host: Host, *, clock: Callable[[], float] = time.monotonic) -> None:
    """Run each experiment, keep what came of it, and show it.

    One that cannot be measured is told, and the others go on; alone it is an error.

    Raises:
        HttpdynoError: The only one that was asked for could not be measured.
        KeyboardInterrupt: Somebody wants it to end; what was measured is kept.
    """
    asked, end_s = round_.asked, clock() + round_.limit_s
    for number, each in enumerate(asked, 1):
        left_s = end_s - clock()
        if left_s <= 0:
            round_.n_left = n = len(asked) - number + 1
            round_.n_failed += n
            host.tell(
                f"the time is over: {n} of {len(asked)} were not measured, from {each.name} on"
            )
            return
        ahead_s = whole_s(asked[number - 1 :])
        budget_s = each.budget_s * min(round_.stretch, left_s / ahead_s)
        host.tell(_head(number, asked, budget_s, min(left_s, ahead_s * round_.stretch)))
        try:
            if isinstance(each, AdviceHere):
                now: Now | Told = run_advice(each, host, budget_s=budget_s, seed=round_.seed)
            else:
                ask = Asked(each=each, budget_s=budget_s, seed=round_.seed, host=host)
                now = run_experiment(ask, round_.card)
        except HttpdynoError as error:
            if len(asked) == 1:
                raise
            round_.n_failed += 1
            host.tell(f"{each.name} was not measured: {error_text(error)}")
            continue
        if isinstance(now, Now):
            keep(now)  # What a study said of an advice is in its stored run.
        elif now.verdict == "not_measured":
            round_.n_failed += 1
        round_.done.append(now)
        round_.show(each, now)


def _head(
    number: int, asked: Sequence[Experiment | AdviceHere], budget_s: float, left_s: float
) -> str:
    words = f"{number} of {len(asked)}: {asked[number - 1].name}, at most {format_guess(budget_s)}"
    if len(asked) == number:
        return words
    return f"{words}; all that are left at most {format_guess(left_s)}"


def run_experiment(asked: Asked, card: MachineCard) -> Now:
    """Run one experiment that has a way; return what came of it.

    Raises:
        HttpdynoError: It cannot run here.
        KeyboardInterrupt: Somebody wants it to end; nothing came of it.
    """
    each = asked.each
    began_s, began_at = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    found = _found(asked)
    return Now(
        name=each.name,
        verdict=found.verdict,
        says=found.says,
        measured_at=began_at,
        duration_s=time.monotonic() - began_s,
        host=host_text(host_facts()),
        server=found.server,
        seed=asked.seed,
        command=f"httpdyno book run {each.name} --seed {asked.seed}",
        machine=msgspec.to_builtins(card),
        **found.figures,
    )


def _found(asked: Asked) -> Found:
    way = asked.each.way
    if isinstance(way, Pair):
        return pair(asked, way)  # A comparison shows itself as every run of a study does.
    with asked.host.watched(asked.each.name) as watch:
        watched = replace(asked, watch=watch)
        if isinstance(way, Count):
            return count(watched, way)
        if isinstance(way, Script):
            return script(watched, way)
    raise UsageError(f"{asked.each.name} cannot be run: {asked.each.reason}")
