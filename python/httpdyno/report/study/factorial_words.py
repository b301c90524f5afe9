"""What a factorial says, in words: its effects, and where they do not add up."""

from httpdyno.metrics import named
from httpdyno.model import (
    ArmSummary,
    Effect,
    Factorial,
    SimpleEffect,
    Verdict,
    level_text,
)
from httpdyno.report.shared.message import joined
from httpdyno.report.study.verdict_text import (
    failed_line,
    ratio_bounds_text,
)

_PAIR_WORDS: dict[Verdict, str] = {
    "better": "more together",
    "worse": "less together",
    "equivalent": "independent",
}
_PAIR = 2


def effect_name(found: Factorial, effect: Effect) -> str:
    """Return `mpm → event`, or of an interaction both knobs."""
    if len(effect.knobs) == 1:
        return change_words(found, effect.knobs[0])
    return " × ".join(effect.knobs)


def given_words(found: Factorial, simple: SimpleEffect) -> str:
    """Return `alone`, `without mpm → event` or `with mpm → event`."""
    change = change_words(found, simple.given)
    if simple.is_given_changed:
        return f"with {change}"
    return "alone" if len(found.levels) == _PAIR else f"without {change}"


def effect_word(effect: Effect) -> str:
    """Return the verdict; of an interaction by what both together are more than each alone."""
    if effect.verdict == "not_measured":
        return "cannot be told"
    if len(effect.knobs) > 1 and effect.verdict in _PAIR_WORDS:
        return _PAIR_WORDS[effect.verdict]
    if effect.decided_by:
        return f"{effect.verdict} by {named(effect.decided_by).short}"
    return effect.verdict


def effects_note(found: Factorial) -> str:
    """Return what the ratios are of."""
    name = named(found.metric).label
    text = (
        f"{name} with a change over {name} without it, on the mean over all combinations of the "
        "others; × : by what the one's ratio is larger with the other than without it; all "
        "intervals hold together"
    )
    if found.tie_breaker:
        tie = named(found.tie_breaker).label
        text += f"; where {name} is proven to lose little and shows no difference, {tie} decides"
    return f"nothing is claimed: {joined(found.unclaimed)}; {text}" if found.unclaimed else text


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
    both = simple_effects(found, knob, given)
    told = ", ".join(f"{ratio_bounds_text(e.ratio)} {given_words(found, e)}" for e in both)
    return f"{change_words(found, knob)}: {named(found.metric).label} {told}"


def simple_effects(found: Factorial, knob: str, given: str) -> tuple[SimpleEffect, ...]:
    """Return what a knob brings without and with another one, in this order."""
    both = [each for each in found.simple if (each.knob, each.given) == (knob, given)]
    return tuple(sorted(both, key=lambda each: each.is_given_changed))


def partial_lines(found: Factorial) -> list[str]:
    """Return what is told of fewer combinations than all, or not at all, and why."""
    return [
        f"{effect_name(found, each)}: {joined(each.reasons)}"
        for each in found.effects
        if each.reasons
    ]


def unfit_lines(found: Factorial) -> list[str]:
    """Return which combinations do not run, and which break a limit: those are in all effects."""
    return [
        f"{name} {failed_line(arm)}" + ("; no effect has it" if number in found.gone else "")
        for number, (name, arm) in enumerate(factorial_arms(found))
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
    told = ", ".join(f"{effect_name(found, e)} {_decided_text(e)}" for e in proven)
    effects = f"{len(proven)} of {len(single)} effects proven"
    pairs = f"{n_proven} of {n_pairs} interactions"
    gone = [name for number, (name, _) in enumerate(factorial_arms(found)) if number in found.gone]
    lost = f"; without {' and without '.join(gone)}, which did not run" if gone else ""
    return f"{effects}{f' ({told})' if told else ''}, {pairs}{lost}"


def _decided_text(effect: Effect) -> str:
    """Return the ratio that the verdict rests on, and of what where that is the tie breaker."""
    if not effect.decided_by:
        return ratio_bounds_text(effect.ratio)
    return f"{named(effect.decided_by).label} {ratio_bounds_text(effect.tie)}"


def change_words(found: Factorial, knob: str) -> str:
    """Return `knob → level` of its other level."""
    return f"{knob} → {level_text(found.levels[knob][1])}"
