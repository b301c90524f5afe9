"""`httpdyno compare`: is B better than A, and by how much."""

from typing import Annotated

import typer

from httpdyno.catalog import open_study
from httpdyno.cli.compare_urls import (
    ConnectionsOption,
    DurationOption,
    ExpectStatusOption,
    HeaderOption,
    PermissionOption,
    RateOption,
    UrlArguments,
    UrlOption,
    compare_urls,
)
from httpdyno.cli.launch import (
    also_telling,
    budget_or_none,
    deciding_by,
    deciding_in,
    execute,
    seed_or_new,
)
from httpdyno.cli.option import (
    AlsoOption,
    DryRunOption,
    ForceOption,
    HtmlOption,
    JsonOption,
    MetricOption,
    PhaseOption,
    SecretsOption,
    SeedOption,
    TrustOption,
    UntilDecidedOption,
    VerboseOption,
    bundled_names,
    knob_levels,
)
from httpdyno.cli.output import Outputs
from httpdyno.cli.trusted_study import open_to_run
from httpdyno.errors import UsageError
from httpdyno.experiment.planning import compare_plan, versus_plan, with_budget
from httpdyno.model import Configuration, Study
from httpdyno.registry import load_target
from httpdyno.study.file import configuration_from
from httpdyno.study.knob import check_load
from httpdyno.units import duration_s

EXAMPLE = """Example:

\b
  httpdyno compare bookmarks --a workers=1 --b workers=4 --budget 60s
  httpdyno compare bookmarks --b workers=2 --b workers=4,threads=2 --budget 3m
  httpdyno compare --url http://127.0.0.1:8901/ --url http://127.0.0.1:8902/
"""

_BUDGET = "60s"


def command(  # noqa: PLR0913 - one parameter for each option
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY",
            autocompletion=bundled_names,
            help="Bundled study, study file, or folder with study.toml. Omit with --url.",
            show_default=False,
        ),
    ] = None,
    *,
    b: Annotated[
        list[str] | None,
        typer.Option(
            "--b",
            metavar="KNOB=VALUE,…",
            autocompletion=knob_levels,
            help="Candidate: all its knobs, or the name of a candidate of the study. Repeatable.",
        ),
    ] = None,
    a: Annotated[
        list[str] | None,
        typer.Option(
            "--a",
            metavar="KNOB=VALUE,…",
            autocompletion=knob_levels,
            help="Reference configuration.  [default: the study's start]",
            show_default=False,
        ),
    ] = None,
    same: Annotated[
        bool,
        typer.Option(
            "--same", help="Allow comparing a configuration with itself, to check the method."
        ),
    ] = False,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help=f"Time budget.  [default: {_BUDGET} per --b]",
            show_default=False,
        ),
    ] = None,
    metric: MetricOption = None,
    also: AlsoOption = None,
    phase: PhaseOption = None,
    until_decided: UntilDecidedOption = False,
    seed: SeedOption = None,
    dry_run: DryRunOption = False,
    trust: TrustOption = False,
    html: HtmlOption = None,
    json: JsonOption = None,
    force: ForceOption = False,
    with_secrets: SecretsOption = False,
    verbose: VerboseOption = False,
    url: UrlOption = None,
    connections: ConnectionsOption = None,
    duration: DurationOption = None,
    rate: RateOption = None,
    header: HeaderOption = None,
    expect_status: ExpectStatusOption = None,
    yes_i_may_load: PermissionOption = None,
) -> int:
    """Compare configurations of a study's server, or running servers.

    Both servers run at once and are loaded in turns, so disturbances hit both. Each candidate is
    compared with A; candidates share the time budget and the error rate. A knob that you do not
    name keeps the study's start value.
    """
    outputs = Outputs(
        json=json,
        html=html,
        has_secrets=with_secrets,
        is_verbose=verbose,
        is_forced=force,
    )
    outputs.check()
    running = UrlArguments(
        urls=url or [],
        connections=connections,
        duration=duration,
        rate=rate,
        header=header,
        expect_status=expect_status,
        allowed_host=yes_i_may_load,
    )
    running.require_urls()
    if running.urls:
        of_study = {"study": study, "b": b, "a": a, "budget": budget, "metric": metric}
        _refuse_beside_urls(**of_study, also=also, phase=phase, until_decided=until_decided)
        return compare_urls(running, outputs, seed=seed_or_new(seed), is_dry_run=dry_run)
    if study is None or not b:
        raise UsageError(
            f"missing {'argument `STUDY`' if study is None else 'option `--b`'}, or "
            "running servers by `--url`",
            hint="`httpdyno compare --help` has an example of each",
        )
    budget_s = budget_or_none(budget, is_until_decided=until_decided)
    if budget_s is None:
        budget_s = duration_s(_BUDGET) * len(b)
    opened = open_study(study) if dry_run else open_to_run(study, is_trusted=trust)
    opened = deciding_by(deciding_in(opened, phase), metric)
    opened = also_telling(opened, also or [])
    reference = parse_configuration(_only("--a", a or []), opened)
    candidates = _candidates(b, opened)
    if reference in candidates.values() and not (same and len(candidates) == 1):
        name = "b" if len(candidates) == 1 else _name_of(reference, candidates)
        raise UsageError(
            f"a and {name} are the same configuration: {reference.label()}",
            hint="name another, or compare it with `--same` alone to see that no difference is "
            "found",
        )
    if len(candidates) == 1:
        [candidate] = candidates.values()
        plan = compare_plan(opened, reference, candidate, seed=seed_or_new(seed))
    else:
        plan = versus_plan(opened, reference, candidates, seed=seed_or_new(seed))
    return execute(with_budget(plan, budget_s), outputs, is_dry_run=dry_run)


def _candidates(given: list[str], study: Study) -> dict[str, Configuration]:
    """Return the candidates by name: that of the study's own, else `b1`, `b2` by their places.

    Raises:
        UsageError: One cannot be, or two are the same.
    """
    found: dict[str, Configuration] = {}
    own = {each.name for each in study.candidates}
    for place, text in enumerate(given, 1):
        name = text.strip() if text.strip() in own else f"b{place}"
        if name in own and name != text.strip():
            name = f"b {place}"
        candidate = parse_configuration(text, study)
        if candidate in found.values():
            raise UsageError(
                f"{_name_of(candidate, found)} and `{text}` are the same configuration: "
                f"{candidate.label()}",
                hint="give each candidate once",
            )
        found[name] = candidate
    return found


def _name_of(candidate: Configuration, among: dict[str, Configuration]) -> str:
    return next(name for name, each in among.items() if each == candidate)


_NOT_GIVEN: tuple[object, ...] = (None, False, [])


def _refuse_beside_urls(**given: object) -> None:
    """Refuse what is for a study beside servers that run.

    Raises:
        UsageError: With the option.
    """
    name = next((each for each, value in given.items() if value not in _NOT_GIVEN), "")
    if name:
        said = "a study" if name == "study" else f"`--{name.replace('_', '-')}`"
        hint = "`-d` says how long servers that run are loaded" if name == "budget" else ""
        raise UsageError(f"{said} cannot be beside `--url`, whose servers run already", hint=hint)


def _only(option: str, given: list[str]) -> str:
    """Return what an option was given, once.

    Raises:
        UsageError: It was given again.
    """
    if len(given) > 1:
        raise UsageError(
            f"`{option}` was given {len(given)} times: `{'` and `'.join(given)}`",
            hint=f"one configuration is one `{option} {','.join(given)}`; there is one reference",
        )
    return given[0] if given else ""


def parse_configuration(text: str, study: Study) -> Configuration:
    """Return the start configuration with `KNOB=VALUE,…` put in.

    Raises:
        UsageError: An unknown knob, one that is set twice, a value that it cannot have, or a load
            that cannot be.
    """
    configuration = configuration_from(text, study)
    names = [piece.partition("=")[0].strip() for piece in text.split(",")]
    twice = next((name for name in names if name and names.count(name) > 1), "")
    if twice:
        raise UsageError(f"`{text}` sets {twice} twice", hint="two candidates take a `--b` each")
    infos = load_target(study).knobs()
    for name, value in configuration.values.items():
        try:
            if name in infos:
                infos[name].check(value)
        except ValueError as error:
            raise UsageError(
                f"`{name}={value}` is outside the knob's domain: expected {error}",
                hint=f"`httpdyno study show {study.name}` lists the levels",
            ) from error
    try:
        check_load(study, configuration)
    except UsageError as error:
        words = f"`{text}` makes a load that cannot be: {error}"
        raise UsageError(words, hint=error.hint) from error
    return configuration
