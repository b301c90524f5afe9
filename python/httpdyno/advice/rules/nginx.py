"""Rules for nginx: its workers, what it compresses, what it does for each request."""

import re
from collections.abc import Iterator

from httpdyno.advice.rules.declaration import Seen, rule, where_said
from httpdyno.advice.rules.facts import Facts, is_compressed, is_said, number, place, where, words

_DEAR_LEVEL = 6
"""zlib's own default."""
_CHEAP_LEVEL = 1
_OTHERS = re.compile(r"brotli|zstd", re.IGNORECASE)
"""Modules that compress besides."""
_KEPT = 16
"""Idle connections to a backend that each worker keeps."""
_BUFFER = "32k/1s"


@rule("nginx-one-worker")
def _one_worker(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading("worker_processes")
    if reading is None or facts.n_cpus is None or number(reading.text) != 1 or facts.n_cpus == 1:
        return
    yield Seen(
        what=f"one worker, and {facts.n_cpus} CPUs that it may run on: it computes on one of them",
        evidence=(where(reading),),
        proposes=where_said([reading], "worker_processes", facts.n_cpus),
    )


@rule("nginx-open-files")
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


@rule("nginx-dear-compression")
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


@rule("nginx-compressed-twice")
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


@rule("nginx-uncompressed")
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


@rule("nginx-no-vary")
def _vary(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("gzip") if each.text == "on"]
    found += [each for each in facts.said("gzip_static") if each.text == "on"]
    if found and not any(each.text == "on" for each in facts.all_of("gzip_vary")):
        yield Seen(
            what="answers are compressed and do not say `Vary: Accept-Encoding`",
            evidence=tuple(map(where, found)),
        )


@rule("nginx-no-sendfile")
def _copied(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("sendfile") if each.text.split("+")[0] == "off"]
    if found:
        yield Seen(
            what="files are copied through nginx's memory: `sendfile` is off",
            evidence=tuple(map(where, found)),
            proposes=where_said(found, "sendfile", "on"),
        )


@rule("nginx-closed-upstream")
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


@rule("nginx-unbuffered-log")
def _logged(facts: Facts) -> Iterator[Seen]:
    reading = facts.reading("access_log_buffer")
    if reading is not None and reading.text == "none":
        yield Seen(
            what="each request writes its line of the access log by a system call of its own",
            evidence=(f"no `buffer=`, {place(reading)}",),
            proposes=where_said([reading], "access_log_buffer", _BUFFER),
        )
