"""Experiments and advice of the book for the terminal, and the words that the page has too."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.book.advice import AdviceHere
from httpdyno.book.experiment import WORDS, Count, Experiment, Pair, Script, Then, Word
from httpdyno.book.found import levels_text
from httpdyno.book.result import Now
from httpdyno.book.rule import borders
from httpdyno.metrics.table import named
from httpdyno.model import Level, Verdict, level_text
from httpdyno.report.shared.prose import Prose
from httpdyno.units import format_guess

ADVICE_TITLE = "Advice without figures"
_INDENT = (0, 0, 0, 2)
_STYLES: dict[Word, str] = {
    "holds": "green",
    "holds, larger": "green",
    "holds, smaller": "green",
    "no longer": "red",
    "was an artefact": "yellow",
    "cannot tell": "dim",
    "not comparable": "dim",
}
_ADVICE_STYLES: dict[Verdict, str] = {"better": "green", "worse": "red", "failed": "red"}
_NEAR = 0.1


def listed(each: Experiment, one: Experiment, now: Now | None, reason: str) -> RenderableType:
    """Return an experiment in a few lines.

    Args:
        each: The experiment.
        one: The one that is run for it: itself, but for what was printed twice.
        now: What was found here last.
        reason: Why it cannot be run here; empty where it can.
    """
    where = "; ".join(each.chapter.split(", ")[1:])
    head = Text.assemble((each.name, "cyan"), f"  {each.title} ({each.year}, {where})")
    lines: list[RenderableType] = [
        Prose(head),
        Padding(Prose(Text(f"then: {each.then.says}")), _INDENT),
    ]
    if now is not None:
        word = Text.assemble("now:  ", (now.verdict, _STYLES[now.verdict]), f"; {now.says}")
        lines.append(Padding(Prose(word), _INDENT))
    here = (
        f"cannot run: {reason}" if reason else f"can run, in at most {format_guess(one.budget_s)}"
    )
    measured = f"measured {day(now)}; " if now else ""
    lines.append(Padding(Prose(Text(f"here: {measured}{here}", "dim")), _INDENT))
    return Group(*lines)


def summary(
    experiments: Sequence[Experiment],
    reasons: Mapping[str, str],
    found: Mapping[str, Now],
    whole_s: float,
) -> list[str]:
    """Return what all of them come to, in a few sentences.

    Args:
        experiments: All of them.
        reasons: Why each cannot be run here; empty where it can.
        found: The last results here, by name.
        whole_s: What measuring all that can be run may take.
    """
    n_can = sum(not reasons[each.name] for each in experiments)
    own = [each for each in experiments if not each.same_as]
    words = Counter(found[each.name].verdict for each in own if each.name in found)
    told = ", ".join(f"{words[word]} {word}" for word in WORDS if words[word])
    n_again = len(experiments) - len(own)
    again = f" ({n_again} more are printed again)" if n_again else ""
    lines = [f"{words.total()} of {len(own)} are measured{again}: {told}"] if told else []
    lines.append(
        f"{n_can} of {len(experiments)} can run here; measuring all takes at most "
        f"{format_guess(whole_s)}"
    )
    how = "`httpdyno book run NAME` measures one here, `httpdyno book run --all` all of these"
    return [*lines, how]


def sheet(each: Experiment, one: Experiment, now: Now | None, reason: str) -> RenderableType:
    """Return all that is known of an experiment.

    Args:
        each: The experiment.
        one: The one that is run for it: itself, but for what was printed twice.
        now: What was found here last.
        reason: Why it cannot be run here; empty where it can.
    """
    rows = [("where", f"{each.chapter} ({each.year})"), ("then", each.then.says)]
    if one.name != each.name:
        rows.append(("same as", one.name))
    rows.append(("run as", way_words(one)))
    if one.way is not None:
        rows += [
            ("judged", borders_words(one.then)),
            ("takes", f"at most {format_guess(one.budget_s)}"),
        ]
    if reason:
        rows.append(("not here", reason))
    if now is not None:
        rows += [("now", now.says)]
        if words := why(one, now):
            rows.append(("because", words))
        rows += [("seen", moved) for moved in now.evidence]
        rows.append(("measured", f"{now.measured_at}, {now.host}"))
    lines: list[RenderableType] = [Prose(Text.assemble((each.name, "cyan"), f": {each.title}"))]
    if now is not None:
        lines.append(Padding(Text(now.verdict, _STYLES[now.verdict]), _INDENT))
    lines += [
        Padding(Prose(Text.assemble((f"{name:<9} ", "dim"), text)), _INDENT) for name, text in rows
    ]
    return Group(*lines)


def listed_advice(here: AdviceHere) -> RenderableType:
    """Return an advice in two lines, or three where something was found of it here."""
    advice, now = here.advice, here.now
    lines: list[RenderableType] = [Prose(Text.assemble((here.name, "cyan"), f"  {advice.says}"))]
    can = (
        f"cannot run: {here.reason}"
        if here.reason
        else f"can run, in at most {format_guess(here.budget_s)}"
    )
    measured = ""
    if now is not None:
        line = Text.assemble("now: ", *_found(here))
        lines.append(Padding(Prose(line), _INDENT))
        measured = f"measured {now.measured_at[:10]}; "
    lines.append(Padding(Prose(Text(f"{advice.chapter}; {measured}{can}", "dim")), _INDENT))
    return Group(*lines)


def advice_summary(all_here: Sequence[AdviceHere]) -> list[str]:
    """Return what all of them come to, in a few sentences."""
    n_told = sum(here.now is not None for here in all_here)
    n_can = sum(not here.reason for here in all_here)
    return [
        f"of {len(all_here)} pieces of advice without figures {n_told} are measured; "
        f"{n_can} can run here",
        "`httpdyno book run NAME` runs the study of one, `httpdyno book run --all --advice` all",
    ]


def advice_sheet(here: AdviceHere) -> RenderableType:
    """Return all that is known of an advice."""
    advice, now = here.advice, here.now
    rows = [
        ("where", advice.chapter),
        ("says", advice.says),
        ("study", f"{advice.study}: {here.title}"),
        ("told", f"of its {here.claim}"),
        ("run by", advice.command),
        ("takes", f"at most {format_guess(here.budget_s)}"),
    ]
    if here.reason:
        rows.append(("not here", here.reason))
    lines: list[RenderableType] = [Prose(Text.assemble((here.name, "cyan"), ": no figures then"))]
    if now is not None:
        lines.append(Padding(Prose(Text.assemble(*_found(here))), _INDENT))
        rows += [
            ("measured", f"{now.measured_at}, {now.host}"),
            ("all of it", f"httpdyno report {now.run_id}"),
        ]
    lines += [
        Padding(Prose(Text.assemble((f"{name:<9} ", "dim"), text)), _INDENT) for name, text in rows
    ]
    return Group(*lines)


def _found(here: AdviceHere) -> tuple[str | tuple[str, str], ...]:
    """Return what was found, in parts with their styles; nothing where nothing was."""
    now = here.now
    if now is None:
        return ()
    return f"{now.claim}: ", (now.badge, _ADVICE_STYLES.get(now.verdict, "dim")), f"; {now.says}"


def way_words(one: Experiment) -> str:
    """Return how an experiment is run, in words."""
    match one.way:
        case None:
            return "not run"
        case Pair(study=study, a=a, b=b, metric=metric):
            both = {name: value for name, value in a.items() if b.get(name) == value}
            changed = dict.fromkeys(name for name in (*a, *b) if name not in both)
            sides = ", ".join(
                f"{name} {_side(a, name)}→ {_side(b, name)}".strip() for name in changed
            )
            return f"study {study}{_at(both)}, {named(metric).label}: {sides}"
        case Count(study=study, of=of, at=at, path=path):
            asked = f" for {path}" if path else ""
            what = f"{' + '.join(of)} of a request{asked}" if of else f"what {path} answers"
            return f"study {study}{_at(at)}: {what}"
        case Script(study=study, commands=commands, at=at, has_one_core=has_one_core):
            where = f"study {study}{_at(at)}: " if study else ""
            core = ", one core for each" if has_one_core else ""
            typed = "; ".join(commands.values()).format(url="URL", server="URL")
            return f"{where}{typed}{core}"


def _side(side: dict[str, Level], name: str) -> str:
    """Return a level with a space behind it; nothing where it is as the study starts."""
    return f"{level_text(side[name])} " if name in side else ""


def _at(at: dict[str, Level]) -> str:
    return f" with {levels_text(at)}" if at else ""


def why(one: Experiment, now: Now) -> str:
    """Return why it came out so; empty where that is not known, or nothing came out."""
    if now.verdict == "cannot tell":
        return ""
    if now.verdict == "not comparable":
        return one.footing
    told = one.because if now.verdict in one.explains else ""
    if now.verdict == "was an artefact":
        # Why something was seen then is one half of it; why nothing is seen now is the other.
        return "; ".join(filter(None, (one.artefact, told)))
    return told


def borders_words(then: Then) -> str:
    """Return where the word changes, in words; empty where nothing can be judged."""
    if then.count is not None:
        return f"holds at {then.count:g}"
    if then.ratio is None:
        return ""
    edges = [edge_text(each) for each in borders(then)]
    if then.is_flat:
        return f"holds from {edges[0]} to {edges[1]}, beyond that no longer"
    if math.log(then.ratio) > 0:
        return f"no longer up to {edges[0]}, smaller up to {edges[1]}, larger from {edges[2]} on"
    return f"larger up to {edges[0]}, smaller from {edges[1]} on, no longer from {edges[2]} on"


def edge_text(ratio: float) -> str:
    """Return a ratio at which a word changes; near 1 with the digits that tell two apart."""
    return f"{ratio:.4g}" if abs(math.log(ratio)) < _NEAR else f"{ratio:.3g}"


def day(now: Now) -> str:
    """Return the day on which it was measured."""
    return now.measured_at[:10]
