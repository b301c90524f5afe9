"""Experiments of the book for the terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.book.experiment import (
    WORDS,
    Arithmetic,
    Clients,
    Count,
    Experiment,
    Pair,
    Raised,
    Recipe,
    Said,
    Stat,
)
from httpdyno.book.result import Now
from httpdyno.metrics.table import named
from httpdyno.model import Level, level_text
from httpdyno.report.book.words import borders_words, day, why, word_style
from httpdyno.report.shared.prose import Prose
from httpdyno.units import format_guess

_INDENT = (0, 0, 0, 2)


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
        word = Text.assemble("now:  ", (now.word, word_style(now.word)), f"; {now.says}")
        lines.append(Padding(Prose(word), _INDENT))
    here = f"cannot run: {reason}" if reason else f"can run, in at most {_budget(one)}"
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
    words = Counter(found[each.name].word for each in own if each.name in found)
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


def _budget(one: Experiment) -> str:
    return format_guess(one.budget_s)


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
        rows += [("judged", borders_words(one.then)), ("takes", f"at most {_budget(one)}")]
    if reason:
        rows.append(("not here", reason))
    if now is not None:
        rows += [("now", now.says)]
        if words := why(one, now):
            rows.append(("because", words))
        rows += [("seen", moved) for moved in now.moved]
        rows.append(("measured", f"{now.measured_at}, {now.host}"))
    lines: list[RenderableType] = [Prose(Text.assemble((each.name, "cyan"), f": {each.title}"))]
    if now is not None:
        lines.append(Padding(Text(now.word, word_style(now.word)), _INDENT))
    lines += [
        Padding(Prose(Text.assemble((f"{name:<9} ", "dim"), text)), _INDENT) for name, text in rows
    ]
    return Group(*lines)


def way_words(one: Experiment) -> str:  # noqa: PLR0911 - one for each way
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
            return f"study {study}{_at(at)}: {' + '.join(of)} of a request{asked}"
        case Said(study=study, path=path, at=at):
            return f"study {study}{_at(at)}: what {path} answers"
        case Recipe(study=study, words=words, paths=paths, at=at):
            urls = " ".join(f"URL{path}" for path in paths) or "URL"
            return f"study {study}{_at(at)}: httpdyno load {urls} {' '.join(words)}"
        case Raised(study=study, words=words, clients=clients, at=at):
            each = ", ".join(f"{n:,}" for n in clients)
            return f"study {study}{_at(at)}: httpdyno load URL {' '.join(words)} -c each of {each}"
        case Clients(study=study, n_agents=n_agents, n_requests=n, at=at):
            return (
                f"study {study}{_at(at)}: ab -c {n_agents} -n {n} URL, and a client of LWP that "
                f"forks {n_agents} agents for as many requests; one core for each program"
            )
        case Stat(n_beside=n, further=further):
            loops = " and ".join(f"beside {each}" for each in (n, *(f.n_beside for f in further)))
            return f"perl calls stat() on one core, alone, {loops} busy loops"
        case Arithmetic(formula=formula, given=given):
            return f"httpdyno formula {formula} {' '.join(f'--{k} {v}' for k, v in given.items())}"


def _side(side: dict[str, Level], name: str) -> str:
    """Return a level with a space behind it; nothing where it is as the study starts."""
    return f"{level_text(side[name])} " if name in side else ""


def _at(at: dict[str, Level]) -> str:
    levels = ", ".join(f"{name}={level_text(value)}" for name, value in at.items())
    return f" with {levels}" if levels else ""
