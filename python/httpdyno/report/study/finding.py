"""What a study found, in sentences: the headline, the changes, the doubts, effects."""

from collections import Counter

from httpdyno.metrics import named
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Effect,
    Factorial,
    LadderStep,
    Outcome,
    ResultWarning,
    SimpleEffect,
    Verdict,
    level_text,
)
from httpdyno.reason import Reason
from httpdyno.report.shared.caveat import Caveat, caveats
from httpdyno.report.shared.interval import (
    bounds_text,
    interval_ratio_text,
    ratio_bounds_text,
    ratio_text,
)
from httpdyno.report.shared.message import joined, text
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.verdict import (
    at_text,
    confidences_text,
    decider,
    deciding,
    differing_clause,
    evidence_text,
    failed_line,
    failure_text,
    needed_text,
    verdict_badge,
)
from httpdyno.units import format_guess

# What a factorial says, in words: its effects, and where they do not add up.

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
        return "unknown"
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


# What a study found, in sentences: the headline, the changes, the doubts.


def headline(outcome: Outcome) -> str:
    """Return what a study found, in one line."""
    if outcome.status == "failed":
        return f"failed: {joined(outcome.ended_by) or 'no reason was recorded'}"
    if outcome.withdrawn is not None:
        return _withdrawn_headline(outcome, outcome.withdrawn)
    if outcome.sweep is not None:
        return _sweep_headline(outcome)
    if outcome.factorial is not None:
        return _factorial_headline(outcome, outcome.factorial)
    if outcome.final is not None:
        return _final_headline(outcome, outcome.final)
    is_versus = outcome.plan.reference is not None
    return (versus_headline if is_versus else _unclaimed_headline)(outcome)


def _factorial_headline(outcome: Outcome, found: Factorial) -> str:
    cut = "" if outcome.status == "complete" else f"{outcome.status}; so far "
    text = f"{cut}{effects_headline(found)}"
    if outcome.final is None:
        return f"{text}; no combination is proven better than the start" if not cut else text
    return f"{text}; the best combination: {_claim(outcome.final, candidate='the best')}"


def versus_headline(outcome: Outcome) -> str:
    """Return how several candidates, or a table's rows, came out against one reference."""
    n, better = len(outcome.plan.steps), versus_order(outcome)
    a, row = reference_name(outcome), row_name(outcome)
    cut = "" if outcome.status == "complete" else f"{outcome.status}; "
    if len(outcome.steps) < n:
        cut = f"{outcome.status} after {len(outcome.steps)} of {plural(n, row)}; "
    if not better:
        return f"{cut}none of {n} is proven better than {a}: {tally_text(outcome)}"
    parts = [f"{step.label} {ratio_bounds_text(deciding(step.comparison))}" for step in better]
    names = {named(decider(step.comparison)).label for step in better}
    metric = names.pop() if len(names) == 1 else "their metrics"
    are = "is" if len(better) == 1 else "are"
    return f"{cut}{len(better)} of {n} {are} better than {a}, by {metric}: {', '.join(parts)}"


def versus_order(outcome: Outcome) -> list[LadderStep]:
    """Return the candidates that are better, the one first that the outcome settled on."""
    better = [step for step in outcome.steps if step.kept]
    best = outcome.configuration
    return sorted(better, key=lambda step: step.comparison.b.configuration != best)


def best_name(outcome: Outcome) -> str:
    """Return what several comparisons with one settled on; that one where on none of them."""
    better = versus_order(outcome)
    return better[0].label if better else reference_name(outcome)


def reference_name(outcome: Outcome) -> str:
    """Return what all rows are compared with: the `a` of a command line, or the study's start."""
    return "a" if outcome.plan.command == "compare" else "the start"


def row_name(outcome: Outcome) -> str:
    """Return what is compared with that: what a command line gave, or a table's rows."""
    return "candidate" if outcome.plan.command == "compare" else "row"


def versus_note(outcome: Outcome) -> str:
    """Return what holds with what confidence where several were compared with one."""
    each, whole = outcome.plan.objective.confidence, outcome.plan.study.objective.confidence
    return (
        f"each against {reference_name(outcome)}, with {confidences_text([each])} confidence, so "
        f"that with {confidences_text([whole])} none of {len(outcome.plan.steps)} verdicts is "
        f"wrong; nothing is claimed of one {row_name(outcome)} against another"
    )


def _unclaimed_headline(outcome: Outcome) -> str:
    """Return what a ladder found that has no final claim."""
    done, planned = n_tried(outcome), plural(len(outcome.plan.steps), "step")
    if outcome.status != "complete" and outcome.plan.command == "compare":
        return f"{outcome.status} before the comparison was decided"
    if outcome.status != "complete":
        return f"{outcome.status} after {done} of {planned}; {so_far(outcome)}"
    if outcome.not_tried and not done:
        return out_of_time_text(outcome)
    if outcome.not_tried:
        return f"{out_of_time_text(outcome)}; of {done} tried, {tally_text(outcome)}"
    return f"no change was proven to help: of {planned}, {tally_text(outcome)}"


def _final_headline(outcome: Outcome, final: Comparison) -> str:
    is_given = outcome.plan.command == "compare"
    text = _claim(final, candidate="b" if is_given else "the final configuration")
    late = f"; {out_of_time_text(outcome)}" if outcome.not_tried else ""
    return f"{'' if outcome.status == 'complete' else f'{outcome.status}; '}{text}{late}"


def _withdrawn_headline(outcome: Outcome, why: Reason) -> str:
    """Return why the start stays, and the figure that says so."""
    interval = deciding(outcome.final) if outcome.final else None
    figure = f": {ratio_bounds_text(interval)}" if interval else ""
    second = differing_clause(outcome.final) if outcome.final else ""
    late = f"; {out_of_time_text(outcome)}" if outcome.not_tried else ""
    return f"{text(why)}{figure}{second}{late}"


def not_tried_text(outcome: Outcome) -> str:
    """Return which steps were left out; empty when none was."""
    steps = [step.label for step in outcome.not_tried]
    return f"not tried: {', '.join(steps)}" if steps else ""


def out_of_time_text(outcome: Outcome) -> str:
    """Return `ran out of time before 2 steps: …`, with the time that would do."""
    n = plural(len(outcome.not_tried), "step")
    return f"ran out of time before {n}: {_more_time(outcome)}"


def _claim(comparison: Comparison, *, candidate: str) -> str:
    """Return the verdict first, then the number it rests on, then what else is proven."""
    interval, verdict = deciding(comparison), comparison.verdict
    if verdict == "failed":
        return f"{candidate} {failure_text(comparison.b)}"
    words = verdict_badge(comparison)
    if candidate == "b":
        subject = {"equivalent": "a and b are ", "better": "b is ", "worse": "b is "}
        words = f"{subject.get(verdict, '')}{words}"
    second = differing_clause(comparison)
    if interval is None:
        return f"{words}: {joined(comparison.reasons)}{second}"
    if comparison.decided_by:
        return f"{words} {evidence_text(comparison, is_brief=True)}"
    reference = "" if candidate == "b" else " of the start"
    so_far = " so far" if verdict == "inconclusive" else ""
    return (
        f"{words}: {interval_ratio_text(interval)} × the {named(comparison.metric).label}"
        f"{reference}{so_far} ({bounds_text(interval)}){second}"
    )


def undecided_text(outcome: Outcome) -> str:
    """Return which steps are undecided and the time that would do; empty when none is."""
    undecided = {
        step.name if outcome.plan.reference is None else f"{step.label}:": step.comparison.needed_s
        for step in _last_tries(outcome)
        if needed_text(step.comparison)
    }
    if not undecided:
        return ""
    times = [f"{label} {format_guess(time_s or 0.0)}" for label, time_s in undecided.items()]
    return f"undecided, and about how much longer would decide: {', '.join(times)}"


def _last_tries(outcome: Outcome) -> list[LadderStep]:
    """Return the steps; of one that was tried again, the second try, which is what counts."""
    return list({step.label: step for step in outcome.steps}.values())


def n_tried(outcome: Outcome) -> int:
    """Return how many of the plan's steps were tried, each once."""
    return sum(step.attempt == 1 for step in outcome.steps)


def tally_text(outcome: Outcome) -> str:
    """Return `4 undecided, 1 without a difference, 1 refused`: how the steps came out."""
    words = Counter(_came_out(step) for step in _last_tries(outcome))
    return ", ".join(f"{n} {word}" for word, n in words.most_common()) or "none was tried"


def _came_out(step: LadderStep) -> str:
    if step.kept:
        return "kept"
    words = {
        "equivalent": "without a difference",
        "inconclusive": "undecided",
    }
    return words.get(step.comparison.verdict) or verdict_badge(step.comparison)


def _more_time(outcome: Outcome) -> str:
    """Return what the steps that were not tried would take."""
    n = len(outcome.not_tried)
    if outcome.needed_s is None:
        return "a longer `--budget` would try them"
    them = "it" if n == 1 else "them"
    return f"about {format_guess(outcome.needed_s)} more would try {them}"


def so_far(outcome: Outcome) -> str:
    """Return what the finished steps add up to; not a final claim, and it says so."""
    kept = [step for step in outcome.steps if step.kept]
    if not kept:
        return "no change was kept"
    total = ratio_text(kept[-1].running_ratio)
    return f"{plural(len(kept), 'change')} kept, {total} × by their product, not confirmed"


def _sweep_headline(outcome: Outcome) -> str:
    sweep = outcome.sweep
    if sweep is None or not sweep.points:
        return f"{outcome.status}: no level was measured"
    at = {level_text(p.level): at_text(p, sweep.metric) for p in sweep.points}
    knee, best = level_text(sweep.knee), level_text(sweep.best)
    text = f"the {sweep.word} of {sweep.knob} is {knee}, at {at[knee]}"
    if sweep.is_of_words and best != knee:
        side = "above" if named(sweep.metric).is_more_better else "below"
        text = f"no level of {sweep.knob} is proven {side} the start, {knee}, at {at[knee]}"
    if best != knee:
        text += f"; the best is {best}, at {at[best]}"
    return text if outcome.status == "complete" else f"{outcome.status}; so far {text}"


def next_command(outcome: Outcome, *, has_page: bool = False) -> str:
    """Return the command that makes most sense now; empty where the page was all that is left."""
    if outcome.status in {"interrupted", "running"}:
        return f"httpdyno study run --resume {outcome.id}"
    return "" if has_page else f"httpdyno report {outcome.id} --html report.html"


def configuration_changes(outcome: Outcome) -> list[tuple[str, str, str]]:
    """Return the smallest difference between start and result: (knob, before, after)."""
    if outcome.plan.compare is not None:
        before, after = outcome.plan.compare
    elif outcome.plan.reference is not None:
        before, after = outcome.plan.reference, outcome.configuration
    else:
        before, after = outcome.plan.study.start_configuration(), outcome.configuration
    if not after.values:
        return []
    return [
        (name, level_text(old), level_text(new))
        for name, (old, new) in before.changes(after).items()
    ]


def arm_names(outcome: Outcome) -> tuple[str, str]:
    """Return what the two arms of the final comparison are called."""
    if outcome.plan.command == "compare":
        return "a", "b"
    if outcome.factorial is not None:
        return "start", "best"
    return "start", "final" if outcome.sweep is None else outcome.sweep.word


def final_label(outcome: Outcome) -> str:
    """Return `b over a`, `final over start` or `knee over start`."""
    before, after = arm_names(outcome)
    return f"{after} over {before}"


def changes_title(outcome: Outcome) -> str:
    """Return what the changes are, as far as it was proven."""
    if outcome.plan.reference is not None:
        return f"from {reference_name(outcome)} to {best_name(outcome)}"
    if outcome.plan.command == "compare":
        return "from a to b"
    if outcome.final is None:
        return "changes kept so far"
    return "proven changes" if outcome.final.verdict == "better" else "changes kept, not confirmed"


def outcome_caveats(outcome: Outcome) -> tuple[Caveat, ...]:
    """Return the warnings of the whole, then those of its parts, each once and saying of which."""
    parts = [(step.label, step.comparison) for step in outcome.steps]
    if outcome.final is not None:
        parts.append(("final", outcome.final))
    names: dict[Reason, list[str]] = {}
    for name, comparison in parts:
        for each in comparison.warnings:
            if each not in outcome.warnings:
                names.setdefault(each.reason, []).append(name)
    of_parts = [
        ResultWarning(reason=reason, within=tuple(of) if len(parts) > 1 else ())
        for reason, of in names.items()
    ]
    # What the headline says already is not said again.
    known = {"experiment.steps_not_tried"} if outcome.not_tried else set()
    own = [each for each in outcome.warnings if each.code not in known]
    return caveats(dict.fromkeys([*own, *of_parts]))
