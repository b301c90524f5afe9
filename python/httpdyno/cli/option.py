"""Options that several commands share, declared once."""

from typing import Annotated

import typer

from httpdyno.metrics.table import REQUEST_METRICS
from httpdyno.model import level_text

JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE|-", help="Write the result as JSON; `-` is stdout, without text."
    ),
]

HtmlOption = Annotated[
    str | None,
    typer.Option(
        "--html", metavar="FILE", help="Write a report in one HTML file; `{id}` is the run's id."
    ),
]

ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Overwrite also what httpdyno did not write."),
]


def bundled_names(incomplete: str) -> list[str]:
    """Return the bundled studies that begin so, for a shell that completes."""
    from httpdyno.cli.find_study import bundled_studies  # noqa: PLC0415 - not for help

    return [name for name in bundled_studies() if name.startswith(incomplete)]


def metric_names(incomplete: str) -> list[str]:
    """Return the metrics that begin so, for a shell that completes."""
    return [each for each in REQUEST_METRICS if each.startswith(incomplete)]


def knob_levels(context: typer.Context, incomplete: str) -> list[str]:
    """Return how a configuration of the study that is named may go on, for a shell that completes.

    `workers=` before the sign, `workers=4` after it; of several the last one.
    """
    from httpdyno.cli.find_study import open_study  # noqa: PLC0415 - not for help
    from httpdyno.errors import HttpdynoError  # noqa: PLC0415 - not for help

    # An option without its value yet leaves all words before it unread.
    name = context.params.get("study") or next(iter(context.args), "")
    try:
        study = open_study(str(name))
    except HttpdynoError:  # a shell that completes has no place for it
        return []
    before, comma, last = incomplete.rpartition(",")
    given = {piece.partition("=")[0] for piece in before.split(",")}
    offered = [] if comma else [candidate.name for candidate in study.candidates]
    for knob in study.knobs:
        if knob.name not in given:
            levels = [level_text(level) for level in (knob.start, *knob.levels)]
            values = levels if last.startswith(f"{knob.name}=") else [""]
            offered += [f"{knob.name}={value}" for value in values]
    return [f"{before}{comma}{each}" for each in offered if each.startswith(last)]


def stored_ids(incomplete: str) -> list[tuple[str, str]]:
    """Return the stored runs whose id begins so with what they are, for a shell that completes."""
    from httpdyno.cli.keep import newest_runs  # noqa: PLC0415 - not for help
    from httpdyno.errors import HttpdynoError  # noqa: PLC0415 - not for help
    from httpdyno.store import Store  # noqa: PLC0415 - not for help
    from httpdyno.store.location import store_location  # noqa: PLC0415 - not for help

    try:
        file = store_location().file
        if file is not None and not file.exists():
            return []  # looking must not make one
        with Store.open() as store:
            runs = newest_runs(store)
    except HttpdynoError:  # a shell that completes has no place for it
        return []
    return [(run.id, f"{run.command} {run.study}") for run in runs if run.id.startswith(incomplete)]


StudyArgument = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        autocompletion=bundled_names,
        help="A bundled study's name, a study file, or a folder with study.toml.",
    ),
]

ResumableStudyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        autocompletion=bundled_names,
        help="A bundled study's name, a study file, or a folder with study.toml; not needed with "
        "--resume.",
        show_default=False,
    ),
]

BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="The time that the whole may take, such as `3m`.  [default: the study's]",
        show_default=False,
    ),
]

MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        autocompletion=metric_names,
        help="What decides, such as `p95_s` or `pss_bytes`; the study's tie breaker and published "
        "ratios, which are of its own metric, are left out then.  [default: the study's]",
        show_default=False,
    ),
]

AlsoOption = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        metavar="METRIC",
        autocompletion=metric_names,
        help="Say of this metric too whether it is better, worse or equivalent, such as "
        "`p99_s`; it decides nothing. May be repeated.",
    ),
]

PhaseOption = Annotated[
    str | None,
    typer.Option(
        "--phase",
        metavar="NAME",
        help="Of a study with phases, such as cold and warm: the one that decides.  [default: the "
        "study's]",
        show_default=False,
    ),
]

UntilDecidedOption = Annotated[
    bool,
    typer.Option(
        "--until-decided",
        help="Instead of --budget: let each comparison go on until it is better, worse or "
        "equivalent. Two that hardly differ may take hours; what cannot even at best be decided "
        "with 400 starts ends undecided, and says what it would take. Ctrl-C ends it with the "
        "steps that are finished, and with what the final claim proves so far.",
    ),
]

SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Repeat the order of another run.  [default: a new one, recorded]",
        show_default=False,
    ),
]

VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show all that was measured.")]

SecretsOption = Annotated[
    bool,
    typer.Option(
        "--with-secrets",
        help="Write values of cookies, credentials and the environment into JSON and HTML too.",
    ),
]

ResumeOption = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="ID",
        autocompletion=stored_ids,
        help="Go on with a stored run, where it ended.",
    ),
]

AcceptChangesOption = Annotated[
    bool,
    typer.Option(
        "--accept-changes",
        help="Go on with a stored run though its files or its machine are not what they were; "
        "the report says so.",
    ),
]

TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Run a study that others may have written, as it is now, without being asked.",
    ),
]

DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Say what would be done, and do nothing."),
]
