"""Rules for nginx: its workers, what it compresses, what it does for each request."""

import re
from collections.abc import Iterator

from httpdyno.advice.rules.declaration import Seen, rule, where_said
from httpdyno.advice.rules.facts import Facts, is_compressed, is_said, number, place, where, words
from httpdyno.reason import Reason, because

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
        what=because("rules.nginx-one-worker", n=facts.n_cpus),
        evidence=(where(reading),),
        proposes=where_said([reading], "worker_processes", facts.n_cpus),
    )


@rule("nginx-open-files")
def _connections(facts: Facts) -> Iterator[Seen]:
    asked, raised = facts.reading("worker_connections"), facts.reading("worker_rlimit_nofile")
    limit: int | None = facts.open_files_limit
    source: str | Reason = because("rules.nginx-open-files.running")
    if raised is not None and is_said(raised):
        limit, source = number(raised.text), place(raised)
    n = None if asked is None else number(asked.text)
    if asked is None or n is None or limit is None or n <= limit:
        return
    yield Seen(
        what=because("rules.nginx-open-files.needs", n=n, limit=limit),
        evidence=(
            where(asked),
            because("rules.nginx-open-files.limit", n=limit, source=source),
        ),
    )


@rule("nginx-dear-compression")
def _level(facts: Facts) -> Iterator[Seen]:
    for reading in facts.said("gzip_comp_level"):
        level = number(reading.text)
        if level is not None and level > _DEAR_LEVEL:
            yield Seen(
                what=because("rules.nginx-dear-compression", level=level, usual=_DEAR_LEVEL),
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
        every = because("rules.nginx-compressed-twice.all")
        compressed: list[str | Reason] = [every if k == "*" else k for k, _ in found]
        yield Seen(
            what=because(
                "rules.nginx-compressed-twice.kinds", kinds=list(dict.fromkeys(compressed))
            ),
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
        what=because("rules.nginx-uncompressed.off"),
        evidence=tuple(map(where, written)) or (because("rules.nginx-uncompressed.unset"),),
    )


@rule("nginx-no-vary")
def _vary(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("gzip") if each.text == "on"]
    found += [each for each in facts.said("gzip_static") if each.text == "on"]
    if found and not any(each.text == "on" for each in facts.all_of("gzip_vary")):
        yield Seen(
            what=because("rules.nginx-no-vary"),
            evidence=tuple(map(where, found)),
        )


@rule("nginx-no-sendfile")
def _copied(facts: Facts) -> Iterator[Seen]:
    found = [each for each in facts.said("sendfile") if each.text.split("+")[0] == "off"]
    if found:
        yield Seen(
            what=because("rules.nginx-no-sendfile"),
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
            what=because("rules.nginx-closed-upstream.opens", to=to),
            evidence=tuple(
                because(
                    "rules.nginx-closed-upstream.at",
                    to=each.to,
                    place=f"{each.origin.file}:{each.origin.line}",
                )
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
            what=because("rules.nginx-unbuffered-log.writes"),
            evidence=(because("rules.nginx-unbuffered-log.at", place=place(reading)),),
            proposes=where_said([reading], "access_log_buffer", _BUFFER),
        )
