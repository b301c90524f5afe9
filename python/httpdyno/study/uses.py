"""What a run of a study would start, read, write and reach, as the study says it. Pure.

It is for whoever is to judge a study before it runs, so nothing is summed up: each command, each
interpreter, each variable. Levels of knobs stand in them as `{knob.NAME}`.
"""

import re
import shlex
from collections.abc import Iterator

from httpdyno.model import Member, Replay, ServerSpec, SideCommand, Site, Study, level_text
from httpdyno.model.base import Record
from httpdyno.reason import Reason, because
from httpdyno.secret import KEPT_BACK, without_values

_LOADS_CODE = re.compile(
    r"(LD|GCONV|GEM|LUA|MALLOC|PERL5?|PHP|PYTHON|RUBY)[A-Z0-9_]*|BASH_ENV|ENV|PATH|NODE_OPTIONS"
    r"|NODE_PATH|GLIBC_TUNABLES|OPENSSL_CONF|(_|JDK_)?JAVA_(TOOL_)?OPTIONS|CLASSPATH"
)
"""Variables by which a program is told to run other code; no secret is kept in them."""
_QUOTED = re.compile(r"[\s'\"\\$`|&;<>()*?~#!]")
_OF_OWN_PYTHON = ("gunicorn", "uvicorn")
"""Adapters whose program comes with httpdyno."""
_CODE_SETTINGS = {
    "application": "imports",
    "config": "executes",
    "programs": "program",
    "python": "interpreter",
}


class Use(Record, frozen=True):
    """One thing that a run would start, read, write or reach."""

    of: str
    """Which of the study's servers: `server`, a companion, a member; empty: all of them."""
    label: str
    """Such as `command`, `variable`, `door`."""
    text: str | Reason
    """As the study says it, or what it is where it does not; values of variables are kept back,
    but for those that load code."""


def uses_of(study: Study) -> tuple[Use, ...]:
    """Return all that a run would start or touch, the commands of each server first."""
    plain = without_values(study)
    found: list[Use] = []
    if plain.site is not None:
        found += _of_site(plain.site)
        # What is beside the members' own commands.
        found += [Use(of="site", label=w, text=text) for w, text in _commands(plain.server)]
    else:
        found += _of_server("server", plain.server, study.server)
        for each, own in zip(plain.server.companions, study.server.companions, strict=True):
            found += _of_server(each.name, each, own)
            if each.when:
                found.append(Use(of=each.name, label="only when", text=each.when))
    found += [
        Use(of="server", label=f"in phase {phase.name}", text=_line(phase.command.run))
        for phase in plain.method.phases
        if phase.command is not None
    ]
    return (*found, *_of_network(plain), *_of_load(plain))


def _of_server(name: str, spec: ServerSpec, own: ServerSpec) -> Iterator[Use]:
    found = (
        *_programs(spec),
        *(
            (f"{_CODE_SETTINGS.get(key, f'setting {key}')}", level_text(level))
            for key, level in spec.settings.items()
        ),
        *_commands(spec),
        *_variables(own),
        *_files(spec),
        *([("limits", spec.limits.words)] if spec.limits else []),
        ("listens at", because("study.free_port")),
    )
    yield from (Use(of=name, label=what, text=text) for what, text in found)


def _programs(spec: ServerSpec) -> Iterator[tuple[str, str | Reason]]:
    if spec.command:
        yield "command", _line(spec.command)
    elif "python" in spec.settings:
        return
    elif spec.adapter == "apache":
        yield "program", because("study.apache_here")
    elif spec.adapter in _OF_OWN_PYTHON:
        yield "program", because("study.of_own_python", program=spec.adapter)
    else:
        yield "program", because("study.of_adapter", adapter=spec.adapter)


def _variables(spec: ServerSpec) -> Iterator[tuple[str, str | Reason]]:
    for variable, text in spec.environment.items():
        shown = text if _LOADS_CODE.fullmatch(variable) else KEPT_BACK
        yield "variable", f"{variable}={shown}"
    for variable in spec.pass_environment:
        yield "variable", because("study.variable_of_here", name=variable)


def _files(spec: ServerSpec) -> Iterator[tuple[str, str]]:
    if spec.folder:
        yield "runs in", f"{spec.folder}, in place"
    if spec.base:
        yield "configuration", spec.base
    yield from (("copies", f"{each.source} to {each.to}") for each in spec.files)
    yield from (("renders", f"{each.source} to {each.to}") for each in spec.templates)
    yield from (("writes in", folder) for folder in spec.writable)


def _commands(spec: ServerSpec) -> Iterator[tuple[str, str]]:
    before = (SideCommand(run=spec.prepare_command), *spec.before) if spec.prepare else spec.before
    for what, once, commands in (("before", "first", before), ("after", "last", spec.finish)):
        for each in commands:
            when = "each start" if each.each == "start" else f"the {once} start"
            whose = f", of member {each.member}" if each.member else ""
            user = f", as {each.user}" if each.user else ""
            yield f"{what} {when}", f"{_line(each.run)}{whose}{user}"


def _of_site(site: Site) -> Iterator[Use]:
    for member in site.members:
        yield from _of_member(member)
    for folder in site.writes:
        yield Use(
            of="site", label="writes in", text=because("study.each_on_its_own", folder=folder)
        )
    for door in site.doors:
        through = f" through {door.through}" if door.through else ""
        yield Use(of="site", label="door", text=f"{door.to}{through}")
    yield Use(of="site", label="isolation", text=site.isolation)
    yield Use(of="site", label="reads", text=f"{site.snapshot}/")
    if site.listener:
        listens = because("study.of_own_network", address=site.listener)
        yield Use(of="site", label="listens at", text=listens)


def _of_member(member: Member) -> Iterator[Use]:
    program = member.program or because("study.program_here", program=member.kind)
    texts: dict[str, str | Reason] = {
        "command": _line(member.command),
        "program": "" if member.command and not member.program else program,
        "configuration": member.main,
        "user": member.user or because("study.whoever_runs"),
        "runs in": member.folder,
        "variables from": member.environment_from,
        "limits": member.limits.words,
    }
    for what, text in texts.items():
        if text:
            yield Use(of=member.name, label=what, text=text)
    for variable in (*member.environment_names, *member.environment):
        yield Use(of=member.name, label="variable", text=f"{variable}={KEPT_BACK}")


def _line(words: tuple[str, ...]) -> str:
    """Return a command with its arguments told apart, and braces as they are."""
    return " ".join(w if w and not _QUOTED.search(w) else shlex.quote(w) for w in words)


def _of_network(study: Study) -> Iterator[Use]:
    network = study.server.network
    if network is None:
        return
    yield Use(of="", label="network", text=because("study.network_of_a_start"))
    for line in network.hosts:
        yield Use(of="", label="host", text=line)
    if network.resolver is not None:
        resolver = network.resolver
        yield Use(of="", label="resolver", text=f"answers {resolver.answers}; {resolver.options}")
        for name, addresses in resolver.names.items():
            yield Use(of="", label="name", text=f"{name}: {' '.join(addresses)}")


def _of_load(study: Study) -> Iterator[Use]:
    load = study.workload
    files = [each.body_file for each in (*load.first, *load.requests)]
    if isinstance(load.arrival, Replay):
        files.append(load.arrival.log)
    if load.tls is not None:
        files += [load.tls.roots_file, load.tls.certificate_file, load.tls.key_file]
    for file in dict.fromkeys(filter(None, files)):
        yield Use(of="", label="sends or reads", text=file)
