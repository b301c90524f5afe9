"""`httpdyno compare --url A --url B`: servers that run already, loaded in turns."""

import dataclasses
import ipaddress
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Self

import typer
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from httpdyno.cli.console import messages
from httpdyno.cli.keep import keep
from httpdyno.cli.live_display import LiveDisplay, one_line, whole_seconds
from httpdyno.cli.option_group import whole_number
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say, tell
from httpdyno.cli.turns_output import show_turns
from httpdyno.errors import UsageError
from httpdyno.experiment.turns import Server, TurnDone, TurnsPlan, run_turns
from httpdyno.experiment.turns_look import looks_s, with_looks
from httpdyno.host.interruption import interruptions
from httpdyno.inspection.behind import turns_with_behind
from httpdyno.load.check import check_workload
from httpdyno.load.message import check_tls
from httpdyno.load.plan import check_descriptors, suited_threads
from httpdyno.load.requests import RequestWords, requests_from
from httpdyno.load.target import Target, check_permitted, is_loopback, parse_url, resolve
from httpdyno.model import Closed, Constant, RequestSpec, TlsSpec, Workload
from httpdyno.registry import site_adapters
from httpdyno.report.turns.words import headline
from httpdyno.servers.discover.machine import this_machine
from httpdyno.telemetry.host import host_facts
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
    threads = suited_threads(workload)
    check_descriptors(workload, threads)
    plan = TurnsPlan(
        servers=tuple(map(_server, targets, addresses)),
        workload=workload,
        duration_s=duration_s(asked.duration or DEFAULT_DURATION, "-d"),
        seed=seed,
        threads=threads,
        host=host_facts(),
    )
    if is_dry_run:
        say(f"would load {len(targets)} servers in turns for {format_duration(plan.duration_s)}")
        return 0
    # All in all is what was asked for: looks are of that time.
    turns = dataclasses.replace(plan, duration_s=plan.duration_s - looks_s(plan))
    with interruptions() as asked_to_end:
        with _Progress(messages(), turns.duration_s, asked) as progress:
            outcome = run_turns(turns, progress.show, lambda: bool(asked_to_end))
        outcome = with_looks(outcome, plan, lambda: bool(asked_to_end), tell)
        outcome = turns_with_behind(outcome, plan, lambda: this_machine(site_adapters()), tell)
        try:
            show_turns(outcome, outputs)
        finally:
            keep(lambda store: store.save_turns(outcome, headline=headline(outcome)))
    if asked_to_end:
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


def _server(target: Target, address: str) -> Server:
    """Return a server, with its process where that can be seen."""
    if is_loopback(address):
        machine = this_machine()
        host, _, port = address.rpartition(":")
        sockets = [s for s in machine.sockets if s.answers_at(host.strip("[]"), int(port))]
        roots = {tree.root.pid: tree for tree in map(machine.tree_of, machine.holders(sockets))}
        if len(roots) == 1:
            [(pid, tree)] = roots.items()
            process = f"{tree.member.kind} {pid}"
            return Server(
                url=target.url,
                address=address,
                root_pid=pid,
                process=process,
                beside=tuple(f"{e.name} ({e.pid})" for e in machine.beside_in_unit(tree)),
            )
    return Server(url=target.url, address=address)


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
