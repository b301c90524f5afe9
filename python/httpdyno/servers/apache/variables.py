"""The variables that Apache's configuration is read with: Debian keeps them in `envvars`."""

import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.servers.stack.adapter import Seat
from httpdyno.servers.stack.environment import readable_variables

_SETS = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)=(.*)")
_VARIABLE = re.compile(r"\$\{([^}]+)\}")
_USES = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SOURCE = '[ ! -e "$1" ] || . "$1" >/dev/null 2>&1; exec env -0'
_LONGEST = 64 << 10
"""Characters of a line once it is filled in: each `Define` may double what the last one set."""
_NOT_THEIRS = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})


def envvars_file(member: Member) -> str:
    """Return where Debian's control script keeps the variables of this main file."""
    return str(PurePosixPath(member.main).parent / "envvars")


def written_variables(text: str, member: Member) -> dict[str, str]:
    """Return what a file of `NAME=value` lines sets, without running it.

    What a shell would compute (`$(…)`) is left out; a `SUFFIX` is that of Debian's second and
    further instances, in `/etc/apache2-NAME`.
    """
    folder = str(PurePosixPath(member.main).parent)
    known = {"SUFFIX": folder.removeprefix("/etc/apache2") if "apache2-" in folder else ""}
    for line in text.splitlines():
        match = _SETS.fullmatch(line)
        if match is None or "$(" in match[2] or "`" in match[2] or match[1] == "SUFFIX":
            continue
        value = match[2].partition(" #")[0].strip().strip("\"'")
        known[match[1]] = filled(_USES, lambda use: known.get(use[1] or use[2], ""), value)
    return {name: value for name, value in known.items() if name != "SUFFIX"}


def own_variables(member: Member) -> dict[str, str]:
    """Return the variables that its service gives it, as far as they can be read."""
    return {"PATH": PATH, "LANG": "C"} | readable_variables(member)


def sourced_variables(member: Member, seat: Seat) -> dict[str, str]:
    """Return the whole environment that its control script would start it with.

    Raises:
        AdapterError: The file is not one that a shell takes.
    """
    own = own_variables(member)
    folder = str(PurePosixPath(member.main).parent)
    file = envvars_file(member)
    said = seat.run(
        ["/bin/sh", "-c", _SOURCE, "sh", file],
        environment={**own, "APACHE_CONFDIR": folder},
        user=member.user,
    )
    if said.exit_code != 0:
        raise AdapterError(
            f"`{file}` cannot be read by a shell: {said.errors.strip()}",
            hint=f"Try `sh -c '. {file}'`.",
        )
    pairs = (entry.partition("=") for entry in said.output.split("\0") if entry)
    return own | {name: value for name, _, value in pairs if name not in _NOT_THEIRS}


def resolved(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with each `${NAME}` filled in; one that nobody sets stays as it is."""
    return filled(_VARIABLE, lambda use: variables.get(use[1], use[0]), text)


def filled(pattern: re.Pattern[str], value_of: Callable[[re.Match[str]], str], text: str) -> str:
    """Return a text with what matches put in.

    Raises:
        AdapterError: It becomes longer than anything that anybody wrote to run.
    """
    n_left = _LONGEST

    def one(use: re.Match[str]) -> str:
        nonlocal n_left
        value = value_of(use)
        n_left -= len(value)
        if n_left < 0:
            raise AdapterError(
                f"`{text[:60]}` becomes longer than {_LONGEST >> 10} KiB once its variables are "
                "filled in"
            )
        return value

    return pattern.sub(one, text)
