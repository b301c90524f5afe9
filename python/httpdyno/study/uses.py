"""What a run of a study would start, read, write and reach, as the study says it. Pure.

It is for whoever is to judge a study before it runs, so nothing is summed up: each command, each
interpreter, each variable. Levels of knobs stand in them as `{knob.NAME}`.
"""

import re
import shlex
from collections.abc import Iterator

from httpdyno.model import Member, Replay, ServerSpec, SideCommand, Site, Study, level_text
from httpdyno.model.base import Record
from httpdyno.secret import KEPT_BACK, without_values

_LOADS_CODE = re.compile(
    r"(LD|GCONV|GEM|LUA|MALLOC|PERL5?|PHP|PYTHON|RUBY)[A-Z0-9_]*|BASH_ENV|ENV|PATH|NODE_OPTIONS"
    r"|NODE_PATH|GLIBC_TUNABLES|OPENSSL_CONF|(_|JDK_)?JAVA_(TOOL_)?OPTIONS|CLASSPATH"
)
"""Variables by which a program is told to run other code; no secret is kept in them."""
_QUOTED = re.compile(r"[\s'\"\\$`|&;<>()*?~#!]")
_OWN_PROGRAMS = {
    "apache": "Apache of this machine",
    "gunicorn": "gunicorn of httpdyno's own Python",
    "uvicorn": "uvicorn of httpdyno's own Python",
}
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
    what: str
    """Such as `command`, `variable`, `door`."""
    text: str
    """As the study says it; values of variables are kept back, but for those that load code."""


def uses_of(study: Study) -> tuple[Use, ...]:
    """Return all that a run would start or touch, the commands of each server first."""
    plain = without_values(study)
    found: list[Use] = []
    if plain.site is not None:
        found += _of_site(plain.site)
        # What is beside the members' own commands.
        found += [Use(of="site", what=w, text=text) for w, text in _commands(plain.server)]
    else:
        found += _of_server("server", plain.server, study.server)
        for each, own in zip(plain.server.companions, study.server.companions, strict=True):
            found += _of_server(each.name, each, own)
            if each.when:
                found.append(Use(of=each.name, what="only when", text=each.when))
    found += [
        Use(of="server", what=f"in phase {phase.name}", text=_line(phase.command.run))
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
        ("listens at", "a free port of 127.0.0.1"),
    )
    yield from (Use(of=name, what=what, text=text) for what, text in found)


def _programs(spec: ServerSpec) -> Iterator[tuple[str, str]]:
    if spec.command:
        yield "command", _line(spec.command)
    elif "python" not in spec.settings:
        yield "program", _OWN_PROGRAMS.get(spec.adapter, f"that of the adapter {spec.adapter}")


def _variables(spec: ServerSpec) -> Iterator[tuple[str, str]]:
    for variable, text in spec.environment.items():
        shown = text if _LOADS_CODE.fullmatch(variable) else KEPT_BACK
        yield "variable", f"{variable}={shown}"
    for variable in spec.pass_environment:
        yield "variable", f"{variable}, as it is set here"


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
        yield Use(of="site", what="writes in", text=f"{folder}, each copy on its own")
    for door in site.doors:
        through = f" through {door.through}" if door.through else ""
        yield Use(of="site", what="door", text=f"{door.to}{through}")
    yield Use(of="site", what="isolation", text=site.isolation)
    yield Use(of="site", what="reads", text=f"{site.snapshot}/")
    if site.listener:
        yield Use(of="site", what="listens at", text=f"{site.listener}, of its own network")


def _of_member(member: Member) -> Iterator[Use]:
    program = member.program or f"{member.kind} of this machine"
    texts = {
        "command": _line(member.command),
        "program": "" if member.command and not member.program else program,
        "configuration": member.main,
        "user": member.user or "whoever runs httpdyno",
        "runs in": member.folder,
        "variables from": member.environment_from,
        "limits": member.limits.words,
    }
    for what, text in texts.items():
        if text:
            yield Use(of=member.name, what=what, text=text)
    for variable in (*member.environment_names, *member.environment):
        yield Use(of=member.name, what="variable", text=f"{variable}={KEPT_BACK}")


def _line(words: tuple[str, ...]) -> str:
    """Return a command with its arguments told apart, and braces as they are."""
    return " ".join(w if w and not _QUOTED.search(w) else shlex.quote(w) for w in words)


def _of_network(study: Study) -> Iterator[Use]:
    network = study.server.network
    if network is None:
        return
    yield Use(of="", what="network", text="one of its own, for the servers of a start")
    for line in network.hosts:
        yield Use(of="", what="host", text=line)
    if network.resolver is not None:
        resolver = network.resolver
        yield Use(of="", what="resolver", text=f"answers {resolver.answers}; {resolver.options}")
        for name, addresses in resolver.names.items():
            yield Use(of="", what="name", text=f"{name}: {' '.join(addresses)}")


def _of_load(study: Study) -> Iterator[Use]:
    load = study.workload
    files = [each.body_file for each in (*load.first, *load.requests)]
    if isinstance(load.arrival, Replay):
        files.append(load.arrival.log)
    if load.tls is not None:
        files += [load.tls.roots_file, load.tls.certificate_file, load.tls.key_file]
    for file in dict.fromkeys(filter(None, files)):
        yield Use(of="", what="sends or reads", text=file)
