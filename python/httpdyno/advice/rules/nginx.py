"""Rules for nginx: its workers, what it compresses, what it does for each request."""

import re
from collections.abc import Iterator

from httpdyno.advice.rules.compressed_type import is_compressed
from httpdyno.advice.rules.declaration import NGINX, Proposes, Rule, Seen, where_said
from httpdyno.advice.rules.facts import Facts, is_said, number, place, where, words

_KINDS = ("nginx",)
_DEAR_LEVEL = 6
"""zlib's own default."""
_CHEAP_LEVEL = 1
_OTHERS = re.compile(r"brotli|zstd", re.IGNORECASE)
"""Modules that compress besides."""
_KEPT = 16
"""Idle connections to a backend that each worker keeps."""
_BUFFER = "32k/1s"
_CORE, _HTTP = f"{NGINX}ngx_core_module.html#", f"{NGINX}http/ngx_http_core_module.html#"
_GZIP = f"{NGINX}http/ngx_http_gzip_module.html#"


def _one_worker(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading("worker_processes")
    if reading is None or facts.n_cpus is None or number(reading.text) != 1 or facts.n_cpus == 1:
        return
    yield Seen(
        what=f"one worker, and {facts.n_cpus} CPUs that it may run on: it computes on one of them",
        evidence=(where(reading),),
        proposes=where_said([reading], "worker_processes", facts.n_cpus),
    )


def _connections(facts: Facts) -> Iterator[Seen]:
    asked, raised = facts.reading("worker_connections"), facts.reading("worker_rlimit_nofile")
    limit, source = facts.open_files_limit, "of the running process"
    if raised is not None and is_said(raised):
        limit, source = number(raised.text), place(raised)
    n = None if asked is None else number(asked.text)
    if asked is None or n is None or limit is None or n <= limit:
        return
    yield Seen(
        what=f"`worker_connections` {n:,} needs as many open files, and a worker may have "
        f"{limit:,}: beyond, connections are refused",
        evidence=(where(asked), f"open files {limit:,}, {source}"),
    )


def _level(facts: Facts) -> Iterator[Seen]:
    for reading in facts.said("gzip_comp_level"):
        level = number(reading.text)
        if level is not None and level > _DEAR_LEVEL:
            yield Seen(
                what=f"answers are compressed at level {level}: more CPU than level {_DEAR_LEVEL} "
                "takes, for hardly fewer bytes",
                evidence=(where(reading),),
                proposes=where_said([reading], "gzip_comp_level", _CHEAP_LEVEL),
            )


def _compresses(facts: Facts) -> bool:
    return any(each.text == "on" for each in facts.all_of("gzip"))


def _packed(facts: Facts) -> Iterator[Seen]:
    if not _compresses(facts):
        return
    found = []
    for reading in facts.said("gzip_types"):
        kinds = [k for k in words(reading.text) if k == "*" or is_compressed(k)]
        found += [(kind, reading) for kind in kinds]
    if found:
        kinds = list(dict.fromkeys("all types" if k == "*" else k for k, _ in found))
        yield Seen(
            what=f"compressed again, though they are compressed: {', '.join(kinds)}",
            evidence=tuple(where(reading) for _, reading in found),
        )


def _plain(facts: Facts) -> Iterator[Seen]:
    # Modules of others compress, too; whether they are turned on is not read.
    is_unknown = any(_OTHERS.search(each) for each in facts.survey.modules)
    said = facts.all_of("gzip")
    others = (each for name in ("gzip_static", "brotli", "zstd") for each in facts.all_of(name))
    if not said or is_unknown or _compresses(facts) or any(each.text != "off" for each in others):
        return
    written = [each for each in said if is_said(each)]
    yield Seen(
        what="text is sent as it is: `gzip` is off everywhere",
        evidence=tuple(map(where, written)) or ("`gzip` is off where nothing turns it on",),
    )


def _vary(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("gzip") if each.text == "on"]
    found += [each for each in facts.said("gzip_static") if each.text == "on"]
    if found and not any(each.text == "on" for each in facts.all_of("gzip_vary")):
        yield Seen(
            what="answers are compressed and do not say `Vary: Accept-Encoding`",
            evidence=tuple(map(where, found)),
        )


def _copied(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("sendfile") if each.text.split("+")[0] == "off"]
    if found:
        yield Seen(
            what="files are copied through nginx's memory: `sendfile` is off",
            evidence=tuple(map(where, found)),
            proposes=where_said(found, "sendfile", "on"),
        )


def _opened(facts: Facts) -> Iterator[Seen]:
    backends = facts.survey.backends
    # A kept connection to php-fpm holds one of its children.
    if not backends or any(each.protocol != "http" for each in backends):
        return
    found = [each for each in facts.all_of("upstream_keepalive") if each.text == "0"]
    for reading in found:
        to = reading.scope or ", ".join(dict.fromkeys(each.to for each in backends))
        yield Seen(
            what=f"each request opens a connection to {to} and closes it",
            evidence=tuple(
                f"{each.to}, {each.origin.file}:{each.origin.line}"
                for each in backends
                if each.origin and reading.scope in ("", each.to)
            ),
            proposes=where_said([reading], "upstream_keepalive", _KEPT),
        )


def _logged(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading("access_log_buffer")
    if reading is not None and reading.text == "none":
        yield Seen(
            what="each request writes its line of the access log by a system call of its own",
            evidence=(f"no `buffer=`, {place(reading)}",),
            proposes=where_said([reading], "access_log_buffer", _BUFFER),
        )


RULES = (
    Rule(
        name="nginx-one-worker",
        kinds=_KINDS,
        severity="doubtful",
        checks="`worker_processes 1` where it may run on several CPUs",
        matters="A worker is one thread: TLS and compression of all clients share one CPU, and a "
        "slow disk holds all of them.",
        needs="The server runs, so that it is known which CPUs it may run on.",
        do="set `worker_processes auto`",
        risks="zones in shared memory and caches are the same; each worker keeps its own "
        "connections to backends",
        wrong="a control group gives it the time of one CPU, or others need the rest",
        source=f"{_CORE}worker_processes",
        look=_one_worker,
        proposes=(Proposes(knob="worker_processes", value="as many as it has CPUs to run on"),),
    ),
    Rule(
        name="nginx-open-files",
        kinds=_KINDS,
        severity="bad",
        checks="`worker_connections` above the limit of open files",
        matters="Each connection is an open file, one to a backend a second one. At the limit "
        "nginx neither accepts nor opens files, and writes `Too many open files`.",
        needs="`worker_rlimit_nofile` is written, or the server runs, so that its limit is known.",
        do="set `worker_rlimit_nofile` to twice `worker_connections`",
        risks="each connection takes memory too",
        wrong="the limit of its unit is raised, and it was not restarted since",
        source=f"{_CORE}worker_rlimit_nofile",
        look=_connections,
    ),
    Rule(
        name="nginx-dear-compression",
        kinds=_KINDS,
        severity="doubtful",
        checks="`gzip_comp_level` above 6",
        matters="Levels above zlib's own 6 take much more CPU for hardly fewer bytes.",
        needs="The level is written, and something is compressed.",
        do="set `gzip_comp_level` to 1 to 5",
        risks="answers become a little larger",
        wrong="bytes are dear and CPUs idle, or a cache keeps what is compressed",
        source=f"{_GZIP}gzip_comp_level",
        look=_level,
        proposes=(Proposes(knob="gzip_comp_level", value=f"{_CHEAP_LEVEL}"),),
    ),
    Rule(
        name="nginx-compressed-twice",
        kinds=_KINDS,
        severity="doubtful",
        checks="Types that are compressed in themselves among `gzip_types`",
        matters="It takes CPU for each answer and saves nothing; and what is compressed is not "
        "sent by `sendfile`.",
        needs="`gzip on`, and `gzip_types` with such a type or `*`.",
        do="compress text, scripts, style sheets, SVG and JSON only",
        risks="none for images and archives",
        wrong="the files under that type are not compressed in truth",
        source=f"{_GZIP}gzip_types",
        look=_packed,
    ),
    Rule(
        name="nginx-uncompressed",
        kinds=_KINDS,
        severity="hint",
        checks="`gzip` off everywhere",
        matters="Text, scripts, JSON and SVG shrink to a third to a tenth. Over a line as visitors "
        "have it that is most of the time of a page, and what is sent is paid for.",
        needs="`gzip` is on nowhere, nor `gzip_static`; and no module of brotli or zstd is there.",
        do="set `gzip on`, `gzip_vary on` and `gzip_types` with the types of your text; "
        "`gzip_static on` sends what was compressed beforehand",
        risks="CPU for each answer, often more than all else that nginx does for it; and a secret "
        "in a compressed answer beside what a visitor's request put there can be guessed over TLS "
        "(BREACH)",
        wrong="a proxy or a content delivery network in front compresses, or the backend does; "
        "clients are in the same network; only images, archives and video are served; or answers "
        "with secrets repeat what was sent (BREACH)",
        source=f"{_GZIP}gzip; breachattack.com",
        look=_plain,
    ),
    Rule(
        name="nginx-no-vary",
        kinds=_KINDS,
        severity="hint",
        checks="`gzip on` or `gzip_static on` without `gzip_vary on`",
        matters="A cache between may give a compressed answer to whoever cannot read it, or the "
        "large one to all.",
        needs="One of the two is written, and `gzip_vary on` nowhere.",
        do="set `gzip_vary on`",
        risks="caches keep each answer twice",
        wrong="no cache is between, or the backend says `Vary` itself",
        source=f"{_GZIP}gzip_vary",
        look=_vary,
    ),
    Rule(
        name="nginx-no-sendfile",
        kinds=_KINDS,
        severity="hint",
        checks="`sendfile off`",
        matters="Files are read into a buffer and written out of it, where the kernel could send "
        "them without a copy.",
        needs="It is written so.",
        do="set `sendfile on`",
        risks="on folders that virtual machines share, changed files may come out wrong",
        wrong="it sends no files, or they lie on such a folder",
        source=f"{_HTTP}sendfile",
        look=_copied,
        proposes=(Proposes(knob="sendfile", value="on"),),
    ),
    Rule(
        name="nginx-closed-upstream",
        kinds=_KINDS,
        severity="hint",
        checks="A backend of HTTP without connections that are kept",
        matters="Each request makes a connection and leaves a port in TIME-WAIT for a minute; at "
        "some hundred a second ports run out.",
        needs="All backends speak HTTP, and no `keepalive` is in force for one of them.",
        do="give the upstream `keepalive`, with `proxy_http_version 1.1` and an empty `Connection`",
        risks="a backend that closes idle connections earlier than nginx gives a 502 now and then",
        wrong="a backend of one process for each connection would be held by it, such as Apache "
        "under prefork; gunicorn's sync workers close each connection all the same",
        source=f"{NGINX}http/ngx_http_upstream_module.html#keepalive",
        look=_opened,
        proposes=(Proposes(knob="upstream_keepalive", value=f"{_KEPT} in each worker"),),
    ),
    Rule(
        name="nginx-unbuffered-log",
        kinds=_KINDS,
        severity="hint",
        checks="An access log without a buffer",
        matters="It is a write for each request: little, and more than all else of a small file.",
        needs="An access log that can be buffered, and is not.",
        do="add `buffer=32k flush=1s` to `access_log`",
        risks="a crash loses the last lines, and who reads along sees them late",
        wrong="requests are few, or something follows the log line by line",
        source=f"{NGINX}http/ngx_http_log_module.html#access_log",
        look=_logged,
        proposes=(Proposes(knob="access_log_buffer", value=_BUFFER),),
    ),
)
