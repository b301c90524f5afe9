"""uvicorn's settings that can be tuned. Source of all: www.uvicorn.org/settings."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from httpdyno.model import KnobInfo, Level, level_text
from httpdyno.model.rows import rows

_SOURCE = "www.uvicorn.org/settings/#"

KNOBS = {
    name: replace(row, cost="restart", source=_SOURCE + row.source)
    for name, row in rows("httpdyno.servers.uvicorn", "settings.toml", KnobInfo).items()
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
