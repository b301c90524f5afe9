"""What has to be changed to get from one rendered configuration to another; pure."""

import difflib
import io

from httpdyno.servers.adapter import Rendered

_NO_NEWLINE = "\\ No newline at end of file"


def difference(before: Rendered, after: Rendered) -> str:
    """Return a unified diff of all that differs: files, environment, the command before a start.

    Of the environment only what differs is shown: what stays may be a secret.
    """
    parts: list[str] = []
    for name in sorted({*before.files, *after.files}):
        old, new = before.files.get(name, ""), after.files.get(name, "")
        parts += _diff(_lines(old), _lines(new), label=name)
    parts += _diff(_variables(before), _variables(after), label="environment", n_around=0)
    parts += _diff(
        _arguments(before),
        _arguments(after),
        label="command before each start, an argument to a line",
    )
    return "".join(parts)


def _diff(old: list[str], new: list[str], *, label: str, n_around: int = 3) -> list[str]:
    lines = difflib.unified_diff(old, new, label, label, n=n_around)
    return [line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n" for line in lines]


def _lines(text: str) -> list[str]:
    """Return lines as `patch` sees them: only a line feed ends one."""
    return list(io.StringIO(text, newline="\n"))


def _variables(rendered: Rendered) -> list[str]:
    return [f"{name}={value}\n" for name, value in sorted(rendered.environment.items())]


def _arguments(rendered: Rendered) -> list[str]:
    return [f"{argument}\n" for argument in rendered.prepare]
