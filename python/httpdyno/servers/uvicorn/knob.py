"""uvicorn's settings that can be tuned. Source of all: www.uvicorn.org/settings."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from httpdyno.model import KnobInfo, Level, level_text

_SOURCE = "www.uvicorn.org/settings/#"

_DECLARED = (
    KnobInfo(
        name="workers",
        summary="processes that answer requests",
        kind="integer",
        default=1,
        minimum=1,
        maximum=1024,
        scale="log",
        effect="memory",
        risk="what a process keeps in memory is not shared",
        evidence="seen",
        source="production",
        pool="workers",
    ),
    KnobInfo(
        name="loop",
        summary="the event loop",
        kind="choice",
        default="auto",
        choices=("auto", "asyncio", "uvloop"),
        evidence="seen",
        source="implementation",
    ),
    KnobInfo(
        name="http",
        summary="the parser of HTTP",
        kind="choice",
        default="auto",
        choices=("auto", "h11", "httptools"),
        evidence="seen",
        source="implementation",
    ),
    KnobInfo(
        name="limit_concurrency",
        summary="connections or tasks above which it answers 503; 0 is no limit",
        kind="integer",
        default=0,
        minimum=0,
        maximum=1_000_000,
        scale="log",
        effect="visible",
        risk="clients above it get 503",
        source="resource-limits",
    ),
    KnobInfo(
        name="backlog",
        summary="connections that may wait in the kernel to be accepted",
        kind="integer",
        default=2048,
        minimum=1,
        maximum=65_535,
        scale="log",
        evidence="seen",
        source="resource-limits",
    ),
    KnobInfo(
        name="timeout_keep_alive",
        summary="how long an idle connection is kept",
        kind="integer",
        default=5,
        unit="s",
        minimum=0,
        maximum=3600,
        scale="log",
        effect="visible",
        risk="below a proxy's own idle time the proxy sees resets",
        source="timeouts",
    ),
    KnobInfo(
        name="limit_max_requests",
        summary="requests after which a process ends, and another begins; 0 is never",
        kind="integer",
        default=0,
        unit="requests",
        minimum=0,
        maximum=1_000_000_000,
        scale="log",
        risk="with one worker nobody begins another",
        source="resource-limits",
        pool="requests",
    ),
    KnobInfo(
        name="access_log",
        summary="a line of log for each request",
        kind="boolean",
        default=True,
        effect="loss",
        risk="without it nobody can tell what was asked",
        source="logging",
    ),
    KnobInfo(
        name="log_level",
        summary="how much is logged",
        kind="choice",
        default="info",
        choices=("critical", "error", "warning", "info", "debug", "trace"),
        effect="loss",
        risk="above info there is no access log either",
        source="logging",
    ),
    KnobInfo(
        name="interface",
        summary="how the application is called",
        kind="choice",
        default="auto",
        choices=("auto", "asgi3", "asgi2", "wsgi"),
        source="application-interface",
    ),
    KnobInfo(
        name="lifespan",
        summary="whether the application is told of its start and its end",
        kind="choice",
        default="auto",
        choices=("auto", "on", "off"),
        source="implementation",
    ),
)

KNOBS = {
    knob.name: replace(knob, cost="restart", source=_SOURCE + knob.source) for knob in _DECLARED
}

_YES = frozenset({"1", "true", "t", "yes", "y", "on"})
_NONE_AT_0 = frozenset({"limit_concurrency", "limit_max_requests"})


def flags(levels: Mapping[str, Level]) -> list[str]:
    """Return the levels as uvicorn's command line has them.

    A limit of 0 is none, for which there is no flag; left out, it is what the rest says.
    """
    found: list[str] = []
    for name, value in levels.items():
        if name not in KNOBS or (name in _NONE_AT_0 and value == 0):
            continue
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            found.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            found += [f"--{flag}", str(value)]
    return found


def of_variables(name: str, variables: Mapping[str, str | None]) -> str | None:
    """Return what its environment says of an option, where no flag does: empty is nothing.

    None where a variable of it is there that nobody may read.
    """
    names = (f"UVICORN_{name.upper()}", *(("WEB_CONCURRENCY",) if name == "workers" else ()))
    return next((variables[each] for each in names if variables.get(each, "") != ""), "")


def told(arguments: Sequence[str], variables: Mapping[str, str | None]) -> dict[str, str]:
    """Return all settings by name as text: what it does by itself, its variables, its flags.

    Of flags the last counts. What a variable says that cannot be read is left out; a process that
    is ending has no words.
    """
    found: dict[str, str] = {}
    for name, info in KNOBS.items() if arguments else ():
        text = of_variables(name, variables)
        if text is None:
            continue
        if text and info.kind == "boolean":
            text = level_text(text.lower() in _YES)
        found[name] = text or level_text(info.default or 0)
    for argument, following in zip(arguments, (*arguments, "")[1:], strict=True):
        flag, equals, value = argument.removeprefix("--").partition("=")
        name = flag.replace("-", "_")
        if not argument.startswith("--"):
            continue
        if name in {"access_log", "no_access_log"}:
            found["access_log"] = "true" if name == "access_log" else "false"
        elif name in KNOBS:
            found[name] = value if equals else following
    return found
