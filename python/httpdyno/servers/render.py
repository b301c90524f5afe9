"""Rendering of base configurations, templates, environments and commands.

They are jinja2 templates without escaping (they are configuration, not HTML), strict about names
that don't exist, and keep their trailing newline. These names are there:

==================  =======================================================================
`knob.NAME`         the level of each knob of the study, the application's own ones too
`setting.NAME`      each of the study's fixed `settings` of the server
`run`               the instance's folder on disk, absolute
`memory`            the instance's folder in memory, absolute
`address`, `port`   where the instance listens: `127.0.0.1:PORT` and `PORT`
`python`            the Python interpreter that runs httpdyno
`server_user`       the user that answers requests (Apache's when started by root)
`peer.NAME`         another server of the study: its `address`, `port`, `run` and `memory`
==================  =======================================================================

On command lines and in environment variables `{port}`, `{knob.NAME}` and so on do as well, in texts
without any double braces. All other braces stay as they are, and so does what follows a `$`.

A boolean is printed as `true` or `false` and is a boolean in `{% if %}`; the filter `python`
prints any level as Python source (`{{ knob.debug | python }}` gives `True`). A template that
renders to white space only is not written. For diffs everything is rendered with `RUN`, `MEMORY`
and `PORT` in the place of what differs from start to start.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from msgspec import structs

from httpdyno.errors import AdapterError, UsageError
from httpdyno.host.foreign_files import read_regular
from httpdyno.host.foreign_text import reason
from httpdyno.model import (
    Configuration,
    Level,
    LimitValues,
    Peer,
    ServerSpec,
    SideCommand,
    level_text,
)
from httpdyno.servers.adapter import Rendered
from httpdyno.servers.limits.control_group import CONTROLLERS
from httpdyno.servers.limits.limit_group import effective_limits, limit_values
from httpdyno.servers.network.address import LOOPBACK

RUN_PLACEHOLDER = "RUN"
MEMORY_PLACEHOLDER = "MEMORY"
PORT_PLACEHOLDER = "PORT"
SHARED_PLACEHOLDER = "SHARED"
COMMAND_LINE = "command line"
"""What it is called among the files of a rendered configuration: an argument to a line."""
LIMITS = "process limits"
"""What they are called among the files of a rendered configuration."""

_LARGEST_BYTES = 16 << 20

_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_PLACEHOLDER = re.compile(
    r"(?<!\$)\{(?:(port|address|run|memory|shared|python|server_user)|(knob|setting)\.([^{}\s]+)"
    r"|peer\.([^{}\s.]+)\.(address|port|run|memory))\}"
)
_NAMES_EXPECTED = (
    "`knob.…`, `setting.…`, `run`, `memory`, `address`, `port`, `python`, `server_user`, `peer.…`"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Variables:
    """What templates of one instance may use."""

    knobs: Mapping[str, Level]
    settings: Mapping[str, Level]
    run: str
    memory: str
    port: str
    server_user: str
    shared: str = ""
    """The folder of what was made once for a run; empty where nothing was."""
    peers: Mapping[str, Peer] = field(default_factory=dict)
    """The other servers of the study that were begun before this one."""

    @property
    def address(self) -> str:
        """`ip:port` on loopback."""
        return f"{LOOPBACK}:{self.port}"

    @classmethod
    def placeholders(
        cls, spec: ServerSpec, configuration: Configuration, *, server_user: str
    ) -> "Variables":
        """Return variables that are the same for every start, for diffs."""
        return cls(
            knobs=configuration.values,
            settings=spec.settings,
            run=RUN_PLACEHOLDER,
            memory=MEMORY_PLACEHOLDER,
            port=PORT_PLACEHOLDER,
            server_user=server_user,
            shared=SHARED_PLACEHOLDER if is_shared(spec) else "",
            peers=spec.peers
            or {each.name: peer_placeholder(each.name) for each in spec.companions},
        )

    def names(self) -> dict[str, str | Mapping[str, Level] | Mapping[str, Peer]]:
        """Return them under the names that templates use."""
        return {
            "knob": self.knobs,
            "setting": self.settings,
            "run": self.run,
            "memory": self.memory,
            "port": self.port,
            "address": self.address,
            "python": sys.executable,
            "server_user": self.server_user,
            "peer": self.peers,
            **({"shared": self.shared} if self.shared else {}),
        }


def peer_placeholder(name: str) -> Peer:
    """Return where a server is in what is rendered for diffs."""
    upper = name.upper()
    return Peer(address=f"{upper}-ADDRESS", run=f"{upper}-RUN", memory=f"{upper}-MEMORY")


def run_folder(spec: ServerSpec, study_folder: Path) -> str:
    """Return where the server runs in place; empty where that is its run folder."""
    return str((study_folder / spec.folder).resolve()) if spec.folder else ""


def is_shared(spec: ServerSpec) -> bool:
    """Whether commands are run once for all starts of a run."""
    return any(each.each == "run" for each in (*spec.before, *spec.finish))


def render_text(text: str, variables: Variables, *, source: str) -> str:
    """Return the rendered text.

    Args:
        text: The template.
        variables: What it may use.
        source: What the text is called in messages: a file or a key of the study.

    Raises:
        AdapterError: It is not a template, or uses a name that is not there.
    """
    # Imported here: what shows a server or loads one need not load jinja2.
    from httpdyno.servers.template import rendered_template  # noqa: PLC0415

    return rendered_template(text, variables.names(), source=source, there=_NAMES_EXPECTED)


def render_argument(text: str, variables: Variables, *, source: str) -> str:
    """Return a text of a command line or an environment, rendered: `{port}` as `{{ port }}`.

    Raises:
        AdapterError: It is not a template, or uses a name that is not there.
    """
    if _TEMPLATE.search(text):
        return render_text(text, variables, source=source)
    names = variables.names()

    def level(found: re.Match[str]) -> str:
        if found[1]:
            if found[1] not in names:
                raise AdapterError(
                    f"`{source}` uses `{found[0]}`, and nothing is made once for a run",
                    hint='Say `each = "run"` in a [[server.prepare]].',
                )
            return str(names[found[1]])
        if found[4]:
            if found[4] not in variables.peers:
                there = ", ".join(sorted(variables.peers)) or "none"
                raise AdapterError(
                    f"`{source}` uses `{found[0]}`, but no server of that name was begun before it",
                    hint=f"There are: {there}.",
                )
            return str(getattr(variables.peers[found[4]], found[5]))
        values = variables.knobs if found[2] == "knob" else variables.settings
        if found[3] not in values:
            there = ", ".join(sorted(values)) or "none"
            raise AdapterError(
                f"`{source}` uses `{found[0]}`, but there is no {found[2]} of that name",
                hint=f"There are: {there}.",
            )
        return level_text(values[found[3]])

    return _PLACEHOLDER.sub(level, text)


def render_file(path: Path, variables: Variables, *, name: str) -> str:
    """Return a file of the study's folder, rendered.

    Raises:
        AdapterError: It cannot be read, or is not a template of ours.
    """
    try:
        text = read_regular(path, limit_bytes=_LARGEST_BYTES).decode("utf-8")
    except OSError as error:
        raise AdapterError(f"`{name}` of the study cannot be read: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise AdapterError(f"`{name}` of the study is not text in UTF-8: {error}") from error
    return render_text(text, variables, source=name)


def rendered_templates(
    spec: ServerSpec, study_folder: Path, variables: Variables
) -> dict[PurePosixPath, str]:
    """Return the study's templates as absolute path (or with placeholders) → text.

    Those that render to white space only are left out.
    """
    files = {}
    for template in spec.templates:
        target = inside(template.to, variables)
        text = render_file(study_folder / template.source, variables, name=template.source)
        if text.strip():
            files[target] = text
    return files


def rendered_configuration(
    spec: ServerSpec, study_folder: Path, variables: Variables, own: Mapping[str, str]
) -> Rendered:
    """Return all that differs between configurations, for diffs and reports.

    Args:
        spec: The target.
        study_folder: What relative sources are relative to.
        variables: For the templates: placeholders.
        own: The adapter's own files: name relative to the run folder → text.
    """
    templates = rendered_templates(spec, study_folder, variables)
    files = {diff_name(target, variables): text for target, text in templates.items()}
    in_force = effective_limits(rendered_limits(spec, variables))
    lines = "".join(f"{key} = {text}\n" for key, text in in_force.items())
    limits = {LIMITS: lines} if lines else {}
    return Rendered(
        files={**files, **own, **limits},
        environment=rendered_environment(spec, variables),
        prepare=rendered_prepare(spec, variables),
    )


def rendered_environment(spec: ServerSpec, variables: Variables) -> dict[str, str]:
    """Return the study's environment variables."""
    return {
        name: render_argument(value, variables, source=f"environment.{name}")
        for name, value in spec.environment.items()
    }


def rendered_limits(spec: ServerSpec, variables: Variables) -> LimitValues:
    """Return what the server may take at most.

    Raises:
        AdapterError: It cannot be rendered, or comes to nothing that could be a limit.
    """
    texts = {
        key: render_argument(getattr(spec.limits, key), variables, source=f"limits.{key}")
        for key in CONTROLLERS
    }
    try:
        return limit_values(structs.replace(spec.limits, **texts))
    except UsageError as error:
        raise AdapterError(str(error)) from error


def rendered_prepare(spec: ServerSpec, variables: Variables) -> tuple[str, ...]:
    """Return the arguments of all commands before and after each start; empty for none."""
    commands = (*rendered_commands(spec, variables), *rendered_commands(spec, variables, "finish"))
    return tuple(argument for each in commands for argument in each.run)


def rendered_commands(
    spec: ServerSpec,
    variables: Variables,
    when: Literal["prepare", "finish"] = "prepare",
    *,
    each: Literal["start", "run"] = "start",
) -> tuple[SideCommand, ...]:
    """Return the study's commands before each start, or after it; or those of the whole run."""
    commands = spec.finish if when == "finish" else spec.before
    if spec.prepare and when == "prepare" and each == "start":
        commands = (SideCommand(run=spec.prepare_command), *commands)
    return tuple(
        structs.replace(
            command,
            run=tuple(render_argument(part, variables, source=when) for part in command.run),
        )
        for command in commands
        if command.each == each
    )


def inside(to: str, variables: Variables) -> PurePosixPath:
    """Return where `to` leads: a path in the run folder or in the memory folder.

    Raises:
        AdapterError: It leads out of both.
    """
    rendered = PurePosixPath(render_text(to, variables, source=to))
    homes = (PurePosixPath(variables.run), PurePosixPath(variables.memory))
    is_whole = any(rendered.is_relative_to(home) for home in homes)
    target = rendered if is_whole else homes[0] / rendered
    if ".." in target.parts or not any(target.is_relative_to(home) for home in homes):
        raise AdapterError(
            f"`{to}` leads out of the run folder",
            hint="Give a path inside it: `app/settings.toml`, `{{ memory }}/sessions`.",
        )
    return target


def diff_name(target: PurePosixPath, variables: Variables) -> str:
    """Return how a rendered file is called in diffs: relative to the run folder."""
    home = PurePosixPath(variables.run)
    return str(target.relative_to(home) if target.is_relative_to(home) else target)


class _Watched(dict[str, Level]):
    """Levels that remember which of them were asked for."""

    def __init__(self, levels: Mapping[str, Level]) -> None:
        super().__init__(levels)
        self.used: set[str] = set()

    def __getitem__(self, name: str) -> Level:
        self.used.add(name)
        return super().__getitem__(name)


def rendered_with_use(part: str, variables: Variables, source: str) -> tuple[str, set[str]]:
    """Return an argument, rendered, and the knobs that it has.

    Raises:
        AdapterError: It cannot be rendered.
    """
    watched = _Watched(variables.knobs)
    text = render_argument(part, replace(variables, knobs=watched), source=source)
    return text, watched.used


def knobs_of_limits(spec: ServerSpec, variables: Variables) -> frozenset[str]:
    """Return the knobs that a server's limits have, of which the kernel tells.

    Raises:
        AdapterError: A limit cannot be rendered.
    """
    found: set[str] = set()
    for key in CONTROLLERS:
        found |= rendered_with_use(getattr(spec.limits, key), variables, f"limits.{key}")[1]
    return frozenset(found)
