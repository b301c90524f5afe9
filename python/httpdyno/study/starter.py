"""A small study to begin with: a `study.toml` with comments, and the files that it needs. Pure."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from httpdyno.errors import UsageError

_APPLICATION_HINT = "such as `httpdyno study new {kind} shop:app`"
_PORT_WORDS = ("{port}", "{address}", "{{ port }}", "{{ address }}")
_PAGE = "<!doctype html>\n<title>It answers</title>\n<p>Put your own files here.</p>\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What a study to begin with is asked to be about."""

    kind: str
    words: Sequence[str] = ()
    """The application, or program and arguments."""
    python: str = ""
    """The interpreter of a virtual environment; empty is httpdyno's own."""
    folder: str = ""
    """Where the application lies, a whole path."""
    n_cpus: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Starter:
    """A study to begin with."""

    name: str
    files: Mapping[str, str]
    """Path in the study's folder → text."""


def starter(wish: Wish) -> Starter:
    """Return the files of a study to begin with.

    Raises:
        UsageError: The words do not say what is to run.
    """
    if wish.kind not in STARTERS:
        known = ", ".join(f"`{kind}`" for kind in STARTERS)
        raise UsageError(
            f"there is no study to begin with for `{wish.kind}`", hint=f"there are {known}"
        )
    return STARTERS[wish.kind](wish)


def _gunicorn(wish: Wish) -> Starter:
    application = _application(wish)
    name = application.partition(":")[0].replace(".", "-")
    server = f"""\
[server]
adapter = "gunicorn"
folder = {_text(wish.folder)}   # it runs in place, with your gunicorn.conf.py there
ready_path = "/"              # answers once it is ready

[server.settings]
application = {_text(application)}
{_python_line(wish)}
"""
    knobs = f"""\
[[knobs]]
name = "workers"
start = 1                     # what it runs with today
levels = {_levels(wish.n_cpus)}

[[knobs]]
name = "worker_class"         # without levels: the candidate below sets it
start = "sync"

[[knobs]]
name = "threads"
start = 1

# Several knobs at once, with one verdict: these two mean little alone.
[[candidates]]
name = "with threads"
set = {{ worker_class = "gthread", threads = 4 }}
"""
    title = f"{application} under gunicorn"
    return Starter(name=name, files={"study.toml": _study(name, title, server, knobs)})


def _uvicorn(wish: Wish) -> Starter:
    application = _application(wish)
    name = application.partition(":")[0].replace(".", "-")
    server = f"""\
[server]
adapter = "uvicorn"
folder = {_text(wish.folder)}   # it runs in place
ready_path = "/"              # answers once it is ready

[server.settings]
application = {_text(application)}
{_python_line(wish)}
"""
    knobs = f"""\
[[knobs]]
name = "workers"
start = 1                     # what it runs with today
levels = {_levels(wish.n_cpus)}

[[knobs]]
name = "access_log"
start = true
levels = [false]
"""
    title = f"{application} under uvicorn"
    return Starter(name=name, files={"study.toml": _study(name, title, server, knobs)})


def _apache(wish: Wish) -> Starter:
    _no_words(wish)
    server = """\
[server]
adapter = "apache"
base = "apache.conf.j2"       # your directives; the frame and the knobs are written around them
ready_path = "/"

[server.settings]
mpm = "prefork"
modules = "dir mime"          # further modules that your directives need

[[server.files]]
from = "site"
to = "site"
"""
    knobs = """\
[[knobs]]
name = "MaxRequestWorkers"
start = 150                   # what it runs with today
levels = [20, 300]

[[knobs]]
name = "EnableSendfile"
start = false
levels = [true]
"""
    base = """\
DocumentRoot "{{ run }}/site"
DirectoryIndex index.html

<Directory "{{ run }}/site">
    Require all granted
</Directory>
"""
    study = _study("apache-site", "A site under Apache", server, knobs)
    files = {"study.toml": study, "apache.conf.j2": base, "site/index.html": _PAGE}
    return Starter(name="apache-site", files=files)


def _nginx(wish: Wish) -> Starter:
    _no_words(wish)
    server = """\
[server]
adapter = "command"
command = ["nginx", "-e", "{run}/error.log", "-p", "{run}", "-c", "{run}/nginx.conf"]
stop = "QUIT"
ready = "GET / 200"

[[server.templates]]
source = "nginx.conf.j2"      # {{ knob.NAME }} there is where a knob goes
to = "nginx.conf"

[[server.files]]
from = "site"
to = "site"
"""
    knobs = f"""\
[[knobs]]
name = "worker_processes"
start = 1                     # what it runs with today
levels = {_levels(wish.n_cpus)}

[[knobs]]
name = "access_log"
title = "where the access log goes"
start = "at once"
levels = ["buffered", "off"]
"""
    base = """\
daemon off;
user {{ server_user }};
pid {{ run }}/nginx.pid;
error_log {{ run }}/error.log;
worker_processes {{ knob.worker_processes }};

events {
    worker_connections 1024;
}

http {
{%- if knob.access_log == "off" %}
    access_log off;
{%- else %}
    access_log {{ run }}/access.log combined{{ " buffer=64k" if knob.access_log == "buffered" }};
{%- endif %}
    client_body_temp_path {{ run }}/client_body;
    proxy_temp_path {{ run }}/proxy;
    fastcgi_temp_path {{ run }}/fastcgi;
    uwsgi_temp_path {{ run }}/uwsgi;
    scgi_temp_path {{ run }}/scgi;
    sendfile on;

    server {
        listen {{ address }};
        root {{ run }}/site;
    }
}
"""
    study = _study("nginx-site", "A site under nginx", server, knobs)
    files = {"study.toml": study, "nginx.conf.j2": base, "site/index.html": _PAGE}
    return Starter(name="nginx-site", files=files)


def _command(wish: Wish) -> Starter:
    if not wish.words:
        raise UsageError(
            "a command is what is to run, with its arguments",
            hint="`httpdyno study new command -- node server.js --port {port}`",
        )
    if not any(each in word for word in wish.words for each in _PORT_WORDS):
        raise UsageError(
            f"`{' '.join(wish.words)}` does not say where to listen",
            hint="put `{port}` where its port stands: each start has another one",
        )
    name = wish.words[0].rpartition("/")[2] or "server"
    words = ", ".join(_text(word) for word in wish.words)
    server = f"""\
[server]
adapter = "command"
command = [{words}]
folder = {_text(wish.folder)}   # it runs in place
ready = "GET / 200"           # or "tcp", or "log PATTERN"

[server.environment]
WEB_CONCURRENCY = "{{knob.processes}}"   # what your program reads; knobs go there like this
"""
    knobs = f"""\
[[knobs]]
name = "processes"            # any name: it is put where `{{knob.processes}}` stands
start = 1
levels = {_levels(wish.n_cpus)}
"""
    title = f"{' '.join(wish.words)}, as a command"
    return Starter(name=name, files={"study.toml": _study(name, title, server, knobs)})


STARTERS: Mapping[str, Callable[[Wish], Starter]] = {
    "gunicorn": _gunicorn,
    "uvicorn": _uvicorn,
    "apache": _apache,
    "nginx": _nginx,
    "command": _command,
}
"""By the kind of server."""


def _study(name: str, title: str, server: str, knobs: str) -> str:
    return f"""\
# `httpdyno study check .` tries it out, `httpdyno tune .` runs it;
# `httpdyno study schema --markdown` says all that may stand here.
format = 2
name = {_text(name)}
title = {_text(title)}

{server}
# What may be changed, one after the other: a change stays where it is proven to help.
{knobs}
[workload]
connections = 8               # users who ask again as soon as they were answered

# What your visitors ask for; a table for each, with a weight.
[[workload.requests]]
path = "/"
expect_status = "ok"          # any 2xx or 3xx

[objective]
metric = "throughput_per_s"   # or "cpu_s_per_request", "latency_p99_s" …

[budget]
time = "5m"
"""


def _application(wish: Wish) -> str:
    hint = _APPLICATION_HINT.format(kind=wish.kind)
    if len(wish.words) != 1:
        raise UsageError(f"{wish.kind} takes one application, `module:name`", hint=hint)
    if ":" not in wish.words[0]:
        raise UsageError(f"`{wish.words[0]}` is no application, `module:name`", hint=hint)
    return wish.words[0]


def _no_words(wish: Wish) -> None:
    if wish.words:
        raise UsageError(
            f"a study of {wish.kind} to begin with takes no `{' '.join(wish.words)}`",
            hint="put your files and directives into the folder that it makes",
        )


def _python_line(wish: Wish) -> str:
    if wish.python:
        return f"python = {_text(wish.python)}"
    return '# python = "/path/to/venv/bin/python"   # your own environment, in place of httpdyno\'s'


def _levels(n_cpus: int) -> str:
    return str([each for each in sorted({2, n_cpus, 2 * n_cpus}) if each > 1])


def _text(value: str) -> str:
    """Return a text as TOML writes it: its basic strings are JSON's."""
    return json.dumps(value, ensure_ascii=False)
