"""The knobs of nginx that set several directives at once: one step, one verdict, one way back."""

import re
from collections.abc import Mapping

from httpdyno.servers.nginx.quantity import size_bytes, size_text
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.setting import with_directive, with_tls
from httpdyno.servers.nginx.tunable import ROWS, Arguments, Setting

_DOCS = "nginx.org/en/docs/http/"
_BUFFERS = re.compile(r"(\d+)x(\d+[kKmM]?)")
_OPEN_FILES = re.compile(r"(\d+)/(\d+(?:ms|[smhd])?)")
_SESSIONS = re.compile(r"(\d+[kKmM]?)/(\d+[smhd]?)")
_OPEN_FILES_INACTIVE = "60s"
_SESSION_TIMEOUT = "5m"
_ZONE = "SSL"
_OFF = ("off",)
_PAGE_BYTES = 4096
_FEWEST_BUFFERS = 2


def _sendfile_text(found: Arguments) -> str | None:
    if found["sendfile"] != ("on",):
        return None if found["sendfile"] is None else "off"
    return "on+nopush" if found["tcp_nopush"] == ("on",) else "on"


def _sendfile(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
    if wanted == "off":
        # Without sendfile the other one does nothing, so it stays as it is.
        return {"sendfile": _OFF}
    if wanted == "on+nopush":
        return {"sendfile": ("on",), "tcp_nopush": ("on",)}
    return {"sendfile": ("on",)} | ({} if found["tcp_nopush"] is None else {"tcp_nopush": _OFF})


def _aio_text(found: Arguments) -> str | None:
    threads, direct = found["aio"], found["directio"]
    if threads is None or threads == _OFF:
        return None if threads is None and direct is None else "off"
    is_direct = direct is not None and direct != _OFF
    return f"{threads[0]}+{direct[0]}" if is_direct and direct else threads[0]


def _aio(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
    if wanted == "off":
        return {"aio": _OFF}
    if not re.fullmatch(r"threads(\+\d+[kKmM]?)?", wanted):
        raise ValueError("expected `off`, `threads` or such as `threads+4m`")
    threads, _, direct = wanted.partition("+")
    if direct:
        return {"aio": (threads,), "directio": (direct,)}
    return {"aio": (threads,)} | ({} if found["directio"] is None else {"directio": _OFF})


def _with_threads(conf: Conf, _scope: Scope) -> bool:
    return "--with-threads" in conf.build.options


def _open_files_text(found: Arguments) -> str | None:
    arguments = found["open_file_cache"]
    if arguments is None or arguments == _OFF:
        return None if arguments is None else "off"
    given = dict(word.partition("=")[::2] for word in arguments)
    return f"{given.get('max', '')}/{given.get('inactive', _OPEN_FILES_INACTIVE)}"


def _open_files(wanted: str, _found: Arguments) -> Mapping[str, tuple[str, ...]]:
    if wanted == "off":
        return {"open_file_cache": _OFF}
    match = _OPEN_FILES.fullmatch(wanted)
    if match is None:
        raise ValueError("expected `off`, or files and time such as `1000/20s`")
    return {"open_file_cache": (f"max={match[1]}", f"inactive={match[2]}")}


def _sessions_text(found: Arguments) -> str | None:
    cache, timeout = found["ssl_session_cache"], found["ssl_session_timeout"]
    if cache is None or cache[0] in {"none", "off"}:
        return None if cache is None else cache[0]
    shared = [word.split(":") for word in cache if word.startswith("shared:")]
    if len(cache) > 1 or not shared:
        return " ".join(cache)
    return f"{shared[0][-1]}/{timeout[0] if timeout else _SESSION_TIMEOUT}"


def _sessions(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
    if wanted in {"none", "off"}:
        return {"ssl_session_cache": (wanted,)}
    match = _SESSIONS.fullmatch(wanted)
    if match is None:
        raise ValueError("expected `none`, `off`, or size and time such as `10m/5m`")
    now = found["ssl_session_cache"] or ()
    zone = next((word.split(":")[1] for word in now if word.startswith("shared:")), _ZONE)
    cache = {"ssl_session_cache": (f"shared:{zone}:{match[1]}",)}
    timeout = found["ssl_session_timeout"]
    if (timeout[0] if timeout else _SESSION_TIMEOUT) == match[2]:
        return cache
    return {**cache, "ssl_session_timeout": (match[2],)}


def _buffers(protocol: str) -> Setting:
    """Return the buffers of answers of a backend, with the sizes that depend on them."""
    many, head, busy = (
        f"{protocol}_buffers",
        f"{protocol}_buffer_size",
        f"{protocol}_busy_buffers_size",
    )

    def text(found: Arguments) -> str | None:
        arguments = found[many]
        return None if arguments is None else "x".join(arguments)

    def arguments(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
        count, each_bytes, each = _count_and_size(wanted)
        # nginx: "must be equal to or greater than the maximum of the value of …_buffer_size and one
        # of the …_buffers", and "less than the size of all …_buffers minus one buffer".
        head_now, busy_now = found[head], found[busy]
        head_bytes = (size_bytes(head_now[0]) if head_now else None) or _PAGE_BYTES
        most_bytes = (count - 1) * each_bytes
        if count < _FEWEST_BUFFERS or head_bytes > most_bytes:
            raise ValueError(
                f"all but one have to hold `{head}`, {size_text(head_bytes)}: "
                f"they hold {size_text(most_bytes)}"
            )
        new: dict[str, tuple[str, ...]] = {many: (str(count), each)}
        least_bytes = max(head_bytes, each_bytes)
        busy_bytes = size_bytes(busy_now[0]) if busy_now else 2 * least_bytes
        if busy_bytes is not None and not least_bytes <= busy_bytes <= most_bytes:
            new[busy] = (size_text(min(2 * least_bytes, most_bytes)),)
        return new

    return Setting(
        info=ROWS[many].bare(),
        directives=(many, head, busy),
        text=text,
        arguments=arguments,
        applies=with_directive(f"{protocol}_pass"),
    )


def _output_text(found: Arguments) -> str | None:
    arguments = found["output_buffers"]
    return None if arguments is None else "x".join(arguments)


def _output(wanted: str, _found: Arguments) -> Mapping[str, tuple[str, ...]]:
    count, _, each = _count_and_size(wanted)
    return {"output_buffers": (str(count), each)}


def _count_and_size(wanted: str) -> tuple[int, int, str]:
    match = _BUFFERS.fullmatch(wanted)
    if match is None or int(match[1]) == 0 or not size_bytes(match[2]):
        raise ValueError("expected a number and a size, such as `8x16k`")
    return int(match[1]), size_bytes(match[2]) or 0, match[2]


BUNDLES = (
    Setting(
        info=ROWS["sendfile"].bare(),
        directives=("sendfile", "tcp_nopush"),
        text=_sendfile_text,
        arguments=_sendfile,
    ),
    Setting(
        info=ROWS["aio"].bare(),
        directives=("aio", "directio"),
        text=_aio_text,
        arguments=_aio,
        applies=_with_threads,
    ),
    Setting(
        info=ROWS["open_file_cache"].bare(),
        directives=("open_file_cache",),
        text=_open_files_text,
        arguments=_open_files,
    ),
    Setting(
        info=ROWS["ssl_session_cache"].bare(),
        directives=("ssl_session_cache", "ssl_session_timeout"),
        text=_sessions_text,
        arguments=_sessions,
        applies=with_tls,
        in_locations=False,
    ),
    Setting(
        info=ROWS["output_buffers"].bare(),
        directives=("output_buffers",),
        text=_output_text,
        arguments=_output,
    ),
    _buffers("proxy"),
    _buffers("fastcgi"),
)
