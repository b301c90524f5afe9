"""`httpdyno tune`: find the better configuration of a study's server."""

from pathlib import Path

from httpdyno.catalog import STUDY_FILE, bundled_studies, study_path
from httpdyno.cli.launch import Request, launch
from httpdyno.cli.option import (
    AcceptChangesOption,
    AlsoOption,
    BudgetOption,
    DryRunOption,
    ForceOption,
    HtmlOption,
    JsonOption,
    MetricOption,
    ResumableStudyArgument,
    ResumeOption,
    SecretsOption,
    SeedOption,
    TrustOption,
    UntilDecidedOption,
    VerboseOption,
)
from httpdyno.cli.standard_streams import tell
from httpdyno.cli.study_folder import study_folder
from httpdyno.errors import StudyFileError, UsageError
from httpdyno.registry import site_adapters
from httpdyno.servers.discover.source import FileSource, KindSource, Source, parse_source


def study_of(words: str, *, is_dry_run: bool = False) -> str | None:
    """Return the study that the words name; where they name a server, one made of it now.

    A study that was made of it before is used again. In a dry run none is made: it is said what it
    would be of, and None is returned.

    Raises:
        StudyFileError: They name neither.
        HttpdynoError: The server cannot be adopted.
    """
    source = _source(words)
    if source is None:
        return words
    folder = study_folder(_name(source, words))
    if (folder / STUDY_FILE).is_file():
        tell(f"going by {folder}/, made of `{words}` before; remove it to begin anew")
        return str(folder)
    from httpdyno.cli.adopt import command  # noqa: PLC0415 - not for studies

    command([words], output=str(folder), dry_run=is_dry_run)
    return None if is_dry_run else str(folder)


def _source(words: str) -> Source | None:
    """Return the server that the words name; None where they are for a study."""
    if words in bundled_studies() or Path(words).is_dir():
        return None
    try:
        source = parse_source([words], Path.cwd())
    except UsageError:
        return None
    adapters = site_adapters()
    if isinstance(source, KindSource):
        return source if source.kind in {adapter.name for adapter in adapters} else None
    if isinstance(source, FileSource):
        is_theirs = any(adapter.at(str(source.path)) for adapter in adapters)
        return source if is_theirs else None
    try:
        study_path(words)
    except StudyFileError:
        return source
    return None


def _name(source: Source, words: str) -> str:
    if isinstance(source, FileSource):
        return f"{source.path.parent.name}-study"
    return words


EXAMPLE = """Examples:

\b
  httpdyno tune bookmarks --budget 3m --html report.html
  httpdyno tune nginx

\b
Columns of the table:
  ratio  the metric over that of the best so far, with its interval
  total  product of the kept changes
  CPU    CPU time per request
  p99    99th percentile of latency
  book   published ratio
"""


def command(  # noqa: PLR0913 - one parameter for each option
    study: ResumableStudyArgument = None,
    *,
    budget: BudgetOption = None,
    metric: MetricOption = None,
    also: AlsoOption = None,
    until_decided: UntilDecidedOption = False,
    seed: SeedOption = None,
    resume: ResumeOption = None,
    accept_changes: AcceptChangesOption = False,
    dry_run: DryRunOption = False,
    trust: TrustOption = False,
    html: HtmlOption = None,
    json: JsonOption = None,
    force: ForceOption = False,
    with_secrets: SecretsOption = False,
    verbose: VerboseOption = False,
) -> int:
    """Tune a server, one setting at a time, and keep proven changes.

    The server runs as a private instance; your configuration files are not edited. Instead of a
    study you may name a server, such as nginx or :8080. httpdyno then adopts it first and requests
    `/` only; `httpdyno adopt` takes other requests.
    """
    if study is not None:
        study = study_of(study, is_dry_run=dry_run)
        if study is None:
            return 0
    return launch(
        Request(
            study=study,
            budget=budget,
            metric=metric,
            also=tuple(also or ()),
            is_until_decided=until_decided,
            seed=seed,
            resume=resume,
            accepts_changes=accept_changes,
            is_dry_run=dry_run,
            is_trusted=trust,
            html=html,
            json=json,
            is_forced=force,
            has_secrets=with_secrets,
            is_verbose=verbose,
        )
    )
