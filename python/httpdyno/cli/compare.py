"""`httpdyno compare`: is B better than A, and by how much."""

import ipaddress
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Self

import typer
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from httpdyno.catalog import open_study
from httpdyno.cli.console import messages
from httpdyno.cli.keep import keep
from httpdyno.cli.launch import (
    also_telling,
    budget_or_none,
    deciding_by,
    deciding_in,
    execute,
    seed_or_new,
)
from httpdyno.cli.live_display import LiveDisplay, one_line, whole_seconds
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
from httpdyno.cli.option_group import whole_number
from httpdyno.cli.outcome_output import show_turns
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say, tell_why
from httpdyno.cli.trusted_study import open_to_run
from httpdyno.errors import UsageError
from httpdyno.experiment.decide.turns_claim import FEWEST_PERIODS
from httpdyno.experiment.design.plan import compare_plan, versus_plan, with_budget
from httpdyno.experiment.method.turns import TurnDone, run_turns, with_looks
from httpdyno.experiment.trial.running_bench import RunningBench
from httpdyno.host.interruption import interruptions
from httpdyno.inspection.behind import turns_with_behind
from httpdyno.load.check import check_workload
from httpdyno.load.message import check_tls
from httpdyno.load.plan import check_descriptors, suited_threads
from httpdyno.load.requests import RequestWords, requests_from
from httpdyno.load.target import Target, check_permitted, is_loopback, parse_url, resolve
from httpdyno.model import (
    Closed,
    Configuration,
    Constant,
    Instance,
    RequestSpec,
    Study,
    TlsSpec,
    TurnsPlan,
    Workload,
)
from httpdyno.registry import load_target, site_adapters
from httpdyno.report.turns.words import headline
from httpdyno.servers.discover.machine import this_machine
from httpdyno.study.file import configuration_from
from httpdyno.study.knob import check_load
from httpdyno.units import duration_s, format_duration, rate_per_s

DEFAULT_CONNECTIONS = 16
DEFAULT_DURATION = "60s"
_PLAIN_EVERY_S = 5.0

UrlOption = Annotated[
    list[str] | None,
    typer.Option(
        "--url",
        metavar="URL",
        help="Running server to compare, instead of a study. Repeat it: the first is the "
        "reference.",
    ),
]
ConnectionsOption = Annotated[
    int | None,
    typer.Option(
        "-c",
        "--connections",
        parser=whole_number("-c"),
        metavar="N",
        help=f"With --url: users, one connection each.  [default: {DEFAULT_CONNECTIONS}]",
        show_default=False,
    ),
]
DurationOption = Annotated[
    str | None,
    typer.Option(
        "-d",
        "--duration",
        metavar="TIME",
        help=f"With --url: total duration of the load.  [default: {DEFAULT_DURATION}]",
        show_default=False,
    ),
]
RateOption = Annotated[
    str | None,
    typer.Option(
        "--rate",
        metavar="RATE",
        help="With --url: send at this rate, such as `500/s`. Latency then decides, not "
        "throughput.",
        show_default=False,
    ),
]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option(
        "-H", "--header", metavar="'NAME: VALUE'", help="With --url: send this header. Repeatable."
    ),
]
ExpectStatusOption = Annotated[
    str | None,
    typer.Option(
        "--expect-status",
        metavar="STATUS",
        help="With --url: expected status. `ok` is any 2xx or 3xx.  [default: 200]",
        show_default=False,
    ),
]
PermissionOption = Annotated[
    str | None,
    typer.Option(
        "--yes-i-may-load",
        metavar="HOST",
        help="With --url: allow a host that is neither local nor in a private network.",
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class UrlArguments:
    """All that was said of servers that run."""

    urls: list[str]
    connections: int | None = None
    duration: str | None = None
    rate: str | None = None
    header: list[str] | None = None
    expect_status: str | None = None
    allowed_host: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether any of it was."""
        return any(getattr(self, name) is not None for name in _OPTIONS) or bool(self.urls)

    def require_urls(self) -> None:
        """Refuse what is for URLs where there are none.

        Raises:
            UsageError: With the option.
        """
        given = next((o for name, o in _OPTIONS.items() if getattr(self, name) is not None), "")
        if given and not self.urls:
            raise UsageError(
                f"`{given}` is for `--url`; a study says its own load",
                hint="leave it out, or name running servers with `--url`",
            )


_OPTIONS = {
    "connections": "-c",
    "duration": "-d",
    "rate": "--rate",
    "header": "-H",
    "expect_status": "--expect-status",
    "allowed_host": "--yes-i-may-load",
}


def compare_urls(
    asked: UrlArguments, outputs: Outputs, *, seed: int, is_dry_run: bool = False
) -> int:
    """Load the servers in turns and say what is proven of them; return the exit code.

    Raises:
        UsageError: Something makes no sense.
        TargetError: A server has no address, or gives no right answer.
    """
    targets = [parse_url(url) for url in asked.urls]
    _check_alike(targets, asked)
    workload = _workload(targets, asked)
    addresses = [resolve(each, allowed_host=asked.allowed_host) for each in targets]
    for target, address in zip(targets, addresses, strict=True):
        check_permitted(target, address, allowed_host=asked.allowed_host)
    check_descriptors(workload, suited_threads(workload))
    plan = TurnsPlan(
        instances=tuple(map(_instance, targets, addresses)),
        workload=workload,
        duration_s=duration_s(asked.duration or DEFAULT_DURATION, "-d"),
        seed=seed,
    )
    if is_dry_run:
        say(f"would load {len(targets)} servers in turns for {format_duration(plan.duration_s)}")
        return 0
    with interruptions() as seen:

        def asked_to_end() -> bool:
            return bool(seen)

        bench = RunningBench(plan, fewest_blocks=FEWEST_PERIODS, asked_to_end=asked_to_end)
        with _Progress(messages(), plan.duration_s, asked) as progress:
            outcome = run_turns(plan, bench, progress.show, asked_to_end)
        outcome = with_looks(outcome, asked_to_end, tell_why)
        outcome = turns_with_behind(outcome, lambda: this_machine(site_adapters()), tell_why)
        try:
            show_turns(outcome, outputs)
        finally:
            keep(lambda store: store.save_turns(outcome, headline=headline(outcome)))
    if asked_to_end():
        raise KeyboardInterrupt
    return 0


def _check_alike(targets: list[Target], asked: UrlArguments) -> None:
    """Refuse URLs that ask for different things."""
    if len(targets) < 2:  # noqa: PLR2004 - a comparison
        raise UsageError(
            "one URL is compared with nothing", hint="give `--url` twice, the reference first"
        )
    first = targets[0]
    for other in targets[1:]:
        if (other.path, other.scheme) != (first.path, first.scheme):
            raise UsageError(
                f"`{first.url}` and `{other.url}` ask for different things",
                hint="name the same path and scheme, so that only the server differs",
            )
        if other == first:
            raise UsageError(
                f"`{first.url}` is given twice", hint="two instances have two addresses"
            )
    names = {target.host for target in targets if not _is_address(target.host)}
    has_host = any(each.lower().startswith("host:") for each in asked.header or [])
    if len(names) > 1 and not has_host:
        raise UsageError(
            f"the URLs name different hosts: {', '.join(sorted(names))}",
            hint="say which is asked for: `-H 'Host: NAME'`",
        )


def _workload(targets: list[Target], asked: UrlArguments) -> Workload:
    first = targets[0]
    options = RequestWords(header=asked.header, expect_status=asked.expect_status)
    [request] = requests_from([asked.urls[0]], options).specs
    given = any(each.lower().startswith("host:") for each in asked.header or [])
    if not given and _is_address(first.host):
        request = _without_host(request)  # the engine sends each server its own address
    arrival = Constant(rate_per_s=_rate(asked.rate)) if asked.rate else Closed()
    tls = TlsSpec(server_name=first.host) if first.is_tls else None
    workload = Workload(
        requests=(request,),
        arrival=arrival,
        connections=asked.connections or DEFAULT_CONNECTIONS,
        tls=tls,
    )
    check_workload(workload)
    if tls is not None:
        check_tls(tls)
    return workload


def _rate(text: str) -> float:
    try:
        return rate_per_s(text)
    except UsageError as error:
        raise UsageError(
            f"`--rate {text}` makes no sense; expected a rate such as `500/s`"
        ) from error


def _without_host(request: RequestSpec) -> RequestSpec:
    return replace(
        request, headers=tuple(each for each in request.headers if each[0].lower() != "host")
    )


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host)
        return True
    return host == "localhost"


def _instance(target: Target, address: str) -> Instance:
    """Return a server, with its process where that can be seen."""
    if is_loopback(address):
        machine = this_machine()
        host, _, port = address.rpartition(":")
        sockets = [s for s in machine.sockets if s.answers_at(host.strip("[]"), int(port))]
        roots = {tree.root.pid: tree for tree in map(machine.tree_of, machine.holders(sockets))}
        if len(roots) == 1:
            [(pid, tree)] = roots.items()
            process = f"{tree.member.kind} {pid}"
            return Instance(
                url=target.url,
                address=address,
                root_pid=pid,
                process=process,
                beside=tuple(f"{e.name} ({e.pid})" for e in machine.beside_in_unit(tree)),
            )
    return Instance(url=target.url, address=address)


class _Progress(LiveDisplay):
    """Says how far the turns are."""

    def __init__(self, console: Console, duration: float, asked: UrlArguments) -> None:
        super().__init__(console)
        self._what = f"loading {len(asked.urls)} servers in turns, {format_duration(duration)}"
        self._duration_s = duration
        self._done: TurnDone | None = None
        self._began_s = self._plain_at_s = time.monotonic()

    def __enter__(self) -> Self:
        super().__enter__()
        if self._live is None:
            self._console.print(self._what, soft_wrap=True, markup=False)
        return self

    def show(self, done: TurnDone) -> None:
        """Take over how far it is."""
        self._done = done
        now_s = time.monotonic()
        if self._live is None and now_s - self._plain_at_s >= _PLAIN_EVERY_S:
            self._plain_at_s = now_s
            self._console.print(self._times(), soft_wrap=True, markup=False)

    def shown(self) -> Text:
        """Return what stands on a terminal now."""
        width = self._console.width
        return one_line(Text(self._what), self._times(), width, now_s=time.monotonic())

    def _times(self) -> str:
        passed = whole_seconds(time.monotonic() - self._began_s)
        if self._done is None:
            return f"{passed}, the pilot"
        n, of = (
            each // self._done.n_instances for each in (self._done.n_turns, self._done.of_turns)
        )
        return f"{passed}, period {n} of {of}"


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
