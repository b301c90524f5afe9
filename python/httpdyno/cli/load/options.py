"""What people can say to `httpdyno load`: each option declared once, in the groups of its help."""

from dataclasses import dataclass
from typing import Annotated

import typer

from httpdyno.cli.load.output import (
    CsvOption,
    FailIfOption,
    HgrmOption,
    HistogramOption,
    HlogOption,
    LoadHtmlOption,
    PrometheusOption,
)
from httpdyno.cli.option import ForceOption, JsonOption, VerboseOption
from httpdyno.cli.option_group import number, whole_number
from httpdyno.model.workload import LOG_SPREADS, ORDERS


def _spreads(incomplete: str) -> list[str]:
    return [each for each in LOG_SPREADS if each.startswith(incomplete)]


def _orders(incomplete: str) -> list[str]:
    return [each for each in ORDERS if each.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True, slots=True)
class TargetOptions:
    """What is loaded."""

    urls: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL",
            help="URLs to request, such as http://localhost:8000/path. Several take turns.",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TrafficOptions:
    """When requests are sent, and for how long."""

    connections: Annotated[
        int,
        typer.Option(
            "-c",
            "--connections",
            parser=whole_number("-c"),
            metavar="N",
            help="Concurrent users, one connection each. With --rate, --stages, --sessions or "
            "--replay: the maximum.",
        ),
    ] = 50
    duration: Annotated[
        str | None,
        typer.Option(
            "-d",
            "--duration",
            metavar="TIME",
            help="Duration of the load.  [default: 10s, or to the end of -n, stages or log]",
            show_default=False,
        ),
    ] = None
    warm_up: Annotated[
        str | None,
        typer.Option(
            "--warm-up",
            metavar="TIME",
            help="Send the same load for this time before measuring.",
        ),
    ] = None
    requests: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--requests",
            parser=whole_number("-n"),
            metavar="N",
            help="Stop after this many requests (pages with --page, visits with --sessions).",
        ),
    ] = None
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            help="Send at this rate (open loop), such as `500/s`. Latency counts from due times.",
        ),
    ] = None
    poisson: Annotated[
        bool,
        typer.Option(
            "--poisson",
            help="With --rate or --stages: random (Poisson) arrivals instead of evenly spaced "
            "ones.",
        ),
    ] = False
    stages: Annotated[
        str | None,
        typer.Option(
            "--stages",
            metavar="STAGES",
            help="Change the rate over time: `10s: 0/s..500/s, 30s: 500/s`.",
        ),
    ] = None
    sessions: Annotated[
        str | None,
        typer.Option(
            "--sessions",
            metavar="RATE|STAGES",
            help="Start users at random at this rate, for one visit each (--visit, --think).",
        ),
    ] = None
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="LOG",
            help="Replay an access log (common or combined format) with its gaps.",
        ),
    ] = None
    speed: Annotated[
        str | None,
        typer.Option(
            "--speed", metavar="FACTOR", help="With --replay: speed factor. `2x` halves the gaps."
        ),
    ] = None
    replay_methods: Annotated[
        str | None,
        typer.Option(
            "--replay-methods",
            metavar="METHODS",
            help="With --replay: methods to send. Others may change data on the server.  "
            "[default: GET,HEAD]",
            show_default=False,
        ),
    ] = None
    replay_spread: Annotated[
        str | None,
        typer.Option(
            "--replay-spread",
            metavar="even|random|burst",
            autocompletion=_spreads,
            help="With --replay: how to spread requests within a second of the log.  [default: "
            "even]",
            show_default=False,
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            parser=whole_number("--seed"),
            metavar="N",
            help="Repeat the random choices of another run.  [default: new, shown]",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestOptions:
    """What is asked for, and what the right answer is."""

    method: Annotated[
        str | None,
        typer.Option(
            "-X",
            "--method",
            metavar="METHOD",
            help="HTTP method.  [default: GET, or POST with --data]",
            show_default=False,
        ),
    ] = None
    header: Annotated[
        list[str] | None,
        typer.Option(
            "-H", "--header", metavar="'NAME: VALUE'", help="Send this header. Repeatable."
        ),
    ] = None
    user: Annotated[
        str | None,
        typer.Option(
            "-u", "--user", metavar="NAME:PASS", help="Name and password for Basic authentication."
        ),
    ] = None
    compressed: Annotated[
        bool, typer.Option("--compressed", help="Accept compressed responses, as browsers do.")
    ] = False
    location: Annotated[
        bool,
        typer.Option(
            "-L", "--location", help="Request each URL once first, and load its redirect target."
        ),
    ] = False
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="TEXT|@FILE",
            help="Send this body, by default as a form. Replaces `{n}`, `{user}` and `{random}`.",
        ),
    ] = None
    mix: Annotated[
        list[str] | None,
        typer.Option(
            "--mix",
            metavar="LINE",
            help="Add to the mix: `[WEIGHT] [METHOD] PATH [BODY|@FILE] [-> STATUS]`, such as `8 "
            "/list`. Repeatable.",
        ),
    ] = None
    url_file: Annotated[
        str | None,
        typer.Option(
            "--url-file", metavar="FILE", help="Read --mix lines from a file. # starts a comment."
        ),
    ] = None
    page: Annotated[
        list[str] | None,
        typer.Option(
            "--page",
            metavar="LINE",
            help="Add a page: `[WEIGHT] DOCUMENT: OBJECT …`, such as `/: /a.css /b.js`. "
            "Repeatable.",
        ),
    ] = None
    first: Annotated[
        list[str] | None,
        typer.Option(
            "--first",
            metavar="LINE",
            help="Request by each user before measuring: `[METHOD] PATH [BODY|@FILE] [-> "
            "STATUS]`. Keeps cookies. Repeatable.",
        ),
    ] = None
    timeout: Annotated[
        str,
        typer.Option(
            "--timeout",
            metavar="TIME",
            help="Count a request as an error after this time.",
        ),
    ] = "10s"
    expect_status: Annotated[
        str | None,
        typer.Option(
            "--expect-status",
            metavar="STATUS",
            help="Expected status. `ok` is any 2xx or 3xx. Others are errors.  [default: 200; "
            "with --replay by the log]",
            show_default=False,
        ),
    ] = None
    expect_length: Annotated[
        int | None,
        typer.Option(
            "--expect-length",
            parser=whole_number("--expect-length"),
            metavar="BYTES",
            help="Expected length of the decoded response.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class UserOptions:
    """What those who send are like."""

    visit: Annotated[
        float | None,
        typer.Option(
            "--visit",
            parser=number("--visit"),
            metavar="N",
            help="Mean number of requests or pages per visit (geometric).  [default: exactly 1]",
            show_default=False,
        ),
    ] = None
    visit_exactly: Annotated[
        int | None,
        typer.Option(
            "--visit-exactly",
            parser=whole_number("--visit-exactly"),
            metavar="N",
            help="Exact number of requests or pages per visit.",
        ),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="given|mixed",
            autocompletion=_orders,
            help="`given`: each visit starts with the first request and keeps the order.  "
            "[default: mixed]",
            show_default=False,
        ),
    ] = None
    think: Annotated[
        str | None,
        typer.Option(
            "--think",
            metavar="TIME",
            help="Mean pause between a response and the user's next request (exponential).",
        ),
    ] = None
    think_exactly: Annotated[
        str | None,
        typer.Option(
            "--think-exactly",
            metavar="TIME",
            help="Exact pause between a response and the user's next request.",
        ),
    ] = None
    cookies: Annotated[
        bool,
        typer.Option("--cookies", help="Keep cookies per user and send them back."),
    ] = False
    new_users: Annotated[
        str | None,
        typer.Option(
            "--new-users",
            metavar="PERCENT",
            help="Share of visits by users without cookies.  [default: 0%; 100% with --sessions]",
            show_default=False,
        ),
    ] = None
    users: Annotated[
        int | None,
        typer.Option(
            "--users",
            parser=whole_number("--users"),
            metavar="N",
            help="Number of users, if not one per connection.  [default: as many as -c]",
            show_default=False,
        ),
    ] = None
    slow: Annotated[
        str | None,
        typer.Option(
            "--slow",
            metavar="LINE:PERCENT",
            help="Put a share of users on slow lines: `28.8kbit:20%`. Results list them "
            "separately.",
        ),
    ] = None
    slow_buffer: Annotated[
        str | None,
        typer.Option(
            "--slow-buffer",
            metavar="SIZE",
            help="Receive buffer of slow users: how much a server can send ahead.  [default: 4KiB]",
            show_default=False,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class OutputOptions:
    """What is shown, written and judged."""

    json: JsonOption = None
    csv: CsvOption = None
    hgrm: HgrmOption = None
    hlog: HlogOption = None
    prometheus: PrometheusOption = None
    html: LoadHtmlOption = None
    force: ForceOption = False
    fail_if: FailIfOption = None
    histogram: HistogramOption = False
    verbose: VerboseOption = False
    no_store: Annotated[
        bool,
        typer.Option("--no-store", help="Do not keep the run for `history` and `report`."),
    ] = False


@dataclass(frozen=True, kw_only=True, slots=True)
class SafetyOptions:
    """What keeps load from those who did not ask for it."""

    yes_i_may_load: Annotated[
        str | None,
        typer.Option(
            "--yes-i-may-load",
            metavar="HOST",
            help="Allow a host that is neither local nor in a private network.",
        ),
    ] = None
