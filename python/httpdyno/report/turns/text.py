"""Turns as text: what is claimed first, then what each server did."""

from urllib.parse import urlsplit

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.model import Comparison, Instance, TurnsOutcome
from httpdyno.report.shared.caveat import caveats
from httpdyno.report.shared.message import joined
from httpdyno.report.shared.prose import Prose
from httpdyno.report.turns.words import (
    claim_words,
    confidence_text,
    instance_rows,
    limit_rows,
    measured_text,
    ratio_rows,
    without_lines,
)

_STYLES = {
    "better": "bold green",
    "worse": "bold red",
    "failed": "bold red",
    "equivalent": "bold cyan",
}
_INDENT = (0, 0, 0, 2)


def turns_text(outcome: TurnsOutcome) -> RenderableType:
    """Return the claims, the instances' figures, the ratios and the doubts."""
    parts: list[RenderableType] = []
    for each in outcome.comparisons:
        style = _STYLES.get(each.verdict, "bold yellow")
        parts.append(Prose(Text(claim_words(outcome, each), style)))
        parts.append(Prose(Text(joined(each.reasons))))
    parts += [Text(), _instances(outcome)]
    parts += [Prose(Text(line)) for line in without_lines(outcome)]
    for each in outcome.comparisons:
        if each.ratios:
            first, url = (outcome.plan.instances[n].url for n in (0, each.index))
            parts += [Text(), Text(f"{url} over {first}"), _grid(each)]
    for url, rows in limit_rows(outcome):
        parts += [Text(), Prose(Text(url))]
        for name, text in rows:
            line = Text.assemble((name, "dim"), f": {text}")
            parts.append(Padding(Prose(line), _INDENT))
    parts += [Text(), Prose(Text(measured_text(outcome)))]
    parts.append(Prose(Text(f"confidence {confidence_text(outcome)}")))
    for caveat in caveats(outcome.warnings):
        parts.append(Prose(Text.assemble(("caveat: ", "yellow"), caveat.message)))
    return Group(*parts)


def _instances(outcome: TurnsOutcome) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("")
    instances = outcome.plan.instances
    rows = [dict(instance_rows(summary)) for _, summary in outcome.arms]
    for number, instance in enumerate(instances):
        name = instance.url.partition("://")[2].rstrip("/")
        table.add_column(name if number else f"{name} (reference)", justify="right")
    for name in rows[0]:
        table.add_row(Text(name, "dim"), *(Text(row[name]) for row in rows))
    if any(map(_is_named, instances)):
        table.add_row(Text("address", "dim"), *(Text(each.address) for each in instances))
    if any(instance.process for instance in instances):
        table.add_row(Text("process", "dim"), *(Text(each.process) for each in instances))
    return table


def _is_named(instance: Instance) -> bool:
    """Whether its URL leaves open where that is: a name, of which one address was taken."""
    host = urlsplit(instance.url).hostname or ""
    return host != "localhost" and host not in instance.address


def _grid(found: Comparison) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 2), pad_edge=False, show_header=False)
    for name, interval in ratio_rows(found):
        table.add_row(Text(name, "dim"), Text(interval))
    return table
