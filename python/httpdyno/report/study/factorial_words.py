"""What a factorial says, in words: its effects, and where they do not add up."""

from collections.abc import Sequence

from httpdyno.model import (
    ArmSummary,
    Effect,
    Factorial,
    RatioInterval,
    SimpleEffect,
    Verdict,
    level_text,
)
from httpdyno.report.study.verdict_text import metric_name, ratio_bounds_text

_PAIR_WORDS: dict[Verdict, str] = {
    "better": "more together",
    "worse": "less together",
    "equivalent": "independent",
}


def effect_name(found: Factorial, effect: Effect) -> str:
    """Return `mpm → event`, or of an interaction both knobs."""
    if len(effect.knobs) == 1:
        return change_words(found, effect.knobs[0])
    return " × ".join(effect.knobs)


def effect_word(effect: Effect) -> str:
    """Return the verdict; of an interaction by what both together are more than each alone."""
    if len(effect.knobs) > 1 and effect.verdict in _PAIR_WORDS:
        return _PAIR_WORDS[effect.verdict]
    return effect.verdict


def effects_note(found: Factorial) -> str:
    """Return what the ratios are of."""
    name = metric_name(found.metric)
    text = (
        f"{name} with a change over {name} without it, on the mean over all combinations of the "
        "others; × : by what the one's ratio is larger with the other than without it; all "
        "intervals hold together"
    )
    return f"nothing is claimed: {found.doubt}; {text}" if found.doubt else text


def interaction_sentences(found: Factorial) -> list[str]:
    """Return what proven interactions mean, two sentences for each: one from either side."""
    sentences = []
    for each in found.effects:
        if len(each.knobs) > 1 and each.verdict in {"better", "worse"}:
            one, other = each.knobs
            sentences += [_sentence(found, one, other), _sentence(found, other, one)]
    return sentences


def _sentence(found: Factorial, knob: str, given: str) -> str:
    """Return `keep_alive → on: 1.20 × (…) alone, 1.02 × (…) with mpm → event`."""
    change = change_words(found, given)
    without, beside = (
        ratio_bounds_text(_simple(found.simple, knob, given, is_changed=is_changed))
        for is_changed in (False, True)
    )
    alone = "alone" if len(found.levels) == len((knob, given)) else f"without {change}"
    name = metric_name(found.metric)
    return f"{change_words(found, knob)}: {name} {without} {alone}, {beside} with {change}"


def _simple(
    simple: Sequence[SimpleEffect], knob: str, given: str, *, is_changed: bool
) -> RatioInterval | None:
    return next(
        each.ratio
        for each in simple
        if (each.knob, each.given, each.is_given_changed) == (knob, given, is_changed)
    )


def unfit_lines(found: Factorial) -> list[str]:
    """Return which combinations break a limit: their figures are in all effects."""
    return [
        f"{name} {arm.status}: {arm.detail}"
        for name, arm in factorial_arms(found)
        if arm.status != "complete"
    ]


def factorial_arms(found: Factorial) -> list[tuple[str, ArmSummary]]:
    """Return each combination, by what it changes, with what it did."""
    return [(_arm_name(found, number), arm) for number, arm in enumerate(found.arms)]


def _arm_name(found: Factorial, number: int) -> str:
    changed = [knob for place, knob in enumerate(found.levels) if number >> place & 1]
    return ", ".join(change_words(found, knob) for knob in changed) or "start"


def effects_headline(found: Factorial) -> str:
    """Return which effects are proven, and how many interactions."""
    single = [each for each in found.effects if len(each.knobs) == 1]
    proven = [each for each in single if each.verdict in {"better", "worse"}]
    n_pairs = len(found.effects) - len(single)
    n_proven = sum(e.verdict in {"better", "worse"} for e in found.effects) - len(proven)
    told = ", ".join(f"{effect_name(found, e)} {ratio_bounds_text(e.ratio)}" for e in proven)
    effects = f"{len(proven)} of {len(single)} effects proven"
    pairs = f"{n_proven} of {n_pairs} interactions"
    return f"{effects}{f' ({told})' if told else ''}, {pairs}"


def change_words(found: Factorial, knob: str) -> str:
    """Return `knob → level` of its other level."""
    return f"{knob} → {level_text(found.levels[knob][1])}"
