"""The access logs: where each is written, in which format, and the knob of their buffers.

The buffer belongs to the file: nginx refuses one file with two (`already defined with conflicting
parameters`), so the knob is one for all logs. A log whose name has variables cannot be buffered,
and one that is compressed always is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, KnobInfo, Level, LogPlace, Reading
from httpdyno.servers.nginx.place import changed, line
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.tree import Directive
from httpdyno.servers.nginx.tunable import ROWS, Change, shared

_KNOB = "access_log_buffer"
_LEVEL = re.compile(r"(\d+[kKmM]?)/(\d+(?:ms|[smhd])?)")
_OPTIONS = ("buffer=", "flush=", "gzip", "if=")
_NO_FLUSH = "0"


def logs(conf: Conf) -> tuple[LogPlace, ...]:
    """Return the access logs that are files, each once for each scope that names it."""
    formats = _formats(conf)
    found = [
        LogPlace(
            path=conf.build.full(directive.texts[0]),
            log_format=formats.get(_format(directive), _format(directive)),
            scope=scope.label,
            origin=directive.origin,
        )
        for scope, directive in log_directives(conf)
    ]
    if found or conf.http is None or any(scope.own("access_log") for scope in conf.scopes):
        return tuple(found)
    return (LogPlace(path=conf.build.path("--http-log-path")),)


def log_directives(conf: Conf) -> Iterator[tuple[Scope, Directive]]:
    """Yield the `access_log`s of HTTP that write files, with the scope that each stands in."""
    for scope in conf.of_kind("http", "server", "location", "if"):
        for directive in scope.own("access_log"):
            if directive.args and _is_file(directive.texts[0]):
                yield scope, directive


def _is_file(text: str) -> bool:
    return text != "off" and not text.startswith(("syslog:", "memory:", "/dev/"))


def _formats(conf: Conf) -> dict[str, str]:
    """Return format name → text; what comes before it, such as `escape=json`, stays in front."""
    if conf.http is None:
        return {}
    found = {}
    for directive in conf.http.own("log_format"):
        name, *words = directive.texts
        escape = [word for word in words[:1] if word.startswith("escape=")]
        found[name] = " ".join([*escape, "".join(words[len(escape) :])])
    return found


def _format(directive: Directive) -> str:
    words = directive.texts[1:2]
    return words[0] if words and not words[0].startswith(_OPTIONS) else "combined"


@dataclass(frozen=True, kw_only=True, slots=True)
class LogBuffer:
    """The knob of the buffers of all access logs."""

    info: KnobInfo

    def readings(self, conf: Conf) -> Iterator[Reading]:
        """Return what is in force for the first log; nothing where no log can be buffered."""
        found = list(_bufferable(conf))
        if found:
            yield Reading(name=_KNOB, scope="", text=_level(found[0]), origin=found[0].origin)
        elif conf.http is not None and not _is_logging_set(conf):
            yield Reading(name=_KNOB, scope="", text="none")

    def change(self, conf: Conf, scope: str, level: Level) -> Change:
        """Return the edits of every log."""
        if scope:
            raise AdapterError(f"`{_KNOB}` is one for all logs, so it has no scope")
        match = _LEVEL.fullmatch(str(level))
        if match is None and level != "none":
            raise AdapterError(f"`{_KNOB}` is `none`, or size and time such as `32k/1s`")
        buffer = () if match is None else (f"buffer={match[1]}", f"flush={match[2]}")
        found = list(_bufferable(conf))
        if not found:
            return self._first(conf, buffer)
        if _level(found[0]) == level:
            return Change()
        edits: list[Edit] = []
        for directive in found:
            if _level(directive) != level:
                edits += _buffered(directive, buffer)
        done = tuple(dict.fromkeys(edits))
        return Change(edits=done, notes=shared(conf, done, _KNOB))

    def _first(self, conf: Conf, buffer: tuple[str, ...]) -> Change:
        """Return a first `access_log`, which says what is compiled in, and its buffer."""
        http = conf.http
        if http is None or _is_logging_set(conf):
            raise AdapterError(f"`{_KNOB}` cannot be set: no log can be buffered")
        if not buffer:
            return Change()
        path = conf.build.path("--http-log-path")
        text = f"access_log {path} combined {' '.join(buffer)};"
        return Change(edits=(line(conf.texts, http, text),))


def _bufferable(conf: Conf) -> Iterator[Directive]:
    for _, directive in log_directives(conf):
        has_gzip = any(word == "gzip" or word.startswith("gzip=") for word in directive.texts)
        if "$" not in directive.texts[0] and not has_gzip:
            yield directive


def _is_logging_set(conf: Conf) -> bool:
    return any(scope.own("access_log") for scope in conf.scopes)


def _level(directive: Directive) -> str:
    given = dict(word.partition("=")[::2] for word in directive.texts[1:] if "=" in word)
    if "buffer" not in given:
        return "none"
    return f"{given['buffer']}/{given.get('flush', _NO_FLUSH)}"


def _buffered(directive: Directive, buffer: tuple[str, ...]) -> tuple[Edit, ...]:
    path, *words = directive.texts
    kept = [word for word in words if not word.startswith(("buffer=", "flush="))]
    wanted = {word.partition("=")[0]: word for word in buffer}
    in_place = [wanted.get(word.partition("=")[0], word) for word in words]
    if {word.partition("=")[0] for word in words} >= set(wanted) and wanted:
        return changed(directive, (path, *in_place))
    if not kept or kept[0].startswith(_OPTIONS):
        # A buffer is only taken behind the name of a format.
        kept = ["combined", *kept] if buffer else kept
    if_at = next((i for i, word in enumerate(kept) if word.startswith("if=")), len(kept))
    return changed(directive, (path, *kept[:if_at], *buffer, *kept[if_at:]))


LOG_BUFFER = LogBuffer(
    info=ROWS[_KNOB].bare(),
)
