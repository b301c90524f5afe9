"""Options of `httpdyno load` in the groups of its help, made of the settings of `load.setting`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, make_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from httpdyno.cli.load.output import (
    CsvOption,
    FailIfOption,
    HgrmOption,
    HistogramOption,
    HlogOption,
    LoadHtmlOption,
    LoadOutputs,
    PrometheusOption,
)
from httpdyno.cli.option import ForceOption, JsonOption, VerboseOption
from httpdyno.cli.option_group import number, one_of, whole_number
from httpdyno.load.requests import RequestWords
from httpdyno.load.setting import TrafficTable, settings


def flags_of(name: str) -> tuple[str, ...]:
    """Return the option of a setting, the one that it is called by first."""
    flag, whole = settings()[name].flag, f"--{name.replace('_', '-')}"
    if not flag:
        return (whole,)
    return (flag,) if flag.startswith("--") else (flag, whole)


def _beginning(choices: Sequence[str]) -> Callable[[str], list[str]]:
    def completed(incomplete: str) -> list[str]:
        return [each for each in choices if each.startswith(incomplete)]

    return completed


def _annotation(name: str, kind: Any) -> Any:  # noqa: ANN401 - a type
    """Return a setting as a command's parameter is annotated."""
    each, flags = settings()[name], flags_of(name)
    known = {other: flags_of(other)[0] for other in settings()}
    help_ = each.help.format_map(known)
    parts: dict[str, Any] = {"rich_help_panel": each.heading, "show_default": not each.usual}
    if each.usual:
        help_ = f"{help_}  [default: {each.usual.format_map(known)}]"
    if each.metavar:
        parts["metavar"] = each.metavar
    plain = next((one for one in get_args(kind) if one is not type(None)), kind)
    if get_origin(plain) is Literal:
        choices = get_args(plain)
        parts["parser"] = one_of(flags[0], choices)
        parts["autocompletion"] = _beginning(choices)
        kind = str | None
    elif plain in {int, float}:
        parts["parser"] = (whole_number if plain is int else number)(flags[0])
    return Annotated[kind, typer.Option(*flags, help=help_, **parts)]


def _default(name: str) -> Any:  # noqa: ANN401 - of its type
    usual, own = getattr(TrafficTable(), name), settings()[name].default
    if isinstance(usual, bool):
        return False
    return usual if own is None else own


_KINDS = get_type_hints(TrafficTable)
_HEADINGS = ("Traffic", "Requests", "Users", "Connections")
"""As they stand in the help."""

SettingOptions = make_dataclass(
    "SettingOptions",
    [
        (name, _annotation(name, _KINDS[name]), _default(name))
        for name in sorted(_KINDS, key=lambda name: _HEADINGS.index(settings()[name].heading))
    ],
    frozen=True,
    kw_only=True,
)
"""All that a study file can say of its traffic, as options."""


def traffic_of(options: Any) -> TrafficTable:  # noqa: ANN401 - of `SettingOptions`
    """Return what the options say, in the words that a study file has too."""
    usual = TrafficTable()
    words = {each.name: getattr(options, each.name) for each in fields(options)}
    for name, value in words.items():
        default = getattr(usual, name)
        if isinstance(default, bool):  # a switch turns it over
            words[name] = default is not value
    return TrafficTable(**words)


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
class RunOptions:
    """For how long requests are sent, and which."""

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
class RequestOptions(RequestWords):
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
class OutputOptions(LoadOutputs):
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
