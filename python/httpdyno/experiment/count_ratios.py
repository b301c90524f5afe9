"""Figures that some starts make no ratio of, and counts that make one without a width; pure.

A count may be nought, and every start may well find the same one. Where an arm has none there is no
ratio, whatever the others of its starts found; that a ratio never varied is the figure's nature and
no sign of much evidence, so it is said. The time until a server is ready is known as finely as
somebody looks.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import stdev

from msgspec import structs

from httpdyno.experiment.call_ratios import calls_in, uncounted
from httpdyno.experiment.exit_ratios import no_exits
from httpdyno.experiment.nought import NoughtWords, nought_words
from httpdyno.experiment.word_ratios import no_ratio_of_words
from httpdyno.model import RatioInterval, StartRecord
from httpdyno.model.answers import word_of_answers
from httpdyno.model.metric import (
    EXITS,
    FULL_HANDSHAKES,
    LOOKUPS,
    RATIO_OF_METRIC,
    READY,
    SLOW_RATE,
    USUAL_RATE,
    is_counted,
    is_of_system_calls,
    kind_of_calls,
)
from httpdyno.units import format_duration, format_number

_NO_WIDTH = "; the ratio is the same in all {n} starts, so its interval has no width"
_ALIKE = 1e-12
"""Standard deviations of a log ratio below this are the arithmetic's."""
_FEW = 0.1
"""Below, two digits are told, wherever they stand."""


_LOOKED_EVERY_S = 0.005
"""How often it is looked whether a server is ready."""
_COARSE = (
    f"; whether it is ready is looked for every {format_duration(_LOOKED_EVERY_S)}, and its starts "
    "differ by less: the interval has that in it"
)
_MOST_LOST = 0.5
"""Of what is ready so soon nothing is claimed."""

LEAST_READY_S = 0.1
"""Servers that are ready sooner are not compared by that: looks are 5 ms apart in the mean, at
random, so that starts show what they miss; of less than this it is more than a twentieth."""


def no_ratio(
    starts: Sequence[StartRecord],
    ratio_name: str,
    arms: Sequence[int] = (0, 1),
    names: Sequence[str] = (),
) -> str:
    """Return why no ratio of a figure may be made of these starts; empty where it may.

    Args:
        starts: Of all these arms.
        ratio_name: Of any figure; only those that a start may have none of are looked at.
        arms: That are to have the figure.
        names: Of these arms, in their order; empty where nobody is to be named.
    """
    if is_of_system_calls(ratio_name):
        kind = kind_of_calls(ratio_name)
        what = f"`{kind}` calls" if kind else "system calls"
        counts = [[_calls(start, arm, kind) for start in starts] for arm in arms]
        return uncounted(starts, arms) or _none_words(counts, names, what)
    if ratio_name == FULL_HANDSHAKES:
        counts = [[_full_handshakes(start, arm) for start in starts] for arm in arms]
        return _none_words(counts, names, "full TLS handshakes")
    if ratio_name == LOOKUPS:
        counts = [[_lookups(start, arm) for start in starts] for arm in arms]
        return _untold_lookups(starts, arms) or _none_words(counts, names, "lookups of names")
    if word := word_of_answers(ratio_name):
        return no_ratio_of_words(starts, word, arms, names)
    if ratio_name == EXITS:
        return no_exits(starts, arms, names)
    why = _WHY.get(ratio_name)
    return "" if why is None else why(starts, arms)


def width_words(ratio_name: str, spread: float, n: int) -> str:
    """Return what a reason is to add where its interval has no width; empty where it has one.

    Args:
        ratio_name: Of any figure; only those that are counted are spoken of.
        spread: Standard deviation of the starts' log ratios.
        n: How many they are.
    """
    return _NO_WIDTH.format(n=n) if is_counted(ratio_name) and spread < _ALIKE else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """By which part arms may have been sooner than all of their starts say."""

    of_a: float = 0.0
    of_b: float = 0.0

    @property
    def log(self) -> float:
        """By how much more that may be of the log ratio, to the one side or the other."""
        return -math.log1p(-max(self.of_a, self.of_b))

    @property
    def words(self) -> str:
        """What a reason is to add; empty where nothing is lost."""
        return _COARSE if self.log > 0 else ""

    def in_interval(self, seen: RatioInterval) -> RatioInterval:
        """Return an interval of b over a that has it in it."""
        low, high = seen.low * (1 - self.of_b), seen.high / (1 - self.of_a)
        return structs.replace(seen, low=low, high=high)


def lost_between_looks(starts: Sequence[StartRecord], ratio_name: str) -> Lost:
    """Return what arms 0 and 1 lose of the time until they are ready, and nothing of other figures.

    Where an arm's starts differ by less than the time between two looks they come out at the same
    look each time, and their spread says nothing of what lies before it. Where they differ by more
    it does, and their mean is as fine as any.
    """
    if ratio_name != RATIO_OF_METRIC[READY]:
        return Lost()
    return Lost(of_a=_lost_of(starts, 0), of_b=_lost_of(starts, 1))


def _lost_of(starts: Sequence[StartRecord], arm: int) -> float:
    told = (start.came_up_s[arm] for start in starts if start.came_up_s)
    known = [each for each in told if each]
    if not known or (len(known) > 1 and stdev(known) >= _LOOKED_EVERY_S):
        return 0.0
    return min(_LOOKED_EVERY_S / min(known), _MOST_LOST)


def _calls(start: StartRecord, arm: int, kind: str) -> float | None:
    found = calls_in(start, arm)
    return None if found is None or start.statuses[arm] != "complete" else found.of(kind)


def _full_handshakes(start: StartRecord, arm: int) -> float | None:
    seen = [window.measurement for window in start.windows if window.arm == arm]
    completed = sum(each.completed for each in seen)
    if start.statuses[arm] != "complete" or not completed:
        return None
    return sum(each.handshakes_full for each in seen) / completed


def _untold_lookups(starts: Sequence[StartRecord], arms: Sequence[int]) -> str:
    windows = [window for start in starts for window in start.windows if window.arm in arms]
    if windows and all(window.telemetry.lookups is None for window in windows):
        return f"in {len(starts)} starts nobody told how many names the server looked up"
    return ""


def _lookups(start: StartRecord, arm: int) -> float | None:
    told = [
        (window.telemetry.lookups, window.measurement.completed)
        for window in start.windows
        if window.arm == arm and window.telemetry.lookups is not None
    ]
    completed = sum(n for _, n in told)
    if start.statuses[arm] != "complete" or not completed:
        return None
    return sum(n for n, _ in told if n is not None) / completed


def _ready_at_once(starts: Sequence[StartRecord], arms: Sequence[int]) -> str:
    """Return that an arm is ready too soon, or that it is not told; empty where all are slower."""
    for arm in arms:
        told = [
            start.came_up_s[arm] if start.came_up_s else None
            for start in starts
            if start.statuses[arm] == "complete"
        ]
        known = [each for each in told if each is not None]
        if told and not known:
            return f"in {len(told)} starts nobody told when the server was ready"
        if known and min(known) < LEAST_READY_S:
            return (
                f"a server is ready within {format_duration(min(known))}: of less than "
                f"{format_duration(LEAST_READY_S)} nothing is claimed, for whether it is ready is "
                "looked for some 5 ms apart"
            )
    return ""


def _unanswered(starts: Sequence[StartRecord], arms: Sequence[int], users: str) -> str:
    """Return that these users got no right answer of an arm in a start; empty where they did."""
    n_none = sum(any(_has_unanswered(start, arm, users) for arm in arms) for start in starts)
    if not n_none:
        return ""
    return (
        f"in {n_none} of {len(starts)} starts one of them gave the {users} users no right answer, "
        "so there is no ratio of their throughput; a longer `method.window` has more"
    )


def _has_unanswered(start: StartRecord, arm: int, users: str) -> bool:
    told = (window.measurement.by_population for window in start.windows if window.arm == arm)
    parts = [each for each in told if each]
    is_told = bool(parts) and start.statuses[arm] == "complete"
    return is_told and not any(each[users].completed for each in parts if users in each)


def _none_words(counts: Sequence[Sequence[float | None]], names: Sequence[str], what: str) -> str:
    """Return why counts of what an answer takes make no ratio; empty where they do.

    Args:
        counts: As `nought_words` has its figures.
        names: Likewise.
        what: They are of.
    """
    words = NoughtWords(
        none=f"no answer takes any {what}",
        some=f"some answers take no {what}",
        figure=lambda name, mean: f"{name} takes {_number(mean)}",
        what=f"{what} for an answer",
    )
    return nought_words(counts, names, words)


def _number(mean: float) -> str:
    return format_number(mean, 1 - math.floor(math.log10(mean)) if 0 < mean < _FEW else 2)


_WHY: dict[str, Callable[[Sequence[StartRecord], Sequence[int]], str]] = {
    RATIO_OF_METRIC[READY]: _ready_at_once,
    RATIO_OF_METRIC[USUAL_RATE]: partial(_unanswered, users="usual"),
    RATIO_OF_METRIC[SLOW_RATE]: partial(_unanswered, users="slow"),
}
"""By the ratio, of those that are no counts."""
