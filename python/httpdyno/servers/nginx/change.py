"""What puts asked values in force, with what they need besides. Pure.

A rule adds what an asked value needs and says so, or refuses what cannot be: one asked value never
changes another.
"""

import re
from collections.abc import Callable, Mapping

from httpdyno.errors import AdapterError
from httpdyno.model import ChangeSet, Edit, Level, Survey
from httpdyno.reason import Reason, because
from httpdyno.servers.nginx.catalogue import TUNABLES, asked
from httpdyno.servers.nginx.conf import Conf, changed, conf_of, put
from httpdyno.servers.nginx.knob import SOMAXCONN, Change
from httpdyno.servers.nginx.text import level_of, walk
from httpdyno.servers.stack.snapshot import edited_files

_SOFT_LIMIT = 1024
"""Open files of a service where nothing says otherwise: systemd's and the kernel's soft limit."""
_FILES_EACH = 2
"""Of a connection that is passed on: the client's and the backend's."""
_SPARE_FILES = 64
"""For logs, sockets and libraries of a worker."""

Values = Mapping[str, Level]
Rule = Callable[[Conf, Survey, Values, list[Change]], Change]


def change_set(conf: Conf, survey: Survey, values: Values) -> ChangeSet:
    """Return the smallest change that puts the values in force.

    Raises:
        AdapterError: A value cannot be set here, or contradicts another; says the rule.
    """
    changes: list[Change] = []
    for name, level in values.items():
        each, scope = asked(name, level)
        changes.append(each.change(conf, scope, level))
    for rule in RULES:
        changes.append(rule(conf, survey, values, changes))
    edits = dict.fromkeys(edit for each in changes for edit in each.edits)
    notes = dict.fromkeys(note for each in changes for note in each.notes)
    return ChangeSet(
        edits=tuple(edits),
        sysctls=_sysctls(survey, changes),
        notes=(*notes, *_sysctl_notes(survey, changes)),
    )


def _enough_open_files(
    conf: Conf, _survey: Survey, values: Values, _changes: list[Change]
) -> Change:
    """Each connection of a worker takes an open file, and one that is passed on takes two."""
    connections = values.get("worker_connections")
    limit = values.get("worker_rlimit_nofile")
    found = TUNABLES["worker_connections"]
    now = next(iter(found.readings(conf)), None)
    if not isinstance(connections, int):
        connections = level_of(found.info, now.text) if now else None
    if limit is not None and isinstance(connections, int) and int(limit) < connections:
        raise AdapterError(
            f"`worker_rlimit_nofile` {limit} is less than `worker_connections` {connections}: "
            "each connection takes an open file"
        )
    if limit is not None or not isinstance(values.get("worker_connections"), int):
        return Change()
    if now is not None and level_of(found.info, now.text) == connections:
        return Change()
    needed = _FILES_EACH * int(connections or 0) + _SPARE_FILES
    set_now = conf.main.arguments("worker_rlimit_nofile")
    has = int(set_now[0]) if set_now and set_now[0].isdecimal() else _SOFT_LIMIT
    if has >= int(connections or 0) + _SPARE_FILES:
        return Change()
    return Change(
        edits=put(conf.texts, conf.main, "worker_rlimit_nofile", (str(needed),)),
        notes=(because("nginx.added_open_files", needed=needed),),
    )


def _one_size_of_a_zone(
    conf: Conf, _survey: Survey, _values: Values, changes: list[Change]
) -> Change:
    """A shared zone has one size wherever it is named."""
    new = [
        match
        for each in changes
        for edit in each.edits
        for match in re.finditer(r"shared:(\w+):(\w+)", edit.text)
    ]
    edited = {(edit.file, edit.start) for each in changes for edit in each.edits}
    edits: dict[Edit, None] = {}
    for match in new:
        for directive in walk(conf.tree):
            if directive.name != "ssl_session_cache":
                continue
            words = tuple(
                match[0] if word.startswith(f"shared:{match[1]}:") else word
                for word in directive.texts
            )
            for edit in changed(directive, words):
                if (edit.file, edit.start) not in edited:
                    edits[edit] = None
    notes = (because("nginx.one_size_of_a_zone"),) if edits else ()
    return Change(edits=tuple(edits), notes=notes)


def _gzip_is_on(conf: Conf, _survey: Survey, values: Values, changes: list[Change]) -> Change:
    """Levels of a compression that is off are values of nothing."""
    off = [n for n, level in values.items() if n.partition("@")[0] == "gzip" and level is False]
    levels = [n for n in values if n.partition("@")[0] in {"gzip_comp_level", "gzip_min_length"}]
    if off and levels:
        # What is off in one scope may be on in another, inside of it or around: seen when written.
        edits = [edit for each in changes for edit in each.edits]
        texts = {**conf.texts, **edited_files(conf.texts, edits)}
        after = conf_of(texts, conf.build, is_root=conf.is_root)
        for name in levels:
            bare, _, scope = name.partition("@")
            if all(each.scope != scope for each in TUNABLES[bare].readings(after)):
                raise AdapterError(f"`{name}` means nothing where `{off[0]}` is off")
    return Change()


RULES: tuple[Rule, ...] = (_enough_open_files, _one_size_of_a_zone, _gzip_is_on)


def _sysctls(survey: Survey, changes: list[Change]) -> dict[str, str]:
    """Return the kernel's limits that what is asked exceeds: `listen` is cut to `somaxconn`."""
    reading = survey.reading(SOMAXCONN)
    most = int(reading.text) if reading is not None and reading.text.isdecimal() else None
    wanted = [int(each.sysctls[SOMAXCONN]) for each in changes if each.sysctls]
    if most is None or not wanted or max(wanted) <= most:
        return {}
    return {SOMAXCONN: str(max(wanted))}


def _sysctl_notes(survey: Survey, changes: list[Change]) -> tuple[Reason, ...]:
    return tuple(
        because("nginx.added_sysctl", name=name, value=text)
        for name, text in _sysctls(survey, changes).items()
    )
