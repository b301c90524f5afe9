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
from httpdyno.model.arrival import LOG_SPREADS
from httpdyno.model.workload import ORDERS


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
            help="Such as http://localhost:8000/path; several are asked for in turn.",
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
            help="Users, each with a connection, who send again when they were answered; with "
            "--rate, --stages, --sessions or --replay the most connections at a time.",
        ),
    ] = 50
    duration: Annotated[
        str | None,
        typer.Option(
            "-d",
            "--duration",
            metavar="TIME",
            help="How long to load.  [default: 10s, or until -n, the stages' or the log's end]",
            show_default=False,
        ),
    ] = None
    warm_up: Annotated[
        str | None,
        typer.Option(
            "--warm-up",
            metavar="TIME",
            help="Send the same load so long before measuring.",
        ),
    ] = None
    requests: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--requests",
            parser=whole_number("-n"),
            metavar="N",
            help="Stop after this many requests; with --page pages, with --sessions visits.",
        ),
    ] = None
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="RATE",
            help="Send at this rate, such as `500/s`, however fast the answers come; latency then "
            "counts from when each request was due.",
        ),
    ] = None
    poisson: Annotated[
        bool,
        typer.Option(
            "--poisson",
            help="With --rate or --stages: at random, as from independent users, instead of "
            "evenly spaced.",
        ),
    ] = False
    stages: Annotated[
        str | None,
        typer.Option(
            "--stages",
            metavar="STAGES",
            help="Send at a rate that changes: `10s: 0/s..500/s, 30s: 500/s`.",
        ),
    ] = None
    sessions: Annotated[
        str | None,
        typer.Option(
            "--sessions",
            metavar="RATE|STAGES",
            help="Users come at random at this rate, each for one visit (--visit, --think).",
        ),
    ] = None
    replay: Annotated[
        str | None,
        typer.Option(
            "--replay",
            metavar="LOG",
            help="Send what an access log (common or combined format) says, with its gaps.",
        ),
    ] = None
    speed: Annotated[
        str | None,
        typer.Option("--speed", metavar="FACTOR", help="Of --replay: `2x` halves the gaps."),
    ] = None
    replay_methods: Annotated[
        str | None,
        typer.Option(
            "--replay-methods",
            metavar="METHODS",
            help="Of --replay: which to send; others may change what the server keeps.  [default: "
            "GET,HEAD]",
            show_default=False,
        ),
    ] = None
    replay_spread: Annotated[
        str | None,
        typer.Option(
            "--replay-spread",
            metavar="even|random|burst",
            autocompletion=_spreads,
            help="Of --replay: how requests lie in a second, where the log knows no more.  "
            "[default: even]",
            show_default=False,
        ),
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            parser=whole_number("--seed"),
            metavar="N",
            help="Repeat what another run drew at random.  [default: a new one, shown]",
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
            help="The method.  [default: GET, or POST with --data]",
            show_default=False,
        ),
    ] = None
    header: Annotated[
        list[str] | None,
        typer.Option(
            "-H", "--header", metavar="'NAME: VALUE'", help="Send this too; may be repeated."
        ),
    ] = None
    user: Annotated[
        str | None,
        typer.Option(
            "-u", "--user", metavar="NAME:PASS", help="Send this name and password (Basic)."
        ),
    ] = None
    compressed: Annotated[
        bool, typer.Option("--compressed", help="Accept compressed answers, as browsers do.")
    ] = False
    location: Annotated[
        bool,
        typer.Option(
            "-L", "--location", help="Ask each URL once before, and load where redirects lead."
        ),
    ] = False
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="TEXT|@FILE",
            help="Send this body; as a form, unless a Content-Type header says otherwise. In "
            "URLs, headers and bodies `{n}` is the request's number, `{user}` the user's, "
            "`{random}` 16 random hexadecimal digits.",
        ),
    ] = None
    mix: Annotated[
        list[str] | None,
        typer.Option(
            "--mix",
            metavar="LINE",
            help="A part of the mix, `[WEIGHT] [METHOD] PATH [BODY|@FILE] [-> STATUS]`, such as "
            "`8 /list`; may be repeated. The URL then names the server only.",
        ),
    ] = None
    url_file: Annotated[
        str | None,
        typer.Option("--url-file", metavar="FILE", help="A file with such lines; # is a comment."),
    ] = None
    page: Annotated[
        list[str] | None,
        typer.Option(
            "--page",
            metavar="LINE",
            help="A page, `[WEIGHT] DOCUMENT: OBJECT …`, such as `/: /a.css /b.js`; may be "
            "repeated.",
        ),
    ] = None
    first: Annotated[
        list[str] | None,
        typer.Option(
            "--first",
            metavar="LINE",
            help="What each user does once, before it is measured: `[METHOD] PATH [BODY|@FILE] "
            "[-> STATUS]`, such as `POST /login name=user{user} -> 302`; may be repeated. Its "
            "cookies stay.",
        ),
    ] = None
    timeout: Annotated[
        str,
        typer.Option(
            "--timeout",
            metavar="TIME",
            help="Patience: a request this old counts as an error, and as this slow.",
        ),
    ] = "10s"
    expect_status: Annotated[
        str | None,
        typer.Option(
            "--expect-status",
            metavar="STATUS",
            help="The right answer's status; `ok` is any 2xx or 3xx. Any other is an error.  "
            "[default: 200; with --replay ok, or what the log says was refused]",
            show_default=False,
        ),
    ] = None
    expect_length: Annotated[
        int | None,
        typer.Option(
            "--expect-length",
            parser=whole_number("--expect-length"),
            metavar="BYTES",
            help="The right answer's length, decoded.",
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
            help="Requests or pages of a visit, on average (geometric).  [default: exactly 1]",
            show_default=False,
        ),
    ] = None
    visit_exactly: Annotated[
        int | None,
        typer.Option(
            "--visit-exactly",
            parser=whole_number("--visit-exactly"),
            metavar="N",
            help="As many in every visit.",
        ),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            "--order",
            metavar="given|mixed",
            autocompletion=_orders,
            help="`given`: each visit asks for everything in the order given, from the first on; "
            "without --visit once.  [default: mixed]",
            show_default=False,
        ),
    ] = None
    think: Annotated[
        str | None,
        typer.Option(
            "--think",
            metavar="TIME",
            help="Pause between an answer and the user's next request, on average (exponential).",
        ),
    ] = None
    think_exactly: Annotated[
        str | None,
        typer.Option("--think-exactly", metavar="TIME", help="As long in every pause."),
    ] = None
    cookies: Annotated[
        bool,
        typer.Option("--cookies", help="Each user keeps its cookies and sends them back."),
    ] = False
    new_users: Annotated[
        str | None,
        typer.Option(
            "--new-users",
            metavar="PERCENT",
            help="Visits by users without cookies yet.  [default: 0%, with --sessions 100%]",
            show_default=False,
        ),
    ] = None
    users: Annotated[
        int | None,
        typer.Option(
            "--users",
            parser=whole_number("--users"),
            metavar="N",
            help="How many users come again, where they are not the connections.  [default: as "
            "many as -c]",
            show_default=False,
        ),
    ] = None
    slow: Annotated[
        str | None,
        typer.Option(
            "--slow",
            metavar="LINE:PERCENT",
            help="Some on slow lines, both ways: `28.8kbit:20%`. Results show them apart.",
        ),
    ] = None
    slow_buffer: Annotated[
        str | None,
        typer.Option(
            "--slow-buffer",
            metavar="SIZE",
            help="Their receive buffer: what a server can send ahead.  [default: 4KiB]",
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
            help="Allow a host that is neither this machine nor in a private network.",
        ),
    ] = None
