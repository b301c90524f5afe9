"""`httpdyno tune`: find the better configuration of a study's server."""

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
from httpdyno.cli.tuned_source import study_of

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
