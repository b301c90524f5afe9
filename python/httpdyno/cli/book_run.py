"""Run experiments and advice of the book one after the other, within a time; keep what comes."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from httpdyno.book.advice import AdviceHere, Told
from httpdyno.book.declared import whole_s
from httpdyno.book.experiment import Experiment, Pair
from httpdyno.book.result import Now, keep
from httpdyno.cli.book_advice_run import run_advice
from httpdyno.cli.book_found import Asked, Watch
from httpdyno.cli.book_progress import BookProgress
from httpdyno.cli.book_ways import run_experiment
from httpdyno.cli.console import messages
from httpdyno.cli.machine_card import taken_anew
from httpdyno.cli.standard_streams import tell
from httpdyno.errors import HttpdynoError
from httpdyno.model import MachineCard
from httpdyno.units import format_guess


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
    show: Callable[[Experiment | AdviceHere, Now | Told], None]
    done: list[Now | Told] = field(default_factory=list)
    n_failed: int = 0
    """Those that could not be measured, or for which no time was left."""
    n_left: int = 0
    """Of them those that were not begun, because the time was over."""


def run_round(round_: Round, *, clock: Callable[[], float] = time.monotonic) -> None:
    """Run each experiment, keep what came of it, and show it.

    One that cannot be measured is told, and the others go on; alone it is an error.

    Raises:
        HttpdynoError: The only one that was asked for could not be measured.
        KeyboardInterrupt: Somebody wants it to end; what was measured is kept.
    """
    card, asked = taken_anew().card, round_.asked
    end_s = clock() + round_.limit_s
    for number, each in enumerate(asked, 1):
        left_s = end_s - clock()
        if left_s <= 0:
            round_.n_left = n = len(asked) - number + 1
            round_.n_failed += n
            tell(f"the time is over: {n} of {len(asked)} were not measured, from {each.name} on")
            return
        ahead_s = whole_s(asked[number - 1 :])
        budget_s = each.budget_s * min(round_.stretch, left_s / ahead_s)
        tell(_head(number, asked, budget_s, min(left_s, ahead_s * round_.stretch)))
        try:
            now = _measured(each, budget_s, round_.seed, card)
        except HttpdynoError as error:
            if len(asked) == 1:
                raise
            round_.n_failed += 1
            tell(f"{each.name} was not measured: {error}")
            continue
        if isinstance(now, Now):
            keep(now)  # What a study said of an advice is in its stored run.
        elif now.verdict == "not_measured":
            round_.n_failed += 1
        round_.done.append(now)
        round_.show(each, now)


def _measured(
    each: Experiment | AdviceHere, budget_s: float, seed: int, card: MachineCard
) -> Now | Told:
    if isinstance(each, AdviceHere):
        return run_advice(each, budget_s=budget_s, seed=seed)
    with _watched(each) as watch:
        return run_experiment(Asked(each=each, budget_s=budget_s, seed=seed, watch=watch), card)


def _head(
    number: int, asked: Sequence[Experiment | AdviceHere], budget_s: float, left_s: float
) -> str:
    words = f"{number} of {len(asked)}: {asked[number - 1].name}, at most {format_guess(budget_s)}"
    if len(asked) == number:
        return words
    return f"{words}; all that are left at most {format_guess(left_s)}"


def _watched(each: Experiment) -> AbstractContextManager[Watch]:
    # A comparison shows itself as every run of a study does.
    if isinstance(each.way, Pair):
        return nullcontext(lambda _words: None)
    return BookProgress(messages(), each.name)
