"""Options that several commands share, declared once."""

from typing import Annotated

import typer

from httpdyno.metrics.table import REQUEST_METRICS
from httpdyno.model import level_text

JsonOption = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE|-", help="Write the result as JSON. `-` is stdout, without text."
    ),
]

HtmlOption = Annotated[
    str | None,
    typer.Option(
        "--html", metavar="FILE", help="Write an HTML report in one file. `{id}` is the run's id."
    ),
]

ForceOption = Annotated[
    bool,
    typer.Option("--force", help="Overwrite files that httpdyno did not write."),
]


def bundled_names(incomplete: str) -> list[str]:
    """Return the bundled studies that begin so, for a shell that completes."""
    from httpdyno.catalog import bundled_studies  # noqa: PLC0415 - not for help

    return [name for name in bundled_studies() if name.startswith(incomplete)]


def metric_names(incomplete: str) -> list[str]:
    """Return the metrics that begin so, for a shell that completes."""
    return [each for each in REQUEST_METRICS if each.startswith(incomplete)]


def knob_levels(context: typer.Context, incomplete: str) -> list[str]:
    """Return how a configuration of the study that is named may go on, for a shell that completes.

    `workers=` before the sign, `workers=4` after it; of several the last one.
    """
    from httpdyno.catalog import open_study  # noqa: PLC0415 - not for help
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
    from httpdyno.store.database import store_location  # noqa: PLC0415 - not for help

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
        help="Bundled study, study file, or folder with study.toml.",
    ),
]

ResumableStudyArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        autocompletion=bundled_names,
        help="Bundled study, study file, or folder with study.toml. Omit with --resume.",
        show_default=False,
    ),
]

BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="Time budget for the whole run, such as `3m`.  [default: the study's]",
        show_default=False,
    ),
]

MetricOption = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        autocompletion=metric_names,
        help="Metric that decides, such as `p95_s` or `pss_bytes`.  [default: the study's]",
        show_default=False,
    ),
]

AlsoOption = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        metavar="METRIC",
        autocompletion=metric_names,
        help="Report a verdict for this metric too, such as `p99_s`. Decides nothing. Repeatable.",
    ),
]

PhaseOption = Annotated[
    str | None,
    typer.Option(
        "--phase",
        metavar="NAME",
        help="Phase that decides, in studies with phases such as cold and warm.  [default: the "
        "study's]",
        show_default=False,
    ),
]

UntilDecidedOption = Annotated[
    bool,
    typer.Option(
        "--until-decided",
        help="Run until each comparison is decided (at most 400 starts). Can take hours. Replaces "
        "--budget.",
    ),
]

SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Repeat the order of another run.  [default: new, recorded]",
        show_default=False,
    ),
]

VerboseOption = Annotated[bool, typer.Option("--verbose", help="Show all measurements.")]

SecretsOption = Annotated[
    bool,
    typer.Option(
        "--with-secrets",
        help="Include values of cookies, credentials and environment in JSON and HTML.",
    ),
]

ResumeOption = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="ID",
        autocompletion=stored_ids,
        help="Continue a stored run.",
    ),
]

AcceptChangesOption = Annotated[
    bool,
    typer.Option(
        "--accept-changes",
        help="Continue a run although its files or its machine changed. The report notes it.",
    ),
]

TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Run this study without asking, although others may have written it.",
    ),
]

DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="Show what would be done, and exit."),
]
